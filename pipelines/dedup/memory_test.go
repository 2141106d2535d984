package dedup

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/records"
)

// TestShares: what a step holds in all workers fits its share of the memory, unless there are so many workers that each
// has the minimum.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Config
		c.Workers, c.Memory = rapid.IntRange(1, 300).Draw(t, "workers"), records.Bytes(rapid.Int64Range(memory.Least, 1<<40).Draw(t, "memory"))
		share := c.Budget().Step(1)
		for what, held := range map[string]struct{ each, least, times int }{"cells": {c.cellBytes(), smallestCell, 3}, "rows": {c.HeldRows(), 1 << 20, 2}, "records": {c.heldRecords(), leastRecords, 8}} {
			if all := int64(held.times * held.each * c.Workers); all > share && held.each > held.least || held.each > 16<<20 {
				t.Fatalf("%s: %d bytes are held of %d", what, all, share)
			}
		}
	})
}
