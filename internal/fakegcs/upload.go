package fakegcs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// session is a resumable upload.
type session struct {
	object *object
	crc32c string
	query  url.Values // of the request that started it
	data   []byte
	done   *object
	ended  bool
}

// chunkUnit divides the size of each chunk except the last: docs/performing-resumable-uploads.
const chunkUnit = 256 << 10

// upload: json_api/v1/objects/insert and how-tos/upload.
func (s *Server) upload(c *call, bucket string, body []byte) (*answer, error) {
	c.log.Object = bucket + "/" + c.query.Get("name")
	if id := c.query.Get("upload_id"); id != "" {
		return s.resume(c, id, body)
	}
	c.log.Verb = "insert"
	if err := c.known("uploadType", "name", "projection", "ifGenerationMatch", "kmsKeyName"); err != nil {
		return nil, err
	}
	if _, ok := s.buckets[bucket]; !ok {
		return nil, noBucket
	}
	if c.Method != http.MethodPost {
		return nil, invalid("%s", c.Method)
	}
	switch c.query.Get("uploadType") {
	case "multipart":
		return s.multipart(c, bucket, body)
	case "resumable":
		return s.start(c, bucket, body)
	}
	return nil, invalid("uploadType=%s", c.query.Get("uploadType"))
}

// described returns the object that metadata describes, and its checksum.
func described(c *call, bucket string, metadata []byte) (*object, string, error) {
	var m struct {
		Bucket, Name, ContentType, ContentEncoding, Crc32c, KMSKeyName string
	}
	decoder := json.NewDecoder(bytes.NewReader(metadata))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return nil, "", invalid("metadata: %v", err)
	}
	name := cmp.Or(c.query.Get("name"), m.Name)
	if name == "" || len(name) > 1024 || strings.ContainsAny(name, "\r") || m.Bucket != bucket { // docs/objects#naming
		return nil, "", invalid("Required: a valid name; %q in %q", name, m.Bucket)
	}
	key := cmp.Or(c.query.Get("kmsKeyName"), m.KMSKeyName)
	return &object{bucket: bucket, name: name, contentType: m.ContentType, encoding: m.ContentEncoding, kmsKey: key},
		m.Crc32c, nil
}

// finish makes an object visible, if the condition holds now.
func (s *Server) finish(o *object, query url.Values, checksum string) (*object, error) {
	if err := check(query, "ifGenerationMatch", s.buckets[o.bucket][o.name]); err != nil {
		return nil, err
	}
	if checksum != "" && checksum != crc(o.data) {
		return nil, invalid("Provided CRC32C %q doesn't match calculated CRC32C %q.", checksum, crc(o.data))
	}
	return s.put(o), nil
}

func (s *Server) multipart(c *call, bucket string, body []byte) (*answer, error) {
	kind, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" {
		return nil, invalid("Content-Type %s", c.Header.Get("Content-Type"))
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	var content [2][]byte
	for i := range content {
		part, err := parts.NextRawPart()
		if err != nil {
			return nil, invalid("Missing part: %v", err)
		}
		if content[i], err = io.ReadAll(part); err != nil {
			return nil, invalid("Malformed part: %v", err)
		}
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		return nil, invalid("Malformed multipart body")
	}
	o, checksum, err := described(c, bucket, content[0])
	if err != nil {
		return nil, err
	}
	o.data = content[1]
	if o, err = s.finish(o, c.query, checksum); err != nil {
		return nil, err
	}
	return reply(http.StatusOK, o.resource()), nil
}

// start begins a resumable upload. It refuses some that are certain to fail at the end.
func (s *Server) start(c *call, bucket string, body []byte) (*answer, error) {
	c.log.Verb = "start"
	o, checksum, err := described(c, bucket, body)
	if err != nil {
		return nil, err
	}
	if err := check(c.query, "ifGenerationMatch", s.buckets[bucket][o.name]); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("secret-session-%d", len(s.sessions)+1)
	s.sessions[id] = &session{object: o, crc32c: checksum, query: c.query}
	query := maps.Clone(c.query) // the URL of a session has its parameters
	query.Set("upload_id", id)
	location := url.URL{Scheme: "http", Host: c.Host, Path: c.URL.Path, RawQuery: query.Encode()}
	return &answer{status: http.StatusOK, header: http.Header{"Location": {location.String()}}}, nil
}

// resume accepts a chunk, reports how much has arrived, or ends a resumable upload: docs/performing-resumable-uploads.
func (s *Server) resume(c *call, id string, body []byte) (*answer, error) {
	c.log.Verb, c.log.Range = "chunk", c.Header.Get("Content-Range")
	u := s.sessions[id]
	switch {
	case u == nil || u.ended:
		return nil, &refusal{http.StatusGone, "gone", "The requested upload session is no longer available."}
	case c.Method == http.MethodDelete && c.ContentLength == 0:
		c.log.Verb = "cancel"
		u.ended = true
		return &answer{status: 499}, nil
	case c.Method != http.MethodPut && c.Method != http.MethodPost:
		return nil, invalid("%s", c.Method)
	case u.done != nil:
		return reply(http.StatusOK, u.done.resource()), nil
	}
	span, total, ok := strings.Cut(strings.TrimPrefix(c.log.Range, "bytes "), "/")
	if !ok || !strings.HasPrefix(c.log.Range, "bytes ") {
		return nil, invalid("Content-Range %s", c.log.Range)
	}
	if span != "*" {
		if err := u.take(span, total, body); err != nil {
			return nil, err
		}
	} else if len(body) > 0 {
		return nil, invalid("Content-Range %s", c.log.Range)
	}
	if total != strconv.Itoa(len(u.data)) {
		return u.incomplete(c), nil
	}
	u.object.data = u.data
	_, checksum, _ := strings.Cut(c.Header.Get("X-Goog-Hash"), "crc32c=")
	made, err := s.finish(u.object, u.query, cmp.Or(checksum, u.crc32c))
	if err != nil {
		u.ended = true
		return nil, err
	}
	u.done = made
	return reply(http.StatusOK, made.resource()), nil
}

// take appends a chunk. It ignores bytes that it already has, and none may be missing.
func (u *session) take(span, total string, body []byte) error {
	var from, to int
	if n, err := fmt.Sscanf(span, "%d-%d", &from, &to); n != 2 || err != nil || to-from+1 != len(body) {
		return invalid("Content-Range %s of %d bytes", span, len(body))
	}
	if total == "*" && len(body)%chunkUnit != 0 {
		return invalid("Invalid request. The number of bytes uploaded is required to be equal or greater than 262144, " +
			"except for the final request.")
	}
	if from > len(u.data) {
		return invalid("Invalid request. Expected offset %d", len(u.data))
	}
	if to >= len(u.data) {
		u.data = append(u.data, body[len(u.data)-from:]...)
	}
	return nil
}

// incomplete reports how much has arrived. The client asks for 200 instead of 308, which elsewhere is a redirect.
func (u *session) incomplete(c *call) *answer {
	a := &answer{status: http.StatusPermanentRedirect, header: http.Header{}}
	if c.Header.Get("X-Guploader-No-308") == "yes" {
		a.status = http.StatusOK
		a.header.Set("X-Http-Status-Code-Override", "308")
	}
	if len(u.data) > 0 {
		a.header.Set("Range", fmt.Sprintf("bytes=0-%d", len(u.data)-1))
	}
	return a
}
