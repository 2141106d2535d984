package blocks_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
)

// Whatever the number of shards, nothing is lost or reordered, and an emitted block is never written to again.
func TestShardBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 3, 10_000}).Draw(t, "shards")
		s := blocks.NewShards(n)
		in, out := map[int64][]byte{}, map[int64][]byte{}
		var emitted, before [][]byte
		emit := func(shard int64, block []byte) {
			if len(block) == 0 {
				t.Fatalf("shard %d: an empty block", shard)
			}
			out[shard] = append(out[shard], block...)
			emitted, before = append(emitted, block), append(before, slices.Clone(block))
		}
		for i := range rapid.IntRange(0, 100).Draw(t, "values") {
			shard := rapid.Int64Range(0, int64(max(0, min(n, 3)-1))).Draw(t, "shard")
			value := bytes.Repeat([]byte{byte(i)}, rapid.SampledFrom([]int{1, 100, 5000, 100_000}).Draw(t, "size"))
			in[shard] = append(in[shard], value...)
			s.Add(shard, func(block []byte) []byte { return append(block, value...) }, emit)
		}
		whole := len(emitted)
		var order []int64
		s.Flush(func(shard int64, block []byte) {
			order = append(order, shard)
			emit(shard, block)
		})
		if !slices.IsSorted(order) || len(order) != len(slices.Compact(slices.Clone(order))) {
			t.Errorf("flushed in the order %v", order)
		}
		s.Flush(func(shard int64, _ []byte) { t.Fatalf("shard %d flushed twice", shard) })
		for i, block := range emitted {
			if !slices.Equal(block, before[i]) {
				t.Fatalf("block %d of %d was written to", i, whole)
			}
		}
		for shard, want := range in {
			if !slices.Equal(out[shard], want) {
				t.Errorf("shard %d: %d bytes, want %d", shard, len(out[shard]), len(want))
			}
		}
	})
}

// Shards take little memory, also if very many of them each have a large value at some time.
func TestShardBlocksTakeLittle(t *testing.T) {
	for _, n := range []int{1, 300, 1000, 1 << 16} {
		s := blocks.NewShards(n)
		value := make([]byte, blocks.BlockBytes)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for shard := range int64(min(n, 1000)) {
			for _, v := range [][]byte{{1}, value, value[:20<<10], {2}} {
				s.Add(shard, func(block []byte) []byte { return append(block, v...) }, func(int64, []byte) {})
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 10<<20 {
			t.Errorf("%d shards take %d bytes", n, took)
		}
		runtime.KeepAlive(s)
	}
}

// A runner keeps a block as it is if at most a fifth of its memory is unused, which holds for nearly all blocks of
// sets.
func TestShardBlocksAreFull(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 300, 1000} {
		s := blocks.NewShards(n)
		var all, full int
		emit := func(_ int64, block []byte) {
			if all++; cap(block) <= len(block)+len(block)/4 {
				full++
			}
		}
		for i := range 50_000 {
			set := make([]uint64, 50+random.IntN(250))
			if n == 1000 {
				set = set[:len(set)/4] // a quarter of the room
			}
			blocks.AddSet(s, int64(i%min(n, 10)), 1, 2, blocks.Hash{}, set, emit)
		}
		if all < 100 || full*100 < all*95 {
			t.Errorf("%d shards: %d of %d blocks are full", n, full, all)
		}
	}
}
