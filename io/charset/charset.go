// Package charset decodes texts in encodings that are given by name or by a byte order mark. It also guesses the
// encoding of bytes that are not UTF-8, for messages only: no result depends on a guess.
package charset

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
)

// sampleBytes is how much of a text is examined; fewer than leastBytes are not enough for a guess.
const (
	sampleBytes = 1 << 10
	leastBytes  = 5
)

// names maps the detector's names of encodings to those of iconv. windows-1252 has all characters of ISO-8859-1.
var names = map[string]string{
	"ISO-8859-1": "windows-1252", "ISO-8859-2": "ISO-8859-2", "ISO-8859-5": "ISO-8859-5", "ISO-8859-6": "ISO-8859-6",
	"ISO-8859-7": "ISO-8859-7", "ISO-8859-8": "ISO-8859-8", "ISO-8859-8-I": "ISO-8859-8", "ISO-8859-9": "ISO-8859-9",
	"windows-1250": "windows-1250", "windows-1251": "windows-1251", "windows-1252": "windows-1252",
	"windows-1253": "windows-1253", "windows-1254": "windows-1254", "windows-1255": "windows-1255",
	"windows-1256": "windows-1256", "KOI8-R": "KOI8-R", "Shift_JIS": "Shift_JIS", "EUC-JP": "EUC-JP",
	"GB18030": "GB18030", "Big5": "Big5", "EUC-KR": "EUC-KR",
}

// Guess returns the name of the encoding that text, which is neither UTF-8 nor UTF-16, may be in, or "". It examines
// the first KiB, which takes a few tenths of a millisecond at most.
func Guess(text []byte) string {
	text = text[:min(len(text), sampleBytes)]
	if len(text) < leastBytes || damaged(text) || bytes.IndexByte(text, 0) >= 0 { // texts have no NUL
		return ""
	}
	found, err := chardet.NewTextDetector().DetectAll(text)
	if err != nil {
		return ""
	}
	// The results are unordered. If several are equally likely, take the most common encoding.
	best := slices.MinFunc(found, func(a, b chardet.Result) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), uncommon(a)-uncommon(b), cmp.Compare(a.Charset, b.Charset))
	})
	return names[best.Charset]
}

func uncommon(found chardet.Result) int {
	if names[found.Charset] == "windows-1252" {
		return 0
	}
	return 1
}

// damaged reports whether text is UTF-8 except for a few bytes.
func damaged(text []byte) bool {
	valid, invalid := 0, 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			invalid++
		case n > 1:
			valid++
		}
		text = text[n:]
	}
	return valid > 10*invalid
}

// controlBytes is how much of a text is examined for control characters.
const controlBytes = 64

// Controls counts the control characters among the first bytes of a valid UTF-8 text. It ignores those that texts use,
// from TAB to CR and ESC.
type Controls struct {
	Bytes  int    // number examined
	places [2]int // at even and at odd bytes
}

// ControlsOf counts the control characters of text. In UTF-16 with Latin or Cyrillic letters, which can be valid UTF-8,
// they are every other byte.
func ControlsOf(text []byte) (c Controls) {
	text = text[:min(len(text), controlBytes)]
	c.Bytes = len(text)
	for i, b := range text {
		if b < ' ' && (b < '\t' || b > '\r') && b != '\x1B' {
			c.places[i%2]++
		}
	}
	return c
}

// Number returns the total count.
func (c *Controls) Number() int { return c.places[0] + c.places[1] }

// Few reports whether a text may have this many: one, or fewer than a quarter.
func (c *Controls) Few() bool { return c.Number() < 2 || 4*c.Number() < c.Bytes }

// Side returns whether most are at even bytes (0) or at odd bytes (1), as in UTF-16, where capital Cyrillic letters
// have one at each.
func (c *Controls) Side() (side int, ok bool) {
	if c.places[1] > c.places[0] {
		side = 1
	}
	return side, c.places[side] >= max(1, 4*c.places[1-side])
}

// UTF16 returns iconv's name of the UTF-16 that text, or a line of it, may be in; "" if none. Such text begins with a
// byte order mark, or every other byte of part of it is NUL. text begins at byte at of its file, where characters begin
// at even bytes. The result is UTF-16 if there is a mark or the byte order is uncertain.
func UTF16(text []byte, at int64) string {
	text = text[:min(len(text), sampleBytes)]
	if bytes.HasPrefix(text, []byte("\xFF\xFE")) || bytes.HasPrefix(text, []byte("\xFE\xFF")) {
		return "UTF-16"
	}
	nuls := nulsOf(text)
	// Spaces alone are one character in ten in most scripts. Other files with NULs have them at any byte.
	many, few := max(nuls[0], nuls[1]), min(nuls[0], nuls[1])
	if many*20 < len(text) || many == 0 || few*10 > many {
		return ""
	}
	return cmp.Or(strings.ToUpper(wide(text[at%2:])), "UTF-16")
}
