package decide

import (
	"fmt"
	"math"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/kernels/verifier"
)

func BenchmarkStar(b *testing.B) {
	const n = 100_000
	var profiles, pairs [][]byte
	var block, pb []byte
	for i := range n {
		h := uint64(i) * 0x9E3779B97F4A7C15
		block = blocks.AppendProfile(block, &blocks.Profile{Key: blocks.NewKey(0, int64(i)*150), Hash: blocks.Hash{Hi: h, Lo: h * 3}, Size: 14, Words: 14, ID: fmt.Append(nil, "star/", i), HasID: true,
			Traits: blocks.Traits{Text: blocks.Hash{Lo: h}, Tokens: blocks.Hash{Lo: h}}})
		if len(block) > 20000 {
			profiles, block = append(profiles, block), nil
		}
		if i > 0 {
			pb = blocks.AppendNearPair(pb, blocks.NearPair{A: 0, B: blocks.NewKey(0, int64(i)*150), Score: 13, Shared: 13})
		}
		if len(pb) > 20000 {
			pairs, pb = append(pairs, pb), nil
		}
	}
	profiles, pairs = append(profiles, block), append(pairs, pb)
	b.ReportAllocs()
	for b.Loop() {
		f := &decideFn{Params: Params{Clusters: true, Shards: 1, PairBudget: math.MaxInt, Verifier: verifier.Spec{Measure: verifier.Jaccard}}, rows: rowWriter{in: oneFile, clusters: true}}
		f.shard = newShard(&f.Params, oneFile)
		none := func(int64, []byte) {}
		if err := f.ProcessElement(b.Context(), 7, beamtest.Values(profiles...), beamtest.Values(pairs...), beamtest.Values(), none, none, none, none, none, nil); err != nil {
			b.Fatal(err)
		}
	}
}
