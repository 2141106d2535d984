package passage_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/passage"
)

// runs returns the runs of a text by definition: each pair of places from which words are equal, and before which they
// are not.
func runs(items [][][]uint64, length int, text []uint64) (all []passage.Run) {
	for item, parts := range items {
		position := 0
		for _, part := range parts {
			for at := range part {
				for i := range text {
					if i > 0 && at > 0 && text[i-1] == part[at-1] {
						continue
					}
					n := 0
					for i+n < len(text) && at+n < len(part) && text[i+n] == part[at+n] {
						n++
					}
					if len(part) >= min(length, passage.LeastItem) && n >= min(length, len(part)) {
						all = append(all, passage.Run{Item: item, ItemStart: position + at, Start: i, Words: n})
					}
				}
			}
			position += len(part) + 1
		}
	}
	return all
}

// Runs are those of the definition: for alphabets of one to four words and more, for items shorter than a run, and for
// items that are not searched for. No run crosses a border.
func TestItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(1, 20).Draw(t, "length")
		word := rapid.Uint64Range(0, rapid.SampledFrom([]uint64{0, 1, 3, 30}).Draw(t, "alphabet"))
		text := rapid.SliceOfN(word, 0, 60).Draw(t, "text")
		part := rapid.Custom(func(t *rapid.T) []uint64 {
			some := rapid.SliceOfN(word, 0, 30).Draw(t, "words")
			if len(text) > 0 && rapid.Bool().Draw(t, "of the text") {
				from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
				some = slices.Concat(some, text[from:])
			}
			return some
		})
		items := rapid.SliceOfN(rapid.SliceOfN(part, 1, 3), 0, 6).Draw(t, "items")
		x := passage.NewItems(length)
		for i, parts := range items {
			position := 0
			for _, p := range parts {
				if looked := x.Add(i, position, p); looked != (len(p) >= min(length, passage.LeastItem)) {
					t.Fatalf("%d words, runs of %d: looked for: %t", len(p), length, looked)
				}
				position += len(p) + 1
			}
		}
		x.Index()
		var got []passage.Run
		x.Find(text, func(r passage.Run) { got = append(got, r) })
		order := func(a, b passage.Run) int {
			return slices.Compare([]int{a.Start, a.Item, a.ItemStart}, []int{b.Start, b.Item, b.ItemStart})
		}
		want := runs(items, length, text)
		slices.SortFunc(want, order)
		if !slices.IsSortedFunc(got, order) {
			t.Fatalf("%v is not in order", got)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("runs of %d: %s", length, diff)
		}
	})
}
