package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"cloud.google.com/go/auth"
	gcs "cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

const login = "log in with gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to the key " +
	"file of a service account"

var errNoGeneration = errors.New(
	"the store does not say which generation of an object it sends, so an object could change unnoticed; " +
		"choose another store")

// noCredentials says that there are no usable credentials.
type noCredentials struct{ err error }

func (e *noCredentials) Error() string { return e.err.Error() }

// failed returns the error of a request for an object.
func (c *client) failed(ctx context.Context, at bucket.Key, err error) error {
	if cancelled := ctx.Err(); cancelled != nil {
		return &bucket.Failure{Text: at.Path(scheme) + ": " + cancelled.Error(), Kind: cancelled}
	}
	said, is, lasts := plain(err), error(nil), false
	var (
		refused *googleapi.Error
		missing *noCredentials
		token   *auth.Error
	)
	switch {
	case errors.As(err, &missing), errors.As(err, &token):
		is = fs.ErrPermission
		if strings.Contains(said, "could not find default credentials") {
			said = "there are no credentials for Google Cloud; " + login
		} else {
			said = "no valid credentials for Google Cloud: " + said + "; " + login
		}
		lasts = token == nil || !token.Temporary()
	case errors.As(err, &refused):
		said, is, lasts = c.refusal(ctx, at, refused)
	case bucket.Unreached(err):
		said += "; check the network, and the endpoint (--store-endpoint gs=URL or STORAGE_EMULATOR_HOST) " +
			"if the store is not Google's"
		lasts = bucket.Unknown(err)
	case bucket.Insecure(err, bundle) != "":
		said, lasts = said+"; "+bucket.Insecure(err, bundle), true
	case errors.Is(err, errNoGeneration):
		lasts = true
	default:
		for _, kind := range []error{storage.ErrPrecondition, fs.ErrNotExist,
			bucket.SilentError{Wait: idle}, io.ErrUnexpectedEOF} {
			if errors.Is(err, kind) {
				is = kind
			}
		}
	}
	failed := &bucket.Failure{Text: at.Path(scheme) + ": " + said, Kind: is, Missing: refused != nil &&
		refused.Code == http.StatusNotFound}
	if lasts {
		return bucket.Lasting(failed)
	}
	return failed
}

// bundle is the variable that tells Go the file of certificates.
const bundle = "SSL_CERT_FILE"

// refusal returns what the store said and what to do next, the error's kind, and whether it lasts until that is done.
func (c *client) refusal(ctx context.Context, at bucket.Key, e *googleapi.Error) (text string, is error, lasts bool) {
	said := strings.TrimSuffix(bucket.OneLine(e.Message), ".")
	if said == "" {
		said = fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))
	}
	switch e.Code {
	case http.StatusPreconditionFailed:
		return storage.ErrPrecondition.Error(), storage.ErrPrecondition, false
	case http.StatusUnauthorized:
		return said + "; " + login, fs.ErrPermission, true
	case http.StatusForbidden:
		return said + "; grant the permission to the account, or use another account", fs.ErrPermission, true
	case http.StatusNotFound:
		if c.noBucket(ctx, at.Bucket, e) {
			return "there is no such bucket; check its name", nil, true
		}
		return said, fs.ErrNotExist, false
	case http.StatusGone:
		return said + "; the store no longer has the unfinished upload; run again", nil, false
	case http.StatusBadRequest:
		if strings.Contains(said, "requester pays") {
			return said + "; add --requester-pays, and set GOOGLE_CLOUD_QUOTA_PROJECT to the project to bill", nil, true
		}
	}
	return said, nil, false
}

// noBucket reports whether a 404 is about the bucket. Deletes do not say, so the first time it requests a listing.
func (c *client) noBucket(ctx context.Context, name string, e *googleapi.Error) bool {
	if strings.Contains(e.Message, "bucket does not exist") {
		return true
	}
	if _, ok := c.reached.Load(name); ok {
		return false
	}
	b, err := c.bucket(ctx, name)
	if err != nil {
		return false
	}
	var one []*gcs.ObjectAttrs
	_, err = iterator.NewPager(b.Objects(ctx, &gcs.Query{Projection: gcs.ProjectionNoACL}), 1, "").NextPage(&one)
	if errors.Is(err, gcs.ErrBucketNotExist) {
		return true
	}
	c.reached.Store(name, true) // it exists, or cannot be listed
	return false
}

// plain returns the text of an error without the query strings of URLs.
func plain(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return queries.ReplaceAllString(bucket.OneLine(storage.Plain(err)), "$1")
}

var queries = regexp.MustCompile(`(https?://[^\s"?]*)\?[^\s"]*`)

// status returns the HTTP status of a refusal; 0 if err is not one.
func status(err error) int {
	var refused *googleapi.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}
