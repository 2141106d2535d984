// Package bucket makes a storage.Store of the requests that an object store answers. The packages s3 and
// gcs send them.
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

// Key names an object, or all whose names begin with Name.
type Key struct{ Bucket, Name string }

// Client sends requests to one kind of object store. A request that the store asks to repeat (429, 5xx), or whose
// connection breaks, is sent again by the client: a bounded number of times, with jitter, each counted by
// storage.Retried. An error names the bucket and the object, and says what the store said; it is fs.ErrNotExist or
// fs.ErrPermission where the store says so, and for a missing bucket neither. An Info has a Path of Key.Name, which
// Store completes.
type Client interface {
	// List returns a page of the objects whose names begin with at.Name and come after the name after ("" is before all),
	// in order of their bytes. More is that of the page before, "" for the first.
	List(ctx context.Context, at Key, after, more string) (Page, error)
	// Stat tells of an object.
	Stat(ctx context.Context, at Key) (storage.Info, error)
	// Read returns bytes from to to of the stored object, as they are stored, and what the object is; to may lie behind
	// its end. The error is io.EOF if from does, also in an empty object, and storage.ErrPrecondition if the object has
	// another version; version "" is any. The stream may break: whoever reads it asks for the rest.
	Read(ctx context.Context, at Key, version string, from, to int64) (io.ReadCloser, storage.Info, error)
	// Create is storage.Store's. It streams: memory is bounded whatever
	// is written. What failed leaves no unfinished upload.
	Create(ctx context.Context, at Key, cond storage.If, write func(io.Writer) error) (storage.Info, error)
	// Remove is storage.Store's.
	Remove(ctx context.Context, at Key, cond storage.If) error
	// Move is storage.Store's, of one object of any size. No bytes go through the client.
	Move(ctx context.Context, from, to Key) error
}

// Page is a page of a listing.
type Page struct {
	Objects []storage.Info
	More    string // what to ask the next page with, "" if there is none
}

// ContentType is what a store tells browsers of an object.
func ContentType(name string) string {
	switch {
	case strings.HasSuffix(name, ".html"):
		return "text/html; charset=utf-8"
	case strings.HasSuffix(name, ".json"):
		return "application/json"
	}
	return "application/octet-stream"
}

// Unreached reports whether a request failed because there was no connection
// to the store: its name is not known, or nobody answers at its address.
func Unreached(err error) bool {
	var unknown *net.DNSError
	var broken *net.OpError
	return errors.As(err, &unknown) || errors.As(err, &broken) && broken.Op == "dial"
}

// Unknown reports whether there is no host of the store's name.
func Unknown(err error) bool {
	var unknown *net.DNSError
	return errors.As(err, &unknown) && unknown.IsNotFound
}

// Insecure says what to do about a connection that fails whenever it is tried, as its two ends do not agree on TLS; ""
// if that is not so. The variable bundle names a file of certificates.
func Insecure(err error, bundle string) string {
	var unknown x509.UnknownAuthorityError
	var wrong *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "set " + bundle + " to a file with the certificate of the store's authority"
	case errors.As(err, &wrong):
		return "check the endpoint, the certificate of the store, and the clock of this machine"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the store does not speak TLS there: check the port, or give an endpoint that begins with http://"
	}
	return ""
}

// A store that has never answered is tried a few times only, with short pauses: most likely its address is wrong.
// DialTime is how long a connection may take, so that the tries end within 10 s.
const (
	FirstTries = 3
	DialTime   = 2500 * time.Millisecond
)

// LastingError is a failure that stays until a person acts: grants access, makes the bucket, corrects the endpoint.
type LastingError struct{ error }

// Lasting returns err as such a failure.
func Lasting(err error) error { return LastingError{err} }

func (e LastingError) Unwrap() error { return e.error }

// Status is the exit status.
func (LastingError) Status() int { return 2 }
