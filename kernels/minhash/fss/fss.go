// Package fss computes Fast Similarity Sketching signatures (Dahlgaard, Knudsen and Thorup, 2017): n values per set, so
// that two sets of Jaccard similarity J agree in an expected J·n of them.
//
// Classic MinHash evaluates n hash functions per shingle. Here a shingle is thrown into one of n bins once per round,
// each bin keeps its smallest value, and rounds continue until every bin is filled. That costs about max(m, n·ln n)
// throws for m shingles instead of n·m, and the variance is at most that of the classic estimator, J(1−J)/n, and about
// half of it for m ≤ n.
//
// # Definition
//
// With constants mask, c[1…63] and d[0…n−1], consecutive outputs of
// SplitMix64 from the seed, and F(x) = hash.Fold(x, multiplier):
//
//	throw(0, x) = x for seed 0, else F(x ^ mask)
//	throw(r, x) = F(x ^ c[r])                       for r = 1…63
//	bin(r, x)   = throw(r, x) mod n
//	value(r, x) = r<<55 | throw(r, x)>>9
//
// Component i is the minimum of value(r, x) over all r and x with bin(r, x) = i. If there is none, as in sets of a few
// shingles, it is the minimum of 64<<55 | F(x ^ d[i])>>9 over x. All sets order the values alike. Therefore two sets
// both find the minimum of their union exactly if both contain it, and a set whose bins are all filled never needs
// later rounds, whose values are larger.
//
// Shingles must be well mixed, because seed 0 takes them as the throws of the first round: sequential integers would
// bias the estimate.
package fss

import (
	"fmt"
	"math/bits"

	"github.com/neardup/neardup/kernels/hash"
)

// FormatID identifies the definition above with all its constants. Signatures with different ids, seeds or n must not
// be compared.
const FormatID = "fss-2"

const (
	minN = 32
	maxN = 1024

	rounds     = 64
	roundShift = 55
	valueShift = 64 - roundShift

	// empty is the only state of a bin with the top bit set, so that bit counts the bins that a throw fills.
	empty = ^uint64(0)

	multiplier = 0x9e3779b97f4a7c15 // 2^64/φ, odd
)

// A Signer computes signatures of one length and seed. It is safe for concurrent use.
type Signer struct {
	seed   uint64
	mask   uint64
	throws [rounds]uint64 // c; throws[0] is unused
	spare  []uint64       // d
}

// New returns a Signer for n values, a power of two from 32 to 1024. Different seeds give independent signatures; seed
// 0 is the fastest. New panics for any other n, so callers must validate their options.
func New(n int, seed uint64) *Signer {
	if n < minN || n > maxN || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("fss: %d values; want a power of two from %d to %d", n, minN, maxN))
	}
	s := &Signer{seed: seed, spare: make([]uint64, n)}
	next := hash.SplitMix64(seed)
	s.mask = next()
	for r := 1; r < rounds; r++ {
		s.throws[r] = next()
	}
	for i := range s.spare {
		s.spare[i] = next()
	}
	return s
}

// Sign returns the signature of a set of shingles, which may be in any order and contain duplicates. It overwrites dst
// and reuses its memory if that suffices. The empty set is similar to none and has no signature: the result has length
// 0.
func (s *Signer) Sign(dst, shingles []uint64) []uint64 {
	if len(shingles) == 0 {
		return dst[:0]
	}
	n := len(s.spare)
	if cap(dst) < n {
		dst = make([]uint64, n)
	}
	dst = dst[:n]
	s.fill(dst, shingles)
	return dst
}

// fill implements Sign, and returns the number of throws: the cost of a text, however often it repeats its shingles.
func (s *Signer) fill(sig, shingles []uint64) (throws int) {
	n := len(sig)
	for i := range sig {
		sig[i] = empty
	}

	var remaining uint64
	if s.seed == 0 {
		remaining = throwFirst(sig, shingles)
	} else {
		remaining = uint64(n) - throw(sig, shingles, s.mask, 0)
	}
	throws = len(shingles)
	for r, once := 1, false; remaining > 0; r++ {
		next := len(shingles)
		if r == rounds {
			next *= int(remaining)
		}
		if !once && throws+next > enough*n {
			once = true
			if found := distinct(shingles); found != nil {
				shingles, next = found, next/len(shingles)*len(found)
			}
		}
		throws += next
		if r == rounds {
			s.fillSpare(sig, shingles)
			break
		}
		remaining -= throw(sig, shingles, s.throws[r], uint64(r))
	}
	return throws
}

const (
	// After this many throws per bin, one of 1,024 bins is empty with a probability of 10^-4 if no shingle repeats. If
	// bins are empty, many shingles do repeat.
	enough = 16
	// For more shingles than this, a few rounds fill all bins, so repetitions may stay.
	maxDistinct = maxN
)

// distinct returns each shingle once, or nil if there are more than maxDistinct.
func distinct(shingles []uint64) (found []uint64) {
	var places [2 * maxDistinct]uint16 // hash table with linear probing: index in found plus 1, or 0 if free
	for _, x := range shingles {
		at := hash.Fold(x, multiplier) % uint64(len(places))
		for places[at] > 0 && found[places[at]-1] != x {
			at = (at + 1) % uint64(len(places))
		}
		if places[at] > 0 {
			continue
		}
		if len(found) == maxDistinct {
			return nil
		}
		found = append(found, x)
		places[at] = uint16(len(found))
	}
	return found
}

// throwFirst plays round 0 of seed 0, and returns the number of bins left empty. Counting these at the end is cheaper
// than at every shingle.
func throwFirst(sig, shingles []uint64) (remaining uint64) {
	last := uint64(len(sig) - 1)
	for _, x := range shingles {
		bin := &sig[x&last]
		*bin = min(*bin, x>>valueShift)
	}
	for _, v := range sig {
		remaining += v >> 63
	}
	return remaining
}

// throwPlain plays one round on any processor, and returns the number of bins it filled. It has no branches, because it
// is unpredictable whether a bin is empty or has a larger value.
func throwPlain(sig, shingles []uint64, mask, round uint64) (filled uint64) {
	last := uint64(len(sig) - 1)
	prefix := round << roundShift
	for _, x := range shingles {
		y := hash.Fold(x^mask, multiplier)
		bin := &sig[y&last]
		old := *bin
		filled += old >> 63
		*bin = min(old, prefix|y>>valueShift)
	}
	return filled
}

func (s *Signer) fillSpare(sig, shingles []uint64) {
	for i, v := range sig {
		if v != empty {
			continue
		}
		for _, x := range shingles {
			v = min(v, rounds<<roundShift|hash.Fold(x^s.spare[i], multiplier)>>valueShift)
		}
		sig[i] = v
	}
}

// Equal returns the number of indexes at which two signatures of one length agree. Their fraction is an unbiased
// estimate of the Jaccard similarity of the signed sets.
func Equal(a, b []uint64) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}
