package vector

import "github.com/neardup/neardup/kernels/shingle"

// Weights is a way to weigh the features of a document, by its name.
type Weights string

// The ways.
const (
	Unit  Weights = "1"      // all the same: the vector of a set
	TF    Weights = "tf"     // by the number of occurrences
	TFIDF Weights = "tf-idf" // by that times the inverse document frequency
)

// Of returns the vector of a document by its shingles, in any order. It uses their storage. idf is for TFIDF only.
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
