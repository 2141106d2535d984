package verifier

import (
	"github.com/neardup/neardup/kernels/hamming"
	"github.com/neardup/neardup/kernels/simhash"
)

// ofSignatures compares SimHash signatures by their overlap, 1 − d/m. The features are the signature's words, the size
// is m, the number of bits, and the score is m − d, the number of equal bits.
type ofSignatures struct{ bits, most int }

func newOfSignatures(s Spec) Verifier {
	return ofSignatures{s.Bits, hamming.MaxDistance(s.Threshold, s.Bits)}
}

func signatures(s Spec, idf func(feature uint64) uint32) func([]uint64) []uint64 {
	signer := simhash.New(s.Bits, s.Vectors, s.Seed)
	return func(shingles []uint64) []uint64 { return signer.Sign(nil, s.Weights.Of(shingles, idf)) }
}

func (v ofSignatures) Len(int) int { return v.bits }

func (v ofSignatures) Words(int) int { return (v.bits + 63) / 64 }

func (v ofSignatures) Size([]uint64) int { return v.bits }

func (v ofSignatures) Shared(score int, _, _ []uint64) int { return score }

func (v ofSignatures) Similarity(score, bits, _ int) float64 { return float64(score) / float64(bits) }

func (v ofSignatures) MinWords(int) int { return 0 }

func (v ofSignatures) Compare(a, b []uint64) (score int, ok bool) {
	d := hamming.Distance(a, b)
	return v.bits - d, d <= v.most
}

func (v ofSignatures) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	hamming.SelfJoin(features, v.bits, v.most, func(i, j, d int) bool { return emit(i, j, v.bits-d) })
}

func (v ofSignatures) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	hamming.CrossJoin(small, large, v.bits, v.most, func(i, j, d int) bool { return emit(i, j, v.bits-d) })
}
