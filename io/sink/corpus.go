package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[keyRowsFn]()
	flow.Register[corpusFn]()
	flow.Register[listedFn]()
}

// Corpus reads the input a third time and writes some of its batches to Output/corpus without the dropped records, as
// source.Copy does.
//
//	KV<batch, keys of dropped records> → facts
//
// One GroupByKey by batch of pieces. If a batch may have too many keys for one group, it is split into slices, as a
// shard of a Table is.
func Corpus(
	s beam.Scope, slices int, p Params, options source.Options, some blocks.Range, dropped ...flow.Dropped,
) flow.Facts {
	s = s.Scope("sink.Corpus")
	var all []beam.PCollection
	for _, d := range dropped {
		all = append(all, beam.PCollection(d))
	}
	if slices > 1 {
		all = []beam.PCollection{runs(s, droppedRows, slices, p, beam.ParDo(s, &keyRowsFn{}, beam.Flatten(s, all...)))}
	}
	all = append(all, beam.ParDo(s, &everyFn{p.Inputs, ofBatches, some}, beam.Impulse(s)))
	batches := beam.GroupByKey(s, beam.Flatten(s, all...))
	return flow.Facts(beam.ParDo(s, &corpusFn{Params: p, Options: options, Rows: slices > 1}, batches))
}

// droppedRows names the rows that keyRowsFn makes, as Table names its rows.
const droppedRows = "dropped"

// keyRowsFn makes a row without fields from each key.
//
//	KV<batch, keys> → KV<batch, rows>
type keyRowsFn struct{}

func (keyRowsFn) ProcessElement(batch int64, keys []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(keys)
	var rows []byte
	for !d.Done() {
		key := d.Key()
		rows = blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: key, B: key}}}.Append(rows)
	}
	if err := d.Err(); err != nil {
		return err
	}
	emit(batch, rows)
	return nil
}

// corpusFn writes pieces; see Corpus and Edited for the shapes.
type corpusFn struct {
	Params  Params
	Options source.Options
	Rows    bool // keys come as rows
	Cuts    bool // records come instead, of which some say what to cut

	changes sorted.Records // each begins with the key of a document
}

// read reads the group of a batch.
func (f *corpusFn) read(ctx context.Context, packed func(*[]byte) bool) error {
	if f.Cuts {
		return f.changes.Read(ctx, f.Params.files("corpus"), packed)
	}
	f.changes.Begin(ctx, f.Params.files("corpus"))
	add := addKeys
	if f.Rows {
		add = addRows
	}
	var block []byte
	for packed(&block) {
		if err := add(&f.changes, block); err != nil {
			return err
		}
	}
	return f.changes.End()
}

// addKeys adds a record for each key of a block.
func addKeys(records *sorted.Records, block []byte) error {
	var record []byte
	d := blocks.NewDecoder(block)
	for !d.Done() {
		record = blocks.AppendOrdered(record[:0], d.Key())
		if err := records.Add(record); err != nil {
			return err
		}
	}
	return d.Err()
}

func (f *corpusFn) ProcessElement(
	ctx context.Context, batch int64, packed func(*[]byte) bool, facts func([]byte),
) error {
	in, err := source.Shared(ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	if err := f.read(ctx, packed); err != nil {
		return err
	}
	next, stop := f.changes.Pull()
	defer stop()
	var key blocks.Key
	var spans []byte
	advance := func() error {
		record, err := next()
		if err == nil {
			key, spans, err = blocks.OrderedKey(record)
		}
		return err
	}
	ended := advance() // io.EOF after the last change
	for number := range in.Batched(batch) {
		c := changes{Span: in.Pieces.At(number)}
		for ; ended == nil && key.File() == c.File && key.Position() < c.End; ended = advance() {
			if f.Cuts && len(spans) > 0 {
				c.cut(key.Position(), bytes.Clone(spans))
			} else {
				c.dropped = append(c.dropped, key.Position())
			}
		}
		if ended != nil && !errors.Is(ended, io.EOF) {
			return ended
		}
		if err := f.write(ctx, in, number, &c, facts); err != nil {
			return err
		}
	}
	if ended == nil {
		return fmt.Errorf("a record was removed at %d of file %d, which batch %d of the corpus does not have",
			key.Position(), key.File(), batch)
	}
	return nil
}

// changes says what to change in a piece, in ascending positions.
type changes struct {
	blocks.Span
	dropped, edited []int64
	spans           map[int64][]byte // by edited position
}

func (c *changes) cut(position int64, spans []byte) {
	if c.spans == nil {
		c.spans = map[int64][]byte{}
	}
	c.edited, c.spans[position] = append(c.edited, position), spans
}

// write writes a changed piece.
func (f *corpusFn) write(
	ctx context.Context, in *source.Inputs, number int, c *changes, facts func([]byte),
) error {
	if in.OneDocument(c.File) && len(c.dropped) > 0 {
		return nil // the file was the document
	}
	name := output.CorpusFile(in.PieceName(number))
	counts := map[string]int64{}
	e := editor{spans: c.spans, paragraphs: f.Params.Paragraphs, seams: map[seam]int64{}}
	copied, err := f.Params.write(ctx, name, func(w io.Writer) error {
		w = ctxWriter{ctx, w}
		changes := reading.Changes{Dropped: c.dropped, Edited: c.edited, Edit: e.edit}
		kept, unedited, err := source.Copy(ctx, w, in, c.Span, changes, f.Options)
		counts[blocks.CountRows], counts[blocks.CountUncut] = kept, unedited
		return err
	})
	if err != nil {
		return err
	}
	for _, seams := range e.seams {
		counts[blocks.CountSeams] += seams
	}
	return emitFact(facts, blocks.FactCorpus, copied, counts)
}

// Listed returns the keys of the records that rows are about, so that Corpus leaves these out.
//
//	KV<table shard, rows> → KV<batch, keys>
func Listed(s beam.Scope, inputs string, rows ...flow.Rows[records.Rejected]) flow.Dropped {
	s = s.Scope("sink.Listed")
	var all []beam.PCollection
	for _, r := range rows {
		all = append(all, beam.PCollection(r))
	}
	return flow.Dropped(beam.ParDo(s, &listedFn{Inputs: inputs}, beam.Flatten(s, all...)))
}

// listedFn emits the keys of the records of rows; see Listed for the shapes.
type listedFn struct {
	Inputs string

	inputs  *blocks.Inputs
	buffers blocks.Buffers
}

func (f *listedFn) Setup(ctx context.Context) (err error) {
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *listedFn) ProcessElement(_ int64, block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		if part := d.RowPart(); !part.Continues && d.Err() == nil {
			key := part.Order.A
			f.buffers.Add(f.inputs.Batch(key), func(block []byte) []byte { return blocks.AppendKey(block, key) }, emit)
		}
	}
	return d.Err()
}

func (f *listedFn) FinishBundle(emit func(int64, []byte)) { f.buffers.Flush(emit) }

// ctxWriter stops writing when its context is done: copying a file may be a single call.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w ctxWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
