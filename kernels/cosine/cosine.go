// Package cosine compares weighted vectors exactly and finds all similar pairs of a group.
//
// The similarity of two vectors is the cosine of the angle between them, a·b / (|a|·|b|); whether it reaches a
// threshold is decided in integers (Reached). SelfJoin and CrossJoin find every pair at or above a threshold.
// BruteForce finds them by definition and is the oracle for both.
package cosine

import (
	"math"
	"math/bits"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/vector"
)

// Dot returns the dot product of a and b.
func Dot(a, b vector.Vector) uint64 {
	dot := uint64(0)
	for i, j := 0, 0; i < len(a.Features) && j < len(b.Features); {
		switch x, y := a.Features[i], b.Features[j]; {
		case x == y:
			dot += uint64(a.Weight(i)) * uint64(b.Weight(j))
			i++
			j++
		case x < y:
			i++
		default:
			j++
		}
	}
	return dot
}

// Similarity returns the cosine of vectors with this dot product and squared lengths a and b, or 0 if one is empty. It
// is the same on every platform. It is for display and ranking; Reached decides.
func Similarity(dot, a, b uint64) float64 {
	if dot == 0 {
		return 0
	}
	return min(1, float64(dot)/math.Sqrt(float64(a)*float64(b)))
}

// Reached reports whether the cosine of vectors with this dot product and squared lengths a and b is at least t:
//
//	dot²·Den² ≥ Num²·a·b
//
// in 192-bit integers. Nothing is similar to an empty vector. Vectors reach setsim.Any if they share a feature.
func Reached(t setsim.Threshold, dot, a, b uint64) bool {
	if dot == 0 || t == setsim.Any {
		return dot > 0
	}
	high, mid, low := times(dot, dot, t.Den*t.Den)
	needHigh, needMid, needLow := times(a, b, t.Num*t.Num)
	_, borrow := bits.Sub64(low, needLow, 0)
	_, borrow = bits.Sub64(mid, needMid, borrow)
	_, borrow = bits.Sub64(high, needHigh, borrow)
	return borrow == 0
}

// times returns x·y·z.
func times(x, y, z uint64) (high, mid, low uint64) {
	xyHigh, xyLow := bits.Mul64(x, y)
	carry, low := bits.Mul64(xyLow, z)
	high, mid = bits.Mul64(xyHigh, z)
	mid, carry = bits.Add64(mid, carry, 0)
	return high + carry, mid, low
}
