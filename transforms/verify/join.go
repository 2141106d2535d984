package verify

import (
	"cmp"
	"context"
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

// small joins the sets of small components.
//
//	KV<component, set part> → KV<component, near pairs>, KV<document, set part>, KV<component, profiles>, facts
//
// A component whose sets are larger than a cell goes on as if it were a large one.
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
}

func (f *joinFn) Setup() { f.estimator = newEstimator(f.Banding) }

func (f *joinFn) StartBundle(_, _, _ func(int64, []byte), _ func([]byte)) {
	f.estimates = bundleEstimate{}
}

func (f *joinFn) FinishBundle(_, _, _ func(int64, []byte), facts func([]byte)) error {
	return f.estimates.emit(facts)
}

func (f *joinFn) ProcessElement(ctx context.Context, component int64, parts func(*[]byte) bool, pairs, sets, profiles func(int64, []byte), _ func([]byte)) error {
	var held [][]byte
	var block []byte
	size := 0
	for size <= f.CellBytes && parts(&block) {
		held, block = append(held, block), nil
		size += len(held[len(held)-1])
	}
	if size > f.CellBytes {
		return passOn(component, held, parts, sets, profiles)
	}
	group, err := assemble(held)
	if err != nil {
		return err
	}
	out := pairWriter{component: component, emit: pairs}
	estimate := f.estimator.of(group.sets)
	setsim.SelfJoin(group.sets, f.Threshold, func(i, j, shared int) bool {
		out.add(group.keys[i], group.keys[j], shared)
		estimate.pair(i, j, shared)
		return true
	})
	out.flush()
	f.estimates.add(component, estimate.estimate)
	representatives.Inc(ctx, int64(len(group.sets)))
	pairsFound.Inc(ctx, out.written)
	return nil
}

// passOn sends what one call cannot hold to be cut into cells.
func passOn(component int64, held [][]byte, more func(*[]byte) bool, sets, profiles func(int64, []byte)) error {
	buffers := records.NewBuffers()
	var block []byte
	for len(held) > 0 || more(&block) {
		if len(held) > 0 {
			block, held = held[0], held[1:]
		}
		d := records.NewDecoder(block)
		part := d.SetPart()
		if err := d.Err(); err != nil {
			return err
		}
		if part.First == 0 {
			buffers.Add(component, func(b []byte) []byte {
				return records.AppendProfile(b, &records.Profile{Key: part.Key, Hash: part.Hash, Size: part.Total})
			}, profiles)
		}
		sets(int64(part.Key), block)
		block = nil
	}
	buffers.Flush(profiles)
	return nil
}

// group is the distinct sets of documents in input order, each with the key of its first document.
type group struct {
	keys []records.Key
	sets [][]uint64
}

// assemble makes sets of their parts.
func assemble(parts [][]byte) (g group, err error) {
	type member struct {
		key  records.Key
		hash records.SetHash
		set  []uint64
	}
	byKey := map[records.Key]*member{}
	for _, block := range parts {
		d := records.NewDecoder(block)
		part := d.SetPart()
		if err := d.Err(); err != nil {
			return g, err
		}
		m := byKey[part.Key]
		if m == nil {
			m = &member{key: part.Key, hash: part.Hash, set: make([]uint64, part.Total)}
			byKey[part.Key] = m
		}
		part.CopyTo(m.set)
	}
	members := make([]*member, 0, len(byKey))
	for _, m := range byKey {
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(a.key, b.key) })
	seen := map[records.SetHash]bool{}
	for _, m := range members {
		if !seen[m.hash] {
			seen[m.hash] = true
			g.keys, g.sets = append(g.keys, m.key), append(g.sets, m.set)
		}
	}
	return g, nil
}

// pairWriter packs the pairs of a component into blocks.
type pairWriter struct {
	component int64
	emit      func(int64, []byte)
	block     []byte
	written   int64
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
		w.emit(w.component, w.block)
		w.block = nil
	}
}
