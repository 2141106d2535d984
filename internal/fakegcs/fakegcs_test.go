package fakegcs_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/fakegcs"
)

// ask sends a request and returns the answer, with its body.
func ask(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

func serve(t *testing.T) (*fakegcs.Server, string) {
	t.Helper()
	fake := fakegcs.New("b")
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, server.URL
}

// TestResumable: requests of docs/performing-resumable-uploads that the Go client does not send, or only after others
// have failed.
func TestResumable(t *testing.T) {
	const unit = 256 << 10
	fake, at := serve(t)
	resp, _ := ask(t, "POST", at+"/upload/storage/v1/b/b/o?uploadType=resumable&name=x", `{"bucket":"b","name":"x"}`)
	session := resp.Header.Get("Location")
	if resp.StatusCode != 200 || session == "" {
		t.Fatal(resp.Status)
	}
	data := strings.Repeat("0123456789abcdef", 3*unit/16)
	for i, step := range []struct {
		body, span string
		status     int
		there      string
	}{
		{"", "bytes */*", 308, ""},
		{data[:unit], fmt.Sprintf("bytes 0-%d/*", unit-1), 308, fmt.Sprintf("bytes=0-%d", unit-1)},
		{data[:unit], fmt.Sprintf("bytes 0-%d/*", unit-1), 308, fmt.Sprintf("bytes=0-%d", unit-1)}, // again
		{data[:2*unit], fmt.Sprintf("bytes 0-%d/*", 2*unit-1), 308, fmt.Sprintf("bytes=0-%d", 2*unit-1)},
		{"", "bytes */*", 308, fmt.Sprintf("bytes=0-%d", 2*unit-1)},
		{"short", fmt.Sprintf("bytes %d-%d/*", 2*unit, 2*unit+4), 400, ""},
		{data[:unit], fmt.Sprintf("bytes %d-%d/*", 3*unit, 4*unit-1), 400, ""}, // a gap
		{data[:10], fmt.Sprintf("bytes %d-%d/%d", 2*unit, 3*unit-1, 3*unit), 400, ""},
		{data[:unit], "0-1", 400, ""},
		{data[2*unit:], fmt.Sprintf("bytes %d-%d/%d", 2*unit, 3*unit-1, 3*unit), 200, ""},
		{data[2*unit:], fmt.Sprintf("bytes %d-%d/%d", 2*unit, 3*unit-1, 3*unit), 200, ""}, // again
		{"", "bytes */*", 200, ""},
	} {
		resp, _ := ask(t, "PUT", session, step.body, "Content-Range", step.span)
		if resp.StatusCode != step.status || resp.Header.Get("Range") != step.there {
			t.Errorf("step %d: %s, Range %s", i, resp.Status, resp.Header.Get("Range"))
		}
	}
	if got, _, _ := fake.Get("b", "x"); string(got) != data || fake.Unfinished() != 0 {
		t.Errorf("%d bytes, %d uploads left", len(got), fake.Unfinished())
	}
}

func TestCancel(t *testing.T) {
	fake, at := serve(t)
	resp, _ := ask(t, "POST", at+"/upload/storage/v1/b/b/o?uploadType=resumable&name=x", `{"bucket":"b","name":"x"}`)
	session := resp.Header.Get("Location")
	if n := fake.Unfinished(); n != 1 {
		t.Errorf("%d uploads", n)
	}
	for i, step := range []struct {
		method string
		status int
	}{{"DELETE", 499}, {"DELETE", 410}, {"PUT", 410}} {
		if resp, _ := ask(t, step.method, session, "", "Content-Range", "bytes */0"); resp.StatusCode != step.status {
			t.Errorf("step %d: %s", i, resp.Status)
		}
	}
	if _, _, ok := fake.Get("b", "x"); ok || fake.Unfinished() != 0 {
		t.Error("it is there")
	}
}

// TestTranscoding follows docs/transcoding, with both ways to download.
func TestTranscoding(t *testing.T) {
	fake, at := serve(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, "the text")
	_ = w.Close()
	stored := packed.String()
	fake.Put("b", "a/x", "gzip", packed.Bytes())
	for _, path := range []string{"/b/a%2Fx", "/b/a/x", "/storage/v1/b/b/o/a%2Fx?alt=media"} {
		for _, c := range []struct {
			headers        []string
			status         int
			body, encoding string
			length         int64
		}{
			{nil, 200, "the text", "", -1},
			{[]string{"Range", "bytes=2-3"}, 200, "the text", "", -1},
			{[]string{"Accept-Encoding", "gzip"}, 200, stored, "gzip", int64(len(stored))},
			{[]string{"Accept-Encoding", "gzip", "Range", "bytes=2-3"}, 206, stored[2:4], "gzip", 2},
			{[]string{"Accept-Encoding", "gzip", "Range", "bytes=-3"}, 206, stored[len(stored)-3:], "gzip", 3},
			{[]string{"Accept-Encoding", "gzip", "Range", "bytes=9999-"}, 416, "", "", 0},
		} {
			resp, body := ask(t, "GET", at+path, "", c.headers...)
			if resp.StatusCode != c.status || c.status < 400 && (body != c.body || resp.Header.Get("Content-Encoding") != c.encoding || resp.ContentLength != c.length) {
				t.Errorf("%s %q: %s, %q of %d, %s", path, c.headers, resp.Status, body, resp.ContentLength, resp.Header.Get("Content-Encoding"))
			}
		}
	}
}

// TestStrict: the fake refuses what it does not know.
func TestStrict(t *testing.T) {
	_, at := serve(t)
	for _, c := range []string{
		"GET /storage/v1/b/b/o?colour=red", "GET /storage/v1/b/b/o?delimiter=/", "GET /storage/v1/b/b/o?fields=items", "GET /storage/v1/b/b/o?maxResults=x",
		"GET /storage/v1/b/b/o?pageToken=!", "GET /storage/v1/b/b/x", "GET /storage/v1/b/b/o/a/b/c", "PUT /storage/v1/b/b/o/x", "PUT /b/x",
		"POST /upload/storage/v1/b/b/o?uploadType=media", "POST /upload/storage/v1/b/b/o?uploadType=multipart&name=x",
		"POST /upload/storage/v1/b/b/o/x", "POST /storage/v1/b/b/o/x/compose", "GET /storage/v1/b/b/o/x?generation=1&generation=2",
	} {
		method, path, _ := strings.Cut(c, " ")
		if resp, body := ask(t, method, at+path, ""); resp.StatusCode != 400 {
			t.Errorf("%s: %s %s", c, resp.Status, body)
		}
	}
	for path, want := range map[string]string{
		"/storage/v1/b/no/o":        `"message":"The specified bucket does not exist."`,
		"/storage/v1/b/b/o/x%2Fy":   `"message":"No such object: b/x/y"`,
		"/no/x":                     "<Code>NoSuchBucket</Code>",
		"/b/" + url.PathEscape("x"): "<Code>NoSuchKey</Code>",
	} {
		if resp, body := ask(t, "GET", at+path, ""); resp.StatusCode != 404 || !strings.Contains(body, want) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// TestChecksum: bytes that do not match the checksum are not kept.
func TestChecksum(t *testing.T) {
	fake, at := serve(t)
	part := func(crc string) string {
		return "--q\r\nContent-Type: application/json\r\n\r\n{\"bucket\":\"b\",\"name\":\"x\",\"crc32c\":\"" + crc + "\"}\r\n--q\r\nContent-Type: text/plain\r\n\r\n123456789\r\n--q--\r\n"
	}
	for _, c := range []struct {
		crc    string
		status int
	}{{"AAAAAA==", 400}, {"4waSgw==", 200}} { // the check value of CRC-32C is 0xE3069283 (RFC 3720, B.4; Koopman)
		resp, body := ask(t, "POST", at+"/upload/storage/v1/b/b/o?uploadType=multipart&name=x", part(c.crc), "Content-Type", "multipart/related; boundary=q")
		got, _, ok := fake.Get("b", "x")
		if resp.StatusCode != c.status || ok != (c.status == 200) || ok && string(got) != "123456789" {
			t.Errorf("%s: %s %s, %q", c.crc, resp.Status, body, got)
		}
	}
}
