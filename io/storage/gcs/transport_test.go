package gcs

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// early answers before it has read the request's body, and keeps the body.
type early struct{ body io.ReadCloser }

func (e *early) RoundTrip(req *http.Request) (*http.Response, error) {
	e.body = req.Body
	_, err := io.ReadFull(req.Body, make([]byte, 3))
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: io.NopCloser(strings.NewReader(""))}, err
}

// TestBodyAfterAnswer checks that nobody reads the body once the request has been answered: the client reuses its
// memory for the next one.
func TestBodyAfterAnswer(t *testing.T) {
	var e early
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://localhost/", strings.NewReader("a chunk"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (watched{&e, new(atomic.Bool)}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if data, err := io.ReadAll(e.body); len(data) > 0 || err != nil {
		t.Errorf("%q is read, error %v", data, err)
	}
}
