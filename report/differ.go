package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A side says which text of a pair has something: one of them, or both.
type side string

const (
	both  side = ""
	onlyA side = "a"
	onlyB side = "b"
)

// A stretch is a part of a text of a pair.
type stretch struct {
	Text  string
	Only  side // the text that alone has it
	Equal int  // number of its words if it is folded: both texts have it, far from any difference
}

// A difference is what is shown of two texts: each text, and both in one.
type difference struct{ A, B, Both []stretch }

// Alike reports whether the shown parts are equal.
func (d *difference) Alike() bool {
	return !slices.ContainsFunc(d.Both, func(s stretch) bool { return s.Only != both })
}

// Limits of the shown part of a text.
const (
	mostWords   = 300
	mostBytes   = 3000
	longestWord = 40 // characters; longer words are compared in parts
	usualWord   = 6  // bytes per word, with its space
	leastFolded = 20 // words
)

// A word is a unit of comparison: a character of a script without spaces, or else the text between spaces.
type word struct {
	text  string
	space bool // a space precedes it
}

// unspaced are the scripts that do not separate words by spaces.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}

// firstMark precedes all marks and all characters of unspaced scripts.
const firstMark = '\u0300'

// showable returns text with U+FFFD for characters that a page cannot show.
func showable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// words splits a text into words.
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
		case r >= firstMark && unicode.In(r, unicode.Mn, unicode.Mc): // stays with the character it marks
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

// differing returns what is shown of two texts: from a few words before the first difference.
func differing(a, b string) difference {
	wordsA, wordsB := words(a), words(b)
	start := 0
	for start < len(wordsA) && start < len(wordsB) && wordsA[start].text == wordsB[start].text {
		start++
	}
	start = max(0, start-leadWords)
	shownA, moreA := shown(wordsA, start)
	shownB, moreB := shown(wordsB, start)
	pieces := aligned(shownA, shownB)
	fold(pieces)
	return difference{
		stretches(pieces, onlyB, start > 0, moreA), stretches(pieces, onlyA, start > 0, moreB),
		stretches(pieces, both, start > 0, moreA || moreB),
	}
}

// A piece is a word of one of two texts, or a common word, as written in each.
type piece struct {
	a, b   word
	only   side
	folded bool
}

// aligned returns the words of two texts in one sequence.
func aligned(a, b []word) (pieces []piece) {
	commonA, commonB := common(spellings(a), spellings(b))
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && !commonA[i]:
			pieces = append(pieces, piece{a: a[i], only: onlyA})
			i++
		case j < len(b) && !commonB[j]:
			p := piece{b: b[j], only: onlyB}
			p.b.space = p.b.space || j == 0 // to separate it from the other text's words
			pieces = append(pieces, p)
			j++
		default:
			pieces = append(pieces, piece{a: a[i], b: b[j]})
			i, j = i+1, j+1
		}
	}
	return pieces
}

// fold folds long common parts that are not next to a difference.
func fold(pieces []piece) {
	for begin := 0; begin < len(pieces); {
		end := begin
		for end < len(pieces) && pieces[end].only == both {
			end++
		}
		from, to := begin, end
		if begin > 0 {
			from += leadWords
		}
		if end < len(pieces) {
			to -= leadWords
		}
		if to-from >= leastFolded {
			for i := range pieces[from:to] {
				pieces[from+i].folded = true
			}
		}
		begin = end + 1
	}
}

// shown returns as many words from start on as there is room for, and reports whether there are more.
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

// stretches joins pieces into stretches, without those that only the side without has; if it is both, none is omitted.
func stretches(pieces []piece, without side, before, after bool) (all []stretch) {
	var text strings.Builder
	var last stretch
	end := func() {
		if text.Len() > 0 {
			last.Text = text.String()
			all = append(all, last)
			text.Reset()
		}
		last = stretch{}
	}
	of, within := piece{}, before // the previous piece; whether there is any text yet
	if before {
		text.WriteString("…")
	}
	for _, p := range pieces {
		if without != both && p.only == without {
			continue
		}
		w := p.a
		if p.only == onlyB || without == onlyA {
			w = p.b
		}
		alike := p.only == of.only && p.folded == of.folded
		if !alike && (of.only != both || of.folded) {
			end()
		}
		if w.space && within {
			text.WriteString(" ") // a space between two marked words is marked, too
		}
		if !alike && (p.only != both || p.folded) {
			end()
		}
		text.WriteString(w.text)
		if last.Only = p.only; p.folded {
			last.Equal++
		}
		of, within = p, true
	}
	if after {
		if of.only != both || of.folded {
			end()
		}
		text.WriteString(" …")
	}
	end()
	return all
}
