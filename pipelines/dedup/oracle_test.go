package dedup_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalised returns a text under `--normalize default`: NFKC, lower case, no invisible characters, and one space for
// what separates words. Lower case may leave something to compose. Joiners count as invisible, because no corpus has
// one that must stay.
func normalised(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Prepended_Concatenation_Mark), '\uFFF9' <= r && r <= '\uFFFB':
			return r
		case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return r
	}, text)
	text = norm.NFC.String(strings.ToLower(norm.NFKC.String(text)))
	blank := false
	text = strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.IsSpace(r) {
			blank = true
			return ' '
		}
		if blank && norm.NFD.PropertiesString(string(r)).CCC() > 0 {
			return -1 // an accent on a space
		}
		blank = false
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// words splits a normalised text as UAX #29 does once punctuation is spaces: maximal runs of letters and numbers with
// their marks and format characters. Katakana is separate from other scripts, and in scripts without spaces each letter
// with its marks is a word.
func words(text string) (words []string) {
	const (
		none = iota
		letters
		katakana
		unspaced
	)
	var word strings.Builder
	open := none // kind of the current word
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
		}
		word.Reset()
		open = none
	}
	for _, r := range text {
		kind := none
		switch {
		case unicode.IsMark(r), unicode.Is(unicode.Cf, r) && open != unspaced:
			if open != none {
				word.WriteRune(r)
			}
			continue
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && unicode.IsLetter(r):
			kind = unspaced
		case unicode.Is(unicode.Katakana, r), r == 'ー':
			kind = katakana
		case unicode.IsLetter(r), unicode.IsNumber(r):
			kind = letters
		}
		if kind != open || kind == unspaced {
			end()
		}
		if open = kind; kind != none {
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// wordShingles returns the set of sequences of k consecutive words. A text with fewer than k words has one shingle.
func wordShingles(text string, k int) map[string]bool {
	words := words(normalised(text))
	if len(words) == 0 {
		return nil
	}
	set := map[string]bool{}
	for i := 0; i == 0 || i+k <= len(words); i++ {
		set[strings.Join(words[i:min(i+k, len(words))], " ")] = true
	}
	return set
}

// charShingles returns the set of sequences of k consecutive code points of the normalised text.
func charShingles(text string, k int) map[string]bool {
	text = normalised(text)
	if invisible(text) {
		return nil
	}
	var starts []int
	for i := range text {
		starts = append(starts, i)
	}
	n := len(starts)
	starts = append(starts, len(text))
	set := map[string]bool{}
	for i := 0; i == 0 || i+k <= n; i++ {
		set[text[starts[i]:starts[min(i+k, n)]]] = true
	}
	return set
}

// byteShingles returns the set of sequences of k consecutive bytes of the unchanged text.
func byteShingles(text string, k int) map[string]bool {
	if invisible(text) {
		return nil
	}
	set := map[string]bool{}
	for i := 0; i == 0 || i+k <= len(text); i++ {
		set[text[i:min(i+k, len(text))]] = true
	}
	return set
}

// invisible reports whether a text has no token, whatever the shingles.
func invisible(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}) == ""
}

// oracle is the truth about a list of texts, computed only from the definition: shingles are strings, and the common
// ones of every pair are counted. It shares no code with the kernels.
type oracle struct {
	sizes []int // of the sets; 0 if not compared
	// copyOf has, for each text, the first text with the same set, or the text itself.
	copyOf []int
	// shared counts the common shingles of representatives i < j that reach the oracle's minimum similarity.
	shared map[[2]int]int
}

// newOracle finds the pairs with at least the minimum similarity.
func newOracle(texts []string, shingles func(string) map[string]bool, least float64) *oracle {
	o := &oracle{sizes: make([]int, len(texts)), copyOf: make([]int, len(texts)), shared: map[[2]int]int{}}
	numbers := map[string]int{}
	var holders [][]int32 // representatives by the number of a shingle
	common := make([]int, len(texts))
	for j, text := range texts {
		var set []int
		for s := range shingles(text) {
			n, ok := numbers[s]
			if !ok {
				n = len(holders)
				numbers[s], holders = n, append(holders, nil)
			}
			set = append(set, n)
		}
		o.sizes[j], o.copyOf[j] = len(set), j
		clear(common[:j])
		for _, n := range set {
			for _, i := range holders[n] {
				common[i]++
			}
		}
		for i, n := range common[:j] {
			if n > 0 && n == len(set) && n == o.sizes[i] {
				o.copyOf[j] = i
			}
		}
		if o.copyOf[j] != j {
			continue
		}
		for i, n := range common[:j] {
			if n > 0 && o.similarity(i, j, n) >= least {
				o.shared[[2]int{i, j}] = n
			}
		}
		for _, n := range set {
			holders[n] = append(holders[n], int32(j))
		}
	}
	return o
}

// similarity returns the Jaccard similarity of texts i and j, which share so many shingles.
func (o *oracle) similarity(i, j, shared int) float64 {
	return float64(shared) / float64(o.sizes[i]+o.sizes[j]-shared)
}

// near lists the pairs of representatives that are at least t similar; t must not be below the oracle's minimum.
func (o *oracle) near(t float64) map[[2]int]float64 {
	near := map[[2]int]float64{}
	for pair, shared := range o.shared {
		if s := o.similarity(pair[0], pair[1], shared); s >= t {
			near[pair] = s
		}
	}
	return near
}

// The oracle agrees with two nested loops over sets of strings.
func TestOracleAgainstBruteForce(t *testing.T) {
	texts := kijiji(t).texts[:300]
	for name, shingles := range map[string]func(string) map[string]bool{
		"word:5": func(text string) map[string]bool { return wordShingles(text, 5) },
		"char:9": func(text string) map[string]bool { return charShingles(text, 9) },
	} {
		sets := make([]map[string]bool, len(texts))
		for i, text := range texts {
			sets[i] = shingles(text)
		}
		for _, least := range []float64{0.3, 0.5, 0.8} {
			o := newOracle(texts, shingles, least)
			pairs := 0
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
					if float64(shared)/float64(len(sets[i])+len(sets[j])-shared) < least || o.copyOf[i] != i || o.copyOf[j] != j {
						shared = 0
					} else {
						pairs++
					}
					if got := o.shared[[2]int{i, j}]; got != shared {
						t.Fatalf("%s at %v: texts %d and %d share %d shingles, the oracle says %d", name, least, i, j, shared, got)
					}
				}
				if o.copyOf[j] != firstEqual {
					t.Fatalf("%s: text %d is a copy of %d, the oracle says %d", name, j, firstEqual, o.copyOf[j])
				}
			}
			if pairs == 0 || pairs != len(o.shared) {
				t.Errorf("%s at %v: %d pairs, the oracle has %d", name, least, pairs, len(o.shared))
			}
		}
	}
}

// Words and shingles of the oracle, by hand.
func TestShinglesOfOracle(t *testing.T) {
	for text, want := range map[string]string{
		"It's a TEST_case, 3.5 ﬁles": "it s a test case 3 5 files",
		"naïve cafe\u0301 ¨":         "naïve café",
		"don´t 2々 A人々":               "don t 2 々 a 人 々",
		"ภาษาที่":                    "ภ า ษ า ที่",
		"近似2重カタカナーと English한국어 문서":   "近 似 2 重 カタカナー と english한국어 문서",
		"": "",
	} {
		if got := strings.Join(words(normalised(text)), " "); got != want {
			t.Errorf("words of %q: %q, want %q", text, got, want)
		}
	}
	got := charShingles("Ab–Çd", 4)
	if len(got) != 2 || !got["ab ç"] || !got["b çd"] {
		t.Errorf("shingles %v", got)
	}
	if got := charShingles("ab", 4); len(got) != 1 || !got["ab"] {
		t.Errorf("shingles of a short text: %v", got)
	}
}
