package spool

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// Batches are in the order of sizes, do not exceed their limit unless hashes are unlucky, and share a size only if each
// holds only sets of that size.
func TestBatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.MapOf(rapid.IntRange(1, 60), rapid.Int64Range(1, 50)).Draw(t, "sets")
		bytes := rapid.Int64Range(1, 20_000).Draw(t, "bytes")
		batching := NewBatching(sets, bytes)
		held := make([]int64, len(batching)) // on average
		holds := make([][]int, len(batching))
		for size := 1; size <= 61; size++ {
			first, end := batching.Of(size)
			for hash := range uint64(10) {
				if b := batching.Batch(size, blocks.Hash{Lo: hash}); b != int64(first)+int64(hash%uint64(end-first)) {
					t.Fatalf("a set of %d with the hash %d is in batch %d of %d to %d", size, hash, b, first, end)
				}
			}
			for b := first; b < end; b++ {
				held[b] += blocks.ShingleBytes * int64(size) * sets[size] / int64(end-first)
				holds[b] = append(holds[b], size)
			}
			if end-first > 1 && blocks.ShingleBytes*int64(size)*sets[size] <= bytes {
				t.Fatalf("%d batches for %d sets of %d", end-first, sets[size], size)
			}
		}
		var before []int // of the last non-empty batch
		for b, sizes := range holds {
			if held[b] > bytes {
				t.Fatalf("batch %d holds %d bytes of %d", b, held[b], bytes)
			}
			if len(sizes) == 0 {
				continue
			}
			shared := len(before) == 1 && slices.Equal(before, sizes)
			if len(before) > 0 && slices.Max(before) >= slices.Min(sizes) && !shared {
				t.Fatalf("batch %d holds sizes %v, the one before %v", b, sizes, before)
			}
			before = sizes
		}
	})
}

// A batch has its sets in the order of their sizes, once each, with the key of the first document. The other documents
// have an edge to it.
func TestBatchOfAll(t *testing.T) {
	for references := range 3 {
		batchOfAll(t, references)
	}
}

// batchOfAll tests this with the first files as references.
func batchOfAll(t *testing.T, references int) {
	temp := storagetest.RunFolder(t)
	in := &blocks.Inputs{Shards: 1}
	for i, name := range []string{"a", "b"} {
		standing := blocks.Input
		if i < references {
			standing = blocks.Reference
		}
		in.Add(&blocks.File{Source: name, Standing: standing}, nil, nil)
	}
	inputs := filepath.Join(temp, "inputs")
	if err := storage.WriteShared(t.Context(), inputs, in); err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	var want blocks.Sets
	var same, told []blocks.Edge
	for size := int64(1); size <= 20; size++ {
		set := make([]uint64, size)
		for i := range set {
			set[i] = uint64(size)<<32 | uint64(i)
		}
		want.Keys, want.Sets = append(want.Keys, blocks.NewKey(0, 100-size)), append(want.Sets, set)
		for _, key := range []blocks.Key{blocks.NewKey(1, size), blocks.NewKey(0, 100-size), blocks.NewKey(0, 200+size)} {
			blocks.SetParts(nil, key, blocks.Hash{Lo: uint64(size)}, set, func(part []byte) {
				values = append([][]byte{blocks.AppendBytes(nil, part)}, values...)
			})
			if key != blocks.NewKey(0, 100-size) && references < 2 { // otherwise no input has the set
				same = append(same, blocks.Edge{A: blocks.NewKey(0, 100-size), B: key})
			}
		}
	}
	var batches [][]byte
	err := (&allFn{Inputs: inputs, Temp: temp}).ProcessElement(t.Context(), 7, beamtest.Values(values...), func(_ int64, batch []byte) { batches = append(batches, batch) }, func(block []byte) {
		var err error
		if told, err = blocks.DecodeEdges(told, block); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || len(batches) != 1 {
		t.Fatalf("%d batches, error %v", len(batches), err)
	}
	if got := blocks.NewDecoder(batches[0]).Batch(); got != Describe(7, want) {
		t.Errorf("%+v, want %+v", got, Describe(7, want))
	}
	slices.SortFunc(same, blocks.Edge.Compare)
	slices.SortFunc(told, blocks.Edge.Compare)
	if diff := cmp.Diff(same, told); diff != "" {
		t.Error(diff)
	}
	if Whole == blocks.NewKey(0, 0) {
		t.Error("all documents have the name of the first, whose component has files of its own")
	}
	got, err := Read(t.Context(), BatchFile(temp, Whole, 7))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, %s", err, diff)
	}
}
