package source

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
)

// TestResolve compares what is resolved for a split with a map. Documents have hashes and come in blocks. The first
// document with a hash in a block may have copies in that block, and may itself be a copy of a document in an earlier
// block or in another split.
func TestResolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.IntRange(0, 8), 1, 40).Draw(t, "hashes")
		split := rapid.IntRange(0, len(hashes)).Draw(t, "documents of another split")
		key := func(i int) blocks.Key { return blocks.NewKey(0, int64(i)) }
		var told []blocks.Member // what this split is told
		tell := func(m blocks.Member) {
			if m.Key >= key(split) {
				told = append(told, m)
			}
		}

		firsts := map[int][]int{} // first documents in their blocks, by hash
		inBlock := map[int]int{}
		for i, hash := range hashes {
			if i == split || rapid.IntRange(0, 4).Draw(t, "a block begins") == 0 {
				clear(inBlock)
			}
			if first, ok := inBlock[hash]; ok {
				tell(blocks.Member{Key: key(i), Component: key(first)})
				tell(blocks.Member{Key: key(first), Component: key(first)})
				continue
			}
			inBlock[hash] = i
			firsts[hash] = append(firsts[hash], i)
		}
		for _, of := range firsts {
			for _, i := range of {
				m := blocks.Member{Key: key(i), Component: key(of[0])}
				if i == of[0] {
					m.Of = 1 - int32(len(of))
				}
				if len(of) > 1 {
					tell(m)
				}
			}
		}
		components := map[int]blocks.Member{}
		for i, hash := range hashes {
			if others := len(firsts[hash]) - 1; others > 0 && rapid.Bool().Draw(t, "only copies have an edge") {
				components[i] = blocks.Member{Key: key(i), Component: key(firsts[hash][0]), Of: int32(1 + others)}
				tell(components[i])
			} else if rapid.Bool().Draw(t, "has an edge") {
				components[i] = blocks.Member{Key: key(i), Component: key(rapid.IntRange(0, i).Draw(t, "component")), Of: rapid.Int32Range(2, 9).Draw(t, "more") + int32(others)}
				tell(components[i])
			}
		}

		var want []blocks.Member
		for i, hash := range hashes {
			if i < split {
				continue
			}
			first := slices.Index(hashes, hash)
			m, member := components[i]
			switch m.Copied = slices.Contains(hashes[first+1:], hash); {
			case first < i:
				want = append(want, blocks.Member{Key: key(i), Component: key(first)})
			case member && (!m.Copied || int(m.Of) > len(firsts[hash])):
				want = append(want, m)
			case m.Copied:
				want = append(want, blocks.Member{Key: key(i), Component: key(i), Of: 1, Copied: true})
			}
		}
		if got := resolve(rapid.Permutation(told).Draw(t, "order")); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
