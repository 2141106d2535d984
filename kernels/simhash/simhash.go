// Package simhash computes SimHash signatures (Charikar 2002): m bits per document. The smaller the angle between the
// vectors of two documents, the more bits they share.
//
// # Definition
//
// Bit i of a vector's signature is 1 exactly if
//
//	Σ weight(x) · entry(x, i) > 0
//
// over its features x. The entries for one i are a random vector over all possible features, and the bit says on which
// side of its hyperplane the document lies; the entries for one x are a random vector of m values that represents the
// feature. No entry is stored: with constants c[0], c[1], …, consecutive outputs of SplitMix64 from the seed, and F(x,
// j) = hash.Fold(x ^ c[j], multiplier),
//
//	Normal: entry(x, i) = quantile[16-bit word i mod 4 of F(x, i/4)]
//	Sign:   entry(x, i) = 1 if bit i mod 64 of F(x, i/64) is set, else −1
//
// with words and bits counted from the lowest. quantile[u] is Φ⁻¹((u+½)/2^16), the standard normal quantile, in units
// of 2^-12 and rounded to an integer. A sum of 0 gives bit 0.
//
// With Normal, a bit of two vectors at the angle θ agrees with probability 1 − θ/π (Agree), whatever the vectors. With
// Sign, this holds only in the limit of many features of similar weight.
//
// Features must be well mixed, as shingle hashes are.
package simhash

import (
	"fmt"
	"math/bits"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/vector"
)

// FormatID identifies the definition above with all its constants. Signatures with different ids, seeds, entries or
// numbers of bits must not be compared.
const FormatID = "simhash-1"

// MaxBits is the maximum number of bits of a signature.
const MaxBits = 1024

const multiplier = 0x9e3779b97f4a7c15 // 2^64/φ, odd

// Entries is a distribution of the entries of the random vectors.
type Entries uint8

// The distributions.
const (
	Normal Entries = 1 + iota // standard normal
	Sign                      // 1 or −1, each with probability ½
)

// A Signer computes signatures of one length, distribution and seed. It is safe for concurrent use.
type Signer struct {
	bits      int
	quantiles *[1 << 16]int16 // nil for Sign
	masks     []uint64        // c
}

// New returns a Signer for m bits, from 1 to MaxBits. Different seeds give independent signatures. New panics for any
// other m, so callers must validate their options.
func New(m int, entries Entries, seed uint64) *Signer {
	if m < 1 || m > MaxBits {
		panic(fmt.Sprintf("simhash: %d bits; want 1 to %d", m, MaxBits))
	}
	s := &Signer{bits: m}
	perHash := 64
	if entries == Normal {
		s.quantiles = quantiles()
		perHash = perNormalHash
	}
	s.masks = make([]uint64, (m+perHash-1)/perHash)
	next := hash.SplitMix64(seed)
	for j := range s.masks {
		s.masks[j] = next()
	}
	return s
}

// Sign returns the signature of v: bit i is bit i mod 64 of word i/64, and the unused bits of the last word are zero.
// It overwrites dst and reuses its memory if that suffices. A vector without features has no signature: the result has
// length 0.
func (s *Signer) Sign(dst []uint64, v vector.Vector) []uint64 {
	if len(v.Features) == 0 {
		return dst[:0]
	}
	words := (s.bits + 63) / 64
	if cap(dst) < words {
		dst = make([]uint64, words)
	}
	sig := dst[:words]
	if s.quantiles == nil {
		s.signSliced(sig, v)
	} else {
		s.signNormal(sig, v)
	}
	sig[words-1] &= ^uint64(0) >> (-uint(s.bits) % 64)
	return sig
}

// perNormalHash is the number of normal entries for which a hash has bits.
const perNormalHash = 4

func (s *Signer) signNormal(sig []uint64, v vector.Vector) {
	clear(sig)
	estimated := 0
	if v.Weights == nil {
		estimated = s.estimateNormal(sig, v.Features)
	}
	for j := estimated; j < len(s.masks); j++ {
		mask := s.masks[j]
		var sums [perNormalHash]int64
		if v.Weights == nil {
			sums = s.normalSums(v.Features, mask)
		} else {
			sums = s.weightedSums(v.Features, v.Weights, mask)
		}
		for k, sum := range sums {
			i := j*perNormalHash + k
			sig[i/64] |= uint64(-sum) >> 63 << (i % 64) // a sum is above 0 if its negative is below
		}
	}
}

// normalSums returns the sums of the entries that come from one hash. Fewer than 2^48 of them, each below 2^15, do not
// overflow, nor do weighted ones.
func (s *Signer) normalSums(features []uint64, mask uint64) [perNormalHash]int64 {
	quantiles := s.quantiles
	var a, b, c, d int64 // variables stay in registers; an array would not
	for _, x := range features {
		h := hash.Fold(x^mask, multiplier)
		a += int64(quantiles[uint16(h)])
		b += int64(quantiles[uint16(h>>16)])
		c += int64(quantiles[uint16(h>>32)])
		d += int64(quantiles[uint16(h>>48)])
	}
	return [...]int64{a, b, c, d}
}

func (s *Signer) weightedSums(features []uint64, weights []uint32, mask uint64) [perNormalHash]int64 {
	quantiles := s.quantiles
	weights = weights[:len(features)]
	var a, b, c, d int64
	for i, x := range features {
		w := int64(weights[i])
		h := hash.Fold(x^mask, multiplier)
		a += w * int64(quantiles[uint16(h)])
		b += w * int64(quantiles[uint16(h>>16)])
		c += w * int64(quantiles[uint16(h>>32)])
		d += w * int64(quantiles[uint16(h>>48)])
	}
	return [...]int64{a, b, c, d}
}

// signSliced adds up, for 64 bits at a time, the weights of the entries that are 1. A sum is above 0 if that is more
// than half of the total weight.
func (s *Signer) signSliced(sig []uint64, v vector.Vector) {
	planes, total := weightPlanes(v)
	for j, mask := range s.masks {
		var c counters
		for p, features := range planes {
			c.add(p, features, mask)
		}
		sig[j] = c.above(total/2, bits.Len64(total))
	}
}

// weightPlanes returns, for each bit of the weights, the features whose weights have it set, and the sum of all
// weights.
func weightPlanes(v vector.Vector) (planes [][]uint64, total uint64) {
	if v.Weights == nil {
		return [][]uint64{v.Features}, uint64(len(v.Features))
	}
	set, all := 0, uint32(0)
	for _, w := range v.Weights {
		total += uint64(w)
		set += bits.OnesCount32(w)
		all |= w
	}
	flat := make([]uint64, set+1) // one more, for a feature that is written but not counted
	weights := v.Weights[:len(v.Features)]
	for p := range bits.Len32(all) {
		n := 0
		for i, x := range v.Features {
			// It is unpredictable which bits are set, so do not branch on them.
			flat[n] = x
			n += int(weights[i] >> p & 1)
		}
		planes = append(planes, flat[:n])
		flat = flat[n:]
	}
	return planes, total
}

// counters are 64 numbers, sliced by bit: bit i of counters[p] is bit p of the i-th number.
type counters [64]uint64

// add adds 2^p to the numbers whose bit is set in the hash of a feature, for all features. It adds eight hashes at a
// time with adders in registers, before it carries.
func (c *counters) add(p int, features []uint64, mask uint64) {
	for ; len(features) >= 8; features = features[8:] {
		var twosA, twosB, foursA, foursB, eights uint64
		ones, twos, fours := c[p], c[p+1], c[p+2]
		f := features[:8]
		h := func(i int) uint64 { return hash.Fold(f[i]^mask, multiplier) }
		ones, twosA = addBits(ones, h(0), h(1))
		ones, twosB = addBits(ones, h(2), h(3))
		twos, foursA = addBits(twos, twosA, twosB)
		ones, twosA = addBits(ones, h(4), h(5))
		ones, twosB = addBits(ones, h(6), h(7))
		twos, foursB = addBits(twos, twosA, twosB)
		fours, eights = addBits(fours, foursA, foursB)
		c[p], c[p+1], c[p+2] = ones, twos, fours
		c.carry(p+3, eights)
	}
	for _, x := range features {
		c.carry(p, hash.Fold(x^mask, multiplier))
	}
}

// addBits adds three bits in each of 64 places.
func addBits(x, y, z uint64) (sum, carry uint64) {
	return x ^ y ^ z, x&y | (x^y)&z
}

// carry adds 2^p to the numbers whose bit is set in bits.
func (c *counters) carry(p int, bits uint64) {
	for ; bits > 0; p++ {
		c[p], bits = c[p]^bits, c[p]&bits
	}
}

// above returns the bits of the numbers above limit, none of which has more than width bits.
func (c *counters) above(limit uint64, width int) uint64 {
	above, equal := uint64(0), ^uint64(0)
	for p := width - 1; p >= 0; p-- {
		if limit>>p&1 == 0 {
			above |= equal & c[p]
			equal &^= c[p]
		} else {
			equal &= c[p]
		}
	}
	return above
}
