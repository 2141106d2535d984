package shingle

import (
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
	"github.com/neardup/neardup/kernels/wordstep"
)

// stopTokens returns the tokens of a language's stop words that are a single word after normalisation.
func stopTokens(language string, p textnorm.Policy) map[uint64]bool {
	words, err := wordstep.StopWords(language)
	if err != nil {
		panic(err) // Parse rejects other languages
	}
	tokens := map[uint64]bool{}
	for _, word := range words {
		if t := token.Words(nil, p.Append(nil, []byte(word))); len(t) == 1 {
			tokens[t[0]] = true
		}
	}
	return tokens
}

// anchored appends the shingles of K tokens that begin with a stop word. Prose has many of these, but headings, menus
// and lists of links have few, so that an article counts more than what surrounds it (Leskovec, Rajaraman and Ullman,
// Mining of Massive Datasets, §3.2.4, after Theobald, Siddharth and Paepcke, SpotSigs, 2008).
func (s *Shingler) anchored(dst, tokens []uint64) []uint64 {
	if len(tokens) == 0 {
		return dst
	}
	first := len(dst)
	for i := 0; i+s.config.K <= len(tokens); i++ {
		if s.stop[tokens[i]^s.salt] {
			dst = append(dst, hash.Mix(polynomial(tokens[i:i+s.config.K])))
		}
	}
	if len(dst) == first {
		dst = append(dst, wholeText(tokens))
	}
	return dst
}

func polynomial(tokens []uint64) (sum uint64) {
	for _, t := range tokens {
		sum = sum*multiplier + t
	}
	return sum
}

// cutTo32 replaces the hashes from first on by values that represent 4 bytes of each: they collide as often as 32-bit
// hashes, but all 64 bits are mixed, as sets and signatures require.
func cutTo32(hashes []uint64, first int) []uint64 {
	for i, h := range hashes[first:] {
		hashes[first+i] = hash.Mix(h >> 32)
	}
	return hashes
}
