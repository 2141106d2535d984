package signature

import (
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/copies"
)

// Documents share their one key, or an edge within a block, if they have in common what was asked for.
// Those without a token have neither; of bytes each is one.
func TestExact(t *testing.T) {
	docs := []blocks.Document{ // in blocks of two
		document(0, "return a + b"), document(10, "return a - b"),
		document(20, "return a + b"), document(30, "return a + b"),
		document(40, "a b a b a b a b"), document(50, "a b a b a b a b a b"),
		document(60, "+ -"), document(70, "+ -"),
		document(80, "1 + 1"), document(90, "1 + 1"),
		document(100, "c d e"), document(110, "c d e"), // of two columns
		document(120, ""), document(130, ""),
	}
	docs[10].Ends, docs[11].Ends = []byte{1}, []byte{3}
	for same, want := range map[copies.Same]struct {
		edges    [][2]int64
		keys     [][]int64 // documents by key
		rejected []int64
	}{
		copies.Bytes:  {[][2]int64{{20, 30}, {60, 70}, {80, 90}}, [][]int64{{0, 20}, {10}, {40}, {50}, {60}, {80}, {100}, {110}}, []int64{120, 130}},
		copies.Tokens: {[][2]int64{{0, 10}, {20, 30}, {80, 90}, {100, 110}}, [][]int64{{0, 20}, {40}, {50}, {80}, {100}}, []int64{60, 70, 120, 130}},
		copies.Set:    {[][2]int64{{0, 10}, {20, 30}, {40, 50}, {80, 90}, {100, 110}}, [][]int64{{0, 20}, {40}, {80}, {100}}, []int64{60, 70, 120, 130}},
	} {
		p := params(t)
		p.Same = same
		out := sign(t, p, docs)
		type place struct {
			group int64
			key   uint64
		}
		byKey := map[place][]int64{}
		for group, entries := range out.bands {
			for _, e := range entries {
				byKey[place{group, e.Key}] = append(byKey[place{group, e.Key}], e.Document.Position())
			}
		}
		var keys [][]int64
		for _, positions := range byKey {
			slices.Sort(positions)
			keys = append(keys, positions)
		}
		slices.SortFunc(keys, slices.Compare[[]int64])
		if !slices.EqualFunc(keys, want.keys, slices.Equal[[]int64]) {
			t.Errorf("%s: documents by key %v, want %v", same, keys, want.keys)
		}
		var edges [][2]int64
		for _, e := range out.edges {
			edges = append(edges, [2]int64{e.A.Position(), e.B.Position()})
		}
		if !slices.Equal(edges, want.edges) {
			t.Errorf("%s: edges %v, want %v", same, edges, want.edges)
		}
		var rejected []int64
		for _, row := range out.rejected {
			rejected = append(rejected, row.Position)
		}
		if !slices.Equal(rejected, want.rejected) {
			t.Errorf("%s: rejected %v, want %v, those without a token", same, rejected, want.rejected)
		}
	}
}
