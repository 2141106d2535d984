// Package httpfault makes test servers fail like those of object stores.
package httpfault

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Kind is what happens to a request.
type Kind int

// Kinds of faults. None means that nothing goes wrong.
const (
	None  Kind = iota
	Error      // refused with Status, without effect
	Reset      // the connection is reset, without effect
	Lost       // the request takes effect, and the connection is reset instead of an answer
	// the request takes effect, and the connection closes after Bytes of the answer's body, fewer than its Content-Length
	Cut
	Stall // the same, but the connection stays open without another byte
)

// Fault is what happens to one request.
type Fault struct {
	Kind   Kind
	Status int           // for Error
	Bytes  int           // for Cut and Stall
	Delay  time.Duration // before anything else
}

// Faults is a server with faults.
type Faults struct {
	Handler http.Handler
	// Decide is called for each request, one at a time. The first request has number 1.
	Decide func(r *http.Request, n int) Fault
	// Refuse answers as the server does when it refuses a request with a status.
	Refuse func(w http.ResponseWriter, r *http.Request, status int)

	mu sync.Mutex
	n  int
}

func (f *Faults) decide(r *http.Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return f.Decide(r, f.n)
}

// ServeHTTP serves a request, or fails as Decide says.
func (f *Faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := f.decide(r)
	if fault.Delay > 0 {
		// A server notices that its client has gone only once it has read the body.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case <-time.After(fault.Delay):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	switch fault.Kind {
	case None:
		f.Handler.ServeHTTP(w, r)
	case Error:
		f.Refuse(w, r, fault.Status)
	case Reset:
		reset(w)
	case Lost:
		f.answer(r)
		reset(w)
	case Cut, Stall:
		answer := f.answer(r)
		for key, values := range answer.Header() {
			w.Header()[key] = values
		}
		body := answer.Body.Bytes()
		if w.Header().Get("Content-Length") == "" { // an answer to HEAD has its own
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(answer.Code)
		if _, err := w.Write(body[:min(fault.Bytes, len(body))]); err != nil || fault.Bytes >= len(body) {
			return
		}
		if err := http.NewResponseController(w).Flush(); err == nil && fault.Kind == Stall {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}
}

// answer lets a request take effect, and returns the answer.
func (f *Faults) answer(r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	f.Handler.ServeHTTP(answer, r)
	_, _ = io.Copy(io.Discard, r.Body)
	return answer
}

// reset closes the connection so that the client notices at once.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
