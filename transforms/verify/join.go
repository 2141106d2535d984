package verify

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/records"
)

func init() {
	register.DoFn4x1[context.Context, int64, func(*[]byte) bool, func(int64, []byte), error](&joinFn{})
	register.Iter1[[]byte]()
}

var (
	representatives = beam.NewCounter("verify", "representatives")
	pairsFound      = beam.NewCounter("verify", "pairs")
)

// Jaccard finds every pair of representatives of a component whose Jaccard similarity is at
// least t, with the exact number of shared shingles.
//
//	KV<component, set part> → KV<component, near pairs>
//
// One GroupByKey; the sets of a component are held in memory.
func Jaccard(s beam.Scope, sets beam.PCollection, t setsim.Threshold) beam.PCollection {
	s = s.Scope("verify.Jaccard")
	return beam.ParDo(s, &joinFn{Threshold: t}, beam.GroupByKey(s, sets))
}

type joinFn struct {
	Threshold setsim.Threshold
}

func (f *joinFn) ProcessElement(ctx context.Context, component int64, parts func(*[]byte) bool, emit func(int64, []byte)) error {
	keys, sets, err := assemble(parts)
	if err != nil {
		return err
	}
	var pairs []byte
	found := int64(0)
	setsim.SelfJoin(sets, f.Threshold, func(i, j, shared int) bool {
		found++
		pairs = records.AppendNearPair(pairs, records.NearPair{A: keys[i], B: keys[j], Shared: shared})
		if len(pairs) >= records.BlockBytes {
			emit(component, pairs)
			pairs = nil
		}
		return true
	})
	if len(pairs) > 0 {
		emit(component, pairs)
	}
	representatives.Inc(ctx, int64(len(sets)))
	pairsFound.Inc(ctx, found)
	return nil
}

// assemble returns the distinct sets of a component in input order, each with the key of its
// first document.
func assemble(parts func(*[]byte) bool) (keys []records.Key, sets [][]uint64, err error) {
	type member struct {
		key  records.Key
		hash records.SetHash
		set  []uint64
	}
	byKey := map[records.Key]*member{}
	var block []byte
	for parts(&block) {
		d := records.NewDecoder(block)
		part := d.SetPart()
		if err := d.Err(); err != nil {
			return nil, nil, err
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
			keys, sets = append(keys, m.key), append(sets, m.set)
		}
	}
	return keys, sets, nil
}
