package crowds

import (
	"encoding/json"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/kernels/setsim"
)

// TestMarkOfCrowd: a component whose pairs have the mark is a crowd, wherever among them it stands.
func TestMarkOfCrowd(t *testing.T) {
	mark, pair := blocks.AppendNearPair(nil, blocks.NearPair{A: 1, B: 1}), blocks.AppendNearPair(nil, blocks.NearPair{A: 1, B: 2, Shared: 3})
	join := func(packed ...[]byte) (joined []byte) {
		for _, block := range packed {
			joined = append(joined, block...)
		}
		return joined
	}
	for name, tt := range map[string]struct {
		pairs [][]byte
		crowd bool
	}{
		"none":               {nil, false},
		"without a mark":     {[][]byte{pair, pair}, false},
		"marked first":       {[][]byte{join(mark, pair)}, true},
		"marked last":        {[][]byte{join(pair, mark)}, true},
		"an earlier block":   {[][]byte{mark, pair}, true},
		"a later block":      {[][]byte{pair, mark}, true},
		"in the midst of it": {[][]byte{pair, join(pair, mark, pair), pair}, true},
	} {
		f := &splitFn{Params: Params{PairBudget: 100}}
		held, crowd, err := f.read(beamtest.Values(tt.pairs...))
		if err != nil || crowd != tt.crowd || (len(held) > 0) != (len(tt.pairs) > 0 && !tt.crowd) {
			t.Errorf("%s: a crowd: %v, %d blocks held, error %v", name, crowd, len(held), err)
		}
	}
}

// TestEstimatesOfComponents: each component that is no crowd tells its own estimates.
func TestEstimatesOfComponents(t *testing.T) {
	f := &splitFn{Params: Params{PairBudget: 100, Shards: 1}}
	none := func(int64, []byte) { t.Error("something besides facts was emitted") }
	for component, found := range map[int64]int64{1: 10, 2: 20, 3: 30} {
		var facts []blocks.Fact
		emit := func(line []byte) {
			var fact blocks.Fact
			if err := json.Unmarshal(line, &fact); err != nil {
				t.Fatal(err)
			}
			facts = append(facts, fact)
		}
		estimate := blocks.AppendEstimate(nil, blocks.Estimate{Component: blocks.Key(component), Found: found, Millionths: 1_000_000 * found})
		if err := f.ProcessElement(t.Context(), component, beamtest.Values(), beamtest.Values(), beamtest.Values(estimate), none, emit, none); err != nil {
			t.Fatal(err)
		}
		if len(facts) != 1 || facts[0].Counts[blocks.CountNear] != found || facts[0].Counts[blocks.CountMillionths] != 1_000_000*found {
			t.Errorf("component %d with %d pairs: facts %+v", component, found, facts)
		}
	}
}

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
