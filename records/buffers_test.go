package records_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/records"
)

// TestBuffers: nothing is lost or reordered, and neither a block nor all of them outgrow the caps
// by more than the value that did it.
func TestBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &records.Buffers{
			BlockBytes: rapid.IntRange(1, 40).Draw(t, "BlockBytes"),
			TotalBytes: rapid.IntRange(1, 100).Draw(t, "TotalBytes"),
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
			if n := len(emitted) - emissions; n > 0 && total < b.TotalBytes && (n > 1 || len(emitted[emissions]) < b.BlockBytes) {
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
		// Whoever takes a block may keep it: writing to one changes no other.
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
