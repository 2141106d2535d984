package unionfind_test

import (
	"fmt"

	"github.com/neardup/neardup/kernels/unionfind"
)

// The connected components of three edges.
func ExampleForest() {
	var forest unionfind.Forest
	forest.Union(5, 7)
	forest.Union(9, 8)
	forest.Union(7, 3)
	for key, root := range forest.All() {
		fmt.Println(key, "is in component", root)
	}
	// Output:
	// 3 is in component 3
	// 5 is in component 3
	// 7 is in component 3
	// 8 is in component 8
	// 9 is in component 8
}
