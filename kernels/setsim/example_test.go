package setsim_test

import (
	"fmt"

	"github.com/neardup/neardup/kernels/setsim"
)

// All pairs of sets with a Jaccard similarity of at least 1/2.
func ExampleSelfJoin() {
	sets := [][]uint64{ // sorted
		{1, 2, 3, 4},
		{2, 3, 4, 5},
		{4, 5, 6},
	}
	half := setsim.Threshold{Num: 1, Den: 2}
	setsim.SelfJoin(sets, half, nil, func(i, j, shared int) bool {
		fmt.Printf("sets %d and %d share %d: J = %.2f\n", i, j, shared, setsim.Similarity(shared, len(sets[i]), len(sets[j])))
		return true // continue
	})
	// Output:
	// sets 0 and 1 share 3: J = 0.60
}
