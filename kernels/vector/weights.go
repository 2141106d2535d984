package vector

import "github.com/neardup/neardup/kernels/shingle"

// Weights is a way to weight the features of a document.
type Weights string

// The ways to weight features.
const (
	Unit  Weights = "1"      // all equal: the vector of a set
	TF    Weights = "tf"     // number of occurrences
	TFIDF Weights = "tf-idf" // that times the inverse document frequency
)

// Of returns the vector of a document from its shingles, which may be in any order. It reuses their memory. idf is
// needed only for TFIDF.
func (w Weights) Of(shingles []uint64, idf func(feature uint64) uint32) Vector {
	switch w {
	case TF:
		return TermFrequencies(shingles)
	case TFIDF:
		return TermFrequencies(shingles).TimesIDF(idf)
	default:
		return Vector{Features: shingle.Set(shingles)}
	}
}
