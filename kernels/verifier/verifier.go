// Package verifier compares documents by a similarity that is named, and not built in.
//
// A Verifier says what is known of a document, its features, and which documents are similar. A Spec names one; Register
// adds more. Features are words: for Jaccard the shingle set, for others what they need, such as each
// shingle with its weight. What compares documents in a way that only sets allow asks for Sets; NewIndex and
// Connect do so, and compare all pairs of other features.
package verifier

import (
	"fmt"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
)

// A Verifier compares documents by their features. It is a value without state, safe for concurrent use.
type Verifier interface {
	// Features returns the features of a document by its shingles, in the order of the text. It may use their storage. Documents with
	// equal features are copies.
	Features(shingles []uint64) []uint64

	// Size returns the size of a document, which Similarity takes.
	Size(features []uint64) int

	// Similarity returns that of two documents, from 0 to 1, by the score of the pair and their sizes. It is for display
	// and ranking; the score decides.
	Similarity(score, a, b int) float64

	// MinWords returns the least number of words that features have which are similar to features of so many words; 0 is no bound.
	MinWords(words int) int

	// Compare returns the score of two documents, or false if they are not similar.
	Compare(a, b []uint64) (score int, ok bool)

	// SelfJoin calls emit once for every pair i < j of similar documents, by their indexes in the slice, with its score. A
	// false from emit ends it.
	SelfJoin(features [][]uint64, emit func(i, j, score int) bool)

	// CrossJoin is SelfJoin of pairs of a document i of small and a document j of large only. No features of small have
	// more words than any of large.
	CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool)
}

// Sets is a Verifier whose features are sets, and whose similar documents are those that reach a Jaccard similarity. What package
// setsim has for such sets serves it.
type Sets interface {
	Verifier
	Jaccard() setsim.Threshold
}

// Jaccard is the measure whose features are the shingle set, whose size is the number of shingles, and whose score is the number
// of shared ones.
const Jaccard = "jaccard"

// A Spec names a Verifier. It travels to workers as JSON.
type Spec struct {
	Measure   string
	Threshold setsim.Threshold // the least similarity of similar documents
}

// New returns the Verifier. It panics if the measure is not known.
func (s Spec) New() Verifier {
	of, ok := measures[s.Measure]
	if !ok {
		panic(fmt.Sprintf("verifier: measure %q is not known", s.Measure))
	}
	return of(s)
}

var measures = map[string]func(Spec) Verifier{
	Jaccard: func(s Spec) Verifier { return jaccard{s.Threshold} },
}

// Register adds a measure. It is for init functions, and panics if the name is taken.
func Register(measure string, of func(Spec) Verifier) {
	if _, ok := measures[measure]; ok {
		panic(fmt.Sprintf("verifier: measure %q is registered twice", measure))
	}
	measures[measure] = of
}

type jaccard struct{ t setsim.Threshold }

func (v jaccard) Jaccard() setsim.Threshold { return v.t }

func (v jaccard) Features(shingles []uint64) []uint64 { return shingle.Set(shingles) }

func (v jaccard) Size(features []uint64) int { return len(features) }

func (v jaccard) Similarity(score, a, b int) float64 { return setsim.Similarity(score, a, b) }

func (v jaccard) MinWords(words int) int { return v.t.MinSize(words) }

func (v jaccard) Compare(a, b []uint64) (score int, ok bool) { return setsim.Similar(a, b, v.t) }

func (v jaccard) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	setsim.SelfJoin(features, v.t, emit)
}

func (v jaccard) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	setsim.CrossJoin(small, large, v.t, emit)
}
