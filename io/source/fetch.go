package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

func init() {
	register.DoFn4x1[context.Context, int64, func(*[]byte) bool, func([]byte), error](&fetchFn{})
	register.Iter1[[]byte]()
}

var fetchDocuments = beam.NewCounter("fetch", "documents")

// Fetch reads the documents of components a second time: the input does not change, and reading
// it again is cheaper than carrying every text along.
//
//	KV<split, members> → blocks of documents, each with its component
//
// One GroupByKey by split.
func Fetch(s beam.Scope, members beam.PCollection, p Params) beam.PCollection {
	s = s.Scope("source.Fetch")
	return beam.ParDo(s, &fetchFn{Params: p}, beam.GroupByKey(s, members))
}

type fetchFn struct {
	Params Params
}

func (f *fetchFn) ProcessElement(ctx context.Context, number int64, blocks func(*[]byte) bool, emit func([]byte)) error {
	in, err := storage.Shared[records.Inputs](f.Params.Inputs)
	if err != nil {
		return err
	}
	var wanted []records.Member
	var block []byte
	for blocks(&block) {
		if wanted, err = records.DecodeMembers(wanted, block); err != nil {
			return err
		}
	}
	slices.SortFunc(wanted, records.Member.Compare)

	split := in.Splits[number]
	r, err := Open(in, split, f.Params.Options.Fields, f.Params.Options.MaxRecord())
	if err != nil {
		return err
	}
	err = f.fetch(r, wanted, emit)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	fetchDocuments.Inc(ctx, int64(len(wanted)))
	return nil
}

func (f *fetchFn) fetch(r *Reader, wanted []records.Member, emit func([]byte)) error {
	out := blockWriter{near: emit, emit: emit}
	var doc codec.Document
	for _, m := range wanted {
		piece, err := r.seek(m.Key.Position())
		if err == nil {
			err = r.Decode(piece, &doc)
		}
		if err != nil {
			return fmt.Errorf("reading %s again: document at %d: %w", r.path, m.Key.Position(), err)
		}
		out.add(&records.Document{Key: m.Key, ID: doc.ID, HasID: doc.HasID, Component: m.Component, Text: doc.Text})
	}
	out.flush()
	return nil
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
func Text(in *records.Inputs, key records.Key, o Options) (text string, err error) {
	r, err := Open(in, in.Splits[in.Split(key)], o.Fields, o.MaxRecord())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	piece, err := r.seek(key.Position())
	if err != nil {
		return "", fmt.Errorf("%s: document at %d: %w", r.path, key.Position(), err)
	}
	var doc codec.Document
	if err := r.Decode(piece, &doc); err != nil {
		return "", err
	}
	return string(doc.Text), nil
}
