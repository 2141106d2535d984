package blocks_test

import (
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
)

// TestBuffers: nothing is lost or reordered, and neither a block nor all blocks together exceed their limits by more
// than the value that exceeded them.
func TestBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &blocks.Buffers{
			BlockBytes: rapid.IntRange(1, 40).Draw(t, "BlockBytes"),
			TotalBytes: rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1000, 2000)).Draw(t, "TotalBytes"),
		}
		in, out := map[int64][]byte{}, map[int64][]byte{}
		held := 0
		var emitted [][]byte
		emit := func(key int64, block []byte) {
			if len(block) == 0 {
				t.Fatalf("key %d: an empty block", key)
			}
			out[key] = append(out[key], block...)
			held -= len(block)
			emitted = append(emitted, block)
		}
		for range rapid.IntRange(0, 60).Draw(t, "values") {
			key := rapid.Int64Range(-2, 3).Draw(t, "key")
			value := rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "value")
			before, emissions := held, len(emitted)
			held += len(value)
			total := held
			in[key] = append(in[key], value...)
			b.Add(key, func(block []byte) []byte {
				if len(block) >= b.BlockBytes {
					t.Fatalf("a block of %d bytes was kept, the cap is %d", len(block), b.BlockBytes)
				}
				return append(block, value...)
			}, emit)
			take := total + 6*256 // the last page of each block may have room left
			if n := len(emitted) - emissions; n > 0 && take < b.TotalBytes && (n > 1 || len(emitted[emissions]) < b.BlockBytes) {
				t.Fatalf("%d blocks were emitted of %d bytes held, for no reason", n, total)
			}
			if before >= b.TotalBytes || held >= b.TotalBytes {
				t.Fatalf("%d bytes held, then %d; the cap is %d", before, held, b.TotalBytes)
			}
		}
		var order []int64
		b.Flush(func(key int64, block []byte) {
			order = append(order, key)
			emit(key, block)
		})
		if !slices.IsSorted(order) {
			t.Errorf("flushed in the order %v", order)
		}
		b.Flush(func(key int64, _ []byte) { t.Fatalf("key %d flushed twice", key) })
		if held != 0 || len(in) != len(out) {
			t.Errorf("%d bytes and %d keys lost", held, len(in)-len(out))
		}
		for key, want := range in {
			if !slices.Equal(out[key], want) {
				t.Errorf("key %d: got %q, want %q", key, out[key], want)
			}
		}
		// The receiver of a block may keep it: writing to one block changes no other.
		var before [][]byte
		for _, block := range emitted {
			before = append(before, slices.Clone(block))
		}
		for i, block := range emitted {
			if !slices.Equal(block, before[i]) {
				t.Fatalf("block %d changed with another", i)
			}
			clear(block[:cap(block)])
		}
	})
}

// TestBuffersTakeLittle: also if very many keys each have a full block at some time.
func TestBuffersTakeLittle(t *testing.T) {
	const total = 8 << 20 // the default size
	var b blocks.Buffers
	value := make([]byte, blocks.BlockBytes+1)
	emitted := 0
	emit := func(int64, []byte) { emitted++ }
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for key := range int64(1000) {
		for _, v := range [][]byte{{1}, value, {2}} {
			b.Add(key, func(block []byte) []byte { return append(block, v...) }, emit)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 3*total/2 {
		t.Errorf("buffers of %d bytes take %d", total, took)
	}
	b.Flush(emit)
	if emitted != 2000 {
		t.Errorf("%d blocks", emitted)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 2*blocks.BlockBytes { // with value and the last values added
		t.Errorf("a bundle has ended, and its buffers keep %d bytes", kept)
	}
	runtime.KeepAlive(&b)
}
