package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[corpusFn]())
}

// Corpus reads the input a third time and writes it to Output/corpus without the dropped
// records: raw bytes, in the format and the compression of the source. A compressed file that nothing
// is dropped of is copied as it is, and so are frames of zstd that tell their size.
//
//	KV<piece, keys of dropped records> → facts
//
// One GroupByKey by piece.
func Corpus(s beam.Scope, p Params, options source.Options, dropped ...flow.Dropped) flow.Facts {
	s = s.Scope("sink.Corpus")
	all := []beam.PCollection{marks(s, p.Inputs, true)}
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
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	var dropped []blocks.Key
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			dropped = append(dropped, d.Key())
		}
		if err := d.Err(); err != nil {
			return err
		}
	}
	slices.Sort(dropped)

	piece := in.Pieces[number]
	file := &in.Files[piece.File]
	if file.IDIsSource && len(dropped) > 0 {
		return nil // the file was the document
	}
	name := path.Join("corpus", in.PieceName(int(number)))
	var kept int64
	copied, err := writeOutput(ctx, f.Params.Output, name, func(w io.Writer) (err error) {
		kept, err = f.write(ctx, w, in, piece, dropped)
		return err
	})
	if err != nil {
		return err
	}
	return emitFact(facts, blocks.FactCorpus, name, copied, map[string]int64{records.CountRows: kept})
}

// write copies the piece without the dropped records and returns how many it kept.
func (f *corpusFn) write(ctx context.Context, w io.Writer, in *blocks.Inputs, piece blocks.Span, dropped []blocks.Key) (kept int64, err error) {
	r, err := source.Open(ctx, in, piece, f.Options.Fields, f.Options.MaxRecord())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	file := &in.Files[piece.File]
	w = whileIn{ctx, w} // a file may be one copy
	put, end := plainly(w), func() error { return nil }
	if file.Compression != "" {
		packed, failed := storage.Open(ctx, file.Path, file.Identity)
		if failed != nil {
			return 0, failed
		}
		defer func() { err = errors.Join(err, packed.Unchanged(), packed.Close()) }()
		if len(dropped) == 0 && piece.End == blocks.End {
			put = nowhere
			end = func() error { _, err := io.Copy(w, io.NewSectionReader(packed, 0, file.Size)); return err }
		} else {
			p := &repacker{w: w, packed: packed, compression: file.Compression, frames: source.Frames(packed, file.Compression)}
			put, end = p.put, p.finish
		}
	}
	next := func() int64 { // what --limit cuts off is as good as dropped
		if len(dropped) == 0 {
			return piece.End
		}
		return dropped[0].Position()
	}
	if err := put(file.Header, false, next()); err != nil {
		return 0, err
	}
	drop := false
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		part, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		switch {
		case part.Filler:
			drop = false
		case !part.Continued:
			key := blocks.NewKey(piece.File, part.Position)
			if drop = len(dropped) > 0 && dropped[0] == key; drop {
				dropped = dropped[1:]
			} else {
				kept++
			}
		}
		if err := put(part.Raw, drop, next()); err != nil {
			return 0, err
		}
	}
	if len(dropped) > 0 {
		return 0, fmt.Errorf("%s: no record begins at %d, where one was removed", file.Path, dropped[0].Position())
	}
	return kept, end()
}

// whileIn writes as long as its context is not done.
type whileIn struct {
	ctx context.Context
	w   io.Writer
}

func (w whileIn) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// plainly returns what writes the bytes that are not dropped.
func plainly(w io.Writer) func(raw []byte, dropped bool, next int64) error {
	return func(raw []byte, dropped bool, _ int64) error {
		if dropped {
			return nil
		}
		_, err := w.Write(raw)
		return err
	}
}

func nowhere([]byte, bool, int64) error { return nil }
