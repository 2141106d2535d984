// Package bucket makes a storage.Store from the requests that an object store answers. The packages s3 and gcs send
// them.
package bucket

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// Key names an object, or all objects whose names begin with Name.
type Key struct{ Bucket, Name string }

// Client sends requests to one kind of object store. If the store asks for a retry (429, 5xx) or the connection breaks,
// the client sends the request again: a bounded number of times, with jitter, each counted by storage.Retried. An error
// names the bucket and the object, and says what the store said. It is fs.ErrNotExist or fs.ErrPermission if the store
// says so, but neither for a missing bucket. The Path of an Info is Key.Name, which Store completes.
type Client interface {
	// List returns a page of the objects whose names begin with at.Name and sort after the name after by their bytes, in
	// that order; "" is before all names. more is Page.More of the page before, "" for the first page.
	List(ctx context.Context, at Key, after, more string) (Page, error)
	// Stat describes an object.
	Stat(ctx context.Context, at Key) (storage.Info, error)
	// Read returns the bytes between from and to of the object as it is stored, and the object's Info; to may be beyond
	// its end. The error is io.EOF if from is at or beyond the end, and storage.ErrPrecondition if the object has another
	// version; version "" is any. The stream may break: its reader requests the rest.
	Read(ctx context.Context, at Key, version string, from, to int64) (io.ReadCloser, storage.Info, error)
	// Create is storage.Store's. It streams, so its memory is bounded whatever the size. A failure leaves no unfinished
	// upload.
	Create(ctx context.Context, at Key, cond storage.If, write func(io.Writer) error) (storage.Info, error)
	// Remove is storage.Store's.
	Remove(ctx context.Context, at Key, cond storage.If) error
	// Move is storage.Store's, for one object of any size. No data goes through the client.
	Move(ctx context.Context, from, to Key) error
}

// Page is a page of a listing.
type Page struct {
	Objects []storage.Info
	More    string // the argument for the next page; "" if there is none
}

// ContentType returns the content type that a store reports to browsers.
func ContentType(name string) string {
	switch {
	case strings.HasSuffix(name, ".html"):
		return "text/html; charset=utf-8"
	case strings.HasSuffix(name, ".json"):
		return "application/json"
	}
	return "application/octet-stream"
}

// Unreached reports whether a request failed because the store could not be reached: its name is unknown, or nobody
// answers at its address.
func Unreached(err error) bool {
	var unknown *net.DNSError
	var broken *net.OpError
	return errors.As(err, &unknown) || errors.As(err, &broken) && broken.Op == "dial"
}

// Unknown reports whether no host has the store's name.
func Unknown(err error) bool {
	var unknown *net.DNSError
	return errors.As(err, &unknown) && unknown.IsNotFound
}

// Insecure says what to do about a connection that always fails because its two ends do not agree on TLS; "" if err is
// another error. The variable bundle names a file of certificates.
func Insecure(err error, bundle string) string {
	var unknown x509.UnknownAuthorityError
	var wrong *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "set " + bundle + " to a file with the certificate of the store's certificate authority"
	case errors.As(err, &wrong):
		return "check the endpoint, the certificate of the store, and the clock of this machine"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the store does not use TLS on this port; check the port, or use an endpoint that begins with http://"
	}
	return ""
}

// FirstTries is the number of tries for a store that has never answered, with short pauses: most likely its address is
// wrong. DialTime is how long a connection may take, so that these tries end within 10 s.
const (
	FirstTries = 3
	DialTime   = 2500 * time.Millisecond
)

// LastingError is a failure that lasts until somebody acts: grants access, makes the bucket or corrects the endpoint.
type LastingError struct{ error }

// Lasting wraps err as a LastingError.
func Lasting(err error) error { return LastingError{err} }

func (e LastingError) Unwrap() error { return e.error }

// Status returns the exit status.
func (LastingError) Status() int { return 2 }
