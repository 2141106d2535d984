package lsh_test

import (
	"fmt"

	"github.com/neardup/neardup/kernels/lsh"
)

// Bands and rows for a million documents, of which unrelated ones share little.
func ExampleSolve() {
	choice, err := lsh.Solve(lsh.Input{
		Threshold: 0.8, Recall: 0.999, Documents: 1_000_000,
		Background: []float64{1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d bands of %d rows of %d values\n", choice.Bands, choice.Rows, choice.Signature)
	fmt.Printf("recall at the threshold: %.4f\n", choice.ExpectedRecall)
	// Output:
	// 18 bands of 5 rows of 128 values
	// recall at the threshold: 0.9992
}

// How likely two sets share a bucket with 20 bands of 5 rows.
func ExampleSCurve() {
	for _, j := range []float64{0.2, 0.4, 0.6, 0.8} {
		fmt.Printf("J = %.1f: %.3f\n", j, lsh.SCurve(j, 20, 5))
	}
	// Output:
	// J = 0.2: 0.006
	// J = 0.4: 0.186
	// J = 0.6: 0.802
	// J = 0.8: 1.000
}
