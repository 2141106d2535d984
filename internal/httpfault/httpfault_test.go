package httpfault_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/httpfault"
)

// TestFaults: what a client sees of each fault, and whether the request took effect.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault   httpfault.Fault
		status  int
		body    string
		err     error
		without bool // without effect
	}{
		"none":       {status: 200, body: "answer"},
		"delay":      {fault: httpfault.Fault{Delay: time.Millisecond}, status: 200, body: "answer"},
		"error":      {fault: httpfault.Fault{Kind: httpfault.Error, Status: 503}, status: 503, body: "refused", without: true},
		"reset":      {fault: httpfault.Fault{Kind: httpfault.Reset}, err: syscall.ECONNRESET, without: true},
		"lost":       {fault: httpfault.Fault{Kind: httpfault.Lost}, err: syscall.ECONNRESET},
		"cut":        {fault: httpfault.Fault{Kind: httpfault.Cut, Bytes: 3}, status: 200, body: "ans", err: io.ErrUnexpectedEOF},
		"cut at all": {fault: httpfault.Fault{Kind: httpfault.Cut, Bytes: 6}, status: 200, body: "answer"},
		"cut at 0":   {fault: httpfault.Fault{Kind: httpfault.Cut}, status: 200, err: io.ErrUnexpectedEOF},
		"stall":      {fault: httpfault.Fault{Kind: httpfault.Stall, Bytes: 3}, status: 200, body: "ans", err: errStalled},
	} {
		t.Run(name, func(t *testing.T) {
			took := make(chan string, 1)
			server := httptest.NewServer(&httpfault.Faults{
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					took <- string(body)
					io.WriteString(w, "answer")
				}),
				Decide: func(_ *http.Request, n int) httpfault.Fault {
					if n != 1 {
						t.Errorf("request %d", n)
					}
					return c.fault
				},
				Refuse: func(w http.ResponseWriter, _ *http.Request, status int) {
					w.WriteHeader(status)
					io.WriteString(w, "refused")
				},
			})
			defer server.Close()
			status, body, err := post(server.URL)
			if status != c.status || body != c.body || !errors.Is(err, c.err) {
				t.Errorf("%d %q, %v, want %d %q, %v", status, body, err, c.status, c.body, c.err)
			}
			select {
			case sent := <-took:
				if c.without || sent != "request" {
					t.Errorf("it took effect with %q", sent)
				}
			default:
				if !c.without {
					t.Error("no effect")
				}
			}
		})
	}
}

var errStalled = errors.New("stalled")

func post(url string) (status int, body string, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(url, "text/plain", strings.NewReader("request"))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if resp.ContentLength != 6 && resp.ContentLength != 7 {
		return 0, "", errors.New("the length is not that of the whole answer")
	}
	var read []byte
	done := make(chan bool)
	go func() {
		defer close(done)
		read, err = io.ReadAll(resp.Body)
	}()
	select {
	case <-done:
	case <-time.After(300 * time.Millisecond):
		resp.Body.Close()
		<-done
		err = errStalled
	}
	return resp.StatusCode, string(read), err
}
