package survivors_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/survivors/survivorstest"
)

func TestStarChain(t *testing.T) {
	// a–b–c–d, each similar only to the next: b is removed for a, c stays, and d is removed for c.
	pairs := []survivors.Pair{{I: 2, J: 3, Similarity: .9}, {I: 0, J: 1, Similarity: .8}, {I: 1, J: 2, Similarity: .85}}
	want := []survivors.Choice{{By: 0, Similarity: 1}, {By: 0, Similarity: .8}, {By: 2, Similarity: 1}, {By: 2, Similarity: .9}}
	if diff := cmp.Diff(want, survivorstest.Star(4, 0, pairs)); diff != "" {
		t.Error(diff)
	}
}

func TestStarNamesTheMostSimilar(t *testing.T) {
	pairs := []survivors.Pair{{I: 0, J: 3, Similarity: .8}, {I: 1, J: 3, Similarity: .9}, {I: 2, J: 3, Similarity: .9}}
	if got := survivorstest.Star(4, 0, pairs)[3]; got != (survivors.Choice{By: 1, Similarity: .9}) {
		t.Errorf("item 3 falls to %+v, want item 1 at .9", got)
	}
}

// The promise of Star for any pairs, checked from the pairs alone.
func TestStarPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, pairs, similar := anyPairs(t)
		protected := rapid.IntRange(0, n).Draw(t, "protected")
		choices := survivorstest.Star(n, protected, pairs)
		kept := func(i int) bool { return choices[i].By == i }
		for j, c := range choices {
			best := 0.
			for i := range j {
				s, ok := similar[[2]int{i, j}]
				if ok && kept(i) && s > best {
					best = s
				}
				if i == protected-1 && best > 0 {
					break // others are named only if none of these is similar
				}
			}
			switch {
			case j < protected:
				if c != (survivors.Choice{By: j, Similarity: 1}) {
					t.Errorf("item %d of %d protected ones falls to %+v", j, protected, c)
				}
			case best > 0 && kept(j):
				t.Errorf("item %d is kept though a kept item is %v similar to it", j, best)
			case best == 0 && !kept(j):
				t.Errorf("item %d is removed for %d, which is not a kept similar item", j, c.By)
			case !kept(j) && (!kept(c.By) || c.Similarity != best || similar[[2]int{c.By, j}] != best):
				t.Errorf("item %d is removed for %+v, most similar kept one is at %v", j, c, best)
			}
		}
	})
}

// Components by definition: an item is kept if pairs connect it to no earlier item.
func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, pairs, similar := anyPairs(t)
		protected := rapid.IntRange(0, n).Draw(t, "protected")
		want := make([]survivors.Choice, n)
		for j := range n {
			reached := map[int]bool{j: true}
			for range n {
				for pair := range similar {
					if reached[pair[0]] || reached[pair[1]] {
						reached[pair[0]], reached[pair[1]] = true, true
					}
				}
			}
			for !reached[want[j].By] {
				want[j].By++
			}
			if j < protected {
				want[j].By = j
			}
			want[j].Similarity = similar[[2]int{want[j].By, j}]
			if want[j].By == j {
				want[j].Similarity = 1
			}
		}
		if diff := cmp.Diff(want, survivorstest.Components(n, protected, pairs)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// An error of pairs ends the choices.
func TestPairsThatFail(t *testing.T) {
	wrong := errors.New("wrong")
	pairs := func(yield func(survivors.Pair, error) bool) {
		_ = yield(survivors.Pair{I: 0, J: 1, Similarity: 1}, nil) && yield(survivors.Pair{}, wrong)
	}
	choices, failed := 0, error(nil)
	for _, err := range survivors.Star(5, 0, pairs) {
		if failed = err; err == nil {
			choices++
		}
	}
	if choices != 1 || !errors.Is(failed, wrong) {
		t.Errorf("%d choices, error %v", choices, failed)
	}
}

// anyPairs draws pairs of n items, sometimes many and sometimes few, and returns them also as a map.
func anyPairs(t *rapid.T) (n int, pairs []survivors.Pair, similar map[[2]int]float64) {
	n = rapid.IntRange(0, 30).Draw(t, "n")
	similar = map[[2]int]float64{}
	rare := rapid.IntRange(3, 15).Draw(t, "rare")
	for j := range n {
		for i := range j {
			if rapid.IntRange(0, rare).Draw(t, "similar") == 0 {
				s := float64(rapid.IntRange(50, 99).Draw(t, "similarity")) / 100
				pairs = append(pairs, survivors.Pair{I: i, J: j, Similarity: s})
				similar[[2]int{i, j}] = s
			}
		}
	}
	return n, rapid.Permutation(pairs).Draw(t, "order"), similar
}
