package shingle

import (
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

// Bag is like Set, for multisets: a shingle that occurs n times becomes n elements, the first of which is the shingle
// itself. It sorts in place. The similarity of two bags is therefore Σ min / Σ max over the numbers of occurrences (S.
// Ioffe, Improved consistent sampling, weighted minhash and L1 sketching, ICDM 2010).
func Bag(shingles []uint64) []uint64 {
	slices.Sort(shingles)
	times := uint64(0)
	for i := 1; i < len(shingles); i++ {
		// Values before i are already elements: the first one of the run is still the shingle.
		if shingles[i] != shingles[i-1-int(times)] {
			times = 0
			continue
		}
		times++
		shingles[i] = hash.Mix(shingles[i] + times)
	}
	slices.Sort(shingles)
	return shingles
}
