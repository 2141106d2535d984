package source

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

// How many bytes of the input, as listed, each read has gone through.
var (
	storedRead   = beam.NewCounter("read", "stored")
	storedFetch  = beam.NewCounter("fetch", "stored")
	storedCorpus = beam.NewCounter("corpus", "stored")
)

// meterStep is how much is counted at a time.
const meterStep = 64 << 10

// meter counts what a read has gone through of a span while it lasts: a split of a compressed file may take minutes.
// What is skipped counts, too, so that all spans come to the listed size of the files.
type meter struct {
	counter beam.Counter
	file    *blocks.File
	span    blocks.Span
	all     int64        // listed bytes of the span
	counted int64        // of these
	reached atomic.Int64 // in the file, or in its spool
	unit    float64      // listed bytes for each of these
}

// begin returns the context with which the file is to be opened. The span is one of the file.
func (m *meter) begin(ctx context.Context, file *blocks.File, span blocks.Span) context.Context {
	m.file, m.span, m.unit = file, span, 1
	m.all = file.OffsetAt(span.End) - file.OffsetAt(span.Start)
	if file.Spool != "" {
		if spool, err := storage.Stat(ctx, file.Spool); err == nil && spool.Size > 0 {
			m.unit = float64(file.Size) / float64(spool.Size)
		}
	}
	return storage.Watched(ctx, &m.reached)
}

// at counts what is behind the reader when it has come to a record, as to does.
func (m *meter) at(ctx context.Context, position int64) bool {
	if m.file.Positions > 0 { // rows are not read in the order of the file's bytes
		return m.to(ctx, m.file.OffsetAt(position)-m.file.OffsetAt(m.span.Start))
	}
	return m.to(ctx, m.behind())
}

// behind is about how much of the span the reader of a file without rows has behind it.
func (m *meter) behind() int64 {
	return int64(float64(m.reached.Load())*m.unit) - m.file.OffsetAt(m.span.Start)
}

// to counts up to so many listed bytes of the span, and reports whether that was worth it.
func (m *meter) to(ctx context.Context, n int64) bool {
	if n = min(n, m.all); n-m.counted < meterStep {
		return false
	}
	m.counter.Inc(ctx, n-m.counted)
	m.counted = n
	return true
}

// end counts the rest of a span that was read.
func (m *meter) end(ctx context.Context) {
	m.counter.Inc(ctx, m.all-m.counted)
	m.counted = m.all
}

// writer returns a writer to w, of a copy of the span, that counts what was read when something is written.
func (m *meter) writer(ctx context.Context, w io.Writer) io.Writer {
	return &meteredWriter{meter: m, ctx: ctx, w: w}
}

type meteredWriter struct {
	meter   *meter
	ctx     context.Context
	w       io.Writer
	written int64
}

func (w *meteredWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.written += int64(n)
	if w.meter.file.Positions > 0 { // as much was read, or more
		w.meter.to(w.ctx, w.written)
	} else {
		w.meter.to(w.ctx, w.meter.behind())
	}
	return n, err
}
