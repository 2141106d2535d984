package crowds

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/sets"
	"github.com/neardup/neardup/transforms/verify"
)

func init() { flow.Register[tellFn]() }

// Told is what samples tell about large components.
type Told struct {
	// Crowds are the turns of the representatives of crowds, in the order of preference.
	Crowds flow.Turns
	// Others are the turns of the representatives of other components, by size of their sets.
	Others flow.Turns
	// Found are the pairs of components that the sample covers completely and that are no crowds. They have no turns.
	verify.Found
	// Named are the facts that name the crowds.
	Named flow.Facts
}

// Tell separates crowds from other large components before their sets are joined, by the pairs in a sample.
//
//	KV<component, profiles>, KV<component, set part> → KV<document, turn> of crowds, and of others, KV<component shard, near pairs>, facts
//
// The sample is the sets of smallest hash. One CoGroupByKey, which holds the sample of one component; its profiles are
// sorted in p.Files.
func Tell(s beam.Scope, profiles flow.LargeProfiles, samples flow.Samples, p Params) Told {
	s = s.Scope("crowds.Tell")
	crowds, others, pairs, estimates, named := beam.ParDo5(s, &tellFn{Params: p},
		beam.CoGroupByKey(s, beam.PCollection(profiles), beam.PCollection(samples)))
	return Told{
		Crowds: flow.Turns(crowds), Others: flow.Turns(others), Named: flow.Facts(named),
		Found: verify.Found{Pairs: flow.NearPairs(pairs), Facts: flow.Facts(estimates)},
	}
}

// tellFn decides whether a component is a crowd; see Tell for the shapes.
type tellFn struct {
	Params Params

	in        *blocks.Inputs
	estimator *estimate.Estimator
	groups    sets.Groups
	ordered   sorted.Records
}

func (f *tellFn) Setup(ctx context.Context) (err error) {
	f.estimator = f.Params.Estimator()
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *tellFn) ProcessElement(
	ctx context.Context, component int64, profiles, samples func(*[]byte) bool, crowds, others, pairs func(int64, []byte),
	estimates, named func([]byte),
) error {
	if err := f.groups.Read(ctx, f.Params.Files, profiles); err != nil {
		return err
	}
	representatives, documents, words := 0, 0, 0
	err := f.groups.Each(f.in, func(g *sets.Group) error {
		representatives, documents, words = representatives+1, documents+g.Documents, words+g.Words
		return nil
	})
	if err != nil {
		return err
	}
	hold := memory.NewHold(ctx)
	defer hold.Free()
	if err := hold.Add(ctx, 2*int64(min(blocks.ShingleBytes*words, sampleBytes))); err != nil { // parts and sets
		return err
	}
	sample, err := smallest(samples, documents, sampleBytes)
	if err != nil {
		return err
	}
	found, crowded := f.Params.crowded(sample.Sets, f.in.Apart(sample.Keys), representatives)
	if !crowded && len(sample.Sets) == representatives {
		return f.Params.emit(blocks.Key(component), f.estimator, sample, found, pairs, estimates)
	}
	if !crowded {
		return f.giveTurns(ctx, blocks.Key(component), false, f.Params.CellBytes, others)
	}
	if err := f.giveTurns(ctx, blocks.Key(component), true, f.Params.ChunkBytes, crowds); err != nil {
		return err
	}
	crowdsFound.Inc(ctx, 1)
	return blocks.Fact{
		Kind: blocks.FactCrowd, Name: fmt.Sprint(component),
		Counts: map[string]int64{blocks.CountRepresentatives: int64(representatives)},
	}.Emit(named)
}

// emit emits the pairs of a component and an estimate of their number.
func (p *Params) emit(
	component blocks.Key, estimator *estimate.Estimator, of blocks.Sets, found []pair,
	emit func(int64, []byte), estimates func([]byte),
) error {
	out := blocks.PairWriter{Key: p.Shards.Shard(component), Emit: emit}
	estimator.Begin(of.Sets)
	v := p.Verifier.New()
	for _, p := range found {
		a, b := of.Sets[p.i], of.Sets[p.j]
		out.Add(of.Keys[p.i], of.Keys[p.j], p.score, v.Shared(p.score, a, b), verifier.Matches(v, p.score, a, b))
		estimator.Pair(p.i, p.j, p.score)
	}
	out.Flush()
	return verify.EstimateOf(component, estimator).EmitFact(estimates)
}

// sampleBytes is the maximum size of a component's sample. It does not depend on the memory, since the listed pairs
// must not.
const sampleBytes = 16 << 20

// leastSampled is the number of pairs in a sample from which it predicts the number of all pairs.
const leastSampled = 8

// standingBatches is the range of batch numbers of each standing; batches of higher standings go first.
const standingBatches = 1 << 28

// giveTurns emits the turns of a component's representatives, in batches of about this many bytes: those of a crowd by
// standing and then in the order of preference, others by size.
func (f *tellFn) giveTurns(
	ctx context.Context, component blocks.Key, crowd bool, bytes int, turns func(int64, []byte),
) error {
	f.ordered.Begin(ctx, f.Params.Files)
	var record []byte
	err := f.groups.Each(f.in, func(g *sets.Group) error {
		record = binary.BigEndian.AppendUint64(record[:0], uint64(g.Words))
		if crowd {
			record = f.appendOrder(record[:0], g)
		}
		record = binary.BigEndian.AppendUint64(blocks.AppendOrdered(record, g.First), uint64(g.Words))
		return f.ordered.Add(record)
	})
	if err != nil {
		return err
	}
	if err := f.ordered.End(); err != nil {
		return err
	}
	size, turn := 0, blocks.Turn{Component: component}
	standing := byte(math.MaxUint8) // none
	for record, err := range f.ordered.All() {
		if err != nil {
			return err
		}
		if of := record[0]; crowd && of != standing {
			standing, size, turn.Number = of, 0, 0
			turn.Batch = int(blocks.StandingOf(record)) * standingBatches
		}
		if size >= bytes {
			turn.Batch, size = turn.Batch+1, 0
		}
		end := record[len(record)-2*keyBytes:]
		turns(int64(binary.BigEndian.Uint64(end)), blocks.AppendTurn(nil, turn))
		size += blocks.ShingleBytes * int(binary.BigEndian.Uint64(end[keyBytes:]))
		turn.Number++
	}
	return nil
}

// appendOrder appends bytes whose order is that of a crowd's representatives.
func (f *tellFn) appendOrder(dst []byte, g *sets.Group) []byte {
	var size []byte
	if f.Params.Verifier.LargerStays() {
		size = binary.BigEndian.AppendUint64(nil, ^uint64(g.Words))
	}
	return f.in.AppendPreferred(dst, g.Best, size)
}

const keyBytes = 8

// pair is two sets of a sample, with their score.
type pair struct{ i, j, score int }

// crowded reports whether a component of this many sets has more pairs than the budget, judging by its sample. If it
// does not, found has the pairs of the sample.
func (p *Params) crowded(sample [][]uint64, apart []bool, of int) (found []pair, crowded bool) {
	n := len(sample)
	if n < 2 {
		return nil, false
	}
	// A sample's pairs relate to all pairs as the squares of the numbers of sets.
	limit := float64(p.PairBudget) * (float64(n) * float64(n-1)) / (float64(of) * float64(of-1))
	if n < of {
		limit = max(limit, leastSampled-1)
	}
	verifier.SelfJoin(p.Verifier.New(), sample, apart, func(i, j, score int) bool {
		found = append(found, pair{i, j, score})
		return float64(len(found)) <= limit
	})
	return found, float64(len(found)) > limit
}

// smallest assembles the sampled sets of a component with this many documents: those of smallest hash, up to a number
// of bytes, each with the key of its first document. The choice depends neither on the order of the parts nor on what
// else was sent.
func smallest(parts func(*[]byte) bool, documents, bytes int) (blocks.Sets, error) {
	type sampled struct {
		hash  blocks.Hash
		key   blocks.Key
		parts [][]byte
		bytes int // of the whole set
	}
	var kept []*sampled // by hash
	held := 0
	beyond := blocks.Hash{Hi: 1<<64 - 1, Lo: 1<<64 - 1}
	var block []byte
	for parts(&block) {
		d := blocks.NewDecoder(block)
		part := d.SetPart()
		if err := d.Err(); err != nil {
			return blocks.Sets{}, err
		}
		if part.Hash.Compare(beyond) < 0 && sets.Sampled(part.Hash, documents) {
			i, ok := slices.BinarySearchFunc(kept, part.Hash, func(s *sampled, h blocks.Hash) int { return s.hash.Compare(h) })
			if !ok {
				kept = slices.Insert(kept, i, &sampled{hash: part.Hash, key: part.Key, bytes: blocks.ShingleBytes * part.Total})
				held += kept[i].bytes
			}
			switch s := kept[i]; { // copies have equal sets
			case part.Key == s.key:
				s.parts = append(s.parts, block)
			case part.Key < s.key:
				s.key, s.parts = part.Key, [][]byte{block}
			}
		}
		block = nil
		for held > bytes && len(kept) > 0 {
			last := kept[len(kept)-1]
			kept, beyond = kept[:len(kept)-1], last.hash
			held -= last.bytes
		}
	}
	var all [][]byte
	for _, s := range kept {
		all = append(all, s.parts...)
	}
	return blocks.AssembleSets(all)
}
