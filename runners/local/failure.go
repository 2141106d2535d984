package local

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	v1pb "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx/v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/protox"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

// failure is the error of a stage in a short form, which wraps the SDK's long one.
type failure struct {
	stage, transform, doFn, cause string
	err                           error
}

func (f *failure) Error() string {
	if f.transform == "" {
		return fmt.Sprintf("stage %q: %s", f.stage, f.cause)
	}
	return fmt.Sprintf("transform %q, function %s: %s", f.transform, f.doFn, f.cause)
}

func (f *failure) Unwrap() error { return f.err }

// Cause returns the DoFn's own error text.
func (f *failure) Cause() string { return f.cause }

// doFnFailed matches the SDK's text for the failure of a DoFn, the only form in which it reports one.
var doFnFailed = regexp.MustCompile(`DoFn\[UID:\d+, PID:([^,]*), Name: ([^\]]*)\] failed:\n(?s:(.*))`)

// explain extracts from an error of the SDK what the user needs to know.
func (j *job) explain(s *stage, err error) error {
	f := &failure{stage: s.Name, cause: err.Error(), err: err}
	// If a DoFn fails while another one emits to it, the innermost text, which is the last, names it.
	for m := doFnFailed.FindStringSubmatch(f.cause); m != nil; m = doFnFailed.FindStringSubmatch(f.cause) {
		f.transform, f.doFn, f.cause = j.names[m[1]], m[2], m[3]
	}
	if f.transform == "" {
		root := err
		for next := root; next != nil; next = errors.Unwrap(root) {
			root = next
		}
		f.cause = root.Error()
		if value, stack, ok := strings.Cut(f.cause, " goroutine "); ok && strings.HasPrefix(value, "panic: ") {
			f.transform, f.doFn = j.culprit(s, stack)
			f.cause = value + "\ngoroutine " + stack
		}
	}
	f.cause = strings.TrimSpace(f.cause)
	return f
}

// culprit returns the DoFn of the stage that comes first in the stack of a panic, because the SDK does not name it.
func (j *job) culprit(s *stage, stack string) (transform, doFn string) {
	first := len(stack)
	for id, t := range s.Descriptor.GetTransforms() {
		name := doFnName(t)
		if name == "" {
			continue
		}
		dot := strings.LastIndex(name, ".")
		for _, frame := range []string{name + "(", name + ".", name[:dot+1] + "(*" + name[dot+1:] + ")."} {
			if i := strings.Index(stack, frame); i >= 0 && i < first {
				first, transform, doFn = i, j.names[id], name
			}
		}
	}
	return transform, doFn
}

// doFnName returns the name of a transform's DoFn or CombineFn, or "" if it has none.
func doFnName(t *pipepb.PTransform) string {
	var parDo pipepb.ParDoPayload
	var combine pipepb.CombinePayload
	var data []byte
	switch {
	case proto.Unmarshal(t.GetSpec().GetPayload(), &parDo) == nil && len(parDo.GetDoFn().GetPayload()) > 0:
		data = parDo.GetDoFn().GetPayload()
	case proto.Unmarshal(t.GetSpec().GetPayload(), &combine) == nil:
		data = combine.GetCombineFn().GetPayload()
	}
	var payload v1pb.TransformPayload
	if err := protox.DecodeBase64(string(data), &payload); err != nil || payload.GetEdge() == nil {
		return ""
	}
	_, fn, _, _, _, err := graphx.DecodeMultiEdge(payload.GetEdge())
	if err != nil || fn == nil {
		return ""
	}
	return fn.Name()
}

// watched makes an error of the runner the job's error, before the SDK attributes it to the DoFn that was reading.
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
