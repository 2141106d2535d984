// Package copies identifies copies: documents with the same bytes, the same tokens or the same set of shingles.
package copies

import (
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
)

// Same is what documents must have in common to be copies.
type Same string

// The kinds of copies. Equal bytes imply equal tokens, and equal tokens imply equal sets.
const (
	Bytes  Same = "bytes"  // the text columns as they were decoded
	Tokens Same = "tokens" // the tokens of the normalised text, in order
	Set    Same = "set"    // the set of shingles
)

// All returns all kinds, each of which finds no more copies than the next.
func All() []Same { return []Same{Bytes, Tokens, Set} }

// Traits are hashes by which copies are distinguished.
type Traits struct {
	Text, Tokens hash.Sum128
	// Set is the hash of the features.
	Set hash.Sum128
	// Symbols is the hash of the text's symbols in order, and Numbers the hash of its numbers.
	Symbols, Numbers uint64
}

// A Reader computes the traits of texts. It reuses its buffers, and so is not safe for concurrent use.
type Reader struct {
	shingler *shingle.Shingler
	policy   textnorm.Policy
	features func(of *shingle.Shingler) []uint64
	symbols  []byte
	numbers  []byte
	visible  []byte
	// For a text that is a field, values are the document's other values, by rule.
	field  bool
	rules  []match.Rule
	values []byte
}

// NewReader returns a Reader of texts that become shingles as spec says. features makes those of the text that a
// shingler tokenised last, possibly in place: the set of shingles, or what a verifier compares.
func NewReader(spec shingle.Spec, features func(of *shingle.Shingler) []uint64) *Reader {
	r := &Reader{features: features, field: spec.Field, rules: spec.Rules}
	if spec.Shingle.Kind != shingle.Item {
		r.policy, spec.Normalize = spec.Normalize, spec.Normalize.KeepMarkup() // strips markup once
	}
	r.shingler = spec.New()
	return r
}

// Apart names the document of the next text, as shingle.Shingler.Apart does. It keeps values.
func (r *Reader) Apart(key uint64, values []byte) {
	if r.shingler.Apart(key, values); r.field {
		r.values = values
	}
}

// Key returns a hash that is equal for two texts, whose columns end at ends, if they are copies; otherwise it is equal
// with a probability of about 2^-128. It returns false for a text without tokens, which has no copies. If same is
// Bytes, every byte counts as a token.
func (r *Reader) Key(same Same, text, ends []byte) (hash.Sum128, bool) {
	if same == Bytes {
		sum, part := r.textHash(text, ends), r.shingler.Part(r.see(text))
		return hash.Sum128{Hi: sum.Hi ^ part, Lo: sum.Lo ^ part}, len(text) > 0
	}
	tokens := r.shingler.Tokenise(r.see(text))
	if len(tokens) == 0 { // so no shingles
		return hash.Sum128{}, false
	}
	if same == Tokens {
		return r.shingler.Copied(tokens), true
	}
	return hash.Values(r.features(r.shingler)), true
}

// Read returns the traits and the features of a text whose columns end at ends. The features are valid until the next
// call.
func (r *Reader) Read(text, ends []byte) (t Traits, features []uint64) {
	seen := r.see(text)
	t, features = r.read(text, ends, seen)
	t.Numbers = r.numbersHash(seen)
	return t, features
}

// ReadSample is like Read, without the numbers.
func (r *Reader) ReadSample(text, ends []byte) (Traits, []uint64) {
	return r.read(text, ends, r.see(text))
}

func (r *Reader) read(text, ends, seen []byte) (t Traits, features []uint64) {
	t.Text = r.textHash(text, ends)
	t.Tokens, t.Symbols = r.shingler.Copied(r.shingler.Tokenise(seen)), r.symbolsHash(seen)
	features = r.shingler.Matched(r.features(r.shingler))
	t.Set = hash.Values(features)
	return t, features
}

// ReadCopy returns the traits in which copies of a kind may differ, for a text whose columns end at ends: text,
// symbols, numbers and, if same is Set, tokens.
func (r *Reader) ReadCopy(same Same, text, ends []byte) (t Traits) {
	t.Text, text = r.textHash(text, ends), r.see(text)
	t.Symbols, t.Numbers = r.symbolsHash(text), r.numbersHash(text)
	if same == Set {
		t.Tokens = r.shingler.Copied(r.shingler.Tokenise(text))
	}
	return t
}

// see returns the part of a text that is compared. It is valid until the next call.
func (r *Reader) see(text []byte) []byte {
	seen := r.policy.Visible(r.visible, text)
	if r.policy.StripsMarkup() {
		r.visible = seen
	}
	return seen
}

// symbolsHash returns the hash of the symbols in a text and in the other fields that are texts.
func (r *Reader) symbolsHash(text []byte) uint64 {
	r.symbols = token.Symbols(r.symbols[:0], text)
	for value := range match.Texts(r.rules, r.values) {
		r.symbols = token.Symbols(append(r.symbols, 0), value)
	}
	return hash.Bytes(r.symbols)
}

// numbersHash returns the hash of the numbers in a text and in the other fields that are texts.
func (r *Reader) numbersHash(text []byte) uint64 {
	r.numbers = match.AppendNumbers(r.numbers[:0], text)
	for value := range match.Texts(r.rules, r.values) {
		r.numbers = match.AppendNumbers(append(r.numbers, 0), value)
	}
	return hash.Bytes(r.numbers)
}

// usualSymbols is the maximum buffer size, in bytes, that is kept for the next text.
const usualSymbols = 1 << 20

// Trim releases the memory that a long text took. It invalidates the features.
func (r *Reader) Trim() {
	r.shingler.Trim()
	if cap(r.symbols) > usualSymbols {
		r.symbols = nil
	}
	if cap(r.numbers) > usualSymbols {
		r.numbers = nil
	}
	if cap(r.visible) > usualSymbols {
		r.visible = nil
	}
}

// Of returns the trait that copies of a kind have in common.
func (t *Traits) Of(s Same) hash.Sum128 {
	switch s {
	case Bytes:
		return t.Text
	case Tokens:
		return t.Tokens
	default: // also if near-duplicates are sought
		return t.Set
	}
}
