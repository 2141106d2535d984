package verifier

import (
	"cmp"
	"maps"
	"slices"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
)

// matched compares documents as another verifier does, and by rules. Their features are followed by their traits, whose
// number of words is traits, or varies if that is 0.
type matched struct {
	Verifier
	rules  []match.Rule
	traits int
	field  int // as in Spec
}

// Matches returns the similarity of two similar documents by each rule of similarity, in the order of the rules; score
// is that of the pair. It returns nil if there are no such rules apart from the text's own.
func Matches(v Verifier, score int, a, b []uint64) []float64 {
	m, ok := v.(matched)
	if !ok || m.traits > 0 { // traits of fixed size mean that there are no such rules
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

// Own returns the features without the traits for rules. They are what Len counts.
func Own(v Verifier, features []uint64) []uint64 {
	if _, ok := v.(matched); ok {
		features, _ = match.Own(features)
	}
	return features
}

// Unlike returns a value that, by a rule, no document similar to this one has, or false if there is none.
func Unlike(v Verifier, features []uint64) (value uint64, ok bool) {
	m, ruled := v.(matched)
	if !ruled {
		return 0, false
	}
	_, traits := match.Own(features)
	return match.Unlike(m.rules, traits)
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

// hold reports whether two documents satisfy the rules.
func (m matched) hold(a, b []uint64) bool {
	_, of := match.Own(a)
	_, other := match.Own(b)
	return match.Hold(m.rules, of, other)
}

// connectByTraits implements Connect for sets by groups of documents with equal traits. It connects each two groups
// whose traits satisfy the rules, and skips the others altogether. It returns false if there are too many groups.
func (m matched) connectByTraits(
	t setsim.Threshold, features [][]uint64, tree []uint32, apart []bool, link func(i, j int),
) bool {
	classes := map[hash.Sum128][]int{}
	for i, f := range features {
		_, traits := match.Own(f)
		sum := hash.Values(traits)
		classes[sum] = append(classes[sum], i)
		if len(classes)*len(classes) > len(features) {
			return false
		}
	}
	of := slices.SortedFunc(maps.Values(classes), func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	var linked unionfind.Forest // of trees
	for k, class := range of {
		for l, other := range of[:k+1] {
			if !m.hold(features[class[0]], features[other[0]]) {
				continue
			}
			numbers := class
			if l < k {
				numbers = slices.Sorted(slices.Values(slices.Concat(class, other)))
			}
			sets, trees := make([][]uint64, len(numbers)), make([]uint32, len(numbers))
			for n, i := range numbers {
				sets[n], trees[n] = Own(m, features[i]), uint32(linked.Find(int64(tree[i])))
			}
			bothApart := func(i, j int) bool { return apart[numbers[i]] && apart[numbers[j]] }
			setsim.Connect(sets, t, trees, bothApart, func(i, j int) {
				linked.Union(int64(trees[i]), int64(trees[j]))
				link(numbers[i], numbers[j])
			})
		}
	}
	return true
}
