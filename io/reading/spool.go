package reading

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/neardup/neardup/io/storage"
)

// SpoolTimes is the maximum size of a spool as a multiple of its source's: text usually packs to between a tenth and a
// half of its size.
const SpoolTimes = 20

// Spooled returns the spool at path, if the first reader of the file has left one.
func Spooled(ctx context.Context, path string) (spool storage.Info, ok bool) {
	if path == "" {
		return spool, false
	}
	spool, err := storage.Stat(ctx, path)
	return spool, err == nil
}

// FillSpool calls read with a writer that leaves its data at path, in the folder of an active run, unless the data
// exceeds SpoolTimes packed bytes. Without a spool, a file is unpacked again, so a failure to write does not stop the
// reading.
func FillSpool(ctx context.Context, path string, packed int64, read func(io.Writer) error) {
	called := false
	// The error is that of read, which read's caller has, or means that there is no spool.
	_, _ = storage.WriteBelow(ctx, storage.Dir(path), path, func(w io.Writer) error {
		called = true
		return readThrough(w, SpoolTimes*packed, read)
	})
	if !called {
		_ = read(io.Discard)
	}
}

var errSpoolLarge = errors.New("the unpacked data is too large to keep")

// readThrough calls read with a writer to w that never fails. It returns the error of read, or else that of w, which
// takes at most this many bytes; after an error, w has only a part.
func readThrough(w io.Writer, most int64, read func(io.Writer) error) error {
	lenient := &lenientWriter{w: w, left: most}
	if err := read(lenient); err != nil {
		return err
	}
	return lenient.err
}

// lenientWriter writes until an error, then discards the rest without one.
type lenientWriter struct {
	w    io.Writer
	left int64
	err  error
}

func (l *lenientWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		l.err = cmp.Or(l.err, errSpoolLarge)
	}
	if l.err == nil {
		_, l.err = l.w.Write(p)
	}
	return len(p), nil
}
