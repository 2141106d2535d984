// Package shingle turns a text into the hashes of its shingles: the windows of
// k consecutive tokens, over which documents are compared as sets.
package shingle

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
	"github.com/neardup/neardup/kernels/wordstep"
)

// FormatID names how a text becomes shingle hashes: normaliser, tokeniser,
// token hash, shingle hash, stop words and stems. It is stored with whatever is built from
// shingles, and what bears different ids must not be compared. The number
// rises with any change to kernels/hash, textnorm, token, shingle, stopwords, stem or
// wordstep, or to the versions of their libraries, that changes a hash; the Unicode version comes
// with the Go release.
const FormatID = "neardup-text-3/unicode-" + unicode.Version

// multiplier is the base of the polynomial: 2^64 over the golden ratio, odd,
// and 5 mod 8, which makes its powers as many as they can be.
const multiplier = 0x9e3779b97f4a7c15

// A Shingler cuts texts into shingles. It keeps its buffers from text to text,
// so it serves one goroutine.
type Shingler struct {
	config Config
	policy textnorm.Policy
	most   int64 // bytes of a text, as Spec.TooLarge counts them; 0 is no limit
	text   []byte
	tokens []uint64
	stop   map[uint64]bool // the tokens that begin a shingle, of kind Stop

	words  *wordstep.Rewriter // nil: words stay as they are
	normal []byte             // what it rewrites

	placed textnorm.Placed // of Places

	// Of the document that Apart told of: its part, which its numbers are of, too, if the spec asks that. Salt is that of
	// the tokens, which no other part's have.
	part, salt         uint64
	byNumbers, apart   bool
	rules              []match.Rule
	traits             []uint64
	fields             []*Shingler // by rule; nil of those that are not match.Similar
	visible, numbersOf []byte
}

// New returns a Shingler for a Config from Parse. Of the policy default, bytes take neither what it does
// to layout nor to invisible characters: they are compared as they stand. No policy changes items.
func New(c Config, p textnorm.Policy) *Shingler {
	switch c.Kind {
	case Word, Stop:
		p = p.KeepLayout() // of which no word has any
	case Byte:
		p = p.KeepLayout().KeepInvisible()
	}
	s := &Shingler{config: c, policy: p}
	if c.Kind == Stop {
		s.stop = stopTokens(c.Language, p)
	}
	return s
}

// Shingles appends to dst the hash of each shingle of text, in text order and
// with repetitions.
//
// The shingle of tokens t₁…t_K is Mix(Σ tᵢ·multiplier^(K−i)), modulo 2^64. The
// low bits of such a sum depend on nothing but the low bits of the tokens, and
// MinHash takes its bins from low bits: hence the Mix.
//
// A text of 1…K−1 tokens, m say, has one shingle, all of it: Mix(h ^ m) where
// h is as above; the second Mix sets it apart from shingles of K tokens. Only
// a text without a token has none. What cannot be seen, white space, control and
// format characters, alone counts as no token.
//
// Kind Stop has of these the shingles that begin with a stop word, and if there
// is none that one of the whole text. Kind Char32 keeps 4 bytes of each hash.
func (s *Shingler) Shingles(dst []uint64, text []byte) []uint64 {
	return s.shingles(dst, s.Tokenise(text))
}

// InPlace returns the shingles of the text that Tokenise took last, in the memory of its tokens, which
// are gone: a long text has as many of these as of those. They are valid until the next call.
func (s *Shingler) InPlace() []uint64 {
	s.tokens = s.shingles(s.tokens[:0], s.tokens)
	return s.tokens
}

// What a text of usual size needs of memory is kept for the next.
const (
	usualText   = 1 << 20
	usualTokens = 1 << 18
)

// Trim gives back the memory that a long text has taken, and ends what is valid until the next call.
func (s *Shingler) Trim() {
	if cap(s.text) > 2*usualText {
		s.text, s.normal = nil, nil
	}
	if cap(s.numbersOf)+cap(s.visible) > usualText {
		s.numbersOf, s.visible = nil, nil
	}
	if cap(s.tokens) > usualTokens {
		s.tokens = nil
	}
}

// shingles appends the shingles of tokens to dst, which may be the same memory, emptied: each is written
// after the tokens that stand there have been read.
func (s *Shingler) shingles(dst, tokens []uint64) []uint64 {
	switch s.config.Kind {
	case Stop:
		return s.anchored(dst, tokens)
	case Char32:
		first := len(dst)
		return cutTo32(s.windows(dst, tokens), first)
	default:
		return s.windows(dst, tokens)
	}
}

// windows appends the hash of every window of K tokens.
func (s *Shingler) windows(dst, tokens []uint64) []uint64 {
	k := s.config.K
	switch {
	case len(tokens) == 0:
		return dst
	case len(tokens) < k:
		var sum uint64
		for _, t := range tokens {
			sum = sum*multiplier + t
		}
		return append(dst, wholeText(sum, len(tokens)))
	}
	n := len(tokens) - k + 1
	dst = slices.Grow(dst, n)
	hashWindows(dst[len(dst):len(dst)+n], tokens, k)
	return dst[:len(dst)+n]
}

// wholeText is the hash of the one shingle of a text, from the sum over its tokens.
func wholeText(sum uint64, tokens int) uint64 {
	return hash.Mix(hash.Mix(sum) ^ uint64(tokens))
}

// Apart says that the next texts are of the document of a key, which has such values: documents that match.Append
// puts in different parts, or whose texts have different numbers if the spec asks that, have no token in common.
func (s *Shingler) Apart(key uint64, values []byte) {
	s.apart = true
	if len(s.rules) > 0 {
		s.traits, s.part = match.Append(s.traits[:0], s.rules, values, key, s.field)
	}
}

// field returns the shingle set of a value of a column, for a rule that is match.Similar.
func (s *Shingler) field(i int, value []byte) []uint64 {
	s.fields[i].Tokenise(value)
	return Set(s.fields[i].InPlace())
}

// Matched returns features with the traits behind them that rules ask for pair by pair.
func (s *Shingler) Matched(features []uint64) []uint64 {
	if len(features) == 0 {
		return features
	}
	return append(features, s.traits...)
}

// Copied returns the hash of tokens, which only documents of the same traits have in common.
func (s *Shingler) Copied(tokens []uint64) hash.Sum128 {
	sum := hash.Values(tokens)
	if len(s.traits) > 0 {
		salt := hash.Sequence(s.traits)
		sum.Hi, sum.Lo = sum.Hi^salt.Hi, sum.Lo^salt.Lo
	}
	return sum
}

// Part is the part of the document whose text it is, 0 for that of all.
func (s *Shingler) Part(text []byte) uint64 {
	if !s.apart || !s.byNumbers {
		return s.part
	}
	seen := s.policy.Visible(s.visible, text)
	if s.policy.StripsMarkup() {
		s.visible = seen
	}
	s.numbersOf = match.AppendNumbers(s.numbersOf[:0], seen)
	return hash.Mix(s.part) ^ hash.Bytes(s.numbersOf)
}

// Tokenise returns the tokens of text, valid until the next call.
func (s *Shingler) Tokenise(text []byte) []uint64 {
	tokens := s.tokenise(text)
	if s.salt = s.Part(text); s.salt != 0 {
		for i := range tokens {
			tokens[i] ^= s.salt
		}
	}
	return tokens
}

// Salt is what all tokens of the last text have from the part of its document, 0 of part 0.
func (s *Shingler) Salt() uint64 { return s.salt }

func (s *Shingler) tokenise(text []byte) []uint64 {
	s.tokens = s.tokens[:0]
	if tooLarge(text, s.policy, s.most) {
		return s.tokens
	}
	if s.config.Kind == Item {
		for item := range items(text) {
			s.tokens = append(s.tokens, hash.Bytes(item))
		}
		return s.tokens
	}
	if s.config.Kind == Word && s.words == nil && s.policy.FoldsASCII() {
		if s.reserve(text); s.foldedWords(text) {
			return s.tokens
		}
	}
	s.text = s.normalise(s.text[:0], text)
	s.reserve(s.text)
	switch {
	case s.config.Kind == Word || s.config.Kind == Stop:
		s.tokens = s.appendWords(s.tokens, s.text)
	case bytes.IndexFunc(s.text, token.Visible) < 0:
	case s.config.Kind == Char || s.config.Kind == Char32:
		s.tokens = token.Runes(s.tokens, s.text)
	case s.config.Kind == Byte:
		s.tokens = token.Bytes(s.tokens, s.text)
	}
	return s.tokens
}

// items are those of a text.
func items(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(text) {
			if !yield(bytes.TrimSuffix(line, []byte("\n"))) {
				return
			}
		}
	}
}

// normalise appends the text that is cut into tokens.
func (s *Shingler) normalise(dst, text []byte) []byte {
	if s.config.Kind == Item {
		return append(dst, text...)
	}
	if s.words == nil {
		return s.policy.Append(dst, text)
	}
	// Once spaces are gone there are no words.
	s.normal = s.policy.KeepSpace().Append(s.normal[:0], text)
	dst = slices.Grow(dst, len(s.normal))
	return s.policy.Space(s.words.Append(dst, s.normal), len(dst))
}

// reserve makes room for about as many tokens as a long text has: to grow from a few takes twice as much.
func (s *Shingler) reserve(text []byte) {
	n := len(text)
	if n <= usualText {
		return
	}
	switch s.config.Kind {
	case Word, Stop:
		n = wordsAbout(text)
	case Char, Char32:
		n = utf8.RuneCount(text)
	}
	s.tokens = slices.Grow(s.tokens, n)
}

// wordsAbout returns about how many words text has: runs of letters and digits of up to two bytes, and
// characters of three and more, which are mostly of scripts without blanks.
func wordsAbout(text []byte) (n int) {
	const threeBytes = 0xE0
	inside := false
	for _, b := range text {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b >= utf8.RuneSelf
		if letter && !inside || b >= threeBytes {
			n++
		}
		inside = letter
	}
	return n
}

// appendWords appends the words of a normalised text.
func (s *Shingler) appendWords(dst []uint64, text []byte) []uint64 {
	if s.policy.KeepsSymbols() {
		return token.WordsAndSymbols(dst, text)
	}
	return token.Words(dst, text)
}

// foldedWords appends the words of text by the plain way only where it is not ASCII. It appends none and
// returns false if text is not all UTF-8.
//
// Before an ASCII byte that is no letter or digit any text can be cut: what the policy makes of it
// is a blank or a control character, which composes with nothing before it and is in no word.
func (s *Shingler) foldedWords(text []byte) bool {
	for first := true; ; first = false {
		var n int
		if s.tokens, n = token.FoldedASCII(s.tokens, text); n == len(text) {
			return true
		}
		text = text[n:]
		if first && !utf8.Valid(text) {
			s.tokens = s.tokens[:0]
			return false
		}
		n = wide(text)
		s.text = s.policy.Append(s.text[:0], text[:n])
		s.tokens = token.Words(s.tokens, s.text)
		text = text[n:]
	}
}

// wide returns the length of what text, which is not all ASCII, begins with up to a place to cut
// behind which there is some ASCII: to change ways for a few bytes is dearer than the plain way.
func wide(text []byte) int {
	const some = 64
	for end := 0; ; {
		for end < len(text) && text[end] < utf8.RuneSelf {
			end++
		}
		for end < len(text) && !textnorm.IsBreak(text[end]) {
			end++
		}
		ahead := text[end:min(end+some, len(text))]
		if !slices.ContainsFunc(ahead, func(b byte) bool { return b >= utf8.RuneSelf }) {
			return end
		}
	}
}
