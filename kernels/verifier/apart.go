package verifier

import (
	"slices"

	"github.com/neardup/neardup/kernels/setsim"
)

// AsSets returns the verifier of the features without their traits, if the features are sets.
func AsSets(v Verifier) (Sets, bool) {
	if m, ok := v.(matched); ok {
		v = m.Verifier
	}
	sets, ok := v.(Sets)
	return sets, ok
}

// separate returns a function that reports whether two documents must not be compared, because both are apart or a rule
// forbids it. It returns nil if all may be compared.
func separate(v Verifier, features [][]uint64, apart []bool) func(i, j int) bool {
	m, ruled := v.(matched)
	switch {
	case ruled:
		return func(i, j int) bool { return apart != nil && apart[i] && apart[j] || !m.hold(features[i], features[j]) }
	case apart != nil:
		return func(i, j int) bool { return apart[i] && apart[j] }
	default:
		return nil
	}
}

// own returns the features without their traits.
func own(v Verifier, features [][]uint64) [][]uint64 {
	if _, ok := v.(matched); !ok {
		return features
	}
	without := make([][]uint64, len(features))
	for i, f := range features {
		without[i] = Own(v, f)
	}
	return without
}

// SelfJoin is like v.SelfJoin for features with traits, but omits pairs of two documents that are apart, which it does
// not compare, and pairs that a rule forbids. A nil apart means none.
func SelfJoin(v Verifier, features [][]uint64, apart []bool, emit func(i, j, score int) bool) {
	plain, forbidden := own(v, features), separate(v, features, apart)
	if sets, ok := AsSets(v); ok {
		setsim.SelfJoin(plain, sets.Jaccard(), forbidden, emit)
		return
	}
	allowed := func(i, j, score int) bool { return forbidden != nil && forbidden(i, j) || emit(i, j, score) }
	if !slices.Contains(apart, true) {
		v.SelfJoin(plain, allowed)
		return
	}
	others, alone := part(plain, apart)
	more := true
	v.SelfJoin(others.features, func(i, j, score int) bool {
		more = allowed(others.numbers[i], others.numbers[j], score)
		return more
	})
	if !more {
		return
	}
	v.CrossJoin(alone.features, others.features, func(i, j, score int) bool {
		a, b := alone.numbers[i], others.numbers[j]
		return allowed(min(a, b), max(a, b), score)
	})
}

// CrossJoin is like v.CrossJoin, but omits such pairs. apart has the documents of small first.
func CrossJoin(v Verifier, small, large [][]uint64, apart []bool, emit func(i, j, score int) bool) {
	n, all := len(small), slices.Concat(small, large)
	plain, forbidden := own(v, all), separate(v, all, apart)
	small, large = plain[:n], plain[n:]
	if sets, ok := AsSets(v); ok {
		crossSets(sets.Jaccard(), small, large, forbidden, emit)
		return
	}
	allowed := func(i, j, score int) bool { return forbidden != nil && forbidden(i, n+j) || emit(i, j, score) }
	if !slices.Contains(apart, true) {
		v.CrossJoin(small, large, allowed)
		return
	}
	first, alone := part(small, apart[:n])
	second, aloneToo := part(large, apart[n:])
	more := true
	for _, two := range [][2]numbered{{first, second}, {first, aloneToo}, {alone, second}} {
		if !more {
			return
		}
		v.CrossJoin(two[0].features, two[1].features, func(i, j, score int) bool {
			more = allowed(two[0].numbers[i], two[1].numbers[j], score)
			return more
		})
	}
}

// crossSets implements CrossJoin for sets. With traits, some sets of small may be larger than some of large; then it
// joins all of them.
func crossSets(
	t setsim.Threshold, small, large [][]uint64, forbidden func(i, j int) bool, emit func(i, j, score int) bool,
) {
	n := len(small)
	switch {
	case forbidden == nil:
		setsim.CrossJoin(small, large, t, nil, emit)
	case ordered(small, large):
		setsim.CrossJoin(small, large, t, func(i, j int) bool { return forbidden(i, n+j) }, emit)
	default:
		sameSide := func(i, j int) bool { return (i < n) == (j < n) || forbidden(i, j) }
		all := slices.Concat(small, large)
		setsim.SelfJoin(all, t, sameSide, func(i, j, score int) bool { return emit(i, j-n, score) })
	}
}

// ordered reports whether no set of small has more elements than a set of large.
func ordered(small, large [][]uint64) bool {
	most := 0
	for _, f := range small {
		most = max(most, len(f))
	}
	return !slices.ContainsFunc(large, func(f []uint64) bool { return len(f) < most })
}

// numbered is some of several documents, with their numbers.
type numbered struct {
	features [][]uint64
	numbers  []int
}

// part separates the documents that are apart from the others.
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
