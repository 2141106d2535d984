package gcs

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/neardup/neardup/io/storage/bucket"
)

// idle is how long a connection may be silent.
var idle = 30 * time.Second

// call passes data between the sender of a request and its transport, through the request's context.
type call struct {
	// broke is called when the body of an answer breaks. Only downloads set it, because their bodies are streamed.
	broke context.CancelCauseFunc
	// session is the URL of a resumable upload. Anyone who knows it can write to the upload.
	session atomic.Pointer[string]
}

type callKey struct{}

// watched ends requests whose connection is silent. It returns a whole answer, an error or a download, so that the
// client sends a request again if its answer breaks.
type watched struct {
	base     http.RoundTripper
	answered *atomic.Bool
}

func (t watched) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := bucket.Send(req, idle, t.base.RoundTrip)
	if err != nil {
		return nil, err
	}
	t.answered.Store(true)
	body := resp.Body.(*bucket.Body) //nolint:forcetypeassert // Send says so
	c, _ := req.Context().Value(callKey{}).(*call)
	download := c != nil && c.broke != nil
	if download && resp.StatusCode < http.StatusMultipleChoices {
		if want := req.URL.Query().Get("generation"); want != "" && want != resp.Header.Get("X-Goog-Generation") {
			body.Close()
			return nil, &googleapi.Error{Code: http.StatusPreconditionFailed, Message: "the object has another generation"}
		}
		body.Broke = c.broke
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

// refused returns an error of the XML API, of which the client would keep only the status.
func refused(resp *http.Response, body []byte) error {
	var e struct{ Message string }
	_ = xml.Unmarshal(body, &e) // a proxy's answer may not be XML
	return &googleapi.Error{Code: resp.StatusCode, Message: e.Message, Header: resp.Header}
}
