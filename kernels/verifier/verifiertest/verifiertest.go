// Package verifiertest has a second measure for tests, by definition and brute force.
package verifiertest

import (
	"math"
	"math/big"
	"slices"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
)

// Cosine is the cosine by numbers of occurrences. The features are each distinct shingle followed by its number of
// occurrences, the size is the squared length of this vector, and the score the dot product. It is not Sets: its
// documents cannot leave a component, be found by rare shingles or be added to an index, and sizes bound nothing.
const Cosine = "test-cosine"

func init() {
	verifier.Measures[Cosine] = verifier.Measure{
		New:      func(s verifier.Spec) verifier.Verifier { return cosine{s.Threshold} },
		Features: func(verifier.Spec, func(uint64) uint32) func([]uint64) []uint64 { return occurrences },
	}
}

type cosine struct{ t setsim.Threshold }

func occurrences(shingles []uint64) (features []uint64) {
	for _, s := range slices.Sorted(slices.Values(shingles)) {
		if last := len(features) - 2; last >= 0 && features[last] == s {
			features[last+1]++
		} else {
			features = append(features, s, 1)
		}
	}
	return features
}

func (v cosine) Len(words int) int { return words / 2 }

func (v cosine) Words(shingles int) int { return 2 * shingles }

func (v cosine) Shared(_ int, a, b []uint64) (shared int) {
	for pair := range slices.Chunk(a, 2) {
		for other := range slices.Chunk(b, 2) {
			if pair[0] == other[0] {
				shared++
			}
		}
	}
	return shared
}

func (v cosine) Size(features []uint64) int { return dot(features, features) }

func dot(a, b []uint64) (sum int) {
	weights := map[uint64]uint64{}
	for pair := range slices.Chunk(a, 2) {
		weights[pair[0]] = pair[1]
	}
	for pair := range slices.Chunk(b, 2) {
		sum += int(weights[pair[0]] * pair[1])
	}
	return sum
}

func (v cosine) Similarity(score, a, b int) float64 {
	return float64(score) / math.Sqrt(float64(a)*float64(b))
}

func (v cosine) MinWords(int) int { return 0 }

// Compare tests score²·Den² ≥ Num²·|a|²·|b|².
func (v cosine) Compare(a, b []uint64) (score int, ok bool) {
	score = dot(a, b)
	product := func(factors ...uint64) *big.Int {
		p := big.NewInt(1)
		for _, f := range factors {
			p.Mul(p, new(big.Int).SetUint64(f))
		}
		return p
	}
	have := product(uint64(score), uint64(score), v.t.Den, v.t.Den)
	return score, have.Cmp(product(v.t.Num, v.t.Num, uint64(dot(a, a)), uint64(dot(b, b)))) >= 0
}

func (v cosine) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	for j := range features {
		for i := range j {
			if score, ok := v.Compare(features[i], features[j]); ok && !emit(i, j, score) {
				return
			}
		}
	}
}

func (v cosine) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	for j, b := range large {
		for i, a := range small {
			if score, ok := v.Compare(a, b); ok && !emit(i, j, score) {
				return
			}
		}
	}
}
