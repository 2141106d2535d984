// Package estimate estimates the number of similar pairs from those that were found.
//
// A pair of similarity s shares a key with probability p(s) (lsh.Keyer), so each found pair that shares
// one counts 1/p(s) times (Horvitz and Thompson 1952). Other found pairs count nothing: their documents
// are connected by chance, by way of others.
//
// How far that is off cannot be computed from p: pairs of one family share documents, and those of all families
// common shingles, so they are missed together. It is measured. Keys of other seeds count the found pairs, too, of
// which they know as little (a parametric bootstrap). How these counts differ is how the first differs from its
// mean. Their mean is that of the first, which is the number of pairs only as far as p is right: in sets much
// smaller than the signature it is not.
package estimate

import (
	"math"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/verifier"
)

// Others is the number of other seeds.
const Others = 8

// studentOthers is the 97.5 % quantile of Student's distribution with Others-1 degrees of freedom.
const studentOthers = 2.364624

// A Sum is the sum over pairs, in integers so that it does not depend on their order.
type Sum struct {
	Found int64 // pairs
	// Millionths is how much the pairs count that share a key, times 10⁶: by the keys that have found them, then by
	// those of the other seeds.
	Millionths [1 + Others]int64
}

// All returns the estimate of the number of all pairs, which is at least that of those found, and the ends of its
// 95 % interval. It is not ok if the other keys find none of the pairs.
func (s *Sum) All() (all, low, high float64, ok bool) {
	mean, squares := 0., 0.
	for _, m := range s.Millionths[1:] {
		mean += float64(m) / Others
	}
	for _, m := range s.Millionths[1:] {
		squares += (float64(m) - mean) * (float64(m) - mean)
	}
	found := float64(s.Found)
	if mean == 0 {
		return max(found, float64(s.Millionths[0])/1e6), 0, 0, false
	}
	of := found / mean // pairs that a millionth stands for
	all = max(found, float64(s.Millionths[0])*of)
	// The mean of so few is itself off. The pairs that were not found count, too.
	wide := studentOthers * of * math.Sqrt(squares/(Others-1)*(1+1./Others)) * all / found
	return all, max(found, math.Round(all-wide)), max(found, math.Round(all+wide)), true
}

// Seeds returns those of the other keys. They depend on the seed of the run alone.
func Seeds(seed uint64) (others [Others]uint64) {
	for i := range others {
		others[i] = hash.Mix(seed + uint64(i) + 1)
	}
	return others
}

// An Estimator makes sums of the pairs of groups of sets, one group after another. It is not safe
// for concurrent use.
type Estimator struct {
	keys     lsh.Keyer
	verifier verifier.Verifier
	signs    []Sign
	values   []uint64
	bandKeys []uint64
	sets     [][]uint64
	cut      []uint32 // band keys of the sets of the group that are in a pair, by one of signs
	offsets  []int    // of the sets' keys in cut, plus 1; 0: not yet signed
	pairs    []pair   // that are in sum, but not yet in its millionths
	sum      Sum
}

// Sign makes the signature of a set. It overwrites dst and uses its storage if that suffices.
type Sign func(dst, set []uint64) []uint64

type pair struct {
	i, j       int32
	millionths int64
}

// mostPairs is how many pairs wait to be counted together, lest a set is signed for each of its pairs.
const mostPairs = 1 << 15

// New returns an Estimator of pairs that were found by these keys of signatures. The first of signs makes those;
// the others, of which there are up to Others, make signatures of other seeds. Without keys there is nothing to
// estimate: all sums are zero, and signs and v are not used.
func New(keys lsh.Keyer, signs []Sign, v verifier.Verifier) *Estimator {
	return &Estimator{keys: keys, signs: signs, verifier: v}
}

// Begin begins a group. The sets must not change until its end.
func (e *Estimator) Begin(sets [][]uint64) {
	e.sets, e.sum = sets, Sum{}
	if cap(e.offsets) < len(sets) {
		e.offsets = make([]int, len(sets))
	}
	e.offsets = e.offsets[:len(sets)]
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
	e.pairs = append(e.pairs, pair{int32(i), int32(j), int64(1e6 / p)})
	if len(e.pairs) == mostPairs {
		e.count()
	}
}

// End ends the group, lets its sets go, and returns the sum of its pairs.
func (e *Estimator) End() Sum {
	e.count()
	e.sets = nil
	return e.sum
}

// count counts the pairs that wait.
func (e *Estimator) count() {
	if len(e.pairs) == 0 {
		return
	}
	for s, sign := range e.signs {
		e.cut = e.cut[:0]
		clear(e.offsets)
		for _, p := range e.pairs {
			if shareBucket(e.keysOf(int(p.i), sign), e.keysOf(int(p.j), sign)) {
				e.sum.Millionths[s] += p.millionths
			}
		}
	}
	e.pairs = e.pairs[:0]
}

// keysOf returns the upper halves of the band keys of a set, which tell buckets apart: of the first of signs those
// that its document had. A set is signed when it is first in a pair.
func (e *Estimator) keysOf(i int, sign Sign) []uint32 {
	if e.offsets[i] == 0 {
		e.offsets[i] = len(e.cut) + 1
		e.values = sign(e.values, verifier.Own(e.verifier, e.sets[i]))
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
