// Package radix sorts entries by a uniformly distributed key, such as a hash.
package radix

import (
	"cmp"
	"math/bits"
	"slices"
)

// A Number identifies what has an entry's key: a document key or the number of a set.
type Number interface{ ~int64 | ~uint32 }

// An Order says how entries with equal keys are ordered.
type Order int

const (
	// ByKey leaves entries with equal keys in any order.
	ByKey Order = iota
	// ByKeyAndDocument orders entries with equal keys by document.
	ByKeyAndDocument
)

const (
	mostBits  = 16 // the counters stay in a core's own cache
	usualRun  = 4  // approximate number of entries in a run
	insertion = 24 // number of entries up to which an insertion sort is fastest
)

// A Sorter sorts entries. It keeps its memory, 4 bytes per counter plus the size of the entries, for the next call. The
// zero Sorter is ready to use; it is not safe for concurrent use.
type Sorter[E ~struct {
	Key      uint64
	Document D
}, D Number] struct {
	ends   []int32
	sorted []E
}

// entry is the underlying type of E: the conversion is free, and fields of a type parameter cannot be named.
type entry[D Number] = struct {
	Key      uint64
	Document D
}

// Sort returns the entries in ascending order, at most 2^31−1 of them, in a slice that is valid until the next call. It
// does not modify entries. The upper skip bits of all keys must be equal, and are ignored; the bits below should be
// uniform, or the sort is slower.
//
// One counting pass on the top bits leaves runs of a few entries, which insertion sort handles. If equal keys make a
// run longer, it is divided in three around its middle key, and the entries with that key are done.
func (s *Sorter[E, D]) Sort(entries []E, skip int, order Order) []E {
	n := len(entries)
	width := max(1, min(bits.Len(uint(n/usualRun)), mostBits, 64-skip))
	left, right := skip&63, (64-width)&63 // shift counts that the compiler knows to be below 64
	s.ends = slices.Grow(s.ends[:0], 1<<width)[:1<<width]
	clear(s.ends)
	s.sorted = slices.Grow(s.sorted[:0], n)[:n]
	ends, sorted := s.ends, s.sorted
	for i := range entries {
		ends[entry[D](entries[i]).Key<<(left&63)>>(right&63)]++
	}
	end := int32(0)
	for i, n := range ends {
		ends[i] = end // start of the run, and its end once all entries are placed
		end += n
	}
	for i := range entries {
		at := &ends[entry[D](entries[i]).Key<<(left&63)>>(right&63)]
		sorted[*at] = entries[i]
		*at++
	}
	start := int32(0)
	for _, end := range ends {
		run := sorted[start:end]
		start = end
		if len(run) > insertion {
			sortLong[E, D](run, order)
		} else if len(run) > 1 {
			sortShort[E, D](run)
		}
	}
	return sorted
}

// sortLong sorts a run in which few keys have many entries each.
func sortLong[E ~entry[D], D Number](run []E, order Order) {
	for len(run) > insertion {
		pivot := entry[D](run[len(run)/2]).Key
		less, greater := 0, len(run)
		for i := 0; i < greater; {
			switch key := entry[D](run[i]).Key; {
			case key < pivot:
				run[i], run[less] = run[less], run[i]
				less++
				i++
			case key > pivot:
				greater--
				run[i], run[greater] = run[greater], run[i]
			default:
				i++
			}
		}
		sortLong[E, D](run[:less], order)
		if order == ByKeyAndDocument {
			slices.SortFunc(run[less:greater], func(a, b E) int {
				return cmp.Compare(entry[D](a).Document, entry[D](b).Document)
			})
		}
		run = run[greater:]
	}
	sortShort[E, D](run)
}

func sortShort[E ~entry[D], D Number](run []E) {
	for i := 1; i < len(run); i++ {
		e := run[i]
		j := i
		for ; j > 0 && before[D](entry[D](e), entry[D](run[j-1])); j-- {
			run[j] = run[j-1]
		}
		run[j] = e
	}
}

func before[D Number](a, b entry[D]) bool {
	return a.Key < b.Key || a.Key == b.Key && a.Document < b.Document
}
