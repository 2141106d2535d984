// Package gcs sends the requests of a bucket.Store to Google Cloud Storage through its JSON API.
package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	gcs "cloud.google.com/go/storage"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

const scheme = "gs://"

// Register makes a client with the options the store of all paths that begin with gs://.
func Register(o Options) { storage.Register(scheme, bucket.New(scheme, New(o))) }

// Options say how to reach Google Cloud Storage. The zero Options use the credentials of gcloud.
type Options struct {
	// Endpoint is the URL of another server, or another route to Google's; "": Google's, or STORAGE_EMULATOR_HOST.
	Endpoint string
	// Anonymous sends no credentials: for public buckets.
	Anonymous bool
	// UserProject is the project to bill, for buckets whose requester pays.
	UserProject string
	// KMSKey is the key that encrypts new objects: projects/P/locations/L/keyRings/R/cryptoKeys/K; "": the bucket's.
	KMSKey string
}

// pageSize is the maximum number of objects on a page of objects.list.
const pageSize = 1000

const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// Requests are sent up to maxTries times, with random pauses of up to 0.5, 1, 2 s and so on, in total 30 s on average.
var (
	maxTries = 8
	backoff  = gax.Backoff{Initial: 500 * time.Millisecond, Max: 20 * time.Second, Multiplier: 2}
)

type client struct {
	options Options

	mu   sync.Mutex
	gcs  *gcs.Client // nil before the first request
	http *http.Client

	// answered says that the store has answered a request.
	answered atomic.Bool
	// reached are the buckets that have answered, and therefore exist.
	reached sync.Map
}

// New returns a client. It looks for credentials when it is first used.
func New(options Options) bucket.Client { return &client{options: options} }

// connect finds credentials and makes the client.
func (c *client) connect(ctx context.Context) (*gcs.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gcs != nil {
		return c.gcs, nil
	}
	base := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	base.MaxIdleConnsPerHost = base.MaxIdleConns
	// Streams of HTTP/2 would share a connection and its speed.
	base.Protocols = new(http.Protocols)
	base.Protocols.SetHTTP1(true)
	base.ForceAttemptHTTP2 = false
	base.DialContext = (&net.Dialer{Timeout: bucket.DialTime}).DialContext
	headers := http.Header{"User-Agent": {"neardup"}}
	to := &httptransport.Options{BaseRoundTripper: watched{base, &c.answered}, DisableTelemetry: true, Headers: headers}
	if c.options.Anonymous || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		to.DisableAuthentication = true
	} else {
		found, err := credentials.DetectDefault(
			&credentials.DetectOptions{Scopes: []string{gcs.ScopeFullControl, cloudPlatform}})
		if err != nil {
			return nil, &noCredentials{err}
		}
		to.Credentials = found
	}
	hc, err := httptransport.NewClient(to)
	if err != nil {
		return nil, err
	}
	// Without authentication of its own, the client does not look for credentials again.
	options := []option.ClientOption{option.WithHTTPClient(hc), option.WithoutAuthentication(),
		gcs.WithDisabledClientMetrics()}
	if c.options.Endpoint != "" {
		options = append(options, option.WithEndpoint(strings.TrimSuffix(c.options.Endpoint, "/")+"/storage/v1/"))
	}
	made, err := gcs.NewClient(context.WithoutCancel(ctx), options...)
	if err != nil {
		return nil, err
	}
	c.gcs, c.http = made, hc
	return made, nil
}

// bucket returns the handle of a bucket for one request, whose tries it counts.
func (c *client) bucket(ctx context.Context, name string) (*gcs.BucketHandle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fs.ErrNotExist
	}
	made, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	var tries atomic.Int64
	again := func(err error) bool {
		// An upload also reports its successes, and does not count its tries.
		if err == nil {
			tries.Store(0)
		}
		most := maxTries
		if !c.answered.Load() {
			most = min(most, bucket.FirstTries)
		}
		if !gcs.ShouldRetry(err) || tries.Add(1) >= int64(most) {
			return false
		}
		storage.Retried(err)
		return true
	}
	b := made.Bucket(name).Retryer(gcs.WithPolicy(gcs.RetryAlways), gcs.WithBackoff(backoff), gcs.WithErrorFunc(again))
	if c.options.UserProject != "" {
		b = b.UserProject(c.options.UserProject)
	}
	return b, nil
}

// object returns the handle of an object for one request, like bucket.
func (c *client) object(ctx context.Context, at bucket.Key) (*gcs.ObjectHandle, error) {
	b, err := c.bucket(ctx, at.Bucket)
	if err != nil {
		return nil, err
	}
	return b.Object(at.Name), nil
}

// List requests a page. The page may contain the object named after itself, which List leaves out.
func (c *client) List(ctx context.Context, at bucket.Key, after, more string) (bucket.Page, error) {
	b, err := c.bucket(ctx, at.Bucket)
	if err != nil {
		return bucket.Page{}, c.failed(ctx, at, err)
	}
	query := &gcs.Query{Prefix: at.Name, StartOffset: after, Projection: gcs.ProjectionNoACL}
	if err := query.SetAttrSelection([]string{"Name", "Size", "Generation", "Updated"}); err != nil {
		return bucket.Page{}, err
	}
	var found []*gcs.ObjectAttrs
	next, err := iterator.NewPager(b.Objects(ctx, query), pageSize, more).NextPage(&found)
	if err != nil {
		return bucket.Page{}, c.failed(ctx, at, err)
	}
	c.reached.Store(at.Bucket, true)
	page := bucket.Page{More: next}
	for _, o := range found {
		if o.Name > after {
			page.Objects = append(page.Objects, info(o))
		}
	}
	return page, nil
}

func info(o *gcs.ObjectAttrs) storage.Info { return infoOf(o.Name, o.Size, o.Updated, o.Generation) }

// infoOf truncates times to seconds, because a download has only these: so all requests return the same Info.
func infoOf(name string, size int64, updated time.Time, generation int64) storage.Info {
	return storage.Info{Path: name, Size: size, Modified: updated.Truncate(time.Second),
		Version: strconv.FormatInt(generation, 10)}
}

// generation parses a version as a generation, and reports whether it is one. To the store, generation 0 means that
// there is no object.
func generation(version string) (int64, bool) {
	g, err := strconv.ParseInt(version, 10, 64)
	return g, err == nil && g > 0
}

// Stat requests the metadata.
func (c *client) Stat(ctx context.Context, at bucket.Key) (storage.Info, error) {
	o, err := c.object(ctx, at)
	if err != nil {
		return storage.Info{}, c.failed(ctx, at, err)
	}
	attrs, err := o.Attrs(ctx)
	if err != nil {
		return storage.Info{}, c.failed(ctx, at, err)
	}
	c.reached.Store(at.Bucket, true)
	return info(attrs), nil
}

// Read requests a range of a generation, or of the latest one. It downloads through the XML API: the JSON API cannot
// send objects as they are stored.
func (c *client) Read(
	ctx context.Context, at bucket.Key, version string, from, to int64,
) (io.ReadCloser, storage.Info, error) {
	o, err := c.object(ctx, at)
	if err != nil {
		return nil, storage.Info{}, c.failed(ctx, at, err)
	}
	if version != "" {
		g, ok := generation(version)
		if !ok {
			return nil, storage.Info{}, c.failed(ctx, at, storage.ErrPrecondition)
		}
		o = o.Generation(g)
	}
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{client: c, at: at, parent: parent, ctx: ctx, cancel: cancel}
	s.r, err = o.ReadCompressed(true).NewRangeReader(context.WithValue(ctx, callKey{}, &call{broke: cancel}),
		from, to-from)
	if err != nil {
		failed := s.failed(err)
		cancel(nil)
		switch {
		case status(err) == http.StatusRequestedRangeNotSatisfiable:
			failed = io.EOF
		case version != "" && errors.Is(failed, fs.ErrNotExist):
			failed = c.failed(parent, at, storage.ErrPrecondition)
		}
		return nil, storage.Info{}, failed
	}
	a := s.r.Attrs
	s.remaining = min(to, a.Size) - from
	switch {
	case a.Generation <= 0:
		err = errNoGeneration
	case a.Decompressed || s.r.Remain() < 0 || a.StartOffset != from:
		err = errors.New("the store sent bytes other than those requested")
	case s.remaining <= 0:
		err = io.EOF
	case s.r.Remain() < s.remaining:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		s.Close()
		if !errors.Is(err, io.EOF) {
			err = c.failed(parent, at, err)
		}
		return nil, storage.Info{}, err
	}
	return s, infoOf(at.Name, a.Size, a.LastModified, a.Generation), nil
}

// stream is a range of an object. It ends when the body of the answer breaks. The client's own reader would request the
// rest but, for an object with a Content-Encoding, leave out as many bytes as it has read.
type stream struct {
	client    *client
	at        bucket.Key
	parent    context.Context //nolint:containedctx // of the stream
	ctx       context.Context //nolint:containedctx // done when the body breaks
	cancel    context.CancelCauseFunc
	r         *gcs.Reader
	remaining int64
}

// failed returns the error for err or, if ctx has ended, for its cause, which says more.
func (s *stream) failed(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	return s.client.failed(s.parent, s.at, err)
}

func (s *stream) Read(p []byte) (int, error) {
	if s.remaining == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.remaining)])
	s.remaining -= int64(n)
	switch {
	case err == nil, s.remaining == 0:
		return n, nil
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return n, s.failed(err)
}

func (s *stream) Close() error {
	s.cancel(nil)
	return s.r.Close()
}

// Remove deletes an object. A missing object is ErrPrecondition only if a version is required.
func (c *client) Remove(ctx context.Context, at bucket.Key, cond storage.If) error {
	o, err := c.object(ctx, at)
	if err != nil {
		return c.failed(ctx, at, err)
	}
	if cond.Version != "" {
		g, ok := generation(cond.Version)
		if !ok {
			return c.failed(ctx, at, storage.ErrPrecondition)
		}
		o = o.If(gcs.Conditions{GenerationMatch: g})
	}
	if err := o.Delete(ctx); err != nil {
		err = c.failed(ctx, at, err)
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case cond.Version != "":
			return c.failed(ctx, at, storage.ErrPrecondition)
		}
	}
	return nil
}

// Retains returns how long the bucket's soft delete keeps removed objects.
func (c *client) Retains(ctx context.Context, name string) time.Duration {
	b, err := c.bucket(ctx, name)
	if err != nil {
		return 0
	}
	attrs, err := b.Attrs(ctx)
	if err != nil || attrs.SoftDeletePolicy == nil { // reading it takes a permission that nothing else needs
		return 0
	}
	return attrs.SoftDeletePolicy.RetentionDuration
}

// Move renames an object in one step. If the answer is lost, the next try finds no source.
func (c *client) Move(ctx context.Context, from, to bucket.Key) error {
	if from == to {
		_, err := c.Stat(ctx, from)
		return err
	}
	o, err := c.object(ctx, from)
	if err != nil {
		return c.failed(ctx, from, err)
	}
	if from.Bucket != to.Bucket {
		return c.copyAndRemove(ctx, from, to)
	}
	_, err = o.Move(ctx, gcs.MoveObjectDestination{Object: to.Name})
	switch {
	case err == nil:
		return nil
	case cannot(err) && ctx.Err() == nil:
		return c.copyAndRemove(ctx, from, to)
	}
	return c.failed(ctx, from, err)
}

// cannot reports whether a store says that it has no objects.move, by a status for that or by a 404 that does not
// mention an object.
func cannot(err error) bool {
	switch status(err) {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	case http.StatusNotFound:
		return !strings.Contains(err.Error(), "No such object")
	}
	return false
}

// copyAndRemove moves an object in two steps.
func (c *client) copyAndRemove(ctx context.Context, from, to bucket.Key) error {
	was, err := c.Stat(ctx, from)
	if err != nil {
		return err
	}
	g, _ := generation(was.Version)
	source, err := c.object(ctx, from)
	if err != nil {
		return c.failed(ctx, from, err)
	}
	target, err := c.object(ctx, to)
	if err != nil {
		return c.failed(ctx, to, err)
	}
	copier := target.CopierFrom(source.Generation(g))
	copier.DestinationKMSKeyName = c.options.KMSKey
	if _, err := copier.Run(ctx); err != nil {
		return c.failed(ctx, from, err)
	}
	err = c.Remove(ctx, from, storage.If{Version: was.Version})
	if errors.Is(err, storage.ErrPrecondition) {
		// Or the previous try deleted it.
		return fmt.Errorf("%s was replaced while it was moved; run again", from.Path(scheme))
	}
	return err
}
