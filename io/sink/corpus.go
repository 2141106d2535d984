package sink

import (
	"context"
	"io"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[corpusFn]())
	beam.RegisterDoFn(reflect.TypeFor[listedFn]())
}

// Corpus reads the input a third time and writes it to Output/corpus without the dropped
// records, as source.CopyExcept does.
//
//	KV<piece, keys of dropped records> → facts
//
// One GroupByKey by piece.
func Corpus(s beam.Scope, p Params, options source.Options, dropped ...flow.Dropped) flow.Facts {
	s = s.Scope("sink.Corpus")
	all := []beam.PCollection{everyShard(s, p.Inputs, true)}
	for _, d := range dropped {
		all = append(all, beam.PCollection(d))
	}
	return flow.Facts(beam.ParDo(s, &corpusFn{Params: p, Options: options}, beam.GroupByKey(s, beam.Flatten(s, all...))))
}

type corpusFn struct {
	Params  Params
	Options source.Options
}

func (f *corpusFn) ProcessElement(ctx context.Context, number int64, packed func(*[]byte) bool, facts func([]byte)) error {
	in, err := source.Shared(ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	var dropped []int64
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			dropped = append(dropped, d.Key().Position())
		}
		if err := d.Err(); err != nil {
			return err
		}
	}
	slices.Sort(dropped)

	piece := in.Pieces.At(int(number))
	if in.File(piece.File).IDIsSource && len(dropped) > 0 {
		return nil // the file was the document
	}
	name := output.CorpusFile(in.PieceName(int(number)))
	var kept int64
	copied, err := writeOutput(ctx, f.Params, name, func(w io.Writer) (err error) {
		kept, err = source.CopyExcept(ctx, ctxWriter{ctx, w}, in, piece, dropped, f.Options)
		return err
	})
	if err != nil {
		return err
	}
	return emitFact(facts, blocks.FactCorpus, name, copied, map[string]int64{blocks.CountRows: kept})
}

// Listed returns the keys of the records that rows are about, for Corpus to leave them out.
//
//	KV<table shard, rows> → KV<piece, keys>
func Listed(s beam.Scope, inputs string, rows ...flow.Rows[records.Rejected]) flow.Dropped {
	s = s.Scope("sink.Listed")
	var all []beam.PCollection
	for _, r := range rows {
		all = append(all, beam.PCollection(r))
	}
	return flow.Dropped(beam.ParDo(s, &listedFn{Inputs: inputs}, beam.Flatten(s, all...)))
}

// listedFn lists the documents of rows; see Listed for the shapes.
type listedFn struct {
	Inputs string

	inputs  *blocks.Inputs
	buffers *blocks.Buffers
}

func (f *listedFn) Setup(ctx context.Context) (err error) {
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *listedFn) StartBundle(func(int64, []byte)) { f.buffers = blocks.NewBuffers() }

func (f *listedFn) ProcessElement(_ int64, block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		if part := d.RowPart(); !part.Continues && d.Err() == nil {
			key := part.Order.A
			f.buffers.Add(int64(f.inputs.Piece(key)), func(block []byte) []byte { return blocks.AppendKey(block, key) }, emit)
		}
	}
	return d.Err()
}

func (f *listedFn) FinishBundle(emit func(int64, []byte)) { f.buffers.Flush(emit) }

// ctxWriter writes as long as its context is not done: a file may be one copy.
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
