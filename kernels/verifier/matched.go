package verifier

import (
	"slices"

	"github.com/neardup/neardup/kernels/match"
)

// matched compares documents as another verifier does, and by rules: behind their features are their traits, of so many
// words, or 0 if not all have as many.
type matched struct {
	Verifier
	rules  []match.Rule
	traits int
	field  int // as Spec has it
}

// Matches returns what each rule of similarity says of two similar documents, by their score, in the order of the
// rules; nil if no rule besides that of the text is one.
func Matches(v Verifier, score int, a, b []uint64) []float64 {
	m, ok := v.(matched)
	if !ok || m.traits > 0 { // which are of a fixed size without such rules
		return nil
	}
	_, traits := match.Own(a)
	_, others := match.Own(b)
	all := match.Similarities(nil, m.rules, traits, others)
	if m.field > 0 {
		all = slices.Insert(all, m.field-1, m.Similarity(score, m.Size(a), m.Size(b)))
	}
	return all
}

// Own returns the features without the traits that rules ask for. Those are what Len counts.
func Own(v Verifier, features []uint64) []uint64 {
	if _, ok := v.(matched); ok {
		features, _ = match.Own(features)
	}
	return features
}

func (m matched) Size(features []uint64) int { return m.Verifier.Size(Own(m, features)) }

func (m matched) Words(shingles int) int { return m.Verifier.Words(shingles) + m.traits }

func (m matched) Shared(score int, a, b []uint64) int {
	return m.Verifier.Shared(score, Own(m, a), Own(m, b))
}

func (m matched) MinWords(words int) int {
	if m.traits == 0 {
		return 0
	}
	if least := m.Verifier.MinWords(words - m.traits); least > 0 {
		return least + m.traits
	}
	return 0
}

func (m matched) Compare(a, b []uint64) (score int, ok bool) {
	if !m.hold(a, b) {
		return 0, false
	}
	return m.Verifier.Compare(Own(m, a), Own(m, b))
}

func (m matched) SelfJoin(features [][]uint64, emit func(i, j, score int) bool) {
	m.Verifier.SelfJoin(m.own(features), func(i, j, score int) bool {
		return !m.hold(features[i], features[j]) || emit(i, j, score)
	})
}

// CrossJoin of sets is a self-join unless their sizes are in order: callers need not know, since matched is not Sets.
func (m matched) CrossJoin(small, large [][]uint64, emit func(i, j, score int) bool) {
	first, second := m.own(small), m.own(large)
	if _, sets := m.Verifier.(Sets); sets && !ordered(first, second) {
		n := len(small)
		m.SelfJoin(slices.Concat(small, large), func(i, j, score int) bool {
			return i >= n || j < n || emit(i, j-n, score)
		})
		return
	}
	m.Verifier.CrossJoin(first, second, func(i, j, score int) bool {
		return !m.hold(small[i], large[j]) || emit(i, j, score)
	})
}

// ordered reports whether no features of small have more words than any of large.
func ordered(small, large [][]uint64) bool {
	most := 0
	for _, f := range small {
		most = max(most, len(f))
	}
	return !slices.ContainsFunc(large, func(f []uint64) bool { return len(f) < most })
}

// hold reports whether two documents meet the rules.
func (m matched) hold(a, b []uint64) bool {
	_, of := match.Own(a)
	_, other := match.Own(b)
	return match.Hold(m.rules, of, other)
}

func (m matched) own(features [][]uint64) [][]uint64 {
	own := make([][]uint64, len(features))
	for i, f := range features {
		own[i] = Own(m, f)
	}
	return own
}
