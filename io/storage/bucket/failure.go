package bucket

import (
	"strconv"
	"strings"
	"unicode"
)

// Failure is the error of a request, in one line. It does not wrap the client's error, which may hold a secret URL.
type Failure struct {
	Text string
	Kind error // target of errors.Is; may be nil
	// Missing says that there is no such object or bucket.
	Missing bool
}

func (f *Failure) Error() string { return f.Text }

func (f *Failure) Unwrap() error { return f.Kind }

// Failed is called by storage.Failed.
func (f *Failure) Failed() bool { return !f.Missing }

// Path returns the URL by which users know the objects of a key, in one line.
func (k Key) Path(scheme string) string {
	path := scheme + k.Bucket
	if k.Name != "" {
		path += "/" + k.Name
	}
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// OneLine shortens the message of an error to one line: it may be a page of HTML.
func OneLine(text string) string {
	const most = 500
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
