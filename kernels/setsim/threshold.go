package setsim

import (
	"errors"
	"math"
)

// thresholdScale is the denominator before reduction: six decimals. It keeps the product with the sizes of two sets far
// below 2^64.
const thresholdScale = 1_000_000

// A Threshold is a minimum Jaccard similarity, the reduced fraction Num/Den with 0 < Num ≤ Den. All decisions use
// integers: in floating point, .8·5 or a ceil of t·n may fall on the wrong side, and a pair at exactly t would be lost.
type Threshold struct{ Num, Den uint64 }

// Any is reached by any two sets that share an element, for sizes below 2^32.
var Any = Threshold{Num: 1, Den: 1 << 32}

// ParseThreshold returns t as a fraction. It returns an error for values outside (0, 1] and for those that are not
// decimals of at most six digits.
func ParseThreshold(t float64) (Threshold, error) {
	if !(t > 0 && t <= 1) {
		return Threshold{}, errors.New("must be above 0 and at most 1")
	}
	scaled := math.Round(t * thresholdScale)
	// A quotient of two exact integers is rounded like the decimal that it denotes, so equality means that t was
	// written with at most six digits.
	if scaled/thresholdScale != t {
		return Threshold{}, errors.New("must have at most six decimal places")
	}
	num := uint64(scaled)
	d := gcd(num, thresholdScale)
	return Threshold{num / d, thresholdScale / d}, nil
}

// Float returns the threshold as the nearest floating-point number.
func (t Threshold) Float() float64 { return float64(t.Num) / float64(t.Den) }

// minOverlap returns the minimum number of shared elements with which sets of a and b elements reach t: ⌈t(a+b)/(1+t)⌉.
// It is 1 for two empty sets, which are similar to nothing.
func (t Threshold) minOverlap(a, b int) int {
	return max(1, ceilDiv(t.Num*uint64(a+b), t.Num+t.Den))
}

// MinSize returns the size of the smallest set that can reach t with a set of n elements: ⌈t·n⌉, or 1 for n = 0.
func (t Threshold) MinSize(n int) int {
	return max(1, ceilDiv(t.Num*uint64(n), t.Den))
}

// Reached reports whether sets of a and b elements that share this many have a Jaccard similarity of at least t.
func (t Threshold) Reached(shared, a, b int) bool {
	return shared >= t.minOverlap(a, b)
}

func ceilDiv(a, b uint64) int { return int((a + b - 1) / b) }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
