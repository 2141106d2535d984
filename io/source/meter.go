package source

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

// Each read counts how many bytes of the input, as listed, it has gone through.
var (
	storedRead   = beam.NewCounter("read", "stored")
	storedFetch  = beam.NewCounter("fetch", "stored")
	storedCorpus = beam.NewCounter("corpus", "stored")
)

// meterStep is how many bytes are counted at a time.
const meterStep = 64 << 10

// meter counts the bytes of a span that a read has gone through, during the read: a split of a compressed file may take
// minutes. Skipped bytes count, too, so the counts of all spans add up to the listed size of the files.
type meter struct {
	counter beam.Counter
	file    *blocks.File
	span    blocks.Span
	all     int64        // listed bytes of the span
	counted int64        // how many of them were counted
	reached atomic.Int64 // end of the bytes fetched from the file, or from its spool
	unit    float64      // listed bytes for each byte of what is fetched: below 1 for a spool
}

// begin starts to meter a span of a file. It returns the context with which the file is to be opened.
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

// atRecord counts up to the record that the reader has come to. It reports what countTo does.
func (m *meter) atRecord(ctx context.Context, position int64) bool {
	if m.file.Positions > 0 { // rows are not read in the order of the file's bytes
		return m.countTo(ctx, m.file.OffsetAt(position)-m.file.OffsetAt(m.span.Start))
	}
	return m.countTo(ctx, m.fetched())
}

// fetched is about how many listed bytes of the span were fetched, of a file without rows.
func (m *meter) fetched() int64 {
	return int64(float64(m.reached.Load())*m.unit) - m.file.OffsetAt(m.span.Start)
}

// countTo raises the count to n listed bytes of the span. It waits
// until meterStep are new, and reports whether they were.
func (m *meter) countTo(ctx context.Context, n int64) bool {
	if n = min(n, m.all); n-m.counted < meterStep {
		return false
	}
	m.counter.Inc(ctx, n-m.counted)
	m.counted = n
	return true
}

// end counts the rest of the span, which was read to its end.
func (m *meter) end(ctx context.Context) {
	m.counter.Inc(ctx, m.all-m.counted)
	m.counted = m.all
}

// writer wraps w, to which the span is copied. Each write counts what was read by then.
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
	if w.meter.file.Positions > 0 { // at least as many bytes were read as are written
		w.meter.countTo(w.ctx, w.written)
	} else {
		w.meter.countTo(w.ctx, w.meter.fetched())
	}
	return n, err
}
