package shingle

import (
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
	"github.com/neardup/neardup/kernels/wordstep"
)

// stopTokens are the tokens of a language's stop words after normalising, of those that are then
// one word.
func stopTokens(language string, p textnorm.Policy) map[uint64]bool {
	words, err := wordstep.StopWords(language)
	if err != nil {
		panic(err) // Parse lets no other language through
	}
	tokens := map[uint64]bool{}
	for _, word := range words {
		if t := token.Words(nil, p.Append(nil, []byte(word))); len(t) == 1 {
			tokens[t[0]] = true
		}
	}
	return tokens
}

// anchored appends the shingles of K tokens that begin with a stop word: prose has many, headings,
// menus and lists of links few, so that an article counts more than what surrounds it (Leskovec,
// Rajaraman and Ullman, Mining of Massive Datasets, §3.2.4, after Theobald, Siddharth and Paepcke,
// SpotSigs, 2008).
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
		dst = append(dst, wholeText(polynomial(tokens), len(tokens)))
	}
	return dst
}

func polynomial(tokens []uint64) (sum uint64) {
	for _, t := range tokens {
		sum = sum*multiplier + t
	}
	return sum
}

// cutTo32 replaces the hashes from first on by values that stand for 4 bytes of each: as many
// collide as do of 32 bits, and yet all 64 are mixed, as sets and signatures want them.
func cutTo32(hashes []uint64, first int) []uint64 {
	for i, h := range hashes[first:] {
		hashes[first+i] = hash.Mix(h >> 32)
	}
	return hashes
}

// A WordCounter counts the words of texts. It serves one goroutine.
type WordCounter struct {
	shingler *Shingler
}

// NewWordCounter returns a WordCounter for texts that become shingles so.
func NewWordCounter(s Spec) *WordCounter {
	return &WordCounter{Spec{Shingle: Config{Kind: Word, K: 1}, Normalize: s.Normalize, MaxBytes: s.MaxBytes}.New()}
}

// Words returns the number of words of text after normalising, whatever shingles are made of; 0 if it is too large.
func (c *WordCounter) Words(text []byte) int {
	return len(c.shingler.Tokenise(text))
}

// Trim gives back the memory that a long text has taken.
func (c *WordCounter) Trim() { c.shingler.Trim() }
