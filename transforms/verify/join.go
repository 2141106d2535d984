package verify

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/setsim"
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

	estimator *estimate.Estimator
	estimates bundleEstimate
	assembler blocks.SetAssembler
	members   []memberPart
}

func (f *joinFn) Setup() { f.estimator = f.Banding.estimator() }

func (f *joinFn) StartBundle(_, _, _ func(int64, []byte), _ func([]byte)) {
	f.estimates = bundleEstimate{}
}

func (f *joinFn) FinishBundle(_, _, _ func(int64, []byte), facts func([]byte)) error {
	return f.estimates.emit(facts)
}

// memberPart is a part of the set of a document of a component.
type memberPart struct {
	component, key blocks.Key
	part           []byte
}

func appendMemberPart(block []byte, component blocks.Key, part []byte) []byte {
	return blocks.AppendBytes(blocks.AppendKey(block, component), part)
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
		group, err := f.assembler.Assemble(parts)
		if err != nil {
			return err
		}
		f.join(int64(component), group, &out)
		joined += len(group.Sets)
	}
	out.flush()
	representatives.Inc(ctx, int64(joined))
	pairsFound.Inc(ctx, out.written)
	return nil
}

// gather holds the parts of components that one call can join, and passes those of others on.
func (f *joinFn) gather(packed func(*[]byte) bool, sets, profiles func(int64, []byte)) error {
	f.members = f.members[:0]
	sizes := map[blocks.Key]int{}
	buffers := blocks.NewBuffers()
	var block []byte
	for packed(&block) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			m := memberPart{component: d.Key(), part: d.Bytes()}
			m.key = blocks.NewDecoder(m.part).Key()
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
func (f *joinFn) join(component int64, g blocks.Sets, out *pairWriter) {
	f.estimator.Begin(g.Sets)
	setsim.SelfJoin(g.Sets, f.Threshold, func(i, j, shared int) bool {
		out.add(g.Keys[i], g.Keys[j], shared)
		f.estimator.Pair(i, j, shared)
		return true
	})
	f.estimates.add(component, f.estimator.Sum())
}

// passOn sends a part of a set of a component that one call cannot hold to be cut into cells.
func passOn(m memberPart, buffers *blocks.Buffers, sets, profiles func(int64, []byte)) error {
	d := blocks.NewDecoder(m.part)
	part := d.SetPart()
	if err := d.Err(); err != nil {
		return err
	}
	if part.First == 0 {
		buffers.Add(int64(m.component), func(b []byte) []byte {
			return blocks.AppendProfile(b, &blocks.Profile{Key: part.Key, Hash: part.Hash, Size: part.Total})
		}, profiles)
	}
	sets(int64(part.Key), bytes.Clone(m.part))
	return nil
}

// pairWriter packs the pairs of a group into blocks.
type pairWriter struct {
	key     int64
	emit    func(int64, []byte)
	block   []byte
	written int64
}

func (w *pairWriter) add(a, b blocks.Key, shared int) {
	w.block = blocks.AppendNearPair(w.block, blocks.NearPair{A: min(a, b), B: max(a, b), Shared: shared})
	w.written++
	if len(w.block) >= blocks.BlockBytes {
		w.flush()
	}
}

func (w *pairWriter) flush() {
	if len(w.block) > 0 {
		w.emit(w.key, w.block)
		w.block = nil
	}
}
