package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// SilentError says that a connection has sent and received nothing for Wait. The clients of both stores then send the
// request again.
type SilentError struct{ Wait time.Duration }

func (e SilentError) Error() string { return fmt.Sprintf("the connection was silent for %s", e.Wait) }

// Timeout makes the client of S3 retry.
func (SilentError) Timeout() bool { return true }

// Temporary makes the client of Google retry.
func (SilentError) Temporary() bool { return true }

// Send sends a request by do, and ends it when its connection has been silent for wait: a timeout of the transport
// would include the time of an upload, or end with the headers. The body of the answer is a *Body.
func Send(
	req *http.Request, wait time.Duration, do func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if tries++; tries > 1 { // a reused connection had broken
			storage.Retried(nil)
		}
	}})
	w := &watch{ctx: ctx, cancel: cancel, wait: wait}
	w.timer = time.AfterFunc(wait, func() { cancel(SilentError{wait}) })
	defer w.sent()
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		w.send(req)
	}
	resp, err := do(req)
	if err != nil {
		return nil, w.end(err)
	}
	w.timer.Stop()
	resp.Body = &Body{ReadCloser: resp.Body, watch: w}
	return resp, nil
}

// watch ends a request whose connection is silent.
type watch struct {
	ctx    context.Context //nolint:containedctx // of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer
	wait   time.Duration
	sends  sync.Mutex
	done   bool // nothing more may be sent
}

// end ends the request, and returns err or the SilentError that caused it.
func (w *watch) end(err error) error {
	w.timer.Stop()
	var silent SilentError
	if errors.As(context.Cause(w.ctx), &silent) {
		err = silent
	}
	w.cancel(nil)
	return err
}

// send watches the body of the request.
func (w *watch) send(req *http.Request) {
	req.Body = sending{req.Body, w}
	if get := req.GetBody; get != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := get()
			return sending{body, w}, err
		}
	}
}

// sent ends the sending: net/http may still read the body, but its memory belongs to the client again.
func (w *watch) sent() {
	w.sends.Lock()
	defer w.sends.Unlock()
	w.done = true
}

// sending is the body of a request. It is in memory, so its Read never waits.
type sending struct {
	io.ReadCloser
	watch *watch
}

func (s sending) Read(p []byte) (int, error) {
	s.watch.sends.Lock()
	defer s.watch.sends.Unlock()
	if s.watch.done {
		return 0, io.EOF
	}
	s.watch.timer.Reset(s.watch.wait)
	return s.ReadCloser.Read(p)
}

// Body is the body of an answer. The time between reads does not count as silence.
type Body struct {
	io.ReadCloser
	// Broke, if not nil, is called with the reason when the body breaks.
	Broke func(error)
	watch *watch
}

func (b *Body) Read(p []byte) (int, error) {
	b.watch.timer.Reset(b.watch.wait)
	n, err := b.ReadCloser.Read(p)
	b.watch.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) { // not io.ErrUnexpectedEOF
		err = b.watch.end(err)
		if b.Broke != nil {
			b.Broke(err)
		}
	}
	return n, err
}

// Close closes the body, and ends the request.
func (b *Body) Close() error {
	err := b.ReadCloser.Close()
	_ = b.watch.end(nil)
	return err
}
