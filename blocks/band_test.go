package blocks_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
)

// TestBandsRoundTrip: each document is in the group of each of its keys exactly once, and the group and the entry's key
// together are the top bits of the whole key.
func TestBandsRoundTrip(t *testing.T) {
	// Few files and positions far apart, so that segments are opened for every possible reason.
	farKey := rapid.Custom(func(t *rapid.T) blocks.Key {
		return blocks.NewKey(
			rapid.SampledFrom([]int{0, 1, 2, blocks.MaxFiles - 1}).Draw(t, "file"),
			rapid.SampledFrom([]int64{0, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 39, blocks.MaxPosition - 3}).Draw(t, "base")+
				rapid.Int64Range(0, 2).Draw(t, "offset"))
	})
	rapid.Check(t, func(t *rapid.T) {
		bands := rapid.IntRange(1, 5).Draw(t, "bands")
		shardBits := rapid.IntRange(0, 12).Draw(t, "shardBits")
		docs := rapid.SliceOfN(farKey, 0, 30).Draw(t, "documents")
		writer := blocks.NewBandWriter(bands, shardBits)
		type entry struct {
			group int64
			blocks.BandEntry
		}
		var got, want []entry
		emit := func(group int64, block []byte) {
			entries, err := blocks.DecodeBands(nil, block)
			if err != nil || len(entries) == 0 {
				t.Fatalf("group %d: %d entries, error %v", group, len(entries), err)
			}
			for _, e := range entries {
				got = append(got, entry{group, e})
			}
		}
		for _, doc := range docs {
			keys := rapid.SliceOfN(rapid.Uint64(), bands, bands).Draw(t, "keys")
			writer.Add(doc, keys, emit)
			for band, key := range keys {
				top := key >> (64 - 40 - shardBits)
				want = append(want, entry{
					group:     int64(band)*int64(1<<shardBits) + int64(top>>40),
					BandEntry: blocks.BandEntry{Key: top % (1 << 40), Document: doc},
				})
			}
		}
		writer.Flush(emit)
		writer.Flush(func(group int64, _ []byte) { t.Fatalf("group %d emitted twice", group) })
		// Entries keep their order within a group; groups come in any order.
		byGroup := func(a, b entry) int { return int(a.group - b.group) }
		slices.SortStableFunc(got, byGroup)
		slices.SortStableFunc(want, byGroup)
		if !slices.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

// TestBandWriterCaps: blocks stay small, and so does everything that is held.
func TestBandWriterCaps(t *testing.T) {
	const documents, bands, shardBits = 200_000, 20, 6
	random := rand.New(rand.NewPCG(1, 2))
	writer := blocks.NewBandWriter(bands, shardBits)
	var emitted, added, most int
	emit := func(_ int64, block []byte) {
		if len(block) > blocks.BlockBytes+100 {
			t.Fatalf("a block of %d bytes", len(block))
		}
		entries, err := blocks.DecodeBands(nil, block)
		if err != nil {
			t.Fatal(err)
		}
		emitted += len(entries)
	}
	keys := make([]uint64, bands)
	for i := range documents {
		for b := range keys {
			keys[b] = random.Uint64()
		}
		writer.Add(blocks.NewKey(0, int64(i)), keys, emit)
		added += bands
		most = max(most, added-emitted)
	}
	writer.Flush(emit)
	if emitted != added {
		t.Errorf("%d entries out, %d in", emitted, added)
	}
	if held := most * 9; held > 32<<20 {
		t.Errorf("%d bytes were held", held)
	}
}

// TestBandBlocks: an emitted block is never written to again. All blocks but the first of a group take little more
// memory than they need, whether they are full or emitted early.
func TestBandBlocks(t *testing.T) {
	for _, shardBits := range []int{0, 8} {
		writer := blocks.NewBandWriter(1, shardBits)
		var emitted, before [][]byte
		seen := map[int64]bool{}
		emit := func(group int64, block []byte) {
			if seen[group] && len(block) >= 4<<10 && cap(block) > len(block)+len(block)/4 {
				t.Errorf("%d shard bits: room for %d bytes in a block of %d", shardBits, cap(block), len(block))
			}
			seen[group] = true
			emitted, before = append(emitted, block), append(before, slices.Clone(block))
		}
		random := rand.New(rand.NewPCG(1, 2))
		for i := range int64(3_000_000) {
			writer.Add(blocks.NewKey(0, i), []uint64{random.Uint64()}, emit)
		}
		for i, block := range emitted {
			if !slices.Equal(block, before[i]) {
				t.Fatalf("%d shard bits: block %d was written to", shardBits, i)
			}
		}
	}
}

func TestDecodeBandsTruncated(t *testing.T) {
	writer := blocks.NewBandWriter(1, 0)
	var block []byte
	for i := range 3 {
		writer.Add(blocks.NewKey(i/2, int64(i)), []uint64{7}, nil)
	}
	writer.Flush(func(_ int64, b []byte) { block = b })
	whole := map[int]int{16 + 2*9: 2, 2*16 + 3*9: 3} // length at a segment's end → entries before it
	for n := 1; n <= len(block); n++ {
		entries, err := blocks.DecodeBands(nil, block[:n])
		if want, ok := whole[n]; ok {
			if err != nil || len(entries) != want {
				t.Errorf("%d of %d bytes: %d entries, error %v, want %d", n, len(block), len(entries), err, want)
			}
		} else if !errors.Is(err, blocks.ErrCorrupt) {
			t.Errorf("%d of %d bytes: error %v", n, len(block), err)
		}
	}
}
