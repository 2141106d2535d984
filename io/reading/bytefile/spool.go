package bytefile

import (
	"context"
	"io"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

// spooled returns the plain bytes of file, if they were left by the first to read it.
func spooled(ctx context.Context, file *blocks.File) (spool storage.Info, ok bool) {
	if file.Spool == "" {
		return spool, false
	}
	spool, err := storage.Stat(ctx, file.Spool)
	return spool, err == nil
}

// fillSpool calls read with a writer that leaves what it is given at path, in the folder of a run that lasts. Without
// its plain bytes a file is decompressed again, so what prevents the writing does not prevent the reading.
func fillSpool(ctx context.Context, path string, read func(io.Writer) error) {
	called := false
	// Its error is that of read, which read's caller has, or means that there is no spool.
	_, _ = storage.WriteBelow(ctx, storage.Dir(path), path, func(w io.Writer) error {
		called = true
		return readThrough(w, read)
	})
	if !called {
		_ = read(io.Discard)
	}
}

// readThrough calls read with a writer to w that never fails, and returns the error of read or else
// of w: what w has then is not whole.
func readThrough(w io.Writer, read func(io.Writer) error) error {
	lenient := &lenientWriter{w: w}
	if err := read(lenient); err != nil {
		return err
	}
	return lenient.err
}

// lenientWriter writes until that fails, and takes the rest without an error.
type lenientWriter struct {
	w   io.Writer
	err error
}

func (l *lenientWriter) Write(p []byte) (int, error) {
	if l.err == nil {
		_, l.err = l.w.Write(p)
	}
	return len(p), nil
}
