package source

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/sorted"
)

func init() {
	flow.Register[wantedFn]()
}

// FetchWanted reads documents again, and attaches to each the records for which it is wanted.
//
//	KV<split, records of a key and a purpose> → blocks of documents, as Read's
//
// One GroupByKey by split. Records that do not fit in memory are sorted in files.
func FetchWanted(s beam.Scope, wanted flow.Wanted, p Params, files sorted.Params) flow.Fetched {
	s = s.Scope("source.Fetch")
	return flow.Fetched(beam.ParDo(s, &wantedFn{Params: p, Files: files}, beam.GroupByKey(s, beam.PCollection(wanted))))
}

type wantedFn struct {
	Params Params
	Files  sorted.Params

	out    blockWriter
	wanted sorted.Records
}

func (f *wantedFn) ProcessElement(
	ctx context.Context, number int64, packed func(*[]byte) bool, emit func([]byte),
) error {
	in, err := Shared(ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	wanted := &f.wanted
	if err := wanted.Read(ctx, f.Files, packed); err != nil {
		return err
	}
	var positions []int64
	for record, err := range wanted.All() {
		if err != nil {
			return err
		}
		key, _, err := blocks.OrderedKey(record)
		if err != nil {
			return err
		}
		if n := len(positions); n == 0 || positions[n-1] != key.Position() {
			positions = append(positions, key.Position())
		}
	}
	next, stop := iter.Pull2(wanted.All())
	defer stop()
	if err := f.fetch(ctx, in, in.Splits.At(int(number)), positions, next, emit); err != nil {
		return fmt.Errorf("reading again: %w", err)
	}
	fetchDocuments.Inc(ctx, int64(len(positions)))
	return nil
}

// fetch emits the documents of a split at positions, with the records that next returns for each.
func (f *wantedFn) fetch(
	ctx context.Context, in *Inputs, split blocks.Span, positions []int64, next func() ([]byte, error, bool),
	emit func([]byte),
) error {
	f.out.begin(emit, nil)
	options := f.Params.Options
	options.KeepInvalid = true // the first read has refused invalid texts
	var own []byte
	record, broken, more := next()
	err := recordsAt(ctx, in, split, positions, options, func(read *reading.Record) error {
		key := blocks.NewKey(split.File, read.Position)
		for own = own[:0]; more; record, broken, more = next() {
			of, rest, err := blocks.OrderedKey(record)
			if broken != nil || err != nil || of != key {
				break
			}
			own = blocks.AppendBytes(own, rest)
		}
		if broken != nil {
			return broken
		}
		doc := read.Doc
		f.out.add(&blocks.Document{Key: key, ID: doc.ID, HasID: doc.HasID, Text: doc.Text, Ends: doc.Ends, Wanted: own})
		return nil
	})
	if err != nil {
		return err
	}
	f.out.flush()
	return nil
}
