package verify

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/records"
)

// Banding is how candidates were found: bands of so many rows of a signature. Without bands there
// is nothing to estimate.
type Banding struct {
	Signature, Bands, Rows int
	Seed                   uint64
}

// estimate counts the pairs found, and from them estimates how many there are (Horvitz and Thompson
// 1952): a pair of similarity J shares a bucket with probability p(J), so each one found that does
// stands for 1/p(J). Those found in a component without sharing a bucket stand for none: in another
// run the one that connects them may be missing.
type estimate struct {
	found, millionths int64 // integers, for sums that depend on no order
}

func (e *estimate) add(o estimate) {
	e.found += o.found
	e.millionths += o.millionths
}

// bundleEstimate adds up those of the components that a bundle meets.
type bundleEstimate struct {
	sum   estimate
	first int64 // component that has pairs, which names the fact
}

func (b *bundleEstimate) add(component int64, e estimate) {
	if b.sum.found == 0 {
		b.first = component
	}
	b.sum.add(e)
}

// emit emits the sum as a fact.
func (b *bundleEstimate) emit(facts func([]byte)) error {
	if b.sum.found == 0 {
		return nil
	}
	fact, err := json.Marshal(blocks.Fact{Kind: blocks.FactEstimate, Name: fmt.Sprint(b.first), Counts: map[string]int64{
		records.CountNear: b.sum.found, records.CountMillionths: b.sum.millionths,
	}})
	if err == nil {
		facts(fact)
	}
	return err
}

// estimator makes estimates from the sets of groups.
type estimator struct {
	banding  Banding
	signer   *fss.Signer
	values   []uint64
	bandKeys []uint64
	cut      []uint32 // band keys of the sets of a group that are in a pair
	places   []int    // of the sets' keys in cut, and one; 0: not yet there
}

func newEstimator(b Banding) *estimator {
	if b.Bands == 0 {
		return &estimator{}
	}
	return &estimator{banding: b, signer: fss.New(b.Signature, b.Seed)}
}

// of returns an estimate of the pairs of sets, which are to be added before the next call.
func (e *estimator) of(sets [][]uint64) *groupEstimate {
	e.cut = e.cut[:0]
	e.places = slices.Grow(e.places[:0], len(sets))[:len(sets)]
	clear(e.places)
	return &groupEstimate{estimator: e, sets: sets}
}

type groupEstimate struct {
	*estimator
	estimate
	sets [][]uint64
}

// leastProbability keeps what is rounded to 0 from standing for infinitely many.
const leastProbability = 1e-9

func (g *groupEstimate) pair(i, j, shared int) {
	if g.signer == nil {
		return
	}
	g.found++
	if !meet(g.keysOf(i), g.keysOf(j)) {
		return
	}
	similarity := setsim.Similarity(shared, len(g.sets[i]), len(g.sets[j]))
	g.millionths += int64(1e6 / max(leastProbability, lsh.SCurve(similarity, g.banding.Bands, g.banding.Rows)))
}

// keysOf signs a set again, which few need: those are the keys that its document had.
func (g *groupEstimate) keysOf(i int) []uint32 {
	if g.places[i] == 0 {
		g.places[i] = len(g.cut) + 1
		g.values = g.signer.Sign(g.values, g.sets[i])
		g.bandKeys = lsh.Keys(g.bandKeys, g.values, g.banding.Bands, g.banding.Rows)
		for _, key := range g.bandKeys {
			g.cut = append(g.cut, uint32(key))
		}
	}
	return g.cut[g.places[i]-1:][:g.banding.Bands]
}

// meet reports whether two documents share a bucket.
func meet(a, b []uint32) bool {
	for band, key := range a {
		if key == b[band] {
			return true
		}
	}
	return false
}

func (e estimate) append(block []byte) []byte {
	return blocks.AppendUint64(blocks.AppendUint64(block, uint64(e.found)), uint64(e.millionths))
}

func decodeEstimate(block []byte) (estimate, error) {
	d := blocks.NewDecoder(block)
	e := estimate{found: int64(d.Uint64()), millionths: int64(d.Uint64())}
	return e, d.Err()
}
