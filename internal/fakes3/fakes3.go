// Package fakes3 is an object store in memory with the API of S3, for tests. It is strict: what it does not know is
// NotImplemented, signatures must be right, and it behaves as the page of each operation in the "Amazon S3 API
// Reference" says. The path names the bucket.
package fakes3

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup/internal/httpfault"
)

// The credentials that requests are signed with.
const (
	AccessKey = "AKIDEXAMPLE"
	SecretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// Server is an object store. Set its fields before the first request.
type Server struct {
	Region   string           // of all buckets
	Now      func() time.Time // its clock; nil is this machine's
	PageSize int              // of listings; 0 is 1,000
	MinPart  int64            // minimum bytes of each part of an upload except the last; 0 is 5 MiB
	MaxCopy  int64            // maximum bytes that one request copies; 0 is 5 GiB
	Public   bool             // allow unsigned requests
	// CopyConditions enforces the conditions of copies, which many stores ignore.
	CopyConditions bool
	// Unconditional lists the methods whose conditions it ignores, as many stores do.
	Unconditional []string
	// Changed is called with the content of a bucket, by key, after each request that may have changed it, before the next
	// request.
	Changed func(bucket string, objects map[string]string)
	// Fault decides what goes wrong with each request. If it is nil, nothing does.
	Fault func(r *http.Request, n int) httpfault.Fault

	mu      sync.Mutex
	n       int
	buckets map[string]map[string]object
	uploads map[string]*upload
	log     []Request
}

// Request is a request with its answer. Key is "" for a request to a bucket.
type Request struct {
	Method, Bucket, Key, Query, Range string
	Header                            http.Header
	Status                            int // 0 if the connection was closed instead
	Bytes                             int // of the answer's body, as sent
}

type object struct {
	data     []byte
	header   http.Header // stored with the object
	etag     string      // with quotes
	modified time.Time
}

type upload struct {
	bucket, key, id string
	begun           time.Time
	header          http.Header
	parts           map[int]object
}

// New returns a store with empty buckets.
func New(buckets ...string) *Server {
	s := &Server{Region: "us-east-1", buckets: map[string]map[string]object{}, uploads: map[string]*upload{}}
	for _, name := range buckets {
		s.buckets[name] = map[string]object{}
	}
	return s
}

// Log returns all requests so far.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Put stores an object with headers.
func (s *Server) Put(bucket, key, content string, header http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buckets[bucket][key] = object{[]byte(content), header, etagOf([]byte(content)), s.now()}
}

// Get returns the content of an object, and the headers stored with it.
func (s *Server) Get(bucket, key string) (content string, header http.Header, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.buckets[bucket][key]
	return string(o.data), o.header, ok
}

// Names returns the names of the objects in a bucket, in order.
func (s *Server) Names(bucket string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.buckets[bucket]))
}

// All returns the content of a bucket, by key.
func (s *Server) All(bucket string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all(bucket)
}

func (s *Server) all(bucket string) map[string]string {
	all := map[string]string{}
	for key, o := range s.buckets[bucket] {
		all[key] = string(o.data)
	}
	return all
}

// Uploads returns the keys of unfinished uploads.
func (s *Server) Uploads() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.uploads {
		keys = append(keys, u.key)
	}
	slices.Sort(keys)
	return keys
}

func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now().UTC().Truncate(time.Second) // like its timestamps
	}
	return s.Now().UTC().Truncate(time.Second)
}

// counted records the status and the size of an answer.
type counted struct {
	http.ResponseWriter
	status, bytes int
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.bytes += n
	return n, err
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &counted{ResponseWriter: w}
	request := Request{Method: r.Method, Query: r.URL.RawQuery, Range: r.Header.Get("Range"), Header: r.Header.Clone()}
	request.Bucket, request.Key = target(r)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		request.Status, request.Bytes = answer.status, answer.bytes
		s.log = append(s.log, request)
	}()
	faults := httpfault.Faults{Handler: http.HandlerFunc(s.serve), Refuse: s.refuse}
	faults.Decide = func(r *http.Request, _ int) httpfault.Fault {
		if s.Fault == nil {
			return httpfault.Fault{}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n++
		return s.Fault(r, s.n)
	}
	faults.ServeHTTP(answer, r)
}

// target returns the bucket and the key that a request names.
func target(r *http.Request) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return bucket, key
}

// failure is an error as S3 sends it ("Error responses").
type failure struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	Region  string `xml:",omitempty"`
	Request string `xml:"RequestId"`
	status  int
}

func (f *failure) Error() string { return f.Code }

func fail(status int, code, format string, args ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, args...), Request: "4442587FB7D0A2F9", status: status}
}

// refuse answers with an error of the given status.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int) {
	known := map[int]*failure{
		200: fail(200, "InternalError", "We encountered an internal error. Please try again."), // after the headers
		403: fail(403, "AccessDenied", "Access Denied"),
		404: fail(404, "NoSuchUpload", "The specified multipart upload does not exist."), // if some stores list none
		409: fail(409, "ConditionalRequestConflict",
			"The conditional request cannot succeed due to a conflicting operation against this resource."),
		429: fail(429, "TooManyRequests", "Please reduce your request rate."),
		500: fail(500, "InternalError", "We encountered an internal error. Please try again."),
		501: fail(501, "NotImplemented", "A header you provided implies functionality that is not implemented."),
		503: fail(503, "SlowDown", "Please reduce your request rate."),
	}
	f, ok := known[status]
	if !ok {
		f = fail(status, "Unknown", "%s", http.StatusText(status))
	}
	s.fail(w, r, f)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, f *failure) {
	w.Header().Set("X-Amz-Bucket-Region", s.Region)
	if r.Method == http.MethodHead {
		w.WriteHeader(f.status)
		return
	}
	writeXML(w, f.status, f)
}

func writeXML(w http.ResponseWriter, status int, v any) {
	body, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header+string(body))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if r.ContentLength >= 0 && int64(len(body)) != r.ContentLength {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", s.now().Format(http.TimeFormat))
	if f := s.answer(w, r, body); f != nil {
		s.fail(w, r, f)
	}
	if name, _ := target(r); s.Changed != nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.Changed(name, s.all(name))
	}
}

// answer answers a request, or returns why it cannot.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte) *failure {
	name, key := target(r)
	objects, ok := s.buckets[name]
	if signed, f := s.verify(r, body); f != nil {
		return f
	} else if !ok {
		return fail(404, "NoSuchBucket", "The specified bucket does not exist")
	} else if !signed && !s.Public {
		return fail(403, "AccessDenied", "Access Denied")
	}
	query := r.URL.Query()
	for parameter := range query {
		if strings.HasPrefix(strings.ToLower(parameter), "x-amz-") {
			delete(query, parameter)
		}
	}
	delete(query, "x-id") // the operation, for logs
	call := r.Method
	if key != "" {
		call += " key"
	}
	for _, parameter := range slices.Sorted(maps.Keys(query)) {
		call += " " + parameter
	}
	b := bucket{s, name, objects}
	switch call {
	case "HEAD":
		w.Header().Set("X-Amz-Bucket-Region", s.Region)
		return nil
	case "GET key", "HEAD key":
		return b.get(w, r, key)
	case "PUT key":
		if r.Header.Get("X-Amz-Copy-Source") != "" {
			return b.copy(w, r, key)
		}
		return b.put(w, r, key, body)
	case "DELETE key":
		return b.remove(w, r, key)
	case "POST key uploads":
		return b.begin(w, r, key)
	case "PUT key partNumber uploadId":
		return b.part(w, r, key, body)
	case "POST key uploadId":
		return b.complete(w, r, key, body)
	case "DELETE key uploadId":
		return b.abort(w, r, key)
	}
	if r.Method == http.MethodGet && key == "" && query.Get("list-type") == "2" {
		return b.list(w, query)
	}
	if r.Method == http.MethodGet && key == "" && query.Has("uploads") {
		return b.listUploads(w, query)
	}
	return fail(501, "NotImplemented", "%s", call)
}

type bucket struct {
	*Server
	name    string
	objects map[string]object
}

var errNoKey = fail(404, "NoSuchKey", "The specified key does not exist.")

var errPrecondition = fail(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")

func etagOf(data []byte) string {
	sum := md5.Sum(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// check checks the conditions of a write ("How to prevent object overwrites with conditional writes"): If-Match without
// an object is NoSuchKey.
func (b bucket) check(r *http.Request, key string) *failure {
	if slices.Contains(b.Unconditional, r.Method) {
		return nil
	}
	o, ok := b.objects[key]
	if none := r.Header.Get("If-None-Match"); none != "" {
		if none != "*" {
			return fail(501, "NotImplemented", "If-None-Match: %s", none)
		}
		if ok {
			return errPrecondition
		}
	}
	if match := r.Header.Get("If-Match"); match != "" {
		if !ok {
			return errNoKey
		}
		if match != "*" && match != o.etag {
			return errPrecondition
		}
	}
	return nil
}

// kept returns the headers that are stored with an object.
func kept(r *http.Request) http.Header {
	h := http.Header{}
	for key, values := range r.Header {
		switch {
		case strings.HasPrefix(key, "X-Amz-Meta-"), strings.HasPrefix(key, "X-Amz-Server-Side-Encryption"),
			slices.Contains([]string{"Cache-Control", "Content-Disposition", "Content-Encoding",
				"Content-Language", "Content-Type"}, key):
			h[key] = values
		}
	}
	return h
}

func (b bucket) put(w http.ResponseWriter, r *http.Request, key string, body []byte) *failure {
	if f := b.check(r, key); f != nil {
		return f
	}
	o := object{body, kept(r), etagOf(body), b.now()}
	b.objects[key] = o
	w.Header().Set("ETag", o.etag) // PutObject returns no Last-Modified
	return nil
}

// span parses a Range of one span, from-to or from-.
func span(value string, size int) (from, to int, ok bool) {
	first, last, found := strings.Cut(strings.TrimPrefix(value, "bytes="), "-")
	from, err := strconv.Atoi(first)
	if err != nil || !found {
		return 0, 0, false
	}
	if last == "" {
		return from, size, true
	}
	to, err = strconv.Atoi(last)
	return from, min(to+1, size), err == nil && to >= from
}

func (b bucket) get(w http.ResponseWriter, r *http.Request, key string) *failure {
	o, ok := b.objects[key]
	if !ok {
		return errNoKey
	}
	if match := r.Header.Get("If-Match"); match != "" && match != o.etag {
		return errPrecondition
	}
	from, to, status := 0, len(o.data), http.StatusOK
	if value := r.Header.Get("Range"); value != "" {
		if first, last, ok := span(value, len(o.data)); ok { // an invalid one is ignored (RFC 9110, section 14.2)
			if first >= len(o.data) {
				return fail(416, "InvalidRange", "The requested range is not satisfiable")
			}
			from, to, status = first, last, http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(o.data)))
		}
	}
	maps.Copy(w.Header(), o.header)
	w.Header().Set("ETag", o.etag)
	w.Header().Set("Last-Modified", o.modified.Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(to-from))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(o.data[from:to])
	}
	return nil
}

// remove removes an object. Without a condition, a missing object is not an error ("How to perform conditional
// deletes").
func (b bucket) remove(w http.ResponseWriter, r *http.Request, key string) *failure {
	if f := b.check(r, key); f != nil {
		return f
	}
	delete(b.objects, key)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// source returns the object that a request copies.
func (b bucket) source(r *http.Request) (object, *failure) {
	path, err := url.PathUnescape(r.Header.Get("X-Amz-Copy-Source"))
	if err != nil {
		return object{}, fail(400, "InvalidArgument", "%v", err)
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	objects, ok := b.buckets[name]
	if !ok {
		return object{}, fail(404, "NoSuchBucket", "The specified bucket does not exist")
	}
	o, ok := objects[key]
	if !ok {
		return object{}, errNoKey
	}
	if match := r.Header.Get("X-Amz-Copy-Source-If-Match"); b.CopyConditions && match != "" && match != o.etag {
		return object{}, errPrecondition
	}
	return o, nil
}

type copied struct {
	ETag         string
	LastModified string
}

func (b bucket) copy(w http.ResponseWriter, r *http.Request, key string) *failure {
	o, f := b.source(r)
	if f != nil {
		return f
	}
	if int64(len(o.data)) > cmp.Or(b.MaxCopy, 5<<30) {
		return fail(400, "InvalidRequest", "The specified copy source is larger than the maximum allowable size for a copy "+
			"source: %d", b.MaxCopy)
	}
	if r.Header.Get("X-Amz-Copy-Source") == b.name+"/"+key {
		return fail(400, "InvalidRequest", "This copy request is illegal because it is trying to copy an object to itself")
	}
	if b.CopyConditions {
		if f := b.check(r, key); f != nil {
			return f
		}
	}
	header := o.header.Clone()
	for k, v := range kept(r) {
		if strings.HasPrefix(k, "X-Amz-Server-Side-Encryption") {
			header[k] = v
		}
	}
	b.objects[key] = object{o.data, header, etagOf(o.data), b.now()}
	writeXML(w, http.StatusOK, struct {
		XMLName xml.Name `xml:"CopyObjectResult"`
		copied
	}{copied: copied{etagOf(o.data), stamp(b.now())}})
	return nil
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

func (b bucket) begin(w http.ResponseWriter, r *http.Request, key string) *failure {
	id := fmt.Sprintf("upload %d+/=", len(b.log)) // an id that must be escaped
	for b.uploads[id] != nil {
		id += "+"
	}
	b.uploads[id] = &upload{b.name, key, id, b.now(), kept(r), map[int]object{}}
	writeXML(w, http.StatusOK, struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: b.name, Key: key, UploadId: id})
	return nil
}

func (b bucket) upload(r *http.Request, key string) (*upload, *failure) {
	u, ok := b.uploads[r.URL.Query().Get("uploadId")]
	if !ok || u.bucket != b.name || u.key != key {
		return nil, fail(404, "NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the "+
			"upload may have been aborted or completed.")
	}
	return u, nil
}

func (b bucket) part(w http.ResponseWriter, r *http.Request, key string, body []byte) *failure {
	u, f := b.upload(r, key)
	if f != nil {
		return f
	}
	number, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
	if err != nil || number < 1 || number > 10000 {
		return fail(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")
	}
	if r.Header.Get("X-Amz-Copy-Source") == "" {
		u.parts[number] = object{data: body, etag: etagOf(body)}
		w.Header().Set("ETag", etagOf(body))
		return nil
	}
	o, f := b.source(r)
	if f != nil {
		return f
	}
	data := o.data
	if value := r.Header.Get("X-Amz-Copy-Source-Range"); value != "" {
		from, to, ok := span(value, len(o.data))
		if last := strings.Split(value, "-"); !ok || from >= to || last[len(last)-1] != strconv.Itoa(to-1) {
			return fail(400, "InvalidArgument", "Range specified is not valid for source object of size: %d", len(o.data))
		}
		data = data[from:to]
	}
	if int64(len(data)) > cmp.Or(b.MaxCopy, 5<<30) {
		return fail(400, "InvalidRequest", "The specified copy source is larger than the maximum allowable size for a copy "+
			"source: %d", b.MaxCopy)
	}
	u.parts[number] = object{data: data, etag: etagOf(data)}
	writeXML(w, http.StatusOK, struct {
		XMLName xml.Name `xml:"CopyPartResult"`
		copied
	}{copied: copied{etagOf(data), stamp(b.now())}})
	return nil
}

func (b bucket) complete(w http.ResponseWriter, r *http.Request, key string, body []byte) *failure {
	u, f := b.upload(r, key)
	if f != nil {
		return f
	}
	var list struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(body, &list); err != nil || len(list.Part) == 0 {
		return fail(400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our "+
			"published schema")
	}
	var data, sums bytes.Buffer
	for i, p := range list.Part {
		part, ok := u.parts[p.PartNumber]
		if !ok || strings.Trim(p.ETag, `"`) != strings.Trim(part.etag, `"`) {
			return fail(400, "InvalidPart", "One or more of the specified parts could not be found.")
		}
		if i > 0 && p.PartNumber <= list.Part[i-1].PartNumber {
			return fail(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
		}
		if i < len(list.Part)-1 && int64(len(part.data)) < cmp.Or(b.MinPart, 5<<20) {
			return fail(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
		}
		data.Write(part.data)
		sum := md5.Sum(part.data)
		sums.Write(sum[:])
	}
	if f := b.check(r, key); f != nil { // the upload remains, and must be aborted
		return f
	}
	etag := strings.TrimSuffix(etagOf(sums.Bytes()), `"`) + fmt.Sprintf(`-%d"`, len(list.Part))
	b.objects[key] = object{data.Bytes(), u.header, etag, b.now()}
	delete(b.uploads, u.id)
	writeXML(w, http.StatusOK, struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}{Bucket: b.name, Key: key, ETag: etag})
	return nil
}

func (b bucket) abort(w http.ResponseWriter, r *http.Request, key string) *failure {
	u, f := b.upload(r, key)
	if f != nil {
		return f
	}
	delete(b.uploads, u.id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// encode encodes a key as encoding-type says. Without url, XML 1.0 cannot represent all keys.
func encode(key string, query url.Values) string {
	if query.Get("encoding-type") == "url" {
		return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
	}
	return key
}

type contents struct {
	Key, LastModified, ETag string
	Size                    int
	StorageClass            string
}

type prefixes struct{ Prefix string }

// list implements ListObjectsV2.
func (b bucket) list(w http.ResponseWriter, query url.Values) *failure {
	for parameter := range query {
		if !slices.Contains([]string{"list-type", "prefix", "delimiter", "start-after", "continuation-token",
			"encoding-type", "max-keys"}, parameter) {
			return fail(501, "NotImplemented", "%s", parameter)
		}
	}
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		EncodingType          string `xml:",omitempty"`
		KeyCount              int
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []contents
		CommonPrefixes        []prefixes
	}
	page.Name, page.Prefix, page.EncodingType = b.name, encode(query.Get("prefix"), query), query.Get("encoding-type")
	after := query.Get("start-after")
	if token := query.Get("continuation-token"); token != "" {
		decoded, err := hex.DecodeString(token)
		if err != nil {
			return fail(400, "InvalidArgument", "The continuation token provided is incorrect")
		}
		after = string(decoded)
	}
	size := cmp.Or(b.PageSize, 1000)
	if n, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		size = min(size, n)
	}
	last := ""
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		rest, ok := strings.CutPrefix(key, query.Get("prefix"))
		if !ok || key <= after {
			continue
		}
		folder := ""
		if i := strings.Index(rest, query.Get("delimiter")); query.Has("delimiter") && i >= 0 {
			folder = query.Get("prefix") + rest[:i+1]
			if folder <= after {
				continue
			}
			if n := len(page.CommonPrefixes); n > 0 && page.CommonPrefixes[n-1].Prefix == encode(folder, query) {
				continue
			}
		}
		if page.KeyCount == size {
			page.IsTruncated, page.NextContinuationToken = true, hex.EncodeToString([]byte(last))
			break
		}
		page.KeyCount++
		last = cmp.Or(folder, key)
		if folder != "" {
			last = folder + "\xff" // all below it
			page.CommonPrefixes = append(page.CommonPrefixes, prefixes{encode(folder, query)})
			continue
		}
		o := b.objects[key]
		page.Contents = append(page.Contents, contents{encode(key, query), stamp(o.modified),
			o.etag, len(o.data), "STANDARD"})
	}
	writeXML(w, http.StatusOK, page)
	return nil
}

type listedUpload struct{ Key, UploadId, Initiated string }

// listUploads implements ListMultipartUploads.
func (b bucket) listUploads(w http.ResponseWriter, query url.Values) *failure {
	var page struct {
		XMLName                           xml.Name `xml:"ListMultipartUploadsResult"`
		Bucket                            string
		EncodingType                      string `xml:",omitempty"`
		IsTruncated                       bool
		NextKeyMarker, NextUploadIdMarker string
		Upload                            []listedUpload
	}
	page.Bucket, page.EncodingType = b.name, query.Get("encoding-type")
	found := slices.SortedFunc(maps.Values(b.uploads), func(x, y *upload) int {
		return cmp.Or(strings.Compare(x.key, y.key), strings.Compare(x.id, y.id))
	})
	key, id := query.Get("key-marker"), query.Get("upload-id-marker")
	for _, u := range found {
		if u.bucket != b.name || !strings.HasPrefix(u.key, query.Get("prefix")) || u.key < key ||
			u.key == key && (id == "" || u.id <= id) {
			continue
		}
		if len(page.Upload) == cmp.Or(b.PageSize, 1000) {
			page.IsTruncated = true
			break
		}
		page.NextKeyMarker, page.NextUploadIdMarker = encode(u.key, query), u.id
		page.Upload = append(page.Upload, listedUpload{encode(u.key, query), u.id, stamp(u.begun)})
	}
	writeXML(w, http.StatusOK, page)
	return nil
}
