package blocks

import (
	"errors"
	"slices"
	"testing"
)

// A lost part is an error, and not a set with what was there before.
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
