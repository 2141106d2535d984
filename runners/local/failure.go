package local

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// failure is the error of a stage: short to read, with the SDK's long one below it.
type failure struct {
	stage, transform, doFn, cause string
	err                           error
}

func (f *failure) Error() string {
	if f.transform == "" {
		return fmt.Sprintf("stage %q: %s", f.stage, f.cause)
	}
	return fmt.Sprintf("transform %q, DoFn %s: %s", f.transform, f.doFn, f.cause)
}

func (f *failure) Unwrap() error { return f.err }

// doFnFailed is how the SDK writes that a DoFn failed. It has no other form.
var doFnFailed = regexp.MustCompile(`DoFn\[UID:\d+, PID:([^,]*), Name: ([^\]]*)\] failed:\n(?s:(.*))`)

// explain finds in an error of the SDK's what the user needs of it.
func (j *job) explain(s *stage, err error) error {
	f := &failure{stage: s.Name, cause: err.Error(), err: err}
	// A DoFn that fails in another's call of emit is inside: the last is the one.
	for m := doFnFailed.FindStringSubmatch(f.cause); m != nil; m = doFnFailed.FindStringSubmatch(f.cause) {
		f.transform, f.doFn, f.cause = j.names[m[1]], m[2], m[3]
	}
	if f.transform == "" {
		var root error
		for root = err; errors.Unwrap(root) != nil; {
			root = errors.Unwrap(root)
		}
		f.cause = root.Error()
	}
	f.cause = strings.TrimSpace(f.cause)
	return f
}

// watched makes an error of the runner's own the job's, before the SDK wraps it into one of the
// DoFn that happened to read or write.
type watched struct {
	job *job
	io.ReadCloser
}

func (j *job) watch(r io.ReadCloser) io.ReadCloser { return &watched{j, r} }

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.job.fail(err)
	}
	return n, err
}
