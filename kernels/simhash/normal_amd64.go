//go:build !purego

package simhash

import (
	"math"
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/neardup/neardup/kernels/hash"
)

var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI1 && cpu.X86.HasBMI2
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW
)

const (
	// masksAtOnce is the number of hashes of a feature that are estimated at once, and entriesAtOnce the number of
	// their entries.
	masksAtOnce   = 4
	entriesAtOnce = masksAtOnce * perNormalHash

	// featuresAtOnce keeps sums below 2^23, to which a float32 adds with an error of at most ¼. It also bounds the time
	// in assembly, which cannot be preempted.
	featuresAtOnce = 256

	// inaccuracy is the maximum error per entry of a sum: 2 from the curve, and ¼ from the addition.
	inaccuracy = 2.25

	// Below fewFeatures, the vector code is no faster than the scalar code.
	fewFeatures = 8
)

// estimateNormal sets the bits that the first hashes determine, and returns the number of these hashes. Nearly all sums
// are farther from 0 than the error of their estimates; the others are computed exactly.
func (s *Signer) estimateNormal(sig, features []uint64) (masks int) {
	if !hasAVX2 || len(features) < fewFeatures {
		return 0
	}
	c := curves()
	least := inaccuracy * float64(len(features))
	for masks+masksAtOnce <= len(s.masks) {
		var room [2 * entriesAtOnce]float64
		sums := estimateSums(&room, features, s.masks[masks:], c)
		word := uint64(0)
		for k, sum := range sums {
			bit := ^math.Float64bits(sum) >> 63 // not by a branch, which would be unpredictable
			if math.Abs(sum) <= least {
				exact := s.normalSum(features, s.masks[masks+k/perNormalHash], k%perNormalHash)
				bit = uint64(-exact) >> 63
			}
			word |= bit << k
		}
		i := masks * perNormalHash // a multiple of len(sums)
		sig[i/64] |= word << (i % 64)
		masks += len(sums) / perNormalHash
	}
	return masks
}

// estimateSums estimates the sums for the first masks, as many as are computed at once.
func estimateSums(sums *[2 * entriesAtOnce]float64, features, masks []uint64, c *curve) []float64 {
	wide := hasAVX512 && len(masks) >= 2*masksAtOnce
	for len(features) > 0 {
		n := min(len(features), featuresAtOnce)
		if wide {
			var e estimate512
			estimateAVX512(&e, features[:n], (*[2 * masksAtOnce]uint64)(masks), c)
			for k := range entriesAtOnce {
				sums[2*k] += float64(e[0][k])
				sums[2*k+1] += float64(e[1][k])
			}
		} else {
			var e estimate
			estimateAVX2(&e, features[:n], (*[masksAtOnce]uint64)(masks), c)
			for k, tail := range e.tails {
				sums[k] += float64(e.words[k%2][k/2]) + float64(tail)
			}
		}
		features = features[n:]
	}
	if wide {
		return sums[:]
	}
	return sums[:entriesAtOnce]
}

// An estimate holds the sums of all entries with tails clipped, those of even words first, and what the tails add to
// them.
type estimate struct {
	words [2][entriesAtOnce / 2]float32
	tails [entriesAtOnce]int32
}

// An estimate512 holds the sums of all entries, those of even words first.
type estimate512 [2][entriesAtOnce]float32

// tailLength is the number of quantiles at either end that are clipped to the next one; a table has the difference.
const tailLength = 128

// A curve holds polynomials that approximate the quantiles, in places from an end of the table of quantiles: cubic ones
// for octaves of places, with coefficients indexed by the last three bits of the octave's exponent as a float32, and
// quadratic ones for halves of octaves, indexed by four bits and the first one of the mantissa. It also has the
// differences of the tails from the quantile next to them.
type curve struct {
	cubic     [4][8]float32
	tails     [2 * tailLength]int32 // the upper ones first
	quadratic [3][32]float32
}

// curves returns the curve that approximates the quantiles of each part, or goes through all of them in a short one.
var curves = sync.OnceValue(func() *curve {
	q := quantiles()
	c := new(curve)
	for first := tailLength; first < 1<<15; first *= 2 {
		exponent := math.Float32bits(float32(first)) >> 23
		for n, coefficient := range fitQuantiles(q, float64(first), float64(2*first-1), 4) {
			c.cubic[n][exponent%8] = float32(coefficient)
		}
	}
	for octave := 1; octave < 1<<15; octave *= 2 {
		half := max(1, octave/2)
		for first := octave; first < 2*octave; first += half {
			index := math.Float32bits(float32(first)) >> 22 % 32
			p := halfOctave(q, first, half)
			for n := range c.quadratic {
				c.quadratic[n][index] = float32(p[n])
			}
		}
	}
	next := int32(q[math.MaxUint16-tailLength])
	for i := range tailLength {
		c.tails[i] = int32(q[1<<16-tailLength+i]) - next
		c.tails[tailLength+i] = int32(q[i]) + next
	}
	return c
})

// halfOctave returns the coefficients of the quadratic polynomial that approximates the quantiles of some places from
// the upper end.
func halfOctave(q *[1 << 16]int16, first, places int) [4]float64 {
	switch {
	case first == 2:
		return throughQuantiles(q, [3]int{2, 3, 0}) // place 0 has the same five bits
	case places <= 2:
		return throughQuantiles(q, [3]int{first, first + 1, first + 2})
	}
	return fitQuantiles(q, float64(first), float64(first+places-1), 3)
}

// throughQuantiles returns the coefficients of the quadratic polynomial through the quantiles at three places from the
// upper end.
func throughQuantiles(q *[1 << 16]int16, x [3]int) (p [4]float64) {
	var divided [3]float64 // Newton's divided differences
	for k := range x {
		divided[k] = float64(q[math.MaxUint16-x[k]])
	}
	for n := 1; n < len(x); n++ {
		for k := len(x) - 1; k >= n; k-- {
			divided[k] = (divided[k] - divided[k-1]) / float64(x[k]-x[k-n])
		}
	}
	for k := len(x) - 1; k >= 0; k-- { // p = p·(x−x[k]) + divided[k]
		p = plus(times(p, 1, -float64(x[k])), [4]float64{divided[k]}, 1)
	}
	return p
}

// fitQuantiles returns the coefficients of the first terms, up to four, of the Chebyshev series of the quantiles from
// one place to another. It samples many places to average out the rounding of the quantiles.
func fitQuantiles(q *[1 << 16]int16, first, last float64, terms int) (p [4]float64) {
	const nodes = 64
	middle, half := (first+last)/2, (last-first)/2
	var series [4]float64
	for j := range nodes {
		angle := math.Pi * (float64(j) + .5) / nodes
		place, share := math.Modf(middle + half*math.Cos(angle))
		at := math.MaxUint16 - int(place)
		value := float64(q[at]) + share*float64(q[at-1]-q[at])
		for k := range series {
			series[k] += 2. / nodes * value * math.Cos(float64(k)*angle)
		}
	}
	before, at := [4]float64{.5}, [4]float64{-middle / half, 1 / half} // the series counts half of the first term
	p = plus([4]float64{}, before, series[0])
	before[0] = 1
	for _, weight := range series[1:terms] {
		p = plus(p, at, weight)
		before, at = at, plus(times(at, 2/half, -2*middle/half), before, -1)
	}
	return p
}

// times returns p·(a·x + b), up to cubic terms.
func times(p [4]float64, a, b float64) (product [4]float64) {
	for n := range p {
		product[n] = p[n] * b
		if n > 0 {
			product[n] += p[n-1] * a
		}
	}
	return product
}

// plus returns p + w·q.
func plus(p, q [4]float64, w float64) [4]float64 {
	for n := range p {
		p[n] += w * q[n]
	}
	return p
}

// normalSum returns one of the sums of normalSums. Inlined, its loop would have too few registers.
//
//go:noinline
func (s *Signer) normalSum(features []uint64, mask uint64, word int) (sum int64) {
	quantiles, shift := s.quantiles, uint(16*word)%64
	for _, x := range features {
		sum += int64(quantiles[uint16(hash.Fold(x^mask, multiplier)>>shift)])
	}
	return sum
}

// estimateAVX2 estimates the sums of 1 to featuresAtOnce features.
//
//go:noescape
func estimateAVX2(e *estimate, features []uint64, masks *[masksAtOnce]uint64, c *curve)

// estimateAVX512 is like estimateAVX2, for twice as many masks.
//
//go:noescape
func estimateAVX512(e *estimate512, features []uint64, masks *[2 * masksAtOnce]uint64, c *curve)
