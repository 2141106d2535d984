// Package fakegcs implements the JSON API of Google Cloud Storage in memory, and from its XML API the download of an
// object, as far as cloud.google.com/go/storage needs them. It is strict: it refuses what it does not know.
//
// Comments name the authoritative page of https://cloud.google.com/storage/docs.
package fakegcs

import (
	"cmp"
	"crypto/md5" //nolint:gosec // what the store tells of its objects
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is the store. Set its fields before its first request.
type Server struct {
	// Now is its clock; nil is this machine's.
	Now func() time.Time
	// PageSize is the maximum number of objects on a page of a listing; 0 is 1000.
	PageSize int
	// NoMove makes it refuse objects.move with this status, like stores without it.
	NoMove int
	// RewriteBytes is how much one rewrite request copies; 0 is all.
	RewriteBytes int64
	// Unconditional lists the methods whose conditions it ignores, as emulators do.
	Unconditional []string
	// Retention is how long soft delete keeps what is removed, as shown by buckets.
	Retention time.Duration
	// Changed is called with the content of a bucket, by name, after each request that may have changed it, before the
	// next request.
	Changed func(bucket string, objects map[string]string)

	mu         sync.Mutex
	buckets    map[string]map[string]*object
	sessions   map[string]*session
	rewrites   map[string]int64 // bytes copied, by token
	generation int64
	log        []Request
}

type object struct {
	bucket, name          string
	data                  []byte
	generation            int64
	contentType, encoding string
	kmsKey                string
	created               time.Time
}

// Request is a request that was answered.
type Request struct {
	Method string
	// Verb is the API's: list, get, media, insert, delete, rewrite, move; start, chunk and cancel of a resumable upload.
	Verb   string
	Object string // bucket/name, and bucket/prefix of a listing
	Range  string // the range requested, or sent
	Status int
	Bytes  int64 // of the answer's body
	// Project is the project that pays.
	Project string
}

// New returns a store with empty buckets.
func New(buckets ...string) *Server {
	// Generations look like microseconds.
	s := &Server{buckets: map[string]map[string]*object{}, sessions: map[string]*session{},
		rewrites: map[string]int64{}, generation: 1.6e15}
	for _, name := range buckets {
		s.buckets[name] = map[string]*object{}
	}
	return s
}

// Log returns the requests answered so far.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Unfinished returns how many resumable uploads are neither finished nor cancelled.
func (s *Server) Unfinished() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.sessions {
		if u.done == nil && !u.ended {
			n++
		}
	}
	return n
}

// End ends all resumable uploads, as the service does after a week.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.sessions {
		u.ended = true
	}
}

// Put writes an object whose Content-Encoding is encoding, and returns its generation.
func (s *Server) Put(bucket, name, encoding string, data []byte) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(&object{bucket: bucket, name: name, data: data, encoding: encoding,
		contentType: "application/octet-stream"}).generation
}

// Get returns the content of an object, and the key that encrypts it.
func (s *Server) Get(bucket, name string) (data []byte, kmsKey string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.buckets[bucket][name]
	if !ok {
		return nil, "", false
	}
	return o.data, o.kmsKey, true
}

// Names returns the names of the objects in a bucket, in order.
func (s *Server) Names(bucket string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.buckets[bucket]))
}

// All returns the content of a bucket, by name.
func (s *Server) All(bucket string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all(bucket)
}

func (s *Server) all(bucket string) map[string]string {
	all := map[string]string{}
	for name, o := range s.buckets[bucket] {
		all[name] = string(o.data)
	}
	return all
}

// put stores an object under a new generation. s is locked.
func (s *Server) put(o *object) *object {
	s.generation++
	o.generation, o.created = s.generation, s.now()
	s.buckets[o.bucket][o.name] = o
	return o
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	// unsized means that there is no Content-Length.
	unsized bool
}

// call is a request that is being answered.
type call struct {
	*http.Request
	query url.Values
	log   Request
}

// refusal is an error that the store returns.
type refusal struct {
	status          int
	reason, message string
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "invalid", fmt.Sprintf(format, args...)}
}

func noObject(bucket, name string) *refusal {
	return &refusal{http.StatusNotFound, "notFound", "No such object: " + bucket + "/" + name}
}

var (
	noBucket = &refusal{http.StatusNotFound, "notFound", "The specified bucket does not exist."}
	notMet   = &refusal{http.StatusPreconditionFailed, "conditionNotMet",
		"At least one of the pre-conditions you specified did not hold."}
	unsatisfied = &refusal{http.StatusRequestedRangeNotSatisfiable, "requestedRangeNotSatisfiable",
		"Request range not satisfiable"}
)

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Read the whole body before anything takes effect: a broken request has no effect.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c := &call{Request: r, query: r.URL.Query()}
	if slices.Contains(s.Unconditional, r.Method) {
		c.query.Del("ifGenerationMatch")
	}
	c.log = Request{Method: r.Method, Project: cmp.Or(c.query.Get("userProject"), r.Header.Get("X-Goog-User-Project"))}
	s.mu.Lock()
	a, err := s.route(c, body)
	if bucket, _, _ := strings.Cut(c.log.Object, "/"); s.Changed != nil && r.Method != http.MethodGet &&
		r.Method != http.MethodHead {
		s.Changed(bucket, s.all(bucket))
	}
	s.mu.Unlock()
	var refused *refusal
	if errors.As(err, &refused) {
		a = refuse(r, refused)
	}
	c.log.Status = a.status
	if r.Method != http.MethodHead {
		c.log.Bytes = int64(len(a.body))
	}
	s.mu.Lock()
	s.log = append(s.log, c.log)
	s.mu.Unlock()
	maps.Copy(w.Header(), a.header)
	if !a.unsized && a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if a.unsized { // else net/http sets the length of short answers
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = w.Write(a.body)
}

// Refuse answers with an error, as the store does with a status.
func Refuse(w http.ResponseWriter, r *http.Request, status int) {
	reason, message := "backendError", "We encountered an internal error. Please try again."
	switch status {
	case http.StatusUnauthorized:
		reason, message = "authError", "Invalid Credentials"
	case http.StatusForbidden:
		reason, message = "forbidden", "someone@example.com does not have storage.objects.get access to the Google Cloud "+
			"Storage object. Permission 'storage.objects.get' denied on resource (or it may not exist)."
	case http.StatusGone:
		reason, message = "gone", "The requested upload session is no longer available."
	case http.StatusTooManyRequests:
		reason, message = "rateLimitExceeded",
			"The object exceeded the rate limit for object mutation operations (create, update, and delete). Please reduce "+
				"your request rate."
	}
	a := refuse(r, &refusal{status, reason, message})
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// refuse returns the answer for an error: json_api/v1/status-codes, and xml-api/reference-status for paths outside the
// JSON API.
func refuse(r *http.Request, e *refusal) *answer {
	if strings.HasPrefix(r.URL.Path, "/storage/v1/") || strings.HasPrefix(r.URL.Path, "/upload/") {
		type item struct {
			Message string `json:"message"`
			Domain  string `json:"domain"`
			Reason  string `json:"reason"`
		}
		return reply(e.status, map[string]any{"error": map[string]any{
			"code": e.status, "message": e.message, "errors": []item{{e.message, "global", e.reason}},
		}})
	}
	code, message := "InternalError", "We encountered an internal error. Please try again."
	switch {
	case e == noBucket:
		code, message = "NoSuchBucket", "The specified bucket does not exist."
	case e.status == http.StatusNotFound:
		code, message = "NoSuchKey", "The specified key does not exist."
	case e.status == http.StatusForbidden:
		code, message = "AccessDenied", "Access denied."
	case e.status == http.StatusUnauthorized:
		code, message = "AuthenticationRequired", "Authentication required."
	case e.status == http.StatusRequestedRangeNotSatisfiable:
		code, message = "InvalidRange", "The requested range cannot be satisfied."
	case e.status == http.StatusPreconditionFailed:
		code, message = "PreconditionFailed", e.message
	case e.status == http.StatusTooManyRequests:
		code, message = "SlowDown", "Please reduce your request rate."
	case e.status < 500:
		code, message = "InvalidArgument", e.message
	}
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
		Details string
	}{Code: code, Message: message, Details: e.message})
	if err != nil {
		panic(err)
	}
	return &answer{e.status, http.Header{"Content-Type": {"application/xml; charset=UTF-8"}},
		append([]byte(xml.Header), body...), false}
}

func reply(status int, v any) *answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &answer{status, http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, body, false}
}

// known returns an error for parameters that neither the verb has nor all verbs.
func (c *call) known(names ...string) error {
	for name, values := range c.query {
		if !slices.Contains(append(names[:len(names):len(names)], "alt", "prettyPrint", "userProject"), name) ||
			len(values) != 1 {
			return invalid("%s: parameter %s", c.log.Verb, name)
		}
	}
	return nil
}

// route dispatches a request. s is locked.
func (s *Server) route(c *call, body []byte) (*answer, error) {
	path := c.URL.EscapedPath() // names are escaped, including slashes
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		var err error
		if parts[i], err = url.PathUnescape(part); err != nil {
			return nil, invalid("path %s", path)
		}
	}
	api, upload := strings.HasPrefix(path, "/storage/v1/b/"), strings.HasPrefix(path, "/upload/storage/v1/b/")
	if !api && !upload {
		bucket, name, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		name, err := url.PathUnescape(name)
		if !ok || err != nil || c.Method != http.MethodGet && c.Method != http.MethodHead {
			return nil, invalid("%s %s", c.Method, path)
		}
		return s.media(c, bucket, name)
	}
	if upload {
		parts = parts[1:]
	}
	if len(parts) == 4 && api && c.Method == http.MethodGet {
		return s.about(c, parts[3])
	}
	if len(parts) < 5 || parts[4] != "o" {
		return nil, invalid("path %s", path)
	}
	bucket := parts[3]
	switch rest := parts[5:]; {
	case upload && len(rest) == 0:
		return s.upload(c, bucket, body)
	case upload:
	case len(rest) == 0 && c.Method == http.MethodGet:
		return s.list(c, bucket)
	case len(rest) == 1 && c.Method == http.MethodGet && c.query.Get("alt") == "media":
		return s.media(c, bucket, rest[0])
	case len(rest) == 1 && c.Method == http.MethodGet:
		return s.get(c, bucket, rest[0])
	case len(rest) == 1 && c.Method == http.MethodDelete:
		return s.remove(c, bucket, rest[0])
	case len(rest) == 4 && c.Method == http.MethodPost && rest[1] == "moveTo" && rest[2] == "o":
		return s.move(c, bucket, rest[0], rest[3])
	case len(rest) == 6 && c.Method == http.MethodPost && rest[1] == "rewriteTo" && rest[2] == "b" && rest[4] == "o":
		return s.rewrite(c, bucket, rest[0], rest[3], rest[5])
	}
	return nil, invalid("%s %s", c.Method, path)
}

// about: json_api/v1/buckets/get.
func (s *Server) about(c *call, bucket string) (*answer, error) {
	c.log.Verb, c.log.Object = "bucket", bucket
	if err := c.known("projection"); err != nil {
		return nil, err
	}
	if s.buckets[bucket] == nil {
		return nil, noBucket
	}
	return reply(http.StatusOK, map[string]any{"kind": "storage#bucket", "name": bucket,
		"softDeletePolicy": map[string]any{"retentionDurationSeconds": strconv.Itoa(int(s.Retention.Seconds()))}}), nil
}

// check tests a precondition: docs/request-preconditions. o is nil if there is no object; 0 is the generation of no
// object.
func check(query url.Values, name string, o *object) error {
	want := query.Get(name)
	if want == "" {
		return nil
	}
	g, err := strconv.ParseInt(want, 10, 64)
	if err != nil {
		return invalid("%s=%s", name, want)
	}
	there := int64(0)
	if o != nil {
		there = o.generation
	}
	if there != g {
		return notMet
	}
	return nil
}

// find returns the object that a request names, of the generation it names.
func (s *Server) find(c *call, generation, bucket, name string) (*object, error) {
	objects, ok := s.buckets[bucket]
	if !ok {
		return nil, noBucket
	}
	o, ok := objects[name]
	if !ok {
		return nil, noObject(bucket, name)
	}
	if want := c.query.Get(generation); want != "" && want != strconv.FormatInt(o.generation, 10) {
		return nil, noObject(bucket, name)
	}
	return o, nil
}

// get: json_api/v1/objects/get.
func (s *Server) get(c *call, bucket, name string) (*answer, error) {
	c.log.Verb, c.log.Object = "get", bucket+"/"+name
	if err := c.known("projection", "generation", "ifGenerationMatch"); err != nil {
		return nil, err
	}
	o, err := s.find(c, "generation", bucket, name)
	if err != nil {
		return nil, err
	}
	if err := check(c.query, "ifGenerationMatch", o); err != nil {
		return nil, err
	}
	return reply(http.StatusOK, o.resource()), nil
}

// remove: json_api/v1/objects/delete. For a missing object with a condition it returns 404 instead of 412, which is
// harder for clients.
func (s *Server) remove(c *call, bucket, name string) (*answer, error) {
	c.log.Verb, c.log.Object = "delete", bucket+"/"+name
	if err := c.known("generation", "ifGenerationMatch"); err != nil {
		return nil, err
	}
	o, err := s.find(c, "generation", bucket, name)
	if errors.Is(err, noBucket) {
		return nil, noObject(bucket, name) // googleapis/nodejs-storage issue 1183
	}
	if err != nil {
		return nil, err
	}
	if err := check(c.query, "ifGenerationMatch", o); err != nil {
		return nil, err
	}
	delete(s.buckets[bucket], name)
	return &answer{status: http.StatusNoContent}, nil
}

// list: json_api/v1/objects/list. Names are in byte order.
func (s *Server) list(c *call, bucket string) (*answer, error) {
	q := c.query
	c.log.Verb, c.log.Object = "list", bucket+"/"+q.Get("prefix")
	if err := c.known("projection", "delimiter", "prefix", "startOffset", "endOffset", "versions",
		"includeTrailingDelimiter", "matchGlob",
		"includeFoldersAsPrefixes", "pageToken", "fields", "maxResults"); err != nil {
		return nil, err
	}
	for _, name := range []string{"endOffset", "matchGlob", "delimiter"} {
		if q.Get(name) != "" {
			return nil, invalid("%s is not made here", name)
		}
	}
	for _, name := range []string{"versions", "includeTrailingDelimiter", "includeFoldersAsPrefixes"} {
		if q.Get(name) == "true" {
			return nil, invalid("%s is not made here", name)
		}
	}
	objects, ok := s.buckets[bucket]
	if !ok {
		return nil, noBucket
	}
	limit := cmp.Or(s.PageSize, 1000)
	if text := q.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, invalid("maxResults=%s", text)
		}
		limit = min(limit, n)
	}
	after := ""
	if token := q.Get("pageToken"); token != "" {
		data, err := base64.URLEncoding.DecodeString(token)
		if err != nil {
			return nil, invalid("Invalid argument: pageToken")
		}
		after = string(data)
	}
	fields, err := fieldsOf(q.Get("fields"))
	if err != nil {
		return nil, err
	}
	page := map[string]any{"kind": "storage#objects"}
	var items []map[string]any
	last := ""
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if !strings.HasPrefix(name, q.Get("prefix")) || name < q.Get("startOffset") || name <= after {
			continue
		}
		if len(items) == limit {
			page["nextPageToken"] = base64.URLEncoding.EncodeToString([]byte(last))
			break
		}
		items, last = append(items, selected(objects[name].resource(), fields)), name
	}
	if len(items) > 0 {
		page["items"] = items
	}
	return reply(http.StatusOK, page), nil
}

// fieldsOf returns the fields of an item in a partial response, nil for all: json_api, "Partial response".
func fieldsOf(selection string) ([]string, error) {
	if selection == "" {
		return nil, nil
	}
	_, rest, ok := strings.Cut(selection, "items(")
	inner, end, closed := strings.Cut(rest, ")")
	if !ok || !closed || end != "" || !strings.Contains(selection, "nextPageToken,") {
		return nil, invalid("Invalid field selection %s", selection)
	}
	return strings.Split(inner, ","), nil
}

func selected(resource map[string]any, fields []string) map[string]any {
	if fields != nil {
		maps.DeleteFunc(resource, func(name string, _ any) bool { return !slices.Contains(fields, name) })
	}
	return resource
}

// resource: json_api/v1/objects#resource. Numbers of 64 bits are strings.
func (o *object) resource() map[string]any {
	stamp := o.created.UTC().Format("2006-01-02T15:04:05.000Z")
	digest := md5.Sum(o.data) //nolint:gosec // what the store tells
	resource := map[string]any{
		"kind": "storage#object", "id": fmt.Sprintf("%s/%s/%d", o.bucket, o.name, o.generation),
		"name": o.name, "bucket": o.bucket,
		"generation": strconv.FormatInt(o.generation, 10), "metageneration": "1",
		"contentType": o.contentType, "storageClass": "STANDARD",
		"size": strconv.Itoa(len(o.data)), "md5Hash": base64.StdEncoding.EncodeToString(digest[:]), "crc32c": crc(o.data),
		"etag": "CAE=", "timeCreated": stamp, "updated": stamp,
	}
	if o.encoding != "" {
		resource["contentEncoding"] = o.encoding
	}
	if o.kmsKey != "" {
		resource["kmsKeyName"] = o.kmsKey + "/cryptoKeyVersions/1"
	}
	return resource
}

// crc is the CRC32C of data, big-endian in base64: docs/data-validation.
func crc(data []byte) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	return base64.StdEncoding.EncodeToString(sum)
}

// move: json_api/v1/objects/move. It is atomic, and gives the object a new generation.
func (s *Server) move(c *call, bucket, from, to string) (*answer, error) {
	c.log.Verb, c.log.Object = "move", bucket+"/"+from
	if s.NoMove == http.StatusNotFound {
		return &answer{status: http.StatusNotFound, body: []byte("404 page not found\n")}, nil
	}
	if s.NoMove != 0 {
		return nil, &refusal{s.NoMove, "invalid", "not supported"}
	}
	if err := c.known("ifGenerationMatch", "ifSourceGenerationMatch"); err != nil {
		return nil, err
	}
	if from == to {
		return nil, invalid("The source and destination object names must be different.")
	}
	source, err := s.find(c, "", bucket, from)
	if err != nil {
		return nil, err
	}
	if err := check(c.query, "ifSourceGenerationMatch", source); err != nil {
		return nil, err
	}
	if err := check(c.query, "ifGenerationMatch", s.buckets[bucket][to]); err != nil {
		return nil, err
	}
	moved := *source
	moved.name = to
	delete(s.buckets[bucket], from)
	return reply(http.StatusOK, s.put(&moved).resource()), nil
}

// rewrite: json_api/v1/objects/rewrite. While it is not done, the answer has the token with which to continue.
func (s *Server) rewrite(c *call, bucket, from, toBucket, to string) (*answer, error) {
	c.log.Verb, c.log.Object = "rewrite", bucket+"/"+from
	if err := c.known("projection", "rewriteToken", "sourceGeneration", "ifGenerationMatch", "ifSourceGenerationMatch",
		"destinationKmsKeyName"); err != nil {
		return nil, err
	}
	source, err := s.find(c, "sourceGeneration", bucket, from)
	if err != nil {
		return nil, err
	}
	if _, ok := s.buckets[toBucket]; !ok {
		return nil, noBucket
	}
	if err := check(c.query, "ifSourceGenerationMatch", source); err != nil {
		return nil, err
	}
	if err := check(c.query, "ifGenerationMatch", s.buckets[toBucket][to]); err != nil {
		return nil, err
	}
	size, token := int64(len(source.data)), c.query.Get("rewriteToken")
	copied := s.rewrites[token]
	if token != "" && copied == 0 {
		return nil, invalid("Invalid rewrite token")
	}
	if copied += cmp.Or(s.RewriteBytes, size); copied < size {
		token := fmt.Sprintf("rewrite-%d-%d", source.generation, copied)
		s.rewrites[token] = copied
		return reply(http.StatusOK, map[string]any{"kind": "storage#rewriteResponse", "done": false,
			"totalBytesRewritten": strconv.FormatInt(copied, 10),
			"objectSize":          strconv.FormatInt(size, 10), "rewriteToken": token}), nil
	}
	made := *source
	made.bucket, made.name, made.kmsKey = toBucket, to, c.query.Get("destinationKmsKeyName")
	return reply(http.StatusOK, map[string]any{"kind": "storage#rewriteResponse", "done": true,
		"totalBytesRewritten": strconv.FormatInt(size, 10),
		"objectSize":          strconv.FormatInt(size, 10), "resource": s.put(&made).resource()}), nil
}
