// Package copies tells copies: documents with the same bytes, the same tokens or the same shingles.
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

// What copies may have in common. Same bytes give the same tokens, and those the same set.
const (
	Bytes  Same = "bytes"  // the text columns as they were decoded
	Tokens Same = "tokens" // the tokens of the normalised text, in order
	Set    Same = "set"    // the set of shingles
)

// All are all of them, each with fewer copies than the next.
func All() []Same { return []Same{Bytes, Tokens, Set} }

// Traits are hashes by which copies are told apart.
type Traits struct {
	Text, Tokens hash.Sum128
	// Set is that of the features.
	Set hash.Sum128
	// Symbols is that of the text's symbols, in their order, and Numbers that of its numbers.
	Symbols, Numbers uint64
}

// A Reader takes the traits of texts. It keeps its buffers from text to text, so it serves one goroutine.
type Reader struct {
	shingler *shingle.Shingler
	policy   textnorm.Policy
	features func(shingles []uint64) []uint64
	symbols  []byte
	numbers  []byte
	visible  []byte
	// Of a text that is a field: values is what else the document has, by the rules.
	field  bool
	rules  []match.Rule
	values []byte
}

// NewReader returns a Reader of texts that become shingles so, and their features:
// shingle.Set, or those of a verifier, which may use the shingles' storage.
func NewReader(spec shingle.Spec, features func(shingles []uint64) []uint64) *Reader {
	r := &Reader{features: features, field: spec.Field, rules: spec.Rules}
	if spec.Shingle.Kind != shingle.Item {
		r.policy, spec.Normalize = spec.Normalize, spec.Normalize.KeepMarkup() // which is stripped once
	}
	r.shingler = spec.New()
	return r
}

// Apart says of which document the next text is, as shingle.Shingler.Apart does. It keeps the values.
func (r *Reader) Apart(key uint64, values []byte) {
	if r.shingler.Apart(key, values); r.field {
		r.values = values
	}
}

// Key returns the hash that two texts, whose columns end at ends, have in common if they are copies, and otherwise with
// a probability of about 2^-128; false for a text without a token, which is no copy of any. Of bytes each is a token.
func (r *Reader) Key(same Same, text, ends []byte) (hash.Sum128, bool) {
	if same == Bytes {
		sum, part := r.textHash(text, ends), r.shingler.Part(r.see(text))
		return hash.Sum128{Hi: sum.Hi ^ part, Lo: sum.Lo ^ part}, len(text) > 0
	}
	tokens := r.shingler.Tokenise(r.see(text))
	if len(tokens) == 0 { // and then no shingle
		return hash.Sum128{}, false
	}
	if same == Tokens {
		return r.shingler.Copied(tokens), true
	}
	return hash.Values(r.features(r.shingler.InPlace())), true
}

// Read returns the traits of a text, whose columns end at ends, and its features, which are valid until the next call.
func (r *Reader) Read(text, ends []byte) (t Traits, features []uint64) {
	t.Text, text = r.textHash(text, ends), r.see(text)
	t.Tokens, t.Symbols = r.shingler.Copied(r.shingler.Tokenise(text)), r.symbolsHash(text)
	t.Numbers = r.numbersHash(text)
	features = r.shingler.Matched(r.features(r.shingler.InPlace()))
	t.Set = hash.Values(features)
	return t, features
}

// ReadCopy returns those traits of a text, whose columns end at ends, that copies of a kind may differ in besides their
// sets: that of the text, that of the symbols and, if the set is what copies have in common, that of the tokens.
func (r *Reader) ReadCopy(same Same, text, ends []byte) (t Traits) {
	t.Text, text = r.textHash(text, ends), r.see(text)
	t.Symbols, t.Numbers = r.symbolsHash(text), r.numbersHash(text)
	if same == Set {
		t.Tokens = r.shingler.Copied(r.shingler.Tokenise(text))
	}
	return t
}

// see returns what of a text is compared; it is valid until the next call.
func (r *Reader) see(text []byte) []byte {
	seen := r.policy.Visible(r.visible, text)
	if r.policy.StripsMarkup() {
		r.visible = seen
	}
	return seen
}

// symbolsHash returns the hash of the symbols of a text, and of other fields that are texts.
func (r *Reader) symbolsHash(text []byte) uint64 {
	r.symbols = token.Symbols(r.symbols[:0], text)
	for value := range match.Texts(r.rules, r.values) {
		r.symbols = token.Symbols(append(r.symbols, 0), value)
	}
	return hash.Bytes(r.symbols)
}

// numbersHash returns the hash of the numbers of a text, and of other fields that are texts.
func (r *Reader) numbersHash(text []byte) uint64 {
	r.numbers = match.AppendNumbers(r.numbers[:0], text)
	for value := range match.Texts(r.rules, r.values) {
		r.numbers = match.AppendNumbers(append(r.numbers, 0), value)
	}
	return hash.Bytes(r.numbers)
}

// usualSymbols are bytes of symbols, and of a text without markup, that are kept for the next text.
const usualSymbols = 1 << 20

// Trim gives back the memory that a long text has taken; its features are gone.
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

// Of returns the one of these that copies have in common.
func (t *Traits) Of(s Same) hash.Sum128 {
	switch s {
	case Bytes:
		return t.Text
	case Tokens:
		return t.Tokens
	default: // also where near-duplicates are sought
		return t.Set
	}
}
