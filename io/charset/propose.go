package charset

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
)

// What a proposal requires: the detector's confidence in per cent, and its margin over an encoding in which the text
// would read differently but as naturally. With these, no text of TestPropose is taken for another encoding. The
// detector's confidence is low for text that is mostly ASCII; what it proposes must then read naturally, and no other
// encoding may.
const (
	leastConfidence = 15
	leastMargin     = 15
	// leastOfLatin applies to otherLatin, which differs from windows-1252 in few letters.
	leastOfLatin = 40
	// leastWords is the minimum number of words with letters beyond ASCII.
	leastWords = 3
)

var otherLatin = []string{"iso-8859-2", "windows-1250", "windows-1254"}

// proposeBytes is how much of a text a proposal considers.
const proposeBytes = 64 << 10

// Propose returns the name of the encoding that text, which is not UTF-8 and begins with a character, is most likely
// in, or "" if it is not reliable. Guess returns a name that helps a person who sees the text.
func Propose(text []byte) string {
	text = text[:min(len(text), proposeBytes)]
	if marked := Marked(text); marked != "" {
		return marked
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return wide(text)
	}
	if utf8.Valid(text) || damaged(text) {
		return ""
	}
	found, err := chardet.NewTextDetector().DetectAll(text)
	if err != nil {
		return ""
	}
	slices.SortStableFunc(found, func(a, b chardet.Result) int { return b.Confidence - a.Confidence })
	var best, read []byte
	name, confidence := "", 0
	for _, f := range found {
		e, err := Named(names[f.Charset])
		if err != nil || e == nil {
			continue
		}
		read = e.AppendDecoded(read[:0], text)
		if !plausible(read) || e.table != nil && !natural(read) || e.table == nil && !rich(read) {
			continue
		}
		switch {
		case name == "":
			if f.Confidence < leastConfidence || f.Confidence < leastOfLatin && slices.Contains(otherLatin, e.Name) {
				return ""
			}
			name, confidence, best = e.Name, f.Confidence, slices.Clone(read)
		case !bytes.Equal(read, best) && f.Confidence > confidence-leastMargin:
			return ""
		}
	}
	return name
}

// wide returns which UTF-16 text is in, or "": ASCII characters have a NUL on one side, and all characters are valid.
func wide(text []byte) string {
	nuls := nulsOf(text)
	name := littleEndian
	if nuls[0] > nuls[1] {
		name = bigEndian
	}
	if min(nuls[0], nuls[1])*10 > max(nuls[0], nuls[1]) {
		return ""
	}
	e, err := Named(name)
	if err != nil || !plausible(e.AppendDecoded(nil, text[:len(text)/2*2])) {
		return ""
	}
	return name
}

// nulsOf counts the NULs at even and at odd bytes.
func nulsOf(text []byte) (nuls [2]int) {
	for i, b := range text {
		if b == 0 {
			nuls[i%2]++
		}
	}
	return nuls
}

// plausible reports whether text has only characters that occur in texts.
func plausible(text []byte) bool {
	for at, r := range string(text) {
		switch {
		case r == utf8.RuneError && at < len(text)-1: // the last may be cut
			return false
		case !unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && r != utf8.RuneError:
			return false
		}
	}
	return true
}

// scripts are the scripts whose letters natural distinguishes.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Han,
	unicode.Hangul, unicode.Katakana}

// natural reports whether the words of a text look natural: among those with letters beyond ASCII, at most one in ten
// mixes scripts, has a capital after a small letter, contains a sign, or has mostly accented letters, as words read in
// a wrong encoding do.
func natural(text []byte) bool {
	words, odd := 0, 0
	for _, word := range bytes.FieldsFunc(text,
		func(r rune) bool { return r < utf8.RuneSelf && !unicode.IsLetter(r) || unicode.IsSpace(r) }) {
		foreign, isOdd := oddities(word)
		if foreign {
			words++
		}
		if foreign && isOdd {
			odd++
		}
	}
	return odd*10 <= words && words >= leastWords
}

// oddities reports whether a word has letters or signs beyond ASCII, and whether it is odd.
func oddities(word []byte) (foreign, odd bool) {
	var script *unicode.RangeTable
	letters, accented, signs, before := 0, 0, 0, ' '
	for _, r := range string(word) {
		switch {
		case unicode.IsLetter(r):
			odd = odd || signs > 0 || before >= utf8.RuneSelf && unicode.IsSymbol(before)
			letters++
			foreign = foreign || r >= utf8.RuneSelf
			if r >= utf8.RuneSelf && unicode.Is(unicode.Latin, r) {
				accented++
			}
			if i := slices.IndexFunc(scripts, func(s *unicode.RangeTable) bool { return unicode.Is(s, r) }); i >= 0 {
				// Japanese has two scripts, one of which is not considered here.
				odd = odd || script != nil && script != scripts[i] &&
					(script == unicode.Latin || scripts[i] == unicode.Latin || script == unicode.Cyrillic)
				script = scripts[i]
			}
			odd = odd || unicode.IsUpper(r) && unicode.IsLower(before)
		case !unicode.IsMark(r) && r >= utf8.RuneSelf && !unicode.Is(unicode.Pd, r) && !slices.Contains(joiners, r):
			foreign, odd = true, odd || unicode.Is(unicode.Sk, r) || letters > 0 && unicode.IsSymbol(r)
			if letters > 0 {
				signs++
			}
		}
		before = r
	}
	return foreign, odd || letters > 3 && 2*accented > letters
}

// joiners may stand between letters: apostrophes, the Catalan point, soft hyphens and punctuation of East Asia.
var joiners = []rune{'\u2019', '\u02BC', '\u00B7', '\u00AD', '\u30FB', '\u3001', '\u3002', '\uFF0C'}

// rich reports whether a text has as many different characters as a script of thousands of characters would give it;
// text in a script of few letters, read in a wrong encoding, does not.
func rich(text []byte) bool {
	different, all := map[rune]bool{}, 0
	for _, r := range string(text) {
		if r >= utf8.RuneSelf {
			different[r] = true
			all++
		}
	}
	return all >= 300 && len(different)*len(different) >= 9*all
}
