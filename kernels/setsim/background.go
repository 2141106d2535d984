package setsim

// negligible is a probability that comes to nothing over all documents and bands.
const negligible = 1e-18

// Background returns E(r), the mean of J^r over the pairs of sets whose Jaccard similarity J is
// below limit, for r from 0 to rows: the probability that two unrelated documents agree in r rows
// of a band. Pairs at the limit and above are families, not background. One pair at the limit is
// added to those seen: a sample that shares nothing does not prove that the corpus does not.
//
// It is the same to the last bit on every platform.
func Background(sets [][]uint64, limit float64, rows int) []float64 {
	sums := make([]float64, rows+1)
	pairs := 0
	add := func(similarity float64) {
		pairs++
		for r, power := 1, similarity; r <= rows && power > negligible; r++ {
			sums[r] += power
			power = float64(power * similarity) // arm64 would fuse the product with the sum
		}
	}
	add(limit)
	Overlaps(sets, func(i int, shared []int32) {
		for j, n := range shared {
			if similarity := Similarity(int(n), len(sets[i]), len(sets[j])); similarity < limit {
				add(similarity)
			}
		}
	})
	for r := range sums {
		sums[r] /= float64(pairs)
	}
	sums[0] = 1
	return sums
}
