//go:build !race

package setsim

import "testing"

// With the race detector, append allocates even if the capacity suffices.
func TestSimilarAllocatesNothing(t *testing.T) {
	index := NewIndex(Threshold{7, 10}, &Frequencies{})
	sets := variants(100, 300, 15)
	for _, s := range sets {
		index.Add(s)
	}
	finder, hits := index.Finder(), 0
	found := func(int, int) { hits++ }
	if n := testing.AllocsPerRun(100, func() { finder.Similar(sets[7], 0, found) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if hits == 0 {
		t.Error("no hits")
	}
}
