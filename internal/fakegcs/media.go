package fakegcs

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" //nolint:gosec // what the store tells of its objects
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// media: xml-api/get-object-download, and json_api/v1/objects/get with alt=media.
func (s *Server) media(c *call, bucket, name string) (*answer, error) {
	c.log.Verb, c.log.Object, c.log.Range = "media", bucket+"/"+name, c.Header.Get("Range")
	if err := c.known("projection", "generation"); err != nil {
		return nil, err
	}
	o, err := s.find(c, "generation", bucket, name)
	if err != nil {
		return nil, err
	}
	if want := c.Header.Get("X-Goog-If-Generation-Match"); want != "" && want != strconv.FormatInt(o.generation, 10) {
		return nil, notMet
	}
	digest := md5.Sum(o.data) //nolint:gosec // what the store tells
	header := http.Header{
		"Content-Type":                   {o.contentType},
		"Last-Modified":                  {o.created.UTC().Format(http.TimeFormat)},
		"Accept-Ranges":                  {"bytes"},
		"X-Goog-Generation":              {strconv.FormatInt(o.generation, 10)},
		"X-Goog-Metageneration":          {"1"},
		"X-Goog-Hash":                    {"crc32c=" + crc(o.data), "md5=" + base64.StdEncoding.EncodeToString(digest[:])},
		"X-Goog-Storage-Class":           {"STANDARD"},
		"X-Goog-Stored-Content-Length":   {strconv.Itoa(len(o.data))},
		"X-Goog-Stored-Content-Encoding": {"identity"},
	}
	if o.encoding != "" {
		header.Set("X-Goog-Stored-Content-Encoding", o.encoding)
	}
	if o.encoding == "gzip" && !strings.Contains(c.Header.Get("Accept-Encoding"), "gzip") {
		return transcoded(header, o)
	}
	if o.encoding != "" {
		header.Set("Content-Encoding", o.encoding)
	}
	if c.log.Range == "" {
		return &answer{http.StatusOK, header, o.data, false}, nil
	}
	from, to, err := rangeOf(c.log.Range, len(o.data))
	if err != nil {
		return nil, err
	}
	header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(o.data)))
	return &answer{http.StatusPartialContent, header, o.data[from:to], false}, nil
}

// transcoded: docs/transcoding. The answer is the whole object, whatever range was requested, without Content-Length
// and Content-Encoding.
func transcoded(header http.Header, o *object) (*answer, error) {
	r, err := gzip.NewReader(bytes.NewReader(o.data))
	if err != nil {
		return nil, &refusal{http.StatusServiceUnavailable, "backendError", "cannot unpack"}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, &refusal{http.StatusServiceUnavailable, "backendError", "cannot unpack"}
	}
	header.Set("Warning", `214 UploadServer gunzipped`)
	return &answer{http.StatusOK, header, data, true}, nil
}

// rangeOf returns the bytes that a Range header requests.
func rangeOf(header string, size int) (from, to int, err error) {
	first, last, ok := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	if !ok || !strings.HasPrefix(header, "bytes=") {
		return 0, 0, invalid("Range %s", header)
	}
	if first == "" {
		n, err := strconv.Atoi(last)
		if err != nil {
			return 0, 0, invalid("Range %s", header)
		}
		first, last = strconv.Itoa(max(0, size-n)), ""
	}
	if from, err = strconv.Atoi(first); err != nil {
		return 0, 0, invalid("Range %s", header)
	}
	to = size
	if last != "" {
		n, err := strconv.Atoi(last)
		if err != nil || n < from {
			return 0, 0, invalid("Range %s", header)
		}
		to = min(n+1, size)
	}
	if from >= size {
		return 0, 0, unsatisfied
	}
	return from, to, nil
}
