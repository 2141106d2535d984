package diff

import (
	"math"

	"github.com/neardup/neardup/kernels/cosine"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/vector"
)

// These are the distances of Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.5, except the Hamming
// distance.
//
// A metric is never negative, is 0 only for equal documents, is symmetric, and satisfies the triangle inequality. All
// measures here are metrics except containment. Sets are sorted slices of distinct elements, and texts are sequences of
// tokens.

// jaccard returns the distance 1 − |A∩B| / |A∪B|, from 0 to 1, and 0 for two empty sets.
func jaccard(a, b []uint64) float64 {
	shared := setsim.Overlap(a, b)
	union := len(a) + len(b) - shared
	if union == 0 {
		return 0
	}
	return float64(union-shared) / float64(union)
}

// containment returns |A∩B| / |A|, from 0 to 1: the share of a that is in b (Broder 1997). It is 1 for an empty a. It
// is a similarity that is not symmetric, and is 1 for different sets if b contains a.
func containment(a, b []uint64) float64 {
	if len(a) == 0 {
		return 1
	}
	return float64(setsim.Overlap(a, b)) / float64(len(a))
}

// angle returns the angle between two vectors in degrees, from 0 to 90, since weights are positive. It is a metric of
// directions: 0 if one vector is a multiple of the other. It is 0 if both vectors are empty, and 90 if one is.
//
// It uses the sine of the half angle, ½·|a/|a| − b/|b||, because near 0 the arc cosine loses half of the digits.
func angle(a, b vector.Vector) float64 {
	if len(a.Features) == 0 || len(b.Features) == 0 {
		if len(a.Features) == len(b.Features) {
			return 0
		}
		return 90
	}
	// Only for parallel vectors, the square of the dot product is exactly the product of the squared lengths.
	dot, lengthA, lengthB := cosine.Dot(a, b), a.SquaredLength(), b.SquaredLength()
	if cosine.Reached(setsim.Threshold{Num: 1, Den: 1}, dot, lengthA, lengthB) {
		return 0
	}
	inverseA, inverseB := 1/math.Sqrt(float64(lengthA)), 1/math.Sqrt(float64(lengthB))
	sum := 0.
	for x, y := range pairs(a, b) {
		d := float64(x)*inverseA - float64(y)*inverseB
		sum += d * d
	}
	return min(90, 2*math.Asin(min(1, math.Sqrt(sum)/2))*180/math.Pi)
}

// manhattan returns Σ |aᵢ − bᵢ|.
func manhattan(a, b vector.Vector) uint64 {
	sum := uint64(0)
	for x, y := range pairs(a, b) {
		sum += uint64(max(x, y) - min(x, y))
	}
	return sum
}

// euclidean returns √Σ (aᵢ − bᵢ)².
func euclidean(a, b vector.Vector) float64 {
	sum := uint64(0) // at most the sum of both squared lengths
	for x, y := range pairs(a, b) {
		d := uint64(max(x, y) - min(x, y))
		sum += d * d
	}
	return math.Sqrt(float64(sum))
}

// pairs yields the weights of each feature that at least one of two vectors has: 0 where it is missing.
func pairs(a, b vector.Vector) func(yield func(x, y uint32) bool) {
	return func(yield func(x, y uint32) bool) {
		i, j := 0, 0
		for i < len(a.Features) || j < len(b.Features) {
			x, y := uint32(0), uint32(0)
			ofA := j == len(b.Features) || i < len(a.Features) && a.Features[i] <= b.Features[j]
			ofB := i == len(a.Features) || j < len(b.Features) && b.Features[j] <= a.Features[i]
			if ofA {
				x = a.Weight(i)
				i++
			}
			if ofB {
				y = b.Weight(j)
				j++
			}
			if !yield(x, y) {
				return
			}
		}
	}
}

// editDistance returns the minimum number of tokens to insert or delete to turn a into b: |a| + |b| − 2·LCS(a, b),
// where LCS is the length of their longest common subsequence (MMDS 3.5.5). It takes |a|·|b| steps, not counting common
// beginnings and endings, and 8·min(|a|, |b|) bytes.
func editDistance(a, b []uint64) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	// row[j] is the LCS of the tokens of a so far and the first j of b.
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return len(a) + len(b) - 2*row[len(b)]
}
