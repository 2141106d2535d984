package sink

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func init() {
	dofn.Register[keyRowsFn]()
	dofn.Register[corpusFn]()
	dofn.Register[everyBatchFn]()
	dofn.Register[listedFn]()
}

// Corpus reads the input a third time and writes some of its batches to Output/corpus without the dropped records, as
// source.CopyExcept does.
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
	all = append(all, beam.ParDo(s, &everyBatchFn{p.Inputs, some}, beam.Impulse(s)))
	batches := beam.GroupByKey(s, beam.Flatten(s, all...))
	return flow.Facts(beam.ParDo(s, &corpusFn{Params: p, Options: options, Rows: slices > 1}, batches))
}

// everyBatchFn emits an empty block for each batch, so that its files are written even if no record of it is dropped.
type everyBatchFn struct {
	Inputs string
	Some   blocks.Range
}

func (f *everyBatchFn) ProcessElement(ctx context.Context, _ []byte, emit func(int64, []byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	for batch := range in.Batches() {
		if f.Some.Has(batch) {
			emit(batch, []byte{})
		}
	}
	return nil
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

type corpusFn struct {
	Params  Params
	Options source.Options
	Rows    bool // keys come as rows
}

// keys holds the keys of dropped records, of which there may be millions. Except for the latest ones, it stores each as
// its distance from the key before it.
type keys struct {
	last []int64
	runs []keyRun
	of   map[int]int // number of keys per file
}

// keyRun is a sorted run of keys.
type keyRun struct {
	first     int64 // key
	distances []byte
	ended     bool
}

// runKeys is the number of keys in a run.
const runKeys = 1 << 18

func (k *keys) add(key blocks.Key) {
	if k.of == nil {
		k.of = map[int]int{}
	}
	k.of[key.File()]++
	if k.last = append(k.last, int64(key)); len(k.last) == runKeys {
		k.pack()
	}
}

// pack makes a run of the latest keys.
func (k *keys) pack() {
	if len(k.last) == 0 {
		return
	}
	slices.Sort(k.last)
	distances := make([]byte, 0, 2*len(k.last))
	for i, key := range k.last[1:] {
		distances = binary.AppendUvarint(distances, uint64(key-k.last[i]))
	}
	k.runs = append(k.runs, keyRun{first: k.last[0], distances: slices.Clone(distances)})
	k.last = k.last[:0]
}

// take removes the keys of a piece and returns their positions in order. It must be called with the pieces in order.
func (k *keys) take(piece blocks.Span) []int64 {
	positions := make([]int64, 0, k.of[piece.File])
	for i := range k.runs {
		for r := &k.runs[i]; !r.ended && blocks.Key(r.first).File() == piece.File &&
			blocks.Key(r.first).Position() < piece.End; r.advance() {
			positions = append(positions, blocks.Key(r.first).Position())
		}
	}
	slices.Sort(positions)
	return positions
}

func (r *keyRun) advance() {
	distance, n := binary.Uvarint(r.distances)
	r.first, r.distances, r.ended = r.first+int64(distance), r.distances[n:], n == 0
}

// keys returns the keys of the dropped records.
func (f *corpusFn) keys(ctx context.Context, packed func(*[]byte) bool) (dropped keys, err error) {
	defer dropped.pack()
	if f.Rows {
		rows, err := merged(ctx, f.Params.Temp, droppedRows, f.Params.held(), packed)
		if err != nil {
			return dropped, err
		}
		for r, err := range rows {
			if err != nil {
				return dropped, err
			}
			dropped.add(r.Order.A)
		}
		return dropped, nil
	}
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			dropped.add(d.Key())
		}
		if err := d.Err(); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

func (f *corpusFn) ProcessElement(
	ctx context.Context, batch int64, packed func(*[]byte) bool, facts func([]byte),
) error {
	in, err := source.Shared(ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	dropped, err := f.keys(ctx, packed)
	if err != nil {
		return err
	}
	for number := range in.Batched(batch) {
		piece := in.Pieces.At(number)
		if err := f.write(ctx, in, number, piece, dropped.take(piece), facts); err != nil {
			return err
		}
	}
	for _, r := range dropped.runs {
		if key := blocks.Key(r.first); !r.ended {
			return fmt.Errorf("a record was removed at %d of file %d, which batch %d of the corpus does not have",
				key.Position(), key.File(), batch)
		}
	}
	return nil
}

// write writes a piece without the records at dropped, which are ascending positions.
func (f *corpusFn) write(
	ctx context.Context, in *source.Inputs, number int, piece blocks.Span, dropped []int64, facts func([]byte),
) error {
	if in.OneDocument(piece.File) && len(dropped) > 0 {
		return nil // the file was the document
	}
	name := output.CorpusFile(in.PieceName(number))
	var kept int64
	copied, err := f.Params.write(ctx, name, func(w io.Writer) (err error) {
		kept, err = source.CopyExcept(ctx, ctxWriter{ctx, w}, in, piece, dropped, f.Options)
		return err
	})
	if err != nil {
		return err
	}
	return emitFact(facts, blocks.FactCorpus, copied, map[string]int64{blocks.CountRows: kept})
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
