package neardup_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/neardup/neardup"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	out := filepath.Join(dir, "out")
	spec := neardup.Default()
	spec.Inputs = []string{"testdata/tldr"}
	result, err := neardup.Run(ctx, spec, neardup.How{Output: out})
	if err != nil {
		log.Fatal(err)
	}
	for pair, err := range result.Pairs(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s and %s: similarity %.2f\n", pair.IDA, pair.IDB, pair.Similarity)
		break
	}
	fmt.Println(result.Record.Counts.Removed, "removed")
	// Output:
	// freebsd/chfn and freebsd/chsh: similarity 0.85
	// 97 removed
}

func ExampleRunDocuments() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	documents := func(yield func(neardup.Document, error) bool) {
		for i, text := range []string{
			"the quick brown fox jumps over the lazy dog",
			"The quick brown fox jumps over the lazy dog!",
			"a text of its own, which nobody else has written",
		} {
			if !yield(neardup.Document{ID: fmt.Sprint(i), Text: text}, nil) {
				return
			}
		}
	}
	result, err := neardup.RunDocuments(ctx, neardup.Default(), neardup.How{Output: filepath.Join(dir, "out")}, documents)
	if err != nil {
		log.Fatal(err)
	}
	for removed, err := range result.Removed(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s is removed, %s is kept: %s\n", removed.ID, removed.KeptID, removed.Reason)
	}
	// Output:
	// 1 is removed, 0 is kept: equal
}
