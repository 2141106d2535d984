package dataflow

import (
	"fmt"
	"regexp"
	"strings"
)

// failure is the error of a job: short to read, with all that the service said below it.
type failure struct{ job, cause, said string }

func (f *failure) Error() string { return fmt.Sprintf("job %s failed:\n%s", f.job, f.said) }

// Cause is what the DoFn itself said or, where none could, what the service did.
func (f *failure) Cause() string { return f.cause }

var (
	// doFnFailed ends what the SDK says of a DoFn that failed, and of those around it: the last is the one.
	doFnFailed = regexp.MustCompile(`(?s)^.*DoFn\[UID:\d+, PID:[^\]]*\] failed:\n`)
	// panicked begins what it says of one that panicked; the stack follows.
	panicked = regexp.MustCompile(`(?s)panic: (.*?)\s+(?:Full error:|goroutine \d+ \[)`)
)

// explain finds in what the service said what the user needs of it. The first error that is a step's own is the
// cause: those that follow are of tries of the same, and of the job that ends by it.
func (j *job) explain() error {
	f := &failure{job: j.job.ID, said: strings.Join(j.errors, "\n")}
	for _, text := range j.errors {
		switch {
		case doFnFailed.MatchString(text):
			f.cause = strings.TrimSpace(doFnFailed.ReplaceAllString(text, ""))
		case panicked.MatchString(text):
			f.cause = "a step panicked: " + panicked.FindStringSubmatch(text)[1]
		default:
			continue
		}
		return f
	}
	f.cause = strings.TrimSpace(f.said)
	if f.cause == "" {
		f.cause = fmt.Sprintf("the Dataflow job %s failed, and the service does not say why", j.job.ID)
	}
	f.cause += "; see " + j.job.Show()
	return f
}
