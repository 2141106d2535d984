package spool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[allFn]())
	beam.RegisterDoFn(reflect.TypeFor[membersFn]())
}

// Names of the one component that all documents are, if all are compared.
const (
	Whole blocks.Key = 0
	// Crowd is its name once its sets are to be visited in the order of preference.
	Crowd blocks.Key = 1
)

// Batching spreads sets over batches in the order of their sizes: it holds the least size of each batch, and ascends.
// Batches that begin at one size have sets of that size only, by hash.
type Batching []int

// NewBatching returns batches of about so many bytes, for so many sets of each size.
func NewBatching(sets map[int]int64, bytes int64) Batching {
	least, held := Batching{0}, int64(0)
	for _, size := range slices.Sorted(maps.Keys(sets)) {
		added := blocks.ShingleBytes * int64(size) * sets[size]
		if held > 0 && held+added > bytes {
			least, held = append(least, size), 0
		}
		held += added
		if held <= bytes {
			continue
		}
		if least[len(least)-1] != size {
			least = append(least, size)
		}
		for ; held > bytes; held -= bytes {
			least = append(least, size)
		}
		least, held = append(least, size+1), 0
	}
	return least
}

// Of returns the batches of sets of a size: the first, and that after the last.
func (b Batching) Of(size int) (first, end int) {
	end, _ = slices.BinarySearch(b, size+1)
	first, _ = slices.BinarySearch(b, b[end-1])
	return first, end
}

// Batch returns the batch of a set.
func (b Batching) Batch(size int, hash blocks.Hash) int64 {
	first, end := b.Of(size)
	return int64(first) + int64(hash.Lo%uint64(end-first))
}

// All writes all sets to files, each once, in the order of their sizes.
//
//	KV<batch, hashes of tokens and set parts> → KV<Whole, batches>
//
// Of documents with one set the first has it; a file of edges tells which others there are. One GroupByKey, which holds a batch twice.
func All(s beam.Scope, sized flow.Sized, temp string) flow.Batches {
	s = s.Scope("spool.All")
	return flow.Batches(beam.ParDo(s, &allFn{Temp: temp}, beam.GroupByKey(s, beam.PCollection(sized))))
}

// AppendSized appends a set part, and the hash of its document's tokens, to a block.
func AppendSized(block []byte, tokens blocks.Hash, part []byte) []byte {
	return blocks.AppendBytes(blocks.AppendUint64(blocks.AppendUint64(block, tokens.Hi), tokens.Lo), part)
}

// Sized reads what AppendSized wrote; part shares memory with the block.
func Sized(d *blocks.Decoder) (tokens blocks.Hash, part []byte) {
	return blocks.Hash{Hi: d.Uint64(), Lo: d.Uint64()}, d.Bytes()
}

// allFn writes a batch; see All for the shapes.
type allFn struct {
	Temp string

	assembler blocks.SetAssembler
}

// sized is a document and its set.
type sized struct {
	key          blocks.Key
	hash, tokens blocks.Hash
}

func (f *allFn) ProcessElement(ctx context.Context, batch int64, values func(*[]byte) bool, emit func(int64, []byte)) error {
	var docs []sized
	var parts [][]byte
	var unread error
	err := gather.Each(values, func(d *blocks.Decoder) {
		tokens, data := Sized(d)
		of := blocks.NewDecoder(data)
		part := of.SetPart()
		if unread = cmp.Or(unread, d.Err(), of.Err()); unread != nil {
			return
		}
		parts = append(parts, data)
		if part.First == 0 {
			docs = append(docs, sized{part.Key, part.Hash, tokens})
		}
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return err
	}
	if err := gather.WriteEdges(ctx, sameFile(f.Temp, int(batch)), same(docs)); err != nil {
		return err
	}
	sets, err := f.assembler.Assemble(parts)
	if err != nil {
		return err
	}
	sets = bySize(sets)
	if err := Write(ctx, f.Temp, BatchFile(f.Temp, Whole, int(batch)), sets); err != nil {
		return err
	}
	emit(int64(Whole), blocks.AppendBatch(nil, Describe(int(batch), sets)))
	return nil
}

// bySize orders sets by size, and then by document.
func bySize(sets blocks.Sets) (ordered blocks.Sets) {
	order := make([]int, len(sets.Sets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(len(sets.Sets[i]), len(sets.Sets[j])), cmp.Compare(sets.Keys[i], sets.Keys[j]))
	})
	for _, i := range order {
		ordered.Keys, ordered.Sets = append(ordered.Keys, sets.Keys[i]), append(ordered.Sets, sets.Sets[i])
	}
	return ordered
}

// same returns an edge for each document that has the set of an earlier one, but other tokens than all before it. It reorders
// docs.
func same(docs []sized) (edges []blocks.Edge) {
	slices.SortFunc(docs, func(a, b sized) int { return cmp.Or(a.hash.Compare(b.hash), cmp.Compare(a.key, b.key)) })
	seen := map[blocks.Hash]bool{} // tokens
	first := 0
	for i, doc := range docs {
		if doc.hash != docs[first].hash {
			first = i
			clear(seen)
		}
		if i > first && !seen[doc.tokens] {
			edges = append(edges, blocks.Edge{A: docs[first].key, B: doc.key})
		}
		seen[doc.tokens] = true
	}
	return edges
}

// sameFile is the file of the edges of a batch's documents.
func sameFile(temp string, batch int) string { return storage.Join(temp, fmt.Sprint("same-", batch)) }

// Members are the documents of batches that are to be read again: all, if they are a crowd of so many sets, or those that share
// their set with others.
//
//	KV<batch, sets of the crowd or 0> → KV<split, members>
func Members(s beam.Scope, wanted flow.Wanted, inputs, temp string) flow.Members {
	s = s.Scope("spool.Members")
	return flow.Members(beam.ParDo(s, &membersFn{Inputs: inputs, Temp: temp}, beam.PCollection(wanted)))
}

// membersFn reads the keys of a batch; see Members for the shapes.
type membersFn struct{ Inputs, Temp string }

func (f *membersFn) ProcessElement(ctx context.Context, batch int64, crowd []byte, emit func(int64, []byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	d := blocks.NewDecoder(crowd)
	member := blocks.Member{Component: Crowd, Of: int32(min(d.Uint32(), math.MaxInt32))}
	if err := d.Err(); err != nil {
		return err
	}
	out := blocks.NewBuffers()
	add := func(key blocks.Key) {
		member.Key = key
		out.Add(int64(in.Split(key)), func(block []byte) []byte { return blocks.AppendMember(block, member) }, emit)
	}
	edges, err := gather.ReadEdges(ctx, sameFile(f.Temp, int(batch)))
	if err != nil {
		return err
	}
	if member.Of > 0 {
		all, err := Pick(ctx, BatchFile(f.Temp, Whole, int(batch)), []int{})
		if err != nil {
			return err
		}
		for _, key := range all.Keys {
			add(key)
		}
	} else {
		member.Component, member.Of = Whole, blocks.Joined
		for i, e := range edges {
			if i == 0 || e.A != edges[i-1].A {
				add(e.A)
			}
		}
	}
	for _, e := range edges {
		add(e.B)
	}
	out.Flush(emit)
	return nil
}
