package exchange

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/storage"
)

func init() { flow.Register[referFn]() }

// Groups are the groups of one collection.
type Groups struct {
	All beam.PCollection
	In  In
}

// Alone groups a single collection. One GroupByKey.
//
//	KV<key, block> → KV<key, group of blocks>
func Alone[C exchanged](s beam.Scope, c C) Groups {
	return Groups{All: beam.GroupByKey(s, beam.PCollection(c))}
}

// In says which groups an element of Groups.All holds: a group of a lane, or references to the files that have its
// groups.
type In struct {
	Lane  Lane
	Files bool
}

// Each calls do with each group of an element. Blocks from files may be retained only until do returns.
func (in In) Each(
	ctx context.Context, key int64, packed func(*[]byte) bool, do func(key int64, blocks func(*[]byte) bool) error,
) error {
	switch {
	case in.Files:
		return in.ofFiles(ctx, packed, do)
	case in.Lane.Has(key):
		return do(in.Lane.Key(key), packed)
	default:
		return nil
	}
}

// The runner does not carry blocks that are in files: references to the frames of neighbouring keys go through
// GroupByKey, and the call that receives the references to all files reads the frames.

// leastCuts is enough cuts for many workers.
const leastCuts = 128

// refer groups references to the groups of a lane, whose keys are below the given number, in about this many cuts. One
// GroupByKey.
//
//	paths → KV<cut, group of references>
func refer(s beam.Scope, files beam.PCollection, lane Lane, keys int, cuts int64) Groups {
	s = s.Scope("exchange")
	refs := beam.ParDo(s, &referFn{Lane: lane, Span: max(1, int64(keys)/cuts)}, files)
	return Groups{beam.GroupByKey(s, refs), In{Lane: lane, Files: true}}
}

// referFn emits references to the frames of a lane, in cuts of Span keys.
//
//	paths → KV<cut, reference>
type referFn struct {
	Lane Lane
	Span int64
}

func (f *referFn) ProcessElement(ctx context.Context, file []byte, emit func(int64, []byte)) error {
	path := string(file)
	content, err := storage.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer content.Close()
	all, err := readHead(path, content, content.Size())
	if err != nil {
		return err
	}
	entries, at := f.Lane.in(all)
	for start, end := 0, 0; start < len(entries); start = end {
		cut, r := f.Lane.Key(entries[start].key)/f.Span, reference{at: at, path: path}
		for ; end < len(entries) && f.Lane.Key(entries[end].key)/f.Span == cut; end++ {
			r.bytes += entries[end].bytes
			r.sum += entries[end].sum
		}
		at += r.bytes
		emit(cut, r.append(nil))
	}
	return nil
}

// A reference locates the frames of neighbouring keys in a file.
type reference struct {
	at, bytes int64
	sum       uint64 // sum of the checksums
	path      string

	frames []byte // set by read
}

func (r *reference) append(data []byte) []byte {
	data = binary.LittleEndian.AppendUint64(data, uint64(r.at))
	data = binary.LittleEndian.AppendUint64(data, uint64(r.bytes))
	data = binary.LittleEndian.AppendUint64(data, r.sum)
	return append(data, r.path...)
}

func decodeReference(data []byte) reference {
	return reference{
		at: int64(binary.LittleEndian.Uint64(data)), bytes: int64(binary.LittleEndian.Uint64(data[8:])),
		sum: binary.LittleEndian.Uint64(data[16:]), path: string(data[24:]),
	}
}

// read reads the frames.
func (r *reference) read(ctx context.Context) error {
	r.frames = make([]byte, r.bytes)
	if err := storage.ReadRange(ctx, r.path, r.frames, r.at); err != nil {
		return readError(r.path, err)
	}
	return nil
}

func (in In) ofFiles(ctx context.Context, packed func(*[]byte) bool, do func(int64, func(*[]byte) bool) error) error {
	var refs []reference
	var ref []byte
	for packed(&ref) {
		refs = append(refs, decodeReference(ref))
	}
	if err := readAll(ctx, refs); err != nil {
		return err
	}
	var frames []frame
	for _, r := range refs {
		if !eachFrame(r.frames, r.sum, func(f frame) { frames = append(frames, f) }) {
			return damaged(r.path)
		}
	}
	slices.SortStableFunc(frames, byKey)
	for len(frames) > 0 {
		key := frames[0].key
		err := do(in.Lane.Key(key), func(block *[]byte) bool {
			if len(frames) == 0 || frames[0].key != key {
				return false
			}
			*block, frames = frames[0].block, frames[1:]
			return true
		})
		if err != nil {
			return err
		}
		for len(frames) > 0 && frames[0].key == key { // do may not have read them all
			frames = frames[1:]
		}
	}
	return nil
}

// requests is the maximum number of concurrent requests to a store.
const requests = 16

// readAll reads the frames of references.
func readAll(ctx context.Context, refs []reference) error {
	var group parallel.Group
	var next atomic.Int64
	failed := make([]error, requests)
	for i := range requests {
		if i > 0 && (len(refs) <= i || storage.IsLocal(refs[0].path)) {
			break
		}
		group.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(refs)) && failed[i] == nil; n = next.Add(1) - 1 {
				failed[i] = refs[n].read(ctx)
			}
		})
	}
	group.Wait()
	return cmp.Or(failed...)
}
