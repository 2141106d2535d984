package blocks

import (
	"errors"
	"slices"
	"testing"
)

// A lost part is an error, not a set with leftovers of an earlier one.
func TestLostPart(t *testing.T) {
	large := make([]uint64, 200_000)
	for i := range large {
		large[i] = uint64(i)
	}
	var parts [][]byte
	SetParts(nil, 7, Hash{Lo: 1}, large, func(part []byte) { parts = append(parts, part) })
	for i := range parts {
		if _, err := AssembleSets(slices.Delete(slices.Clone(parts), i, i+1)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("without part %d: error %v", i, err)
		}
	}
	if g, err := AssembleSets(parts); err != nil || len(g.Sets) != 1 || !slices.Equal(g.Sets[0], large) {
		t.Errorf("the whole set: error %v", err)
	}
}

// SetBytes predicts the size of a set's parts.
func TestSetBytes(t *testing.T) {
	for _, n := range []int{0, 1, setPart - 1, setPart, setPart + 1, 3*setPart + 7} {
		bytes := 0
		SetParts(nil, 7, Hash{Lo: 1}, make([]uint64, n), func(part []byte) { bytes += len(part) })
		if got := SetBytes(n); got != bytes {
			t.Errorf("%d shingles: %d bytes, foretold were %d", n, bytes, got)
		}
	}
}

// Whole sets stay in place, at any address, on little-endian processors.
func TestWholeSetsAreNotCopied(t *testing.T) {
	if _, ok := new(SetPart).inPlace(); !ok {
		t.Skip("this processor has words in another order")
	}
	want := [][]uint64{{1, 2, 1 << 63}, {3}, {4, 5}}
	var parts [][]byte
	for i, set := range want {
		SetParts(nil, Key(i), Hash{Lo: uint64(i)}, set, func(part []byte) {
			parts = append(parts, slices.Concat(make([]byte, i), part)[i:])
		})
	}
	var a SetAssembler
	g, err := a.Assemble(parts)
	if err != nil || !slices.EqualFunc(g.Sets, want, slices.Equal) {
		t.Fatalf("got %v, %v, want %v", g.Sets, err, want)
	}
	if cap(a.room) > 0 {
		t.Errorf("there is room for %d shingles", cap(a.room))
	}
}
