// Package salted computes MinHash signatures with a salted family of hash functions: function i
// is SHA-1 of the shingle's UTF-8 and then of the salt, zero-padded to 20 digits; its value is
// that of the last 8 hexadecimal digits, so 32 bits. Value i of a signature is the least over the
// shingles of a text.
//
// The salts of n functions are seed·n … seed·n + n−1, of 64 bits, so families of n functions and
// different seeds share no function, and that of seed 0 has the salts 0 … n−1.
//
// It hashes texts and not shingle hashes, n times each: slow, and the same in every language.
package salted

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
)

// FormatID names the definition above.
const FormatID = "salted-1"

const saltDigits = 20

// A Signer computes signatures of one family. It keeps a buffer, so it serves one goroutine.
type Signer struct {
	salts []byte // saltDigits each
	text  []byte
}

// New returns a Signer of n functions. A seed whose salts have more than 64 bits is an error.
func New(n int, seed uint64) (*Signer, error) {
	if n < 1 {
		return nil, fmt.Errorf("%d hash functions: must be at least 1", n)
	}
	last := uint64(n) - 1
	if largest := (math.MaxUint64 - last) / uint64(n); seed > largest {
		return nil, fmt.Errorf("seed %d: must be at most %d, so that the salts of %d functions have 64 bits",
			seed, largest, n)
	}
	s := &Signer{}
	for i := range uint64(n) {
		s.salts = fmt.Appendf(s.salts, "%0*d", saltDigits, seed*uint64(n)+i)
	}
	return s, nil
}

// Sign returns the least value of each function over shingles; repetitions do not change it. It
// overwrites dst and uses its storage if that suffices. Without a shingle there is no signature:
// the result has length 0.
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
