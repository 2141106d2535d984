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
	"github.com/neardup/neardup/output"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[corpusFn]())
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
