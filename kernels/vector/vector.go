// Package vector makes the weighted vectors of documents.
//
// A document's vector has one component per feature, which is a shingle. Weights are integers, so that all results
// computed from them are the same on every platform: 1 for each shingle (the vector of a set), its number of
// occurrences (tf), or that number times its inverse document frequency (tf-idf).
package vector

import (
	"math/bits"
	"slices"
)

// A Vector is a sparse vector: the weight of Features[i] is Weights[i], or 1 if
// Weights is nil. Features are distinct shingle hashes in ascending order, fewer
// than 2^32, and weights are at least 1.
//
// The square of its length is below 2^64. Hence the dot product of any two vectors is, too (Cauchy and Schwarz), and
// the sum of a vector's weights is below 2^48.
type Vector struct {
	Features []uint64
	Weights  []uint32
}

// Weight returns the weight of Features[i].
func (v Vector) Weight(i int) uint32 {
	if v.Weights == nil {
		return 1
	}
	return v.Weights[i]
}

// SquaredLength returns the sum of the squared weights.
func (v Vector) SquaredLength() uint64 {
	if v.Weights == nil {
		return uint64(len(v.Features))
	}
	sum := uint64(0)
	for _, w := range v.Weights {
		sum += uint64(w) * uint64(w)
	}
	return sum
}

// TermFrequencies returns the vector whose weights are numbers of occurrences (tf). It sorts the shingles, fewer than
// 2^32, in place, and keeps their memory.
func TermFrequencies(shingles []uint64) Vector {
	slices.Sort(shingles)
	var weights []uint32
	distinct := shingles[:0]
	for i, x := range shingles {
		if i == 0 || x != distinct[len(distinct)-1] {
			distinct = append(distinct, x)
			weights = append(weights, 0)
		}
		weights[len(weights)-1]++
	}
	return Vector{distinct, weights}
}

// FractionBits is the number of binary places of an inverse document frequency.
const FractionBits = 12

// InverseFrequency returns the inverse document frequency (idf) of a feature, given the number of all documents and of
// those that have it, 1 ≤ having ≤ documents < 2^63, in units of 2^-FractionBits:
//
//	⌊ 2^12 · log2(1 + documents/having) ⌋
//
// The 1 leaves a weight to features that all documents have: without it, a document that has no others would have no
// vector. The computation uses only integers, so that it is the same on every platform. The logarithm's own error is
// below 2^-50, so the result differs from the floor, by 1, only if the logarithm is that close to a multiple of 2^-12.
func InverseFrequency(documents, having uint64) uint32 {
	sum := documents + having
	whole := bits.Len64(sum) - bits.Len64(having)
	if sum < having<<whole {
		whole--
	}
	// Let sum = 2^whole·having·y. y in [1, 2) has 63 binary places. Squaring y doubles its logarithm, whose integer
	// part is the next bit.
	y, _ := bits.Div64(sum>>1, sum<<63, having<<whole)
	log := uint32(whole)
	for range FractionBits {
		high, low := bits.Mul64(y, y)
		bit := high >> 63
		log = log<<1 | uint32(bit)
		if y = high; bit == 0 {
			y = high<<1 | low>>63
		}
	}
	return log
}

// TimesIDF returns the vector with each weight multiplied by the inverse document frequency of its feature (tf-idf), in
// units of 2^-FractionBits, which must not be 0. If the vector's length would reach 2^32 units, as for a text that
// repeats a rare word a hundred thousand times, all products are halved as often as needed, rounding down, but not
// below 1.
func (v Vector) TimesIDF(idf func(feature uint64) uint32) Vector {
	products := make([]uint64, len(v.Features))
	for i, x := range v.Features {
		products[i] = uint64(v.Weight(i)) * uint64(idf(x))
	}
	for tooLong(products) {
		for i, p := range products {
			products[i] = max(1, p/2)
		}
	}
	weights := make([]uint32, len(products))
	for i, p := range products {
		weights[i] = uint32(p)
	}
	return Vector{v.Features, weights}
}

// tooLong reports whether the sum of squares reaches 2^64.
func tooLong(weights []uint64) bool {
	sum, carry := uint64(0), uint64(0)
	for _, w := range weights {
		high, low := bits.Mul64(w, w)
		if sum, carry = bits.Add64(sum, low, 0); high+carry > 0 {
			return true
		}
	}
	return false
}
