package reading

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/neardup/neardup/io/storage"
)

// SpoolTimes is how many times as large as what it is unpacked from a spool is at most: text mostly takes a tenth to a
// half of its size.
const SpoolTimes = 20

// Spooled returns the spool at path, if the first to read a file left it.
func Spooled(ctx context.Context, path string) (spool storage.Info, ok bool) {
	if path == "" {
		return spool, false
	}
	spool, err := storage.Stat(ctx, path)
	return spool, err == nil
}

// FillSpool calls read with a writer that leaves what it is given at path, in the folder of a run that lasts, unless
// that is more than SpoolTimes packed bytes. Without a spool a file is unpacked again, so what prevents the writing
// does not prevent the reading.
func FillSpool(ctx context.Context, path string, packed int64, read func(io.Writer) error) {
	called := false
	// Its error is that of read, which read's caller has, or means that there is no spool.
	_, _ = storage.WriteBelow(ctx, storage.Dir(path), path, func(w io.Writer) error {
		called = true
		return readThrough(w, SpoolTimes*packed, read)
	})
	if !called {
		_ = read(io.Discard)
	}
}

var errSpoolLarge = errors.New("what is unpacked is too large to be kept")

// readThrough calls read with a writer to w that never fails, and returns the error of read or else
// of w, which takes at most so many bytes: what w has then is not whole.
func readThrough(w io.Writer, most int64, read func(io.Writer) error) error {
	lenient := &lenientWriter{w: w, left: most}
	if err := read(lenient); err != nil {
		return err
	}
	return lenient.err
}

// lenientWriter writes until that fails, and takes the rest without an error.
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
