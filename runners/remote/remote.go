// Package remote has what jobs on other machines have in common: a result, and the error of a DoFn that failed there.
package remote

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// Result is the result of a job.
type Result struct {
	ID     string
	Counts metrics.Results
}

// Metrics returns the counters and distributions of DoFns.
func (r *Result) Metrics() metrics.Results { return r.Counts }

// JobID returns the job's id there.
func (r *Result) JobID() string { return r.ID }

// Failure is the error of a job: a short text, which wraps everything that was said about it.
type Failure struct{ Job, Short, Said string }

func (f *Failure) Error() string { return fmt.Sprintf("job %s failed:\n%s", f.Job, f.Said) }

// Cause returns what the DoFn said or, if it could not say anything, what is known.
func (f *Failure) Cause() string { return f.Short }

var (
	// doFnFailed matches the SDK's text up to the innermost DoFn that failed, which comes last.
	doFnFailed = regexp.MustCompile(`(?s)^.*DoFn\[UID:\d+, PID:[^\]]*\] failed:\n`)
	// panicked matches the SDK's text about a DoFn that panicked; the stack follows.
	panicked = regexp.MustCompile(`(?s)panic: (.*?)\s+(?:Full error:|goroutine \d+ \[)`)
)

// DoFnError returns what the SDK says of a DoFn that failed or panicked, or "" if text is not about one. If the text
// has parts that are not the SDK's, sdk is the rest.
func DoFnError(sdk, text string) string {
	if doFnFailed.MatchString(sdk) {
		return strings.TrimSpace(doFnFailed.ReplaceAllString(sdk, ""))
	}
	if said := panicked.FindStringSubmatch(text); said != nil {
		return strings.TrimSpace("a step panicked: " + said[1])
	}
	return ""
}
