package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A stretch is a part of a text, and whether the other text of a pair lacks it.
type stretch struct {
	Text   string
	Lacked bool
}

// Limits of what is shown of a text.
const (
	mostWords   = 300
	mostBytes   = 3000
	longestWord = 40 // characters; longer words are compared in parts
	usualWord   = 6  // bytes, with a space
)

// A word is what is compared as one: a character of a script that sets no spaces, else what stands between spaces.
type word struct {
	text  string
	space bool // before it
}

// unspaced are scripts whose words are not told by spaces.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// firstMark is before all marks and all characters of unspaced scripts.
const firstMark = '\u0300'

// showable is text with U+FFFD for what a page cannot show.
func showable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// words cuts a text.
func words(text string) (words []word) {
	text = showable(text)
	words = make([]word, 0, len(text)/usualWord+1)
	begin, length, space := 0, 0, false
	end := func(at int) {
		if at > begin {
			words = append(words, word{text[begin:at], space})
			space = false
		}
		begin, length = at, 0
	}
	alone := false
	for i, r := range text {
		switch {
		case unicode.IsSpace(r):
			end(i)
			begin, space, alone = i+utf8.RuneLen(r), true, false
			continue
		case r >= firstMark && unicode.In(r, unicode.Mn, unicode.Mc): // stays with what it is a mark of
		case alone || r >= firstMark && unicode.In(r, unspaced...) || length >= longestWord:
			end(i)
		}
		if r < firstMark || !unicode.Is(unicode.Mn, r) {
			alone = r >= firstMark && unicode.In(r, unspaced...)
		}
		length++
	}
	end(len(text))
	return words
}

// differing returns what is shown of two texts: from a few words before the
// first that differs, with what the other text lacks in stretches of its own.
func differing(a, b string) (inA, inB []stretch) {
	wordsA, wordsB := words(a), words(b)
	start := 0
	for start < len(wordsA) && start < len(wordsB) && wordsA[start].text == wordsB[start].text {
		start++
	}
	start = max(0, start-leadWords)
	shownA, moreA := shown(wordsA, start)
	shownB, moreB := shown(wordsB, start)
	commonA, commonB := common(spellings(shownA), spellings(shownB))
	return stretches(shownA, commonA, start > 0, moreA), stretches(shownB, commonB, start > 0, moreB)
}

// shown is as much of the words from start on as there is room for, and whether there are more.
func shown(words []word, start int) (part []word, more bool) {
	bytes := 0
	start = min(start, len(words))
	for i, w := range words[start:] {
		if bytes += len(w.text) + 1; bytes > mostBytes || i == mostWords {
			return words[start : start+i], true
		}
	}
	return words[start:], false
}

func spellings(words []word) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return texts
}

func stretches(words []word, common []bool, before, after bool) (all []stretch) {
	var text strings.Builder
	lacked := false // the text
	end := func() {
		if text.Len() > 0 {
			all = append(all, stretch{text.String(), lacked})
			text.Reset()
		}
	}
	add := func(part string, isLacked bool) {
		if isLacked != lacked {
			end()
			lacked = isLacked
		}
		text.WriteString(part)
	}
	if before {
		add("…", false)
	}
	for i, w := range words {
		if w.space && (i > 0 || before) {
			// A space between two marked words is marked with them.
			add(" ", i > 0 && !common[i] && !common[i-1])
		}
		add(w.text, !common[i])
	}
	if after {
		add(" …", false)
	}
	end()
	return all
}
