package blocks

import (
	"cmp"
	"slices"
	"sort"
)

// Range is a range of numbers from First up to but not including End. The zero Range contains all numbers.
type Range struct{ First, End int64 }

// Has reports whether a number is in the range.
func (r Range) Has(n int64) bool { return r == (Range{}) || n >= r.First && n < r.End }

// SplitsOfInputs returns the range of the splits that are not of references.
func (in *Inputs) SplitsOfInputs() Range {
	first := sort.Search(in.Splits.Len(), func(i int) bool { return in.Splits.At(i).File >= in.references })
	return Range{First: int64(first), End: int64(in.Splits.Len())}
}

// weighed is a number and its weight.
type weighed struct{ number, weight int64 }

// perCall is the weight of a split or a batch in addition to its bytes: each costs a request or a file, however small.
const perCall = 16 << 10

// SplitWaves cuts the numbers of all splits into at most n ranges of about the same weight.
func (in *Inputs) SplitWaves(n int) []Range {
	all := make([]weighed, in.Splits.Len())
	for i := range all {
		all[i] = weighed{int64(i), in.bytesOf(in.Splits.At(i))}
	}
	return waves(n, all)
}

// BatchWaves cuts the numbers of all batches likewise.
func (in *Inputs) BatchWaves(n int) []Range {
	var all []weighed
	for batch := range in.Batches() {
		w := weighed{number: batch}
		for piece := range in.Batched(batch) {
			w.weight += in.bytesOf(in.Pieces.At(piece))
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Compare(a.number, b.number) })
	return waves(n, all)
}

// bytesOf returns the approximate size of a span in listed bytes.
func (in *Inputs) bytesOf(span Span) int64 {
	file := in.File(span.File)
	return file.OffsetAt(span.End) - file.OffsetAt(span.Start)
}

// waves cuts ascending numbers into at most n ranges of similar weight. The first range begins at 0, and the last has
// no end.
func waves(n int, all []weighed) (ranges []Range) {
	var total, before int64
	for _, w := range all {
		total += w.weight + perCall
	}
	for _, w := range all {
		if int64(len(ranges))*total <= before*int64(n) {
			if last := len(ranges) - 1; last >= 0 {
				ranges[last].End = w.number
			}
			ranges = append(ranges, Range{First: w.number, End: End})
		}
		before += w.weight + perCall
	}
	if len(ranges) > 0 {
		ranges[0].First = 0
	}
	return ranges
}
