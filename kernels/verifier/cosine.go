package verifier

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/kernels/cosine"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
)

// ofVectors compares vectors by their cosine. The features are the shingles in ascending order and, unless all weights
// are 1, then their weights, two per word. The size is the squared length, and the score the dot product: both are
// below 2^64, and an int holds their bits.
type ofVectors struct {
	t        setsim.Threshold
	weighted bool
}

func newOfVectors(s Spec) Verifier { return ofVectors{s.Threshold, s.weighted()} }

func (s Spec) weighted() bool { return s.Weights == vector.TF || s.Weights == vector.TFIDF }

func vectorFeatures(s Spec, idf func(feature uint64) uint32) func([]uint64) []uint64 {
	if !s.weighted() {
		return shingle.Set
	}
	return func(shingles []uint64) []uint64 { return pack(s.Weights.Of(shingles, idf)) }
}

// pack returns the features of a vector with weights, in the memory of its Features.
func pack(v vector.Vector) []uint64 {
	packed := slices.Grow(v.Features, (len(v.Weights)+1)/2)
	for i, w := range v.Weights {
		if i%2 == 0 {
			packed = append(packed, uint64(w))
		} else {
			packed[len(packed)-1] |= uint64(w) << 32
		}
	}
	return packed
}

// packed is the result of pack, divided into its parts.
type packed struct{ features, weights []uint64 }

func (v ofVectors) unpack(features []uint64) packed {
	n := v.Len(len(features))
	return packed{features[:n], features[n:]}
}

func (p packed) weight(i int) uint64 {
	if len(p.weights) == 0 {
		return 1
	}
	return p.weights[i/2] >> (32 * (i % 2)) & (1<<32 - 1)
}

func (p packed) squaredLength() (sum uint64) {
	for i := range p.features {
		sum += p.weight(i) * p.weight(i)
	}
	return sum
}

// dot returns the dot product, and the number of shared features.
func dot(a, b packed) (sum uint64, shared int) {
	for i, j := 0, 0; i < len(a.features) && j < len(b.features); {
		switch x, y := a.features[i], b.features[j]; {
		case x == y:
			sum += a.weight(i) * b.weight(j)
			shared++
			i++
			j++
		case x < y:
			i++
		default:
			j++
		}
	}
	return sum, shared
}

func (v ofVectors) Len(words int) int {
	if v.weighted {
		return 2 * words / 3 // n + ⌈n/2⌉ words hold n features
	}
	return words
}

func (v ofVectors) Words(shingles int) int {
	if v.weighted {
		return shingles + (shingles+1)/2
	}
	return shingles
}

func (v ofVectors) Size(features []uint64) int { return int(v.unpack(features).squaredLength()) }

func (v ofVectors) Shared(score int, a, b []uint64) int {
	if !v.weighted {
		return score
	}
	_, shared := dot(v.unpack(a), v.unpack(b))
	return shared
}

func (v ofVectors) Similarity(score, a, b int) float64 {
	return cosine.Similarity(uint64(score), uint64(a), uint64(b))
}

// MinWords returns ⌈t²·words⌉: sets of a and b shingles, a ≤ b, share at most a, so their cosine is at most √(a/b).
// With weights there is no such bound.
func (v ofVectors) MinWords(words int) int {
	if v.weighted {
		return 0
	}
	high, low := bits.Mul64(v.t.Num*v.t.Num, uint64(words))
	least, rest := bits.Div64(high, low, v.t.Den*v.t.Den)
	return int(least + min(rest, 1))
}

func (v ofVectors) Compare(a, b []uint64) (score int, ok bool) {
	x, y := v.unpack(a), v.unpack(b)
	product, _ := dot(x, y)
	return int(product), cosine.Reached(v.t, product, x.squaredLength(), y.squaredLength())
}

func (v ofVectors) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	cosine.SelfJoin(v.vectors(features), v.t, func(i, j int, dot uint64) bool { return emit(i, j, int(dot)) })
}

func (v ofVectors) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	cosine.CrossJoin(v.vectors(small), v.vectors(large), v.t,
		func(i, j int, dot uint64) bool { return emit(i, j, int(dot)) })
}

func (v ofVectors) vectors(features [][]uint64) []vector.Vector {
	all := make([]vector.Vector, len(features))
	for i, f := range features {
		p := v.unpack(f)
		all[i].Features = p.features
		if !v.weighted {
			continue
		}
		all[i].Weights = make([]uint32, len(p.features))
		for k := range p.features {
			all[i].Weights[k] = uint32(p.weight(k))
		}
	}
	return all
}
