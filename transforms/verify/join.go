package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[joinFn]())
	register.Iter1[[]byte]()
}

var (
	representatives = beam.NewCounter("verify", "representatives")
	pairsFound      = beam.NewCounter("verify", "pairs")
)

// small joins the sets of small components, each for itself.
//
//	KV<group, set parts with components> → KV<group, near pairs>, KV<document, set part>, KV<component, profiles>, facts
//
// A component whose sets are larger than a cell goes on as if it were a large one; the others of a
// group are held in memory.
func small(s beam.Scope, f Features, p Params) (pairs, sets, profiles, facts beam.PCollection) {
	s = s.Scope("Small")
	return beam.ParDo4(s, &joinFn{Threshold: p.Threshold, CellBytes: p.CellBytes, Banding: p.Banding}, beam.GroupByKey(s, f.Sets))
}

type joinFn struct {
	Threshold setsim.Threshold
	CellBytes int
	Banding   Banding

	estimator *estimator
	estimates bundleEstimate
	assembler assembler
	members   []memberPart
}

func (f *joinFn) Setup() { f.estimator = newEstimator(f.Banding) }

func (f *joinFn) StartBundle(_, _, _ func(int64, []byte), _ func([]byte)) {
	f.estimates = bundleEstimate{}
}

func (f *joinFn) FinishBundle(_, _, _ func(int64, []byte), facts func([]byte)) error {
	return f.estimates.emit(facts)
}

// memberPart is a part of the set of a document of a component.
type memberPart struct {
	component, key records.Key
	part           []byte
}

func appendMemberPart(block []byte, component records.Key, part []byte) []byte {
	return records.AppendBytes(records.AppendKey(block, component), part)
}

func (f *joinFn) ProcessElement(ctx context.Context, number int64, packed func(*[]byte) bool, pairs, sets, profiles func(int64, []byte), _ func([]byte)) error {
	if err := f.gather(packed, sets, profiles); err != nil {
		return err
	}
	defer func() { clear(f.members) }() // their blocks are not needed
	slices.SortFunc(f.members, func(a, b memberPart) int {
		if a.component != b.component {
			return cmp.Compare(a.component, b.component)
		}
		return cmp.Compare(a.key, b.key)
	})
	out := pairWriter{key: number, emit: pairs}
	var parts [][]byte
	joined := 0
	for left := f.members; len(left) > 0; left = left[len(parts):] {
		component := left[0].component
		parts = parts[:0]
		for _, m := range left {
			if m.component != component {
				break
			}
			parts = append(parts, m.part)
		}
		group, err := f.assembler.assemble(parts)
		if err != nil {
			return err
		}
		f.join(int64(component), group, &out)
		joined += len(group.sets)
	}
	out.flush()
	representatives.Inc(ctx, int64(joined))
	pairsFound.Inc(ctx, out.written)
	return nil
}

// gather holds the parts of components that one call can join, and passes those of others on.
func (f *joinFn) gather(packed func(*[]byte) bool, sets, profiles func(int64, []byte)) error {
	f.members = f.members[:0]
	sizes := map[records.Key]int{}
	buffers := records.NewBuffers()
	var block []byte
	for packed(&block) {
		for d := records.NewDecoder(block); !d.Done(); {
			m := memberPart{component: d.Key(), part: d.Bytes()}
			m.key = records.NewDecoder(m.part).Key()
			if err := d.Err(); err != nil {
				return err
			}
			before := sizes[m.component]
			sizes[m.component] += len(m.part)
			if before > f.CellBytes {
				if err := passOn(m, buffers, sets, profiles); err != nil {
					return err
				}
				continue
			}
			f.members = append(f.members, m)
			if sizes[m.component] <= f.CellBytes {
				continue
			}
			kept := f.members[:0]
			for _, held := range f.members {
				if held.component != m.component {
					kept = append(kept, held)
				} else if err := passOn(held, buffers, sets, profiles); err != nil {
					return err
				}
			}
			clear(f.members[len(kept):])
			f.members = kept
		}
		block = nil // the parts are in it
	}
	buffers.Flush(profiles)
	return nil
}

// join joins the sets of a component.
func (f *joinFn) join(component int64, g group, out *pairWriter) {
	estimate := f.estimator.of(g.sets)
	setsim.SelfJoin(g.sets, f.Threshold, func(i, j, shared int) bool {
		out.add(g.keys[i], g.keys[j], shared)
		estimate.pair(i, j, shared)
		return true
	})
	f.estimates.add(component, estimate.estimate)
}

// passOn sends a part of a set of a component that one call cannot hold to be cut into cells.
func passOn(m memberPart, buffers *records.Buffers, sets, profiles func(int64, []byte)) error {
	d := records.NewDecoder(m.part)
	part := d.SetPart()
	if err := d.Err(); err != nil {
		return err
	}
	if part.First == 0 {
		buffers.Add(int64(m.component), func(b []byte) []byte {
			return records.AppendProfile(b, &records.Profile{Key: part.Key, Hash: part.Hash, Size: part.Total})
		}, profiles)
	}
	sets(int64(part.Key), bytes.Clone(m.part))
	return nil
}

// group is the distinct sets of documents in input order, each with the key of its first document.
type group struct {
	keys []records.Key
	sets [][]uint64
}

// assembler makes sets of their parts. What it made is valid until the next call.
type assembler struct {
	group group
	room  []uint64 // of the sets
	parts []records.SetPart
	seen  map[records.SetHash]bool
}

// assemble makes sets of their parts, which may come in any order.
func assemble(parts [][]byte) (group, error) { return new(assembler).assemble(parts) }

func (a *assembler) assemble(packed [][]byte) (group, error) {
	a.parts = a.parts[:0]
	for _, block := range packed {
		d := records.NewDecoder(block)
		a.parts = append(a.parts, d.SetPart())
		if err := d.Err(); err != nil {
			return group{}, err
		}
	}
	slices.SortFunc(a.parts, func(a, b records.SetPart) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.First, b.First))
	})
	if a.seen == nil {
		a.seen = map[records.SetHash]bool{}
	}
	clear(a.seen)
	total := 0
	for _, p := range a.parts {
		total += len(p.Values) / shingleBytes
	}
	a.room = slices.Grow(a.room[:0], total)
	g := group{keys: a.group.keys[:0], sets: a.group.sets[:0]}
	for parts := a.parts; len(parts) > 0; {
		first, n, size := parts[0], 0, 0
		for n < len(parts) && parts[n].Key == first.Key {
			size += len(parts[n].Values) / shingleBytes
			n++
		}
		if size != first.Total {
			return group{}, fmt.Errorf("%d of %d shingles of document %v: %w", size, first.Total, first.Key, records.ErrCorrupt)
		}
		if !a.seen[first.Hash] {
			a.seen[first.Hash] = true
			at := len(a.room)
			a.room = a.room[:at+size]
			set := a.room[at:len(a.room):len(a.room)]
			for _, p := range parts[:n] {
				p.CopyTo(set)
			}
			g.keys, g.sets = append(g.keys, first.Key), append(g.sets, set)
		}
		parts = parts[n:]
	}
	clear(a.parts) // their blocks are not needed
	a.group = g
	return g, nil
}

// pairWriter packs the pairs of a group into blocks.
type pairWriter struct {
	key     int64
	emit    func(int64, []byte)
	block   []byte
	written int64
}

func (w *pairWriter) add(a, b records.Key, shared int) {
	w.block = records.AppendNearPair(w.block, records.NearPair{A: min(a, b), B: max(a, b), Shared: shared})
	w.written++
	if len(w.block) >= records.BlockBytes {
		w.flush()
	}
}

func (w *pairWriter) flush() {
	if len(w.block) > 0 {
		w.emit(w.key, w.block)
		w.block = nil
	}
}
