// Package s3 sends requests to S3 and to compatible stores. A version is an ETag without its quotes, so two states with
// the same bytes may have the same version. Times are in whole seconds.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

const scheme = "s3://"

// Register makes a client with the options the store of all paths that begin with s3://.
func Register(o Options) { storage.Register(scheme, bucket.New(scheme, New(o))) }

// Options say where the store is and how to reach it. Empty fields take their values from the environment (AWS_PROFILE,
// AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_CA_BUNDLE, credentials) or from the files of a profile.
type Options struct {
	Endpoint      string // URL of a store that is not AWS
	Region        string // of all buckets; if no region is set, each bucket is asked for its own
	PathStyle     *bool  // the bucket is in the path instead of the host name; nil: if there is an endpoint
	Anonymous     bool   // requests are not signed
	RequesterPays bool   // the requester pays for each request
	KMSKey        string // encrypts new objects (SSE-KMS)
}

// Client is a bucket.Client. It looks for credentials when it is first used.
type Client struct {
	options Options
	payer   types.RequestPayer
	// answered says that the store has answered a request.
	answered atomic.Bool
	lock     chan bool // protects the fields below; a wait for it ends with the context
	base     *s3.Client
	buckets  map[string]*service
}

// service is the client for one bucket.
type service struct {
	*s3.Client
	there atomic.Bool // the bucket is known to exist
}

// New returns a client of the store.
func New(options Options) *Client {
	c := &Client{options: options, lock: make(chan bool, 1), buckets: map[string]*service{}}
	if options.RequesterPays {
		c.payer = types.RequestPayerRequester
	}
	return c
}

// load loads the configuration and makes a client.
func (c *Client) load(ctx context.Context) (*s3.Client, error) {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = t.MaxIdleConns
		t.DisableCompression = true // objects are read as they are stored
	}).WithReadTimeout(0).WithDialerOptions(func(d *net.Dialer) { d.Timeout = bucket.DialTime }) // see patience
	loaded, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport), config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, &configError{err}
	}
	client := s3.NewFromConfig(loaded, func(o *s3.Options) {
		if c.options.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.options.Endpoint)
		}
		if c.options.Region != "" {
			o.Region = c.options.Region
		}
		o.UsePathStyle = o.BaseEndpoint != nil
		if c.options.PathStyle != nil {
			o.UsePathStyle = *c.options.PathStyle
		}
		if c.options.Anonymous {
			o.Credentials = aws.AnonymousCredentials{}
		}
		o.HTTPClient = patience{loaded.HTTPClient, &c.answered}
		o.Retryer = newRetryer(&c.answered)
		// Other stores do not know S3's newer checksums. A body is signed with its SHA-256 in any case.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	if endpoint := client.Options().BaseEndpoint; endpoint != nil {
		if u, err := url.Parse(*endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, &configError{fmt.Errorf("the endpoint %q is not a URL that begins with http:// or https://", *endpoint)}
		}
	}
	return client, nil
}

// service returns the client for a bucket.
func (c *Client) service(ctx context.Context, at bucket.Key) (*service, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := c.find(ctx, at)
	if err != nil {
		return nil, fail(ctx, at, err)
	}
	if c.options.Anonymous {
		return s, nil
	}
	if _, err := s.Options().Credentials.Retrieve(ctx); err != nil {
		return nil, fail(ctx, at, &noCredentialsError{err, c.answered.Load()})
	}
	return s, nil
}

func (c *Client) find(ctx context.Context, at bucket.Key) (*service, error) {
	select {
	case c.lock <- true:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s, ok := c.buckets[at.Bucket]; ok {
		return s, nil
	}
	if c.base == nil {
		base, err := c.load(ctx)
		if err != nil {
			return nil, err
		}
		c.base = base
	}
	s := &service{Client: c.base}
	if c.base.Options().Region == "" {
		region, err := regionOf(ctx, c.base, at.Bucket)
		if err != nil {
			return nil, err
		}
		s.Client = s3.New(c.base.Options(), func(o *s3.Options) { o.Region = region })
		s.there.Store(true)
	}
	c.buckets[at.Bucket] = s
	return s, nil
}

// regionOf sends an anonymous request, to which the store answers with the region of any bucket.
func regionOf(ctx context.Context, client *s3.Client, bucket string) (string, error) {
	const first = "us-east-1" // it knows the other regions, and is the name used by stores without regions
	anybody := s3.New(client.Options(), func(o *s3.Options) {
		o.Region, o.Credentials = first,
			aws.AnonymousCredentials{}
	})
	out, err := anybody.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	if err == nil {
		return cmp.Or(aws.ToString(out.BucketRegion), first), nil
	}
	switch status, header := response(err); status {
	case http.StatusMovedPermanently, http.StatusForbidden, http.StatusBadRequest, http.StatusUnauthorized:
		return cmp.Or(header.Get(regionHeader), first), nil
	case http.StatusNotFound:
		return "", &types.NoSuchBucket{Message: aws.String("there is no such bucket")}
	}
	return "", err
}

func version(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }

// quoted returns a version in the form that requests use.
func quoted(version string) *string {
	if version == "" {
		return nil
	}
	return aws.String(`"` + version + `"`)
}

// List is ListObjectsV2.
func (c *Client) List(ctx context.Context, at bucket.Key, after, more string) (bucket.Page, error) {
	s, err := c.service(ctx, at)
	if err != nil {
		return bucket.Page{}, err
	}
	in := &s3.ListObjectsV2Input{
		Bucket: &at.Bucket, Prefix: &at.Name, RequestPayer: c.payer,
		EncodingType: types.EncodingTypeUrl, // XML cannot hold all names
	}
	if more != "" {
		in.ContinuationToken = &more
	} else if after != "" {
		in.StartAfter = &after
	}
	out, err := s.ListObjectsV2(ctx, in)
	if err != nil {
		return bucket.Page{}, fail(ctx, at, err)
	}
	s.there.Store(true)
	page := bucket.Page{}
	for _, o := range out.Contents {
		name, err := decode(out.EncodingType, aws.ToString(o.Key))
		if err != nil {
			return bucket.Page{}, fail(ctx, at, err)
		}
		page.Objects = append(page.Objects, storage.Info{
			// in whole seconds, as HEAD returns it
			Path: name, Size: aws.ToInt64(o.Size), Version: version(o.ETag),
			Modified: aws.ToTime(o.LastModified).Truncate(time.Second),
		})
	}
	if aws.ToBool(out.IsTruncated) {
		if page.More = aws.ToString(out.NextContinuationToken); page.More == "" {
			return bucket.Page{}, fail(ctx, at, errors.New(
				"the listing is cut off, and the store does not say where it continues; use another endpoint"))
		}
	}
	return page, nil
}

func decode(encoding types.EncodingType, name string) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return name, nil
	}
	return url.QueryUnescape(name)
}

// Stat is HeadObject.
func (c *Client) Stat(ctx context.Context, at bucket.Key) (storage.Info, error) {
	s, err := c.service(ctx, at)
	if err != nil {
		return storage.Info{}, err
	}
	out, err := c.head(ctx, s, at)
	if err != nil {
		return storage.Info{}, err
	}
	return storage.Info{Path: at.Name, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified),
		Version: version(out.ETag)}, nil
}

func (c *Client) head(ctx context.Context, s *service, at bucket.Key) (*s3.HeadObjectOutput, error) {
	out, err := s.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &at.Bucket, Key: &at.Name, RequestPayer: c.payer})
	switch {
	case err == nil && out.ContentLength == nil:
		return nil, fail(ctx, at, errNoSize)
	case err == nil:
		s.there.Store(true)
		return out, nil
	}
	// The answer to HEAD has no body that gives the reason or says whether the bucket is missing.
	status, _ := response(err)
	if status == http.StatusNotFound && s.there.Load() {
		err = &types.NoSuchKey{Message: aws.String("there is no such object")}
	} else if status >= 300 && status < 500 && status != http.StatusTooManyRequests {
		got, why := s.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.Bucket, Key: &at.Name, RequestPayer: c.payer,
			Range: aws.String("bytes=0-0")})
		if why == nil {
			why = err
			got.Body.Close()
		}
		err = why
		if codeOf(err) == "NoSuchKey" {
			s.there.Store(true)
		}
	}
	return nil, fail(ctx, at, err)
}

// Read is GetObject with a range.
func (c *Client) Read(
	ctx context.Context, at bucket.Key, want string, from, to int64,
) (io.ReadCloser, storage.Info, error) {
	s, err := c.service(ctx, at)
	if err != nil {
		return nil, storage.Info{}, err
	}
	out, err := s.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &at.Bucket, Key: &at.Name, RequestPayer: c.payer,
		IfMatch: quoted(want), Range: aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)),
	})
	if err != nil {
		if status, _ := response(err); status == http.StatusRequestedRangeNotSatisfiable {
			return nil, storage.Info{}, c.behind(ctx, at, want)
		}
		return nil, storage.Info{}, fail(ctx, at, err)
	}
	info := storage.Info{Path: at.Name, Modified: aws.ToTime(out.LastModified), Version: version(out.ETag)}
	if want != "" && info.Version != want { // the store ignores If-Match
		out.Body.Close()
		return nil, storage.Info{}, fail(ctx, at, storage.ErrPrecondition)
	}
	body := &body{ReadCloser: out.Body, ctx: ctx, at: at, remaining: to - from}
	if info.Size, err = sizeOf(out, from, to); err != nil {
		out.Body.Close()
		return nil, storage.Info{}, fail(ctx, at, err)
	}
	return body, info, nil
}

// behind says why there is nothing at an offset: the object ends before it, or has changed.
func (c *Client) behind(ctx context.Context, at bucket.Key, want string) error {
	if want == "" {
		return io.EOF
	}
	info, err := c.Stat(ctx, at)
	if err != nil {
		return err
	}
	if info.Version != want {
		return fail(ctx, at, storage.ErrPrecondition)
	}
	return io.EOF
}

var errNoSize = errors.New("the store, or a proxy in front of it, does not give the size of the object, so " +
	"data could be missed; use another endpoint")

// sizeOf returns the size of the object of which the bytes between from and to were requested.
func sizeOf(out *s3.GetObjectOutput, from, to int64) (int64, error) {
	switch {
	case out.ContentRange == nil && from == 0 && out.ContentLength == nil:
		return 0, errNoSize
	case out.ContentRange == nil && from == 0:
		return aws.ToInt64(out.ContentLength), nil // a store may answer with the whole object
	}
	var first, last, size int64
	if _, err := fmt.Sscanf(aws.ToString(out.ContentRange), "bytes %d-%d/%d", &first, &last, &size); err != nil ||
		first != from || last != min(to, size)-1 {
		return 0, fmt.Errorf("requested bytes %d-%d, but the response has %q; use another endpoint",
			from, to-1, aws.ToString(out.ContentRange))
	}
	return size, nil
}

// body is a stream of at most the requested bytes.
type body struct {
	io.ReadCloser
	ctx       context.Context
	at        bucket.Key
	remaining int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.remaining == 0 {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.remaining)])
	b.remaining -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) { // not io.ErrUnexpectedEOF
		err = fail(b.ctx, b.at, err)
	}
	return n, err
}

// Remove is DeleteObject.
func (c *Client) Remove(ctx context.Context, at bucket.Key, cond storage.If) error {
	s, err := c.service(ctx, at)
	if err != nil {
		return err
	}
	var options []func(*s3.Options)
	if !cond.Until.IsZero() {
		if c.options.Anonymous {
			return fail(ctx, at, fmt.Errorf("a request that is not signed does not expire: %w", errors.ErrUnsupported))
		}
		options = append(options, expires(cond.Until))
	}
	_, err = s.DeleteObject(ctx, &s3.DeleteObjectInput{
		Bucket: &at.Bucket, Key: &at.Name, IfMatch: quoted(cond.Version), RequestPayer: c.payer,
	}, options...)
	if err != nil && codeOf(err) == "NoSuchKey" {
		if cond.Version == "" {
			return nil
		}
		err = storage.ErrPrecondition
	}
	return fail(ctx, at, err)
}

// Within returns how long a request that expires is valid.
func (c *Client) Within() time.Duration { return valid }

// Abort ends the unfinished uploads to names that begin with at.Name.
func (c *Client) Abort(ctx context.Context, at bucket.Key) error {
	s, err := c.service(ctx, at)
	if err != nil {
		return err
	}
	in := &s3.ListMultipartUploadsInput{Bucket: &at.Bucket, Prefix: &at.Name, RequestPayer: c.payer,
		EncodingType: types.EncodingTypeUrl}
	for {
		out, err := s.ListMultipartUploads(ctx, in)
		if codeOf(err) == "NoSuchUpload" { // as some stores say that there are none
			return nil
		}
		if status, _ := response(err); status == http.StatusNotImplemented || status == http.StatusMethodNotAllowed {
			return &storage.UnlistedError{Err: fail(ctx, at, err), Whole: copyBytes}
		}
		if err != nil {
			return fail(ctx, at, err)
		}
		for _, found := range out.Uploads {
			name, err := decode(out.EncodingType, aws.ToString(found.Key))
			if err != nil {
				return fail(ctx, at, err)
			}
			u := upload{Client: c, s: s, at: bucket.Key{Bucket: at.Bucket, Name: name}, id: aws.ToString(found.UploadId)}
			if err := u.abort(ctx); err != nil {
				return err
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		marker, err := decode(out.EncodingType, aws.ToString(out.NextKeyMarker))
		if err != nil {
			return fail(ctx, at, err)
		}
		in.KeyMarker, in.UploadIdMarker = &marker, out.NextUploadIdMarker
	}
}
