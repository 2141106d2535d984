package signature

import (
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/copies"
)

// Documents share a hash, or are copies within a block, if they have in common what was asked for. Those without tokens
// are neither; if bytes are compared, each is a token. Documents to sign are passed on, except copies.
func TestDistinct(t *testing.T) {
	docs := []blocks.Document{ // in blocks of two
		document(0, "return a + b"), document(10, "return a - b"),
		document(20, "return a + b"), document(30, "return a + b"),
		document(40, "a b a b a b a b"), document(50, "a b a b a b a b a b"),
		document(60, "+ -"), document(70, "+ -"),
		document(80, "1 + 1"), document(90, "1 + 1"),
		document(100, "c d e"), document(110, "c d e"), // with two columns
		document(120, ""), document(130, ""),
	}
	docs[10].Ends, docs[11].Ends = []byte{1}, []byte{3}
	tokens := [][2]int64{{0, 10}, {20, 30}, {80, 90}, {100, 110}}
	tokenHashes := [][]int64{{0, 20}, {40}, {50}, {80}, {100}}
	for same, want := range map[copies.Same]struct {
		copies           [][2]int64
		hashes           [][]int64 // documents by hash
		rejected, passed []int64
	}{
		copies.Bytes:  {[][2]int64{{20, 30}, {60, 70}, {80, 90}}, [][]int64{{0, 20}, {10}, {40}, {50}, {60}, {80}, {100}, {110}}, []int64{120, 130}, nil},
		copies.Tokens: {tokens, tokenHashes, []int64{60, 70, 120, 130}, nil},
		copies.Set:    {slices.Insert(slices.Clone(tokens), 2, [2]int64{40, 50}), [][]int64{{0, 20}, {40}, {80}, {100}}, []int64{60, 70, 120, 130}, nil},
		"":            {tokens, tokenHashes, nil, []int64{0, 20, 40, 50, 60, 70, 80, 100, 120, 130}},
	} {
		p := params(t)
		p.Same, p.Family = same, Classic
		out := signBundle(t, p, docs)
		byHash := map[blocks.Hash][]int64{}
		for _, f := range out.firsts {
			byHash[f.Hash] = append(byHash[f.Hash], f.Key.Position())
		}
		var hashes [][]int64
		for _, positions := range byHash {
			slices.Sort(positions)
			hashes = append(hashes, positions)
		}
		slices.SortFunc(hashes, slices.Compare[[]int64])
		if !slices.EqualFunc(hashes, want.hashes, slices.Equal[[]int64]) {
			t.Errorf("%q: documents by hash %v, want %v", same, hashes, want.hashes)
		}
		var found, told [][2]int64
		for _, m := range out.copies {
			found = append(found, [2]int64{m.Component.Position(), m.Key.Position()})
		}
		for _, pair := range want.copies {
			told = append(told, [2]int64{pair[0], pair[0]}, pair)
		}
		if !slices.Equal(found, told) {
			t.Errorf("%q: copies %v, want %v", same, found, told)
		}
		var rejected, passed []int64
		for _, row := range out.rejected {
			rejected = append(rejected, row.Position)
		}
		for i, doc := range out.others {
			passed = append(passed, doc.Key.Position())
			if want := docs[doc.Key.Position()/10]; string(doc.Text) != string(want.Text) || string(doc.ID) != string(want.ID) {
				t.Errorf("%q: document %d is passed on as %+v", same, i, doc)
			}
		}
		if !slices.Equal(rejected, want.rejected) || !slices.Equal(passed, want.passed) {
			t.Errorf("%q: rejected %v, passed on %v, want %v and %v", same, rejected, passed, want.rejected, want.passed)
		}
	}
}
