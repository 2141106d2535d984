// Package verifier compares documents by a measure that is chosen by name.
//
// A Verifier decides which documents are similar, from their features. A Spec names a Verifier and says how features
// are made; a program may add others to Measures. Features are words: for Jaccard the shingle set, for others what they
// need, such as each shingle with its weight. Code that requires sets asks for Sets; NewIndex and Connect do so, and
// compare all pairs of other features.
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

	// Len returns what a document with this many words, traits excluded, counts: its shingles, or the bits of its
	// signature. Words returns the number of words in the features of this many distinct shingles.
	Len(words int) int
	Words(shingles int) int

	// Shared returns how many of these, as Len counts them, two similar documents share, given their score and
	// features. It is at most the score.
	Shared(score int, a, b []uint64) int

	// Similarity returns the similarity of two documents, from 0 to 1, given the score of the pair and their sizes. It
	// is for display and ranking; Compare and the joins decide what is similar. The score of a document with itself is
	// its size.
	Similarity(score, a, b int) float64

	// MinWords returns the minimum number of words in features that are similar to features of this many words, or 0 if
	// there is no bound.
	MinWords(words int) int

	// Compare returns the score of two documents, or false if they are not similar.
	Compare(a, b []uint64) (score int, ok bool)

	// SelfJoin calls emit once for every pair i < j of similar documents, by index, with its score. It ends if emit
	// returns false. The features are without traits; the function SelfJoin takes care of rules.
	SelfJoin(features [][]uint64, emit func(i, j, score int) bool)

	// CrossJoin is like SelfJoin, but only for pairs of a document i of small and a document j of large. If the
	// features are Sets, no document of small may have more words than one of large.
	CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool)
}

// Sets is a Verifier whose features are sets, and whose similar documents are those that reach a Jaccard similarity.
// The functions of package setsim apply to them.
type Sets interface {
	Verifier
	Jaccard() setsim.Threshold
}

// The measures.
const (
	// Jaccard is the Jaccard similarity of shingle sets. The size is the number of shingles, and the score that of
	// shared ones.
	Jaccard = "jaccard"
	// Containment is the fraction of the smaller set's shingles that the larger one has. Sizes and scores are those of
	// Jaccard.
	Containment = "containment"
	// Cosine is the cosine of vectors, which have one component per distinct shingle.
	Cosine = "cosine"
	// Overlap is the fraction of equal bits of two SimHash signatures.
	Overlap = "simhash-overlap"
	// Told is for pairs whose similarity was computed before. Their score is ScoreOf(similarity).
	Told = "told"
)

// A Spec names a Verifier, and says how the features that it compares are made. It travels to workers as JSON.
type Spec struct {
	Measure   string
	Threshold setsim.Threshold // minimum similarity of similar documents

	// Weights says how the features of vectors are weighted, for Cosine and Overlap. Frequencies is the path of the
	// document frequencies, for tf-idf.
	Weights     vector.Weights `json:",omitempty"`
	Frequencies string         `json:",omitempty"`

	// Bits, Vectors and Seed define signatures, for Overlap.
	Bits    int             `json:",omitempty"`
	Vectors simhash.Entries `json:",omitempty"`
	Seed    uint64          `json:",omitempty"`

	// Rules are the rules that similar documents must satisfy. The traits that match.Append appends follow the
	// features.
	Rules []match.Rule `json:",omitempty"`
	// Field says that the text is itself a column with a rule of similarity, and is its place among these rules, from 1
	// on. The similarity of two documents is then the smallest one by these rules. 0 means that rules are in addition
	// to a text.
	Field int `json:",omitempty"`
}

// New returns the Verifier. It panics if the measure is not in Measures.
func (s Spec) New() Verifier {
	v := s.measure().New(s)
	if match.Pairwise(s.Rules) {
		return matched{v, s.Rules, match.Words(s.Rules), s.Field}
	}
	return v
}

// Features returns a function that makes a document's features from its shingles, which may be in any order. The
// function may reuse their memory; without shingles there are no features. Documents with equal features are copies.
// idf is the inverse document frequency of a shingle, in units of 2^-vector.FractionBits, and is needed only for
// tf-idf. Features panics if the measure is not in Measures.
func (s Spec) Features(idf func(shingle uint64) uint32) func(shingles []uint64) []uint64 {
	return s.measure().Features(s, idf)
}

// Similarity returns the similarity of two documents, given the score of the pair, their sizes and their Matches.
func (s Spec) Similarity(v Verifier, score, a, b int, matches []float64) float64 {
	if s.Field > 0 && matches != nil {
		return match.Least(matches)
	}
	return v.Similarity(score, a, b)
}

// LargerStays reports whether, of two similar documents, only the one with fewer words may be removed.
func (s Spec) LargerStays() bool { return s.Measure == Containment }

func (s Spec) measure() Measure {
	m, ok := Measures[s.Measure]
	if !ok {
		panic(fmt.Sprintf("verifier: measure %q is not known", s.Measure))
	}
	return m
}

// A Measure implements New and Features for the Specs that name it.
type Measure struct {
	New      func(Spec) Verifier
	Features func(s Spec, idf func(shingle uint64) uint32) func(shingles []uint64) []uint64
}

// Measures are the measures that a Spec may name.
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

// told returns known similarities. A document has as many words as it counts.
type told struct{ jaccard }

// ScoreOf returns the score of a pair whose similarity is known.
func ScoreOf(similarity float64) int { return int(math.Float64bits(similarity)) }

// SimilarityOf returns the similarity of a score that ScoreOf returned, and 0 of a score of 0.
func SimilarityOf(score int) float64 { return math.Float64frombits(uint64(score)) }

func (told) Similarity(score, _, _ int) float64 { return SimilarityOf(score) }
