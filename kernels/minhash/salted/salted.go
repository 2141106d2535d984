// Package salted computes MinHash signatures with a salted family of hash functions. Function i hashes the shingle's
// UTF-8 followed by the salt, zero-padded to 20 digits, with SHA-1; its value is the 32-bit number of the last 8
// hexadecimal digits. Value i of a signature is the minimum over the shingles of a text.
//
// The salts of n functions are seed·n … seed·n + n−1, in 64 bits. Families of n functions with different seeds
// therefore share no function, and seed 0 has the salts 0 … n−1.
//
// It hashes texts rather than shingle hashes, n times each, which is slow but easy to reproduce in any language.
package salted

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
)

// FormatID identifies the definition above.
const FormatID = "salted-1"

const saltDigits = 20

// A Signer computes signatures of one family. It reuses a buffer, and so is not safe for concurrent use.
type Signer struct {
	salts []byte // saltDigits each
	text  []byte
}

// New returns a Signer of n functions, or an error if a salt would exceed 64 bits.
func New(n int, seed uint64) (*Signer, error) {
	if n < 1 {
		return nil, fmt.Errorf("%d hash functions: must be at least 1", n)
	}
	last := uint64(n) - 1
	if largest := (math.MaxUint64 - last) / uint64(n); seed > largest {
		return nil, fmt.Errorf("seed %d: must be at most %d with %d hash functions", seed, largest, n)
	}
	s := &Signer{}
	for i := range uint64(n) {
		s.salts = fmt.Appendf(s.salts, "%0*d", saltDigits, seed*uint64(n)+i)
	}
	return s, nil
}

// Sign returns the minimum of each function over shingles, which may contain duplicates. It overwrites dst and reuses
// its memory if that suffices. Without shingles there is no signature: the result has length 0.
func (s *Signer) Sign(dst []uint64, shingles iter.Seq[[]byte]) []uint64 {
	n := len(s.salts) / saltDigits
	dst = dst[:0]
	for shingle := range shingles {
		for len(dst) < n {
			dst = append(dst, math.MaxUint64)
		}
		s.text = append(append(s.text[:0], shingle...), s.salts[:saltDigits]...)
		salt := s.text[len(shingle):]
		for i := range dst {
			copy(salt, s.salts[i*saltDigits:])
			sum := sha1.Sum(s.text)
			dst[i] = min(dst[i], uint64(binary.BigEndian.Uint32(sum[sha1.Size-4:])))
		}
	}
	return dst
}
