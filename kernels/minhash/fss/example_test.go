package fss_test

import (
	"fmt"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/minhash/fss"
)

// Two sets that share 800 of 1,200 elements have a Jaccard similarity of 2/3.
func ExampleEqual() {
	var a, b []uint64
	for i := range uint64(1000) {
		a, b = append(a, hash.Mix(i)), append(b, hash.Mix(i+200))
	}
	signer := fss.New(1024, 1)
	estimate := float64(fss.Equal(signer.Sign(nil, a), signer.Sign(nil, b))) / 1024
	fmt.Printf("J = %.2f, estimated %.2f\n", 800./1200, estimate)
	// Output:
	// J = 0.67, estimated 0.68
}
