// Package estimate estimates the number of similar pairs from the pairs that were found.
//
// A pair of similarity s shares a key with probability p(s) (lsh.Keyer), so each found pair that shares a key counts
// 1/p(s) times (Horvitz and Thompson 1952). Other found pairs do not count: their documents are connected only by
// chance, through others.
//
// The error of this estimate cannot be computed from p, because misses are correlated: pairs of one family share
// documents, and pairs of all families share common shingles. It is measured instead. Keys made with other seeds count
// the found pairs, too, having had no part in finding them (a parametric bootstrap). The spread of these counts is the
// spread of the first count about its mean. Their mean is the mean of the first count, which equals the number of pairs
// only as far as p is right; for sets much smaller than the signature it is not.
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

// A Sum is a sum over pairs, in integers, so that it does not depend on their order.
type Sum struct {
	Found int64 // pairs
	// Millionths is the weighted number of pairs that share a key, times 10⁶: first by the keys that found the pairs,
	// then by those of the other seeds.
	Millionths [1 + Others]int64
}

// All returns the estimated number of all pairs, which is at least the number found, and the bounds of its 95 %
// interval. ok is false if the other keys find none of the pairs.
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
	of := found / mean // pairs per millionth
	all = max(found, float64(s.Millionths[0])*of)
	// The mean of so few counts has an error of its own, and pairs that were not found contribute, too.
	wide := studentOthers * of * math.Sqrt(squares/(Others-1)*(1+1./Others)) * all / found
	return all, max(found, math.Round(all-wide)), max(found, math.Round(all+wide)), true
}

// Seeds returns the seeds of the other keys, which depend only on the seed of the run.
func Seeds(seed uint64) (others [Others]uint64) {
	for i := range others {
		others[i] = hash.Mix(seed + uint64(i) + 1)
	}
	return others
}

// An Estimator sums up the pairs of one group of sets after another. It is not safe for concurrent use.
type Estimator struct {
	keys     lsh.Keyer
	verifier verifier.Verifier
	signs    []Sign
	values   []uint64
	bandKeys []uint64
	sets     [][]uint64
	cut      []uint32 // upper halves of the band keys, by one of signs, of the group's sets that are in a pair
	offsets  []int    // offsets of the sets' keys in cut, plus 1; 0: not yet signed
	pairs    []pair   // pairs that are not yet counted in sum.Millionths
	sum      Sum
}

// Sign makes the signature of a set. It overwrites dst and reuses its memory if that suffices.
type Sign func(dst, set []uint64) []uint64

type pair struct {
	i, j       int32
	millionths int64
}

// mostPairs is the number of pairs that are counted together, so that a set is not signed for each of its pairs.
const mostPairs = 1 << 15

// New returns an Estimator of pairs that were found by these keys of signatures. The first of signs makes those
// signatures; the others, at most Others, make signatures with other seeds. If keys is nil, all sums are zero, and
// signs and v are not used.
func New(keys lsh.Keyer, signs []Sign, v verifier.Verifier) *Estimator {
	return &Estimator{keys: keys, signs: signs, verifier: v}
}

// Begin starts a group. The sets must not change until End.
func (e *Estimator) Begin(sets [][]uint64) {
	e.sets, e.sum = sets, Sum{}
	if cap(e.offsets) < len(sets) {
		e.offsets = make([]int, len(sets))
	}
	e.offsets = e.offsets[:len(sets)]
}

// leastProbability keeps a probability that rounds to 0 from giving an infinite weight.
const leastProbability = 1e-9

// Pair adds the pair of sets i and j of the group with its score. Each pair must be added once.
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

// End ends the group, releases its sets, and returns the sum of its pairs.
func (e *Estimator) End() Sum {
	e.count()
	e.sets = nil
	return e.sum
}

// count counts the pending pairs.
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

// keysOf returns the upper halves of a set's band keys, which identify buckets. By the first of signs they are the keys
// that its document had. A set is signed when it first occurs in a pair.
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

// shareBucket reports whether two sets share a bucket, given their keys.
func shareBucket(a, b []uint32) bool {
	for band, key := range a {
		if key == b[band] {
			return true
		}
	}
	return false
}
