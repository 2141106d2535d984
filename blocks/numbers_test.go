package blocks

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOf(rapid.SliceOf(rapid.Uint64())).Draw(t, "lists")
		var block []byte
		for i, list := range lists {
			block = AppendNumbers(block, NewKey(i, int64(i)), list)
		}
		d := NewDecoder(block)
		for i, list := range lists {
			key, got := d.Numbers(nil)
			if key != NewKey(i, int64(i)) || !slices.Equal(got, list) {
				t.Fatalf("list %d of %v is %v, want %v", i, key, got, list)
			}
		}
		if !d.Done() || d.Err() != nil {
			t.Fatalf("%d bytes left, %v", d.Left(), d.Err())
		}
	})
}

// A truncated block is corrupt wherever it is cut, and never takes long to decode.
func TestNumbersOfCorruptBlocks(t *testing.T) {
	block := AppendNumbers(nil, NewKey(1, 2), []uint64{3, math.MaxUint64})
	for n := 1; n < len(block); n++ {
		d := NewDecoder(block[:n])
		if d.Numbers(nil); !errors.Is(d.Err(), ErrCorrupt) {
			t.Errorf("the first %d of %d bytes: %v", n, len(block), d.Err())
		}
	}
}
