package shingle_test

import (
	"fmt"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// The sets of 3-word shingles of two texts; "the cat sat" occurs twice in the first.
func ExampleSet() {
	policy, err := textnorm.Parse("default")
	if err != nil {
		fmt.Println(err)
		return
	}
	shingler := shingle.New(shingle.Config{Kind: shingle.Word, K: 3}, policy)
	a := shingle.Set(shingler.Shingles(nil, []byte("The cat sat on the mat. The cat sat down.")))
	b := shingle.Set(shingler.Shingles(nil, []byte("the cat sat on the rug")))
	fmt.Printf("%d and %d shingles, %d shared\n", len(a), len(b), setsim.Overlap(a, b))
	// Output:
	// 7 and 4 shingles, 3 shared
}
