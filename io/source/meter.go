package source

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

// Each read counts the bytes of the input, as listed, that it has passed.
var (
	storedRead   = beam.NewCounter("read", "stored")
	storedFetch  = beam.NewCounter("fetch", "stored")
	storedCorpus = beam.NewCounter("corpus", "stored")
)

// meterStep is the minimum number of bytes by which a counter is raised during a read.
const meterStep = 64 << 10

// meter counts the bytes of a span that a read has passed while it runs: a split of a compressed file may take minutes.
// Skipped bytes count, too, so the counts of all spans add up to the listed size of the files.
type meter struct {
	counter beam.Counter
	file    *blocks.File
	span    blocks.Span
	all     int64        // listed bytes of the span
	counted int64        // of these, already counted
	reached atomic.Int64 // end of the bytes fetched from the file, or from its spool
	unit    float64      // listed bytes per byte fetched: below 1 for a spool
}

// begin starts to meter a span of a file. It returns the context with which to open the file.
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

// atRecord counts the bytes up to the record that the reader has reached. It returns the result of countTo.
func (m *meter) atRecord(ctx context.Context, position int64) bool {
	if m.file.Positions > 0 { // rows are not read in the order of the file's bytes
		return m.countTo(ctx, m.file.OffsetAt(position)-m.file.OffsetAt(m.span.Start))
	}
	return m.countTo(ctx, m.fetched())
}

// fetched estimates how many listed bytes of the span were fetched, in a file without rows.
func (m *meter) fetched() int64 {
	return int64(float64(m.reached.Load())*m.unit) - m.file.OffsetAt(m.span.Start)
}

// countTo raises the count to n listed bytes of the span if that adds at least meterStep. It reports whether it did.
func (m *meter) countTo(ctx context.Context, n int64) bool {
	if n = min(n, m.all); n-m.counted < meterStep {
		return false
	}
	m.counter.Inc(ctx, n-m.counted)
	m.counted = n
	return true
}

// end counts the rest of the span, after a read to its end.
func (m *meter) end(ctx context.Context) {
	m.counter.Inc(ctx, m.all-m.counted)
	m.counted = m.all
}

// writer wraps w, the destination of a copy of the span. Each write counts the bytes read by then.
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
	if w.meter.file.Positions > 0 { // a copy reads at least as many bytes as it writes
		w.meter.countTo(w.ctx, w.written)
	} else {
		w.meter.countTo(w.ctx, w.meter.fetched())
	}
	return n, err
}
