package crowds

import (
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/setsim"
)

// TestListedOnce: of a document that resembles n kept ones, the first maxListed pairs are listed and that
// with the most similar, each once.
func TestListedOnce(t *testing.T) {
	const shared, own = 80, 70
	for _, tt := range []struct{ kept, best, want int }{
		{maxListed, maxListed - 1, maxListed}, {maxListed + 1, maxListed - 1, maxListed}, {maxListed + 1, maxListed, maxListed + 1}, {maxListed - 1, 0, maxListed - 1},
	} {
		var sets blocks.Sets
		add := func(number, own int) {
			var set []uint64
			for i := range uint64(shared) {
				set = append(set, i)
			}
			for i := range own {
				set = append(set, uint64(1+number)<<32|uint64(i))
			}
			sets.Keys, sets.Sets = append(sets.Keys, blocks.NewKey(0, int64(number))), append(sets.Sets, set)
		}
		for i := range tt.kept {
			if i == tt.best {
				add(i, own-10)
			} else {
				add(i, own)
			}
		}
		add(tt.kept, 0)
		var pairs []blocks.NearPair
		p := pass{Params: Params{Threshold: setsim.Threshold{Num: 1, Den: 2}, ChunkBytes: 1 << 30}}
		p.out.Emit = func(_ int64, block []byte) {
			var err error
			if pairs, err = blocks.DecodeNearPairs(pairs, block); err != nil {
				t.Fatal(err)
			}
		}
		for _, set := range sets.Sets {
			p.common.Count(set)
		}
		p.chunk = p.newChunk()
		if err := p.batch(t.Context(), sets); err != nil {
			t.Fatal(err)
		}
		p.out.Flush()
		distinct := map[blocks.NearPair]bool{}
		for _, pair := range pairs {
			distinct[pair] = true
		}
		best := blocks.NearPair{A: sets.Keys[tt.best], B: sets.Keys[tt.kept], Shared: shared}
		if len(pairs) != tt.want || len(distinct) != len(pairs) || !distinct[best] || len(p.kept) != tt.kept {
			t.Errorf("%+v: %d pairs, %d distinct, the best among them: %v, %d kept", tt, len(pairs), len(distinct), distinct[best], p.kept)
		}
	}
}
