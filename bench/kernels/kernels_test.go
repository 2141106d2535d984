// Package kernels compares the cost of signing a document with plain ways of doing it:
//
//	go test -bench . -count 5 ./bench/kernels
//
// The texts are 3,000 bytes of ASCII with capitals and punctuation.
package kernels

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

const (
	textBytes        = 3000
	n, bandsN, rowsN = 128, 18, 5
)

// texts returns different texts, since the branch predictor would learn a single one.
func texts() [][]byte {
	const letters = "etaoinshrdlucmfwygpbvk"
	r := rand.New(rand.NewPCG(1, 1))
	var all [][]byte
	for range 64 {
		var text bytes.Buffer
		for text.Len() < textBytes {
			start := text.Len()
			for range 1 + r.IntN(4) + r.IntN(5) { // about as long as English words
				text.WriteByte(letters[r.IntN(len(letters))])
			}
			if r.IntN(10) == 0 {
				text.Bytes()[start] -= 'a' - 'A'
			}
			if r.IntN(8) == 0 {
				text.WriteByte(".,;'"[r.IntN(4)])
			}
			text.WriteByte(' ')
		}
		all = append(all, text.Bytes()[:textBytes])
	}
	return all
}

func run(b *testing.B, do func(text []byte)) {
	all := texts()
	b.SetBytes(textBytes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		do(all[i%len(all)])
	}
}

// serial hashes each word of a text byte by byte: it lower-cases letters and digits, and hashes words by XXH3.
func serial(dst []uint64, word, text []byte) ([]uint64, []byte) {
	word = word[:0]
	for _, c := range text {
		switch {
		case c >= 'A' && c <= 'Z':
			word = append(word, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			word = append(word, c)
		case len(word) > 0:
			dst = append(dst, xxh3.Hash(word))
			word = word[:0]
		}
	}
	if len(word) > 0 {
		dst = append(dst, xxh3.Hash(word))
	}
	return dst, word
}

// BenchmarkSerial is the baseline of the next two benchmarks.
func BenchmarkSerial(b *testing.B) {
	var tokens []uint64
	var word []byte
	run(b, func(text []byte) { tokens, word = serial(tokens[:0], word, text) })
}

func spec(b *testing.B, shingles string) shingle.Spec {
	config, err := shingle.Parse(shingles)
	if err != nil {
		b.Fatal(err)
	}
	policy, err := textnorm.Parse("default")
	if err != nil {
		b.Fatal(err)
	}
	return shingle.Spec{Shingle: config, Normalize: policy}
}

// BenchmarkScan normalises, tokenises and hashes tokens; shingles of one word add a multiplication.
func BenchmarkScan(b *testing.B) {
	shingler := spec(b, "word:1").New()
	var shingles []uint64
	run(b, func(text []byte) { shingles = shingler.Shingles(shingles[:0], text) })
}

// BenchmarkChain measures all steps from the text to the band keys.
func BenchmarkChain(b *testing.B) {
	shingler, signer := spec(b, "word:5").New(), fss.New(n, 1)
	var shingles, values, keys []uint64
	run(b, func(text []byte) {
		shingles = shingler.Shingles(shingles[:0], text)
		values = signer.Sign(values, shingles)
		keys = lsh.Keys(keys[:0], values, bandsN, rowsN)
	})
}

// BenchmarkPlainChain does the same the usual way: library calls on strings, and n functions (a·x + b) mod 2^61−1 of
// each shingle.
func BenchmarkPlainChain(b *testing.B) {
	const prime = 1<<61 - 1
	r := rand.New(rand.NewPCG(2, 2))
	var factors, terms [n]uint64
	for i := range n {
		factors[i], terms[i] = 1+r.Uint64N(prime-1), r.Uint64N(prime)
	}
	var keys [bandsN]uint64
	run(b, func(text []byte) {
		words := strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		var values [n]uint64
		for i := range values {
			values[i] = prime
		}
		for i := 0; i+5 <= len(words); i++ {
			x := xxh3.HashString(strings.Join(words[i:i+5], " ")) % prime
			for j := range values {
				high, low := bits.Mul64(factors[j], x)
				low, carry := bits.Add64(low, terms[j], 0)
				rest := low&prime + (low>>61 | (high+carry)<<3)
				if rest >= prime {
					rest -= prime
				}
				values[j] = min(values[j], rest)
			}
		}
		for band := range keys {
			var key [8 * rowsN]byte
			for i, v := range values[band*rowsN : (band+1)*rowsN] {
				for k := range 8 {
					key[8*i+k] = byte(v >> (8 * k))
				}
			}
			keys[band] = xxh3.Hash(key[:])
		}
	})
}
