// Package shingle turns a text into the hashes of its shingles: the windows of k consecutive tokens, by which documents
// are compared as sets.
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

// FormatID identifies how a text becomes shingle hashes: normaliser, tokeniser, token hash, shingle hash, stop words
// and stems. It is stored with whatever is built from shingles, and data with different ids must not be compared. The
// number rises with any change to kernels/hash, textnorm, token, shingle or wordstep, or to the versions of their
// libraries, that changes a hash; the Unicode version comes with the Go release.
const FormatID = "neardup-text-3/unicode-" + unicode.Version

// multiplier is the base of the polynomial: 2^64 over the golden ratio, odd, and 5 mod 8, which maximises the number of
// distinct powers.
const multiplier = 0x9e3779b97f4a7c15

// A Shingler cuts texts into shingles. It reuses its buffers, and so is not safe for concurrent use.
type Shingler struct {
	config Config
	policy textnorm.Policy
	most   int64 // bytes of a text, as Spec.TooLarge counts them; 0 means no limit
	text   []byte
	tokens []uint64
	stop   map[uint64]bool // tokens that begin a shingle, for kind Stop

	words  *wordstep.Rewriter // nil if words are not changed
	normal []byte             // the text that it rewrites

	placed textnorm.Placed // of Places

	// Set by Apart for the document: its part, and what it needs to add the text's numbers to the part if the spec
	// wants that. salt is combined with the tokens, so that no other part has them.
	part, salt         uint64
	byNumbers, apart   bool
	rules              []match.Rule
	traits             []uint64
	fields             []*Shingler // by rule; nil for those that are not match.Similar
	visible, numbersOf []byte
}

// New returns a Shingler for a Config from Parse. Kind Byte ignores the policy's steps for layout and invisible
// characters, since bytes are compared as they are. No policy changes items.
func New(c Config, p textnorm.Policy) *Shingler {
	switch c.Kind {
	case Word, Stop:
		p = p.KeepLayout() // words contain no layout
	case Byte:
		p = p.KeepLayout().KeepInvisible()
	}
	s := &Shingler{config: c, policy: p}
	if c.Kind == Stop {
		s.stop = stopTokens(c.Language, p)
	}
	return s
}

// Shingles appends to dst the hash of each shingle of text, in text order and with repetitions.
//
// The shingle of tokens t₁…t_K is Mix(Σ tᵢ·multiplier^(K−i)), modulo 2^64. The low bits of such a sum depend only on
// the low bits of the tokens, and MinHash takes its bins from low bits: hence the Mix.
//
// A text of m tokens, 1 ≤ m < K, has one shingle for all of it: Mix(Mix(h) ^ m) with the sum h as above, which
// distinguishes it from shingles of K tokens. Only a text without tokens has no shingle. Text that is invisible, with
// only white space, control and format characters, has no tokens.
//
// Kind Stop keeps only the shingles that begin with a stop word or, if there are none, one of the whole text. Kind
// Char32 keeps 4 bytes of each hash.
func (s *Shingler) Shingles(dst []uint64, text []byte) []uint64 {
	return s.shingles(dst, s.Tokenise(text))
}

// InPlace returns the shingles of the text that was tokenised last. It overwrites the tokens, since a long text has as
// many shingles as tokens. The result is valid until the next call.
func (s *Shingler) InPlace() []uint64 {
	s.tokens = s.shingles(s.tokens[:0], s.tokens)
	return s.tokens
}

// Salted is like InPlace, but combines the salt with the shingles instead of the tokens: a document of part 0 with the
// same text has the shingle x ^ Salt() for each x.
func (s *Shingler) Salted() []uint64 {
	salt := s.salt
	s.salt = 0
	combine(s.tokens, salt)
	combine(s.InPlace(), salt)
	s.salt = salt
	return s.tokens
}

// Set returns the set of shingles of the text that was tokenised last, in the memory of InPlace.
func (s *Shingler) Set() []uint64 { return Set(s.InPlace()) }

// Buffers up to these sizes are kept for the next text.
const (
	usualText   = 1 << 20
	usualTokens = 1 << 18
)

// Trim releases the memory that a long text took, and ends the validity of earlier results.
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

// shingles appends the shingles of tokens to dst, which may be the same memory, emptied: it writes each shingle after
// it has read the tokens at that place.
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
		return append(dst, wholeText(tokens))
	}
	n := len(tokens) - k + 1
	dst = slices.Grow(dst, n)
	hashWindows(dst[len(dst):len(dst)+n], tokens, k)
	return dst[:len(dst)+n]
}

// wholeText returns the hash of the only shingle of a text.
func wholeText(tokens []uint64) uint64 {
	return hash.Mix(hash.Mix(polynomial(tokens)) ^ uint64(len(tokens)))
}

// Apart says that the next texts are those of the document with this key and these values. Documents that match.Append
// puts in different parts share no tokens; nor do those whose texts have different numbers, if the spec wants that.
func (s *Shingler) Apart(key uint64, values []byte) {
	s.apart = true
	if len(s.rules) > 0 {
		s.traits, s.part = match.Append(s.traits[:0], s.rules, values, key, s.field)
	}
}

// field returns the shingle set of a column's value, for a match.Similar rule.
func (s *Shingler) field(i int, value []byte) []uint64 {
	s.fields[i].Tokenise(value)
	return s.fields[i].Set()
}

// Matched appends to features the traits that rules compare pair by pair.
func (s *Shingler) Matched(features []uint64) []uint64 {
	if len(features) == 0 {
		return features
	}
	return append(features, s.traits...)
}

// Copied returns the hash of tokens. Only documents with equal traits have equal hashes.
func (s *Shingler) Copied(tokens []uint64) hash.Sum128 {
	sum := hash.Values(tokens)
	if len(s.traits) > 0 {
		salt := hash.Sequence(s.traits)
		sum.Hi, sum.Lo = sum.Hi^salt.Hi, sum.Lo^salt.Lo
	}
	return sum
}

// Part returns the part of the document with this text, or 0 if all documents are in one part.
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

// Tokenise returns the tokens of text, which are valid until the next call.
func (s *Shingler) Tokenise(text []byte) []uint64 {
	tokens := s.tokenise(text)
	s.salt = s.Part(text)
	combine(tokens, s.salt)
	return tokens
}

// combine combines values with a salt, or separates them again.
func combine(values []uint64, salt uint64) {
	if salt == 0 {
		return
	}
	for i := range values {
		values[i] ^= salt
	}
}

// Salt returns the value by which the part of the document changed all tokens of the last text, 0 for part 0.
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

// items yields the lines of a text.
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
	// The steps for words need the spaces, which policy.Space then removes or keeps.
	s.normal = s.policy.KeepSpace().Append(s.normal[:0], text)
	dst = slices.Grow(dst, len(s.normal))
	return s.policy.Space(s.words.Append(dst, s.normal), len(dst))
}

// reserve allocates about as many tokens as a long text has: growth from a few would take twice as much.
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

// wordsAbout returns the approximate number of words in text: runs of letters and digits of up to two bytes, and single
// characters of three or more bytes, which are mostly of scripts without spaces.
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

// foldedWords appends the words of text, and takes the general path only where it is not ASCII. If text is not valid
// UTF-8, it appends none and returns false.
//
// A text can be cut before any ASCII byte that is not a letter or digit: the policy turns that into a space or a
// control character, which combines with nothing before it and is in no word.
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

// wide returns the length of the part of text, which is not all ASCII, up to a place to cut that is followed by a
// stretch of ASCII: switching paths for a few bytes costs more than the general path.
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
