package candidates

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[copyKeysFn]()
	flow.Register[writeListFn]()
}

// List writes the keys of copies, which Copies and Known found, to the file Params.List. It also adds an empty block to
// the band entries, so that no group of them is complete before the list exists. Copies of references are listed only
// if Known found them, because a bucket has edges only if it contains an input.
//
//	KV<band and shard, band entries>, KV<split, members>, KV<gather.Key, keys> → KV<band and shard, band entries>
//
// One GroupByKey, whose group has 8 bytes per copy.
func List(s beam.Scope, bands flow.Bands, copies flow.Members, p Params, known ...beam.PCollection) flow.Bands {
	s = s.Scope("candidates.List")
	copied := beam.ParDo(s, &copyKeysFn{Inputs: p.Inputs}, beam.PCollection(copies))
	keys := gather.Values(beam.Flatten(s, append(known, copied)...))
	written := beam.ParDo(s, &writeListFn{File: p.List}, beam.PCollection(gather.All(s, keys)))
	return flow.Flatten(s, bands, flow.Bands(written))
}

// copyKeysFn emits the keys of members that are copies of inputs.
//
//	KV<split, members> → KV<gather.Key, keys>
type copyKeysFn struct{ Inputs string }

func (f *copyKeysFn) ProcessElement(ctx context.Context, _ int64, block []byte, emit func(int64, []byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	members, err := blocks.DecodeMembers(nil, block)
	if err != nil {
		return err
	}
	var keys []byte
	for _, m := range members {
		if m.IsCopy() && !in.IsReference(m.Component) {
			keys = blocks.AppendKey(keys, m.Key)
		}
	}
	emit(gather.Key, keys)
	return nil
}

// writeListFn writes the list.
//
//	KV<gather.Key, keys> → KV<band and shard, empty block>
type writeListFn struct{ File string }

func (f *writeListFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var keys []blocks.Key
	if err := gather.Each(packed, func(d *blocks.Decoder) { keys = append(keys, d.Key()) }); err != nil {
		return err
	}
	if err := storage.WriteShared(ctx, f.File, newList(keys)); err != nil {
		return err
	}
	emit(0, []byte{})
	return nil
}

// list is sorted keys as blocks.AppendKey writes them. It is a byte slice, since JSON encodes that as a short string.
type list []byte

const (
	keyBytes = 8
	far      = 32 // keys: skipping this many costs about as much as a look-up
)

// newList returns the list of keys, and sorts keys.
func newList(keys []blocks.Key) list {
	slices.Sort(keys)
	l := make(list, 0, keyBytes*len(keys))
	for _, key := range keys {
		l = blocks.AppendKey(l, key)
	}
	return l
}

func (l list) len() int { return len(l) / keyBytes }

func (l list) at(i int) blocks.Key { return blocks.Key(binary.LittleEndian.Uint64(l[keyBytes*i:])) }

// others removes the entries of listed documents, in place. It advances through the list in step with the entries, and
// searches only at an entry that is out of input order or far from the last one, which is rare within a block.
func (l list) others(entries []blocks.BandEntry) []blocks.BandEntry {
	if l.len() == 0 {
		return entries
	}
	others := entries[:0]
	next, last := 0, blocks.Key(math.MaxInt64)
	for _, e := range entries {
		if e.Document < last || next+far < l.len() && l.at(next+far) < e.Document {
			next = sort.Search(l.len(), func(i int) bool { return l.at(i) >= e.Document })
		}
		last = e.Document
		for next < l.len() && l.at(next) < last {
			next++
		}
		if next == l.len() || l.at(next) > last {
			others = append(others, e)
		}
	}
	return others
}
