package verifier

import (
	"slices"

	"github.com/neardup/neardup/kernels/setsim"
)

// SelfJoin is that of v without the pairs of two documents that are apart, which are not compared; nil: no document is.
func SelfJoin(v Verifier, features [][]uint64, apart []bool, emit func(i, j, score int) bool) {
	if sets, ok := v.(Sets); ok {
		setsim.SelfJoin(features, sets.Jaccard(), apart, emit)
		return
	}
	if !slices.Contains(apart, true) {
		v.SelfJoin(features, emit)
		return
	}
	others, alone := part(features, apart)
	more := true
	v.SelfJoin(others.features, func(i, j, score int) bool {
		more = emit(others.numbers[i], others.numbers[j], score)
		return more
	})
	if !more {
		return
	}
	v.CrossJoin(alone.features, others.features, func(i, j, score int) bool {
		a, b := alone.numbers[i], others.numbers[j]
		return emit(min(a, b), max(a, b), score)
	})
}

// CrossJoin is that of v without such pairs; apart says so first of the documents of small.
func CrossJoin(v Verifier, small, large [][]uint64, apart []bool, emit func(i, j, score int) bool) {
	if sets, ok := v.(Sets); ok {
		setsim.CrossJoin(small, large, sets.Jaccard(), apart, emit)
		return
	}
	if !slices.Contains(apart, true) {
		v.CrossJoin(small, large, emit)
		return
	}
	first, alone := part(small, apart[:len(small)])
	second, aloneToo := part(large, apart[len(small):])
	more := true
	for _, two := range [][2]numbered{{first, second}, {first, aloneToo}, {alone, second}} {
		if !more {
			return
		}
		v.CrossJoin(two[0].features, two[1].features, func(i, j, score int) bool {
			more = emit(two[0].numbers[i], two[1].numbers[j], score)
			return more
		})
	}
}

// numbered are some documents of several, by their numbers.
type numbered struct {
	features [][]uint64
	numbers  []int
}

// part parts the documents that are apart from the others.
func part(features [][]uint64, apart []bool) (others, alone numbered) {
	for i, f := range features {
		to := &others
		if apart[i] {
			to = &alone
		}
		to.features, to.numbers = append(to.features, f), append(to.numbers, i)
	}
	return others, alone
}
