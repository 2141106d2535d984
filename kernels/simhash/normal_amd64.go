//go:build !purego

package simhash

import (
	"math"
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/neardup/neardup/kernels/hash"
)

var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

const (
	// masksAtOnce is how many hashes of a feature are estimated at once; entriesAtOnce, how many entries they give.
	masksAtOnce   = 4
	entriesAtOnce = masksAtOnce * perNormalHash

	// featuresAtOnce keeps sums below 2^23, to which a float32 adds with an error of at most ¼. Besides,
	// assembly cannot be preempted.
	featuresAtOnce = 256

	// inaccuracy is the most by which an entry of a sum is off: the curve by 2, and what it is added to by ¼.
	inaccuracy = 3

	// fewFeatures cost as much one after another.
	fewFeatures = 8
)

// estimateNormal sets the bits that the first hashes give, and returns how many hashes these are. Nearly all
// sums are farther from 0 than an estimate of them is off; the others are taken exactly.
func (s *Signer) estimateNormal(sig, features []uint64) (masks int) {
	if !hasAVX2 || len(features) < fewFeatures {
		return 0
	}
	c := curves()
	least := inaccuracy * float64(len(features))
	for ; masks+masksAtOnce <= len(s.masks); masks += masksAtOnce {
		var sums [entriesAtOnce]float64
		for rest := features; len(rest) > 0; {
			n := min(len(rest), featuresAtOnce)
			var e estimate
			estimateAVX2(&e, rest[:n], (*[masksAtOnce]uint64)(s.masks[masks:]), c)
			for k := range sums {
				sums[k] += float64(e.words[k%2][k/2]) + float64(e.tails[k])
			}
			rest = rest[n:]
		}
		for k, sum := range sums {
			if math.Abs(sum) <= least {
				sum = float64(s.normalSum(features, s.masks[masks+k/perNormalHash], k%perNormalHash))
			}
			if sum > 0 {
				i := masks*perNormalHash + k
				sig[i/64] |= 1 << (i % 64)
			}
		}
	}
	return masks
}

// An estimate is what all entries but for their tails sum up to, those of even words first, and what the tails
// add to that.
type estimate struct {
	words [2][entriesAtOnce / 2]float32
	tails [entriesAtOnce]int32
}

// tailLength is how many quantiles at either end are taken as the next one, and what they are beyond from a table.
const tailLength = 128

// A curve has, for the octaves of places from an end of the table of quantiles, each at the last three bits of its
// exponent as a float32, the coefficients of a cubic polynomial that is near to the quantiles; and by how much those of
// the tails are beyond the one next to them.
type curve struct {
	cubic [4][8]float32
	tails [2 * tailLength]int32 // the upper ones first
}

// curves returns the curve through the quantiles at the Chebyshev nodes of each octave.
var curves = sync.OnceValue(func() *curve {
	q := quantiles()
	c := new(curve)
	for first := tailLength; first < 1<<15; first *= 2 {
		var x, divided [4]float64 // differences, as Newton has them
		for k := range x {
			x[k] = math.Round(float64(first) * (1.5 - math.Cos(math.Pi*(float64(k)+.5)/4)/2))
			divided[k] = float64(q[math.MaxUint16-int(x[k])])
		}
		for n := 1; n < len(x); n++ {
			for k := len(x) - 1; k >= n; k-- {
				divided[k] = (divided[k] - divided[k-1]) / (x[k] - x[k-n])
			}
		}
		var p [4]float64
		for k := len(x) - 1; k >= 0; k-- { // p = p·(x−x[k]) + divided[k]
			for n := len(p) - 1; n > 0; n-- {
				p[n] = p[n-1] - p[n]*x[k]
			}
			p[0] = divided[k] - p[0]*x[k]
		}
		for n, coefficient := range p {
			c.cubic[n][math.Float32bits(float32(first))>>23%8] = float32(coefficient)
		}
	}
	next := int32(q[math.MaxUint16-tailLength])
	for i := range tailLength {
		c.tails[i] = int32(q[1<<16-tailLength+i]) - next
		c.tails[tailLength+i] = int32(q[i]) + next
	}
	return c
})

// normalSum returns one of the sums of normalSums.
func (s *Signer) normalSum(features []uint64, mask uint64, word int) (sum int64) {
	for _, x := range features {
		sum += int64(s.quantiles[uint16(hash.Fold(x^mask, multiplier)>>(16*word))])
	}
	return sum
}

// estimateAVX2 estimates the sums of 1 to featuresAtOnce features.
//
//go:noescape
func estimateAVX2(e *estimate, features []uint64, masks *[masksAtOnce]uint64, c *curve)
