package simhash

import (
	"math/bits"
	"sync"
)

// The density φ of the standard normal distribution is computed at all multiples of δ = 2^-13 from 0 on, by φ(x+δ) =
// φ(x)·ratio(x), where ratio(x) = exp(−xδ − δ²/2) and ratio(x+δ) = ratio(x)·shrink.
const (
	densityAt0 = 0x0cc42299ea1b2847 // φ(0) = 1/√(2π), in units of 2^-61
	ratioAt0   = 0xffffffe000000200 // exp(−δ²/2), in units of 2^-64
	shrink     = 0xffffffc000000800 // exp(−δ²), in units of 2^-64
)

// quantiles returns the table that the package comment defines.
//
// A quantile k covers the cell from (k−½)/2^12 to (k+½)/2^12, which is 2δ wide and by Simpson's rule has the
// probability (φ(2kδ−δ) + 4φ(2kδ) + φ(2kδ+δ))·δ/3. It is the quantile of each u for which Φ reaches (u+½)/2^16 in that
// cell. All computations use integers, so that the table is the same on every platform; the errors of Φ, below 10^-11,
// are too small to affect it.
var quantiles = sync.OnceValue(func() *[1 << 16]int16 {
	const half = 1 << 15
	// Probabilities above ½ are in units of δ/3·2^-47.
	const perStep = 3 << 13 << 47 >> 16 // 2^-16 in these units
	before, at, ratio := uint64(0), uint64(densityAt0), uint64(ratioAt0)
	next := func() {
		before = at
		at, _ = bits.Mul64(at, ratio)
		ratio, _ = bits.Mul64(ratio, shrink)
	}
	next()
	k, sum := int16(0), (2*before+at)>>14 // half of the cell around 0
	table := new([1 << 16]int16)
	for i := range uint64(half) {
		for sum < i*perStep+perStep/2 {
			k++
			cell := at
			next()
			cell += 4 * at
			next()
			sum += (cell + at) >> 14
		}
		table[half+i], table[half-1-i] = k, -k
	}
	return table
})
