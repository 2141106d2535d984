package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
)

// Lookup reads a few documents, in this process, and calls see with each, in input order. Their
// bytes are valid only during the call.
func Lookup(ctx context.Context, in *blocks.Inputs, keys []blocks.Key, o Options, see func(blocks.Document)) error {
	keys = slices.Sorted(slices.Values(keys))
	for len(keys) > 0 {
		split, n := in.Split(keys[0]), 1
		for n < len(keys) && in.Split(keys[n]) == split {
			n++
		}
		if err := lookup(ctx, in, in.Splits[split], keys[:n], o, see); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// lookup reads documents of one split.
func lookup(ctx context.Context, in *blocks.Inputs, split blocks.Span, keys []blocks.Key, o Options, see func(blocks.Document)) (err error) {
	r, err := Open(ctx, in, split, o.Fields, o.MaxRecord())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var doc codec.Document
	for _, key := range keys {
		piece, err := r.seek(key.Position())
		if err == nil {
			err = r.Decode(piece, &doc)
		}
		if err != nil {
			return fmt.Errorf("%s: document at %d: %w", r.path, key.Position(), err)
		}
		see(blocks.Document{Key: key, ID: doc.ID, HasID: doc.HasID, Text: doc.Text})
	}
	return nil
}
