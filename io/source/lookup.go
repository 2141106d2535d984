package source

import (
	"context"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
)

// Lookup reads a few documents in this process and calls see with each, in input order. Their bytes are valid only
// during the call. A document may be named more than once; it is read once.
func Lookup(ctx context.Context, in *Inputs, keys []blocks.Key, o Options, see func(blocks.Document)) error {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	for len(keys) > 0 {
		split, n := in.Split(keys[0]), 1
		for n < len(keys) && in.Split(keys[n]) == split {
			n++
		}
		positions := make([]int64, n)
		for i, key := range keys[:n] {
			positions[i] = key.Position()
		}
		span := in.Splits.At(split)
		err := recordsAt(ctx, in, span, positions, o, func(record *reading.Record) error {
			see(blocks.Document{Key: blocks.NewKey(span.File, record.Position), ID: record.Doc.ID,
				HasID: record.Doc.HasID, Text: record.Doc.Text})
			return nil
		})
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// Text reads the text of one document.
func Text(ctx context.Context, in *Inputs, key blocks.Key, o Options) (text string, err error) {
	err = Lookup(ctx, in, []blocks.Key{key}, o, func(doc blocks.Document) { text = string(doc.Text) })
	return text, err
}
