package gcs

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/neardup/neardup/io/storage"
)

// idle is how long a connection may be without a byte.
var idle = 30 * time.Second

// errStalled is a connection without a byte for that long.
var errStalled error = stalled{}

type stalled struct{}

func (stalled) Error() string { return "the connection stalls" }

// Temporary tells the client to send the request again.
func (stalled) Temporary() bool { return true }

// call is what a request's context tells its transport, and is told by it.
type call struct {
	// broke is called when the body of an answer breaks. A download has it: its body is streamed.
	broke context.CancelCauseFunc
	// session is the URL of a resumable upload. Whoever has it can write to it.
	session atomic.Pointer[string]
}

type callKey struct{}

// watched ends requests whose connection stalls. What it returns is a whole answer, an error, or a download; so an
// answer that breaks is a request to be sent again.
type watched struct {
	base     http.RoundTripper
	answered *atomic.Bool
}

func (t watched) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	tries := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if tries++; tries > 1 { // the connection was kept from another request, and broke
			storage.Retried(nil)
		}
	}})
	w := &watch{ctx: ctx, cancel: cancel, timer: time.AfterFunc(idle, func() { cancel(errStalled) })}
	defer w.sent()
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		w.send(req)
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, w.end(err)
	}
	t.answered.Store(true)
	body := &received{ReadCloser: resp.Body, watch: w}
	resp.Body = body
	c, _ := ctx.Value(callKey{}).(*call)
	download := c != nil && c.broke != nil
	if download && resp.StatusCode < http.StatusMultipleChoices {
		if want := req.URL.Query().Get("generation"); want != "" && want != resp.Header.Get("X-Goog-Generation") {
			body.Close()
			return nil, &googleapi.Error{Code: http.StatusPreconditionFailed, Message: "the object has another generation"}
		}
		body.broke = c.broke
		return resp, nil
	}
	data, err := io.ReadAll(body)
	body.Close()
	if err != nil {
		return nil, err
	}
	if download {
		return nil, refused(resp, data)
	}
	if location := resp.Header.Get("Location"); c != nil && location != "" {
		c.session.Store(&location)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// refused is the error of the XML API, of which the client keeps only the status.
func refused(resp *http.Response, body []byte) error {
	var e struct{ Message string }
	_ = xml.Unmarshal(body, &e) // a proxy's need be none
	return &googleapi.Error{Code: resp.StatusCode, Message: e.Message, Header: resp.Header}
}

// watch ends a request when nothing is sent or received for idle.
type watch struct {
	ctx    context.Context //nolint:containedctx // of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer
	sends  sync.Mutex
	done   bool // nothing more is sent
}

// end returns the error of a request that has ended.
func (w *watch) end(err error) error {
	w.timer.Stop()
	if errors.Is(context.Cause(w.ctx), errStalled) {
		err = errStalled
	}
	w.cancel(nil)
	return err
}

// send watches what is sent.
func (w *watch) send(req *http.Request) {
	req.Body = sending{req.Body, w}
	if get := req.GetBody; get != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := get()
			return sending{body, w}, err
		}
	}
}

// sent ends what is sent: net/http may still read it, but its memory is the client's again.
func (w *watch) sent() {
	w.sends.Lock()
	defer w.sends.Unlock()
	w.done = true
}

// sending is the body of a request. It is in memory, so that no Read of it waits.
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
	s.watch.timer.Reset(idle)
	return s.ReadCloser.Read(p)
}

// received is the body of an answer.
type received struct {
	io.ReadCloser
	watch *watch
	broke context.CancelCauseFunc // may be nil
}

func (r *received) Read(p []byte) (int, error) {
	r.watch.timer.Reset(idle)
	n, err := r.ReadCloser.Read(p)
	r.watch.timer.Stop() // who reads may take its time
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.watch.end(err)
		if r.broke != nil {
			r.broke(err)
		}
	}
	return n, err
}

func (r *received) Close() error {
	err := r.ReadCloser.Close()
	_ = r.watch.end(nil)
	return err
}
