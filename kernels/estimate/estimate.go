// Package estimate estimates the number of similar pairs from those that were found.
//
// A pair of similarity s shares a key with probability p(s) (lsh.Keyer), so each found pair that shares
// one counts 1/p(s) times (Horvitz and Thompson 1952). Other found pairs count nothing: their documents
// are connected by chance, by way of others.
//
// The term of a pair has the standard deviation √((1−p)/p). How pairs of one component depend on each other is not
// known, so their deviations are added up, which bounds that of their sum; components are independent, so
// their variances are added up.
package estimate

import (
	"math"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/verifier"
)

// A Sum is the sum over pairs, in integers so that it does not depend on their order.
type Sum struct {
	Found      int64 // pairs
	Millionths int64 // the estimate of all, times 10⁶
	Deviation  int64 // a bound of its standard deviation, times 10⁶
}

// An Estimator makes sums of the pairs of groups of sets, one group after another. It is not safe
// for concurrent use.
type Estimator struct {
	keys     lsh.Keyer
	verifier verifier.Verifier
	sign     func(dst, set []uint64) []uint64
	values   []uint64
	bandKeys []uint64
	sets     [][]uint64
	cut      []uint32 // band keys of the sets of the group that are in a pair
	offsets  []int    // of the sets' keys in cut, plus 1; 0: not yet signed
	sum      Sum
}

// New returns an Estimator of pairs that were found by these keys of signatures, which sign makes:
// it overwrites dst and uses its storage if that suffices. Without keys there is nothing to
// estimate: all sums are zero, and sign and v are not used.
func New(keys lsh.Keyer, sign func(dst, set []uint64) []uint64, v verifier.Verifier) *Estimator {
	return &Estimator{keys: keys, sign: sign, verifier: v}
}

// Begin begins a group. The sets must not change until its end.
func (e *Estimator) Begin(sets [][]uint64) {
	e.sets, e.sum, e.cut = sets, Sum{}, e.cut[:0]
	if cap(e.offsets) < len(sets) {
		e.offsets = make([]int, len(sets))
	}
	e.offsets = e.offsets[:len(sets)]
	clear(e.offsets)
}

// leastProbability keeps what is rounded to 0 from standing for infinitely many.
const leastProbability = 1e-9

// Pair adds the pair of sets i and j of the group, which has this score. Add each pair once.
func (e *Estimator) Pair(i, j, score int) {
	if e.keys == nil {
		return
	}
	similarity := e.verifier.Similarity(score, e.verifier.Size(e.sets[i]), e.verifier.Size(e.sets[j]))
	p := max(leastProbability, e.keys.Sharing(similarity))
	e.sum.Found++
	// √((1−p)/p), times √(1/p) for the pairs that were not found.
	e.sum.Deviation += int64(1e6 * math.Sqrt(1-p) / p)
	if shareBucket(e.keysOf(i), e.keysOf(j)) {
		e.sum.Millionths += int64(1e6 / p)
	}
}

// End ends the group, lets its sets go, and returns the sum of its pairs.
func (e *Estimator) End() Sum {
	e.sets = nil
	return e.sum
}

// keysOf returns the upper halves of the band keys of a set, which tell buckets apart: those that its
// document had. A set is signed when it is first in a pair.
func (e *Estimator) keysOf(i int) []uint32 {
	if e.offsets[i] == 0 {
		e.offsets[i] = len(e.cut) + 1
		e.values = e.sign(e.values, e.sets[i])
		e.bandKeys = e.keys.Keys(e.bandKeys, e.values)
		for _, key := range e.bandKeys {
			e.cut = append(e.cut, uint32(key>>32))
		}
	}
	return e.cut[e.offsets[i]-1:][:e.keys.Len()]
}

// shareBucket reports whether two sets share a bucket.
func shareBucket(a, b []uint32) bool {
	for band, key := range a {
		if key == b[band] {
			return true
		}
	}
	return false
}
