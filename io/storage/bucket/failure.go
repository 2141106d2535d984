package bucket

import (
	"strconv"
	"strings"
	"unicode"
)

// Failure is the error of a request, in one line. It does not wrap the client's, which may hold a URL that is a secret.
type Failure struct {
	Text string
	Kind error // what errors.Is asks for; may be nil
	// Missing: there is no such object or bucket.
	Missing bool
}

func (f *Failure) Error() string { return f.Text }

func (f *Failure) Unwrap() error { return f.Kind }

// Failed is what storage.Failed asks for.
func (f *Failure) Failed() bool { return !f.Missing }

// Path is the URL by which users know what a key names, in one line.
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

// OneLine is what an error has of the message of another: that may be a page of HTML.
func OneLine(text string) string {
	const most = 500
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
