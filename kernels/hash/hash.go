// Package hash provides the hash functions of neardup.
//
// Signatures, set hashes and band keys are stored and compared between machines and over years, so every function here
// is frozen: it depends only on its arguments, reads bytes in little-endian order on every platform, and changes only
// together with the format id of what is built on it. The vectors in testdata come from a second implementation, in
// Python, of the definitions given with each function.
//
// None of these functions resists an adversary: there is no key, and anyone who knows the constants can construct
// collisions.
package hash

import (
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// The constants are words of the fraction of π, so nobody could choose them; the multipliers are odd words. Read as
// little-endian bytes, maskLow is not valid UTF-8 (0xD3 0x08), so no text makes the first factor in Bytes zero.
const (
	maskLow  = 0x243f6a8885a308d3 // π words 0, 2, 4, 5, 6 and 7,
	maskIn   = 0xa4093822299f31d0 // in this order
	maskHigh = 0x452821e638d01377
	maskOut  = 0xbe5466cf34e90c6c
	mulOut   = 0xc0ac29b7c97c50dd
	mulIn    = 0x3f84d5b5b5470917
)

// Fold returns the exclusive or of the two halves of the 128-bit product a·b.
// A zero factor gives zero, so callers mask values that they do not control.
func Fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// Mix spreads x over all 64 bits:
//
//	Fold(Fold(x ^ maskIn, mulIn) ^ maskOut, mulOut)
//
// One multiplication would leave sequential integers on a lattice, which biases
// MinHash; two do not. Mix behaves like a random function and is not
// invertible.
func Mix(x uint64) uint64 {
	return Fold(Fold(x^maskIn, mulIn)^maskOut, mulOut)
}

// Bytes returns the hash of b. Up to 16 bytes it is
//
//	Fold(Fold(low ^ maskLow, high ^ maskHigh) ^ maskOut ^ len(b), mulOut)
//
// where low and high are, for at most 8 bytes, b as a little-endian integer and zero and, for more, the first and the
// last 8 bytes of b, which may overlap. Longer inputs have their XXH3 hash (64 bits, seed 0), frozen since XXH3 release
// 0.8.0.
func Bytes(b []byte) uint64 {
	var low, high uint64
	switch n := len(b); {
	case n > 16:
		return xxh3.Hash(b)
	case n > 8:
		low = binary.LittleEndian.Uint64(b)
		high = binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		// The two loads overlap in place, so shared bytes coincide.
		low = uint64(binary.LittleEndian.Uint32(b)) |
			uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	case n > 0:
		// At most three bytes: the first, the middle and the last one are all.
		low = uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return Short(low, high, len(b))
}

// Short is Bytes of n ≤ 16 bytes, given as the integers low and high.
func Short(low, high uint64, n int) uint64 {
	return Fold(Fold(low^maskLow, high^maskHigh)^maskOut^uint64(n), mulOut)
}

// Sum128 is a 128-bit hash: wide enough to take equal sums for equal sequences or texts (10^10 of them expect 10^-19
// false equalities).
type Sum128 struct{ Hi, Lo uint64 }

// Compare orders sums as 128-bit numbers.
func (s Sum128) Compare(o Sum128) int {
	return cmp.Or(cmp.Compare(s.Hi, o.Hi), cmp.Compare(s.Lo, o.Lo))
}

// Text returns the XXH3 hash of b (128 bits, seed 0), frozen since XXH3 release 0.8.0. Texts with equal hashes are
// taken to be equal.
func Text(b []byte) Sum128 {
	sum := xxh3.Hash128(b)
	return Sum128{Hi: sum.Hi, Lo: sum.Lo}
}

// Sequence returns the hash of values in their order. Two chains start from
// maskLow and maskHigh, and each value v moves them to
//
//	hi = Fold(hi ^ v, mulIn)
//	lo = Fold(lo + v, mulOut)
//
// The sum is Mix(hi ^ n), Mix(lo + n) for n values. One chain adds where the other takes the exclusive or, so that
// values which collide in one do not collide in the other for the same reason.
func Sequence(values []uint64) Sum128 {
	hi, lo := uint64(maskLow), uint64(maskHigh)
	for _, v := range values {
		hi = Fold(hi^v, mulIn)
		lo = Fold(lo+v, mulOut)
	}
	n := uint64(len(values))
	return Sum128{Hi: Mix(hi ^ n), Lo: Mix(lo + n)}
}

// Values returns the XXH3 hash of values (128 bits, seed 0) as little-endian bytes, frozen since XXH3 release 0.8.0.
// For many values it is four times as fast as Sequence.
func Values(values []uint64) Sum128 { return valuesFast(values) }

// valuesPlain implements Values on any processor.
func valuesPlain(values []uint64) Sum128 {
	var hasher xxh3.Hasher
	var chunk [1024]byte
	for len(values) > 0 {
		n := min(len(values), len(chunk)/8)
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint64(chunk[8*i:8*i+8], v)
		}
		_, _ = hasher.Write(chunk[:8*n]) // never fails
		values = values[n:]
	}
	sum := hasher.Sum128()
	return Sum128{Hi: sum.Hi, Lo: sum.Lo}
}
