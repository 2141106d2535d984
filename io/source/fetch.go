package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/storage"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[fetchFn]())
	register.Iter1[[]byte]()
}

var (
	fetchDocuments = beam.NewCounter("fetch", "documents")
	fetchValues    = beam.NewCounter("fetch", "values")
)

// Fetch reads the documents of components a second time: the input does not change, and reading
// it again is cheaper than carrying every text along.
//
//	KV<split, members> → blocks of documents, each with its component and rank, as Read's
//
// One GroupByKey by split.
func Fetch(s beam.Scope, members flow.Members, p Params) flow.Fetched {
	s = s.Scope("source.Fetch")
	return flow.Fetched(beam.ParDo(s, &fetchFn{Params: p}, beam.GroupByKey(s, beam.PCollection(members))))
}

type fetchFn struct {
	Params Params

	out blockWriter
}

func (f *fetchFn) ProcessElement(ctx context.Context, number int64, packed func(*[]byte) bool, emit func([]byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	var wanted []blocks.Member
	var block []byte
	for packed(&block) {
		if wanted, err = blocks.DecodeMembers(wanted, block); err != nil {
			return err
		}
	}
	slices.SortFunc(wanted, blocks.Member.Compare)

	split := in.Splits[number]
	r, err := Open(ctx, in, split, f.Params.Options.ranked(), f.Params.Options.MaxRecord())
	if err != nil {
		return err
	}
	values, err := f.fetch(r, wanted, emit)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	fetchDocuments.Inc(ctx, int64(len(wanted)))
	fetchValues.Inc(ctx, values)
	return nil
}

// fetch emits the documents wanted and returns how many have a value in the column to rank by.
func (f *fetchFn) fetch(r *Reader, wanted []blocks.Member, emit func([]byte)) (values int64, err error) {
	f.out.begin(emit, nil)
	var doc codec.Document
	var rank []byte
	for _, m := range wanted {
		piece, err := r.seek(m.Key.Position())
		if err == nil {
			err = r.Decode(piece, &doc)
		}
		if err != nil {
			return 0, fmt.Errorf("reading %s again: document at %d: %w", r.path, m.Key.Position(), err)
		}
		if doc.Value.Kind != codec.NoValue {
			values++
		}
		rank = f.Params.Options.Rank.append(rank[:0], &doc)
		f.out.add(&blocks.Document{Key: m.Key, ID: doc.ID, HasID: doc.HasID, Component: m.Component, Of: m.Of, Rank: rank, Text: doc.Text})
	}
	f.out.flush()
	return values, nil
}

// append appends the rank of doc.
func (r Rank) append(dst []byte, doc *codec.Document) []byte {
	switch {
	case r.Column != "":
		return codec.AppendRank(dst, doc.Value, r.Largest)
	case r.Length:
		length := strconv.AppendInt(nil, int64(len(doc.Text)), 10)
		return codec.AppendRank(dst, codec.Value{Kind: codec.NumberValue, Text: length}, r.Largest)
	default:
		return dst
	}
}

// seek returns the record at position, which must not lie behind.
func (r *Reader) seek(position int64) (Piece, error) {
	if err := r.skipTo(position); err != nil {
		return Piece{}, err
	}
	for {
		piece, err := r.Next()
		switch {
		case err == io.EOF:
			return Piece{}, errors.New("the file ends before it")
		case err != nil:
			return Piece{}, err
		case piece.Position == position && !piece.Filler && !piece.Continued:
			return piece, nil
		case piece.Position > position:
			return Piece{}, errors.New("no record begins there")
		}
	}
}

// Text reads the text of one document.
func Text(ctx context.Context, in *blocks.Inputs, key blocks.Key, o Options) (text string, err error) {
	err = Lookup(ctx, in, []blocks.Key{key}, o, func(doc blocks.Document) { text = string(doc.Text) })
	return text, err
}
