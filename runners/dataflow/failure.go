package dataflow

import (
	"fmt"
	"regexp"
	"strings"
)

// failure is the error of a job: a short text, which wraps everything the service said.
type failure struct{ job, cause, said string }

func (f *failure) Error() string { return fmt.Sprintf("job %s failed:\n%s", f.job, f.said) }

// Cause returns what the DoFn said or, if it could not say anything, what the service said.
func (f *failure) Cause() string { return f.cause }

var (
	// doFnFailed matches the SDK's text up to the innermost DoFn that failed, which comes last.
	doFnFailed = regexp.MustCompile(`(?s)^.*DoFn\[UID:\d+, PID:[^\]]*\] failed:\n`)
	// panicked matches the SDK's text about a DoFn that panicked; the stack follows.
	panicked = regexp.MustCompile(`(?s)panic: (.*?)\s+(?:Full error:|goroutine \d+ \[)`)
)

// explain extracts from the service's messages what the user needs. The first error of a step is the cause: later ones
// are from retries, or from the end of the job.
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
