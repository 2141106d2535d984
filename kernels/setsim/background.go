package setsim

// negligible is a probability that has no effect even over all documents and bands.
const negligible = 1e-18

// Background returns E(r) for r from 0 to rows: the probability that two documents of a sample are unrelated, with a
// Jaccard similarity J below limit, and agree in r rows of a band, which is J^r. Pairs at or above the limit belong to
// families, and count as pairs that never agree. The sets must be distinct; documents is the number of documents that
// they were sampled from. One of all pairs of documents is assumed to be at the limit, because a sample that shares
// nothing does not prove that the corpus shares nothing.
//
// The result is bit for bit the same on every platform.
func Background(sets [][]uint64, documents int64, limit float64, rows int) []float64 {
	sums := make([]float64, rows+1)
	add := func(similarity, share float64) {
		for r, power := 1, similarity; r <= rows && power > negligible; r++ {
			sums[r] += float64(power * share) // arm64 would fuse the product with the sum
			power *= similarity
		}
	}
	share := 1 / (1 + pairs(int64(len(sets))))
	Overlaps(sets, func(i int, shared []int32) {
		for j, n := range shared {
			if n == 0 {
				continue
			}
			if similarity := Similarity(int(n), len(sets[i]), len(sets[j])); similarity < limit {
				add(similarity, share)
			}
		}
	})
	add(limit, 1/(1+pairs(documents)))
	sums[0] = 1
	return sums
}

func pairs(n int64) float64 { return float64(n) * float64(n-1) / 2 }
