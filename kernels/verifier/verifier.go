// Package verifier compares documents by a similarity that is named, and not built in.
//
// A Verifier says of documents, by what is known of them, their features, which are similar. A Spec names one, and what
// makes the features; Register adds more. Features are words: for Jaccard the shingle set, for others what they need,
// such as each shingle with its weight. What compares documents in a way that only sets allow asks for Sets; NewIndex
// and Connect do so, and compare all pairs of other features.
package verifier

import (
	"fmt"
	"math"

	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/vector"
)

// A Verifier compares documents by their features. It is a value without state, safe for concurrent use.
type Verifier interface {
	// Size returns the size of a document, which Similarity takes.
	Size(features []uint64) int

	// Len returns what a document counts that has so many words, its traits apart: its shingles, or the bits of its
	// signature. Words returns how many words the features of so many different shingles have.
	Len(words int) int
	Words(shingles int) int

	// Shared returns how many of these, as Len counts them, two similar
	// documents share, by their score and features. It is at most the score.
	Shared(score int, a, b []uint64) int

	// Similarity returns that of two documents, from 0 to 1, by the score of the pair and their sizes. It is for display
	// and ranking; what is similar, Compare and the joins decide. The score of a document with itself is its size.
	Similarity(score, a, b int) float64

	// MinWords returns the least number of words that features have which
	// are similar to features of so many words; 0 is no bound.
	MinWords(words int) int

	// Compare returns the score of two documents, or false if they are not similar.
	Compare(a, b []uint64) (score int, ok bool)

	// SelfJoin calls emit once for every pair i < j of similar documents, by their indexes in the slice, with its score. A
	// false from emit ends it.
	SelfJoin(features [][]uint64, emit func(i, j, score int) bool)

	// CrossJoin is SelfJoin of pairs of a document i of small and a document j of large only. Where features are Sets,
	// none of small has more words than any of large.
	CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool)
}

// Sets is a Verifier whose features are sets, and whose similar documents are those that reach a Jaccard similarity.
// What package setsim has for such sets serves it.
type Sets interface {
	Verifier
	Jaccard() setsim.Threshold
}

// The measures.
const (
	// Jaccard is that of shingle sets: the size is the number of shingles, and the score that of shared ones.
	Jaccard = "jaccard"
	// Containment is the share of the smaller set's shingles that the larger one has. Sizes and scores are those of
	// Jaccard.
	Containment = "containment"
	// Cosine is that of vectors, which have a component for each different shingle.
	Cosine = "cosine"
	// Overlap is the share of equal bits of two SimHash signatures.
	Overlap = "simhash-overlap"
	// Told is that of pairs whose similarity was found before: their score is ScoreOf it.
	Told = "told"
)

// A Spec names a Verifier, and says what the features are that it compares. It travels to workers as JSON.
type Spec struct {
	Measure   string
	Threshold setsim.Threshold // the least similarity of similar documents

	// Weights are those of the vectors' features, for Cosine and Overlap.
	// Frequencies names the file of the document frequencies, for tf-idf.
	Weights     vector.Weights `json:",omitempty"`
	Frequencies string         `json:",omitempty"`

	// Bits, Vectors and Seed make signatures, for Overlap.
	Bits    int             `json:",omitempty"`
	Vectors simhash.Entries `json:",omitempty"`
	Seed    uint64          `json:",omitempty"`

	// Rules are those that similar documents must meet. What match.Append appends is behind the features.
	Rules []match.Rule `json:",omitempty"`
	// Field: the text is a column with a rule of similarity itself, and this is its place among these rules, from 1 on.
	// Then two documents are as similar as by the rule that says least. 0: rules are beside a text.
	Field int `json:",omitempty"`
}

// New returns the Verifier. It panics if the measure is not known.
func (s Spec) New() Verifier {
	v := s.measure().New(s)
	if match.Pairwise(s.Rules) {
		return matched{v, s.Rules, match.Words(s.Rules), s.Field}
	}
	return v
}

// Features returns what makes the features of a document of its shingles, in any order. It may use their storage;
// without shingles there are no features. Documents with equal features are copies. idf is the inverse document
// frequency of a shingle, in units of 2^-vector.FractionBits, for tf-idf only. It panics if the measure is not known.
func (s Spec) Features(idf func(shingle uint64) uint32) func(shingles []uint64) []uint64 {
	return s.measure().Features(s, idf)
}

// Similarity returns that of two documents, by the score of the pair, their sizes and their Matches.
func (s Spec) Similarity(v Verifier, score, a, b int, matches []float64) float64 {
	if s.Field > 0 && matches != nil {
		return match.Least(matches)
	}
	return v.Similarity(score, a, b)
}

// LargerStays reports whether of two similar documents the one with fewer words goes, and never the other.
func (s Spec) LargerStays() bool { return s.Measure == Containment }

func (s Spec) measure() Measure {
	m, ok := Measures[s.Measure]
	if !ok {
		panic(fmt.Sprintf("verifier: measure %q is not known", s.Measure))
	}
	return m
}

// A Measure is what New and Features of a Spec do that names it.
type Measure struct {
	New      func(Spec) Verifier
	Features func(s Spec, idf func(shingle uint64) uint32) func(shingles []uint64) []uint64
}

// Measures are all that a Spec may name.
var Measures = map[string]Measure{
	Jaccard: {
		New:      func(s Spec) Verifier { return jaccard{ofSets{s.Threshold}} },
		Features: func(Spec, func(uint64) uint32) func([]uint64) []uint64 { return shingle.Set },
	},
	Containment: {
		New:      func(s Spec) Verifier { return containment{ofSets{s.Threshold}} },
		Features: func(Spec, func(uint64) uint32) func([]uint64) []uint64 { return shingle.Set },
	},
	Cosine:  {New: newOfVectors, Features: vectorFeatures},
	Overlap: {New: newOfSignatures, Features: signatures},
	Told:    {New: func(s Spec) Verifier { return told{jaccard{ofSets{s.Threshold}}} }},
}

// ofSets is what measures of sets have in common.
type ofSets struct{ t setsim.Threshold }

func (ofSets) Size(features []uint64) int { return len(features) }

func (ofSets) Len(words int) int { return words }

func (ofSets) Words(shingles int) int { return shingles }

func (ofSets) Shared(score int, _, _ []uint64) int { return score }

type jaccard struct{ ofSets }

func (v jaccard) Jaccard() setsim.Threshold { return v.t }

func (jaccard) Similarity(score, a, b int) float64 { return setsim.Similarity(score, a, b) }

func (v jaccard) MinWords(words int) int { return v.t.MinSize(words) }

func (v jaccard) Compare(a, b []uint64) (score int, ok bool) { return setsim.Similar(a, b, v.t) }

func (v jaccard) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	setsim.SelfJoin(features, v.t, nil, emit)
}

func (v jaccard) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	setsim.CrossJoin(small, large, v.t, nil, emit)
}

type containment struct{ ofSets }

func (containment) Similarity(score, a, b int) float64 { return setsim.Containment(score, a, b) }

func (containment) MinWords(int) int { return 0 }

func (v containment) Compare(a, b []uint64) (score int, ok bool) { return setsim.Contained(a, b, v.t) }

func (v containment) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	setsim.SelfContain(features, v.t, emit)
}

func (v containment) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	setsim.CrossContain(small, large, v.t, emit)
}

// told gives back similarities. A document has as many words as it counts.
type told struct{ jaccard }

// ScoreOf returns the score of a pair whose similarity is known.
func ScoreOf(similarity float64) int { return int(math.Float64bits(similarity)) }

func (told) Similarity(score, _, _ int) float64 { return math.Float64frombits(uint64(score)) }
