package dedup_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// oracle is the truth about a list of texts, from the definition alone: shingles are strings of
// words, sets are Go maps, and every pair is counted. It shares no code with the kernels.
type oracle struct {
	sets []map[string]bool // nil: no word, not compared
	// copyOf is the first text with the same set; its own index if that is itself.
	copyOf []int
	// shared counts common shingles of representatives i < j that have any.
	shared map[[2]int]int
}

// wordShingles are the sets of k consecutive words: maximal runs of letters, digits and the marks
// on them, of the text in NFKC and lower case, which for alphabetic scripts is what UAX #29 says
// once punctuation is blank. A mark without a letter (NFKC makes one of "¨") is no word. A text
// of fewer than k words has one shingle.
func wordShingles(text string, k int) map[string]bool {
	lower := strings.ToLower(norm.NFKC.String(text))
	var words []string
	for _, word := range strings.FieldsFunc(lower, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	}) {
		if word = strings.TrimLeftFunc(word, unicode.IsMark); word != "" {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return nil
	}
	set := map[string]bool{}
	for i := 0; i == 0 || i+k <= len(words); i++ {
		set[strings.Join(words[i:min(i+k, len(words))], " ")] = true
	}
	return set
}

func newOracle(sets []map[string]bool) *oracle {
	o := &oracle{sets: sets, copyOf: make([]int, len(sets)), shared: map[[2]int]int{}}
	holders := map[string][]int{} // representatives by shingle
	for j, set := range sets {
		o.copyOf[j] = j
		common := map[int]int{}
		for s := range set {
			for _, i := range holders[s] {
				common[i]++
			}
		}
		for i, n := range common {
			if n == len(set) && n == len(sets[i]) {
				o.copyOf[j] = i
			}
		}
		if o.copyOf[j] != j {
			continue
		}
		for i, n := range common {
			o.shared[[2]int{i, j}] = n
		}
		for s := range set {
			holders[s] = append(holders[s], j)
		}
	}
	return o
}

// similarity is the Jaccard similarity of representatives i and j.
func (o *oracle) similarity(i, j int) float64 {
	shared := o.shared[[2]int{min(i, j), max(i, j)}]
	return float64(shared) / float64(len(o.sets[i])+len(o.sets[j])-shared)
}

// near lists the pairs of representatives that are at least t similar.
func (o *oracle) near(t float64) map[[2]int]float64 {
	near := map[[2]int]float64{}
	for pair := range o.shared {
		if s := o.similarity(pair[0], pair[1]); s >= t {
			near[pair] = s
		}
	}
	return near
}

// The oracle against two nested loops over its sets.
func TestOracleAgainstBruteForce(t *testing.T) {
	texts := kijiji(t).texts[:800]
	sets := make([]map[string]bool, len(texts))
	for i, text := range texts {
		sets[i] = wordShingles(text, 5)
	}
	o := newOracle(sets)
	for j := range sets {
		firstEqual := j
		for i := j - 1; i >= 0; i-- {
			shared := 0
			for s := range sets[i] {
				if sets[j][s] {
					shared++
				}
			}
			if shared == len(sets[i]) && shared == len(sets[j]) {
				firstEqual = i
			}
			if o.copyOf[i] == i && o.copyOf[j] == j && o.shared[[2]int{i, j}] != shared {
				t.Fatalf("texts %d and %d share %d shingles, the oracle says %d", i, j, shared, o.shared[[2]int{i, j}])
			}
		}
		if o.copyOf[j] != firstEqual {
			t.Fatalf("text %d is a copy of %d, the oracle says %d", j, firstEqual, o.copyOf[j])
		}
	}
}
