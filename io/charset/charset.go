// Package charset decodes texts of encodings that are asked for by name, or by a byte order mark. It also guesses which
// encoding bytes are in that are not UTF-8, for messages: nothing that is computed depends on a guess.
package charset

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
)

// sampleBytes is how much is looked at, and leastBytes less than tells anything.
const (
	sampleBytes = 1 << 10
	leastBytes  = 5
)

// names are the encodings that are told apart, by the detector's names, as iconv calls them.
// windows-1252 has all characters of ISO-8859-1.
var names = map[string]string{
	"ISO-8859-1": "windows-1252", "ISO-8859-2": "ISO-8859-2", "ISO-8859-5": "ISO-8859-5", "ISO-8859-6": "ISO-8859-6",
	"ISO-8859-7": "ISO-8859-7", "ISO-8859-8": "ISO-8859-8", "ISO-8859-8-I": "ISO-8859-8", "ISO-8859-9": "ISO-8859-9",
	"windows-1250": "windows-1250", "windows-1251": "windows-1251", "windows-1252": "windows-1252",
	"windows-1253": "windows-1253", "windows-1254": "windows-1254", "windows-1255": "windows-1255",
	"windows-1256": "windows-1256", "KOI8-R": "KOI8-R", "Shift_JIS": "Shift_JIS", "EUC-JP": "EUC-JP",
	"GB18030": "GB18030", "Big5": "Big5", "EUC-KR": "EUC-KR",
}

// Guess returns the name of the encoding that text, which is neither UTF-8 nor UTF-16, may be in, or "". It looks at
// the first KiB, and takes some tenths of a millisecond at most.
func Guess(text []byte) string {
	text = text[:min(len(text), sampleBytes)]
	if len(text) < leastBytes || damaged(text) || bytes.IndexByte(text, 0) >= 0 { // no text has NUL
		return ""
	}
	found, err := chardet.NewTextDetector().DetectAll(text)
	if err != nil {
		return ""
	}
	// They come in any order. Of equals the most common is taken.
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

// damaged reports whether text is UTF-8 but for a few bytes.
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

// controlBytes is how much of a text is looked at for control characters.
const controlBytes = 64

// Controls are the control characters among the first bytes of a text that is valid UTF-8. Those that texts
// have, from TAB to CR and ESC, do not count.
type Controls struct {
	Bytes  int    // that were looked at
	places [2]int // at even and at odd bytes
}

// ControlsOf counts those of text. Of UTF-16 in Latin or Cyrillic letters, which can be valid UTF-8, they
// are every other byte.
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

// Number is how many there are.
func (c *Controls) Number() int { return c.places[0] + c.places[1] }

// Few reports whether a text may have as many: one, or less than a quarter.
func (c *Controls) Few() bool { return c.Number() < 2 || 4*c.Number() < c.Bytes }

// Side returns whether most are at even bytes (0) or at odd ones (1), as in UTF-16. There capital Cyrillic
// letters have one at both.
func (c *Controls) Side() (side int, ok bool) {
	if c.places[1] > c.places[0] {
		side = 1
	}
	return side, c.places[side] >= max(1, 4*c.places[1-side])
}

// UTF16 returns the UTF-16 that text, or a line of it, may be in, as iconv calls it; "" if it is in none. Text then
// begins with a byte order mark, or every other byte of some is NUL. It begins at byte at of its file, where characters
// begin at even bytes. UTF-16 is that of a mark, or one whose side is not told.
func UTF16(text []byte, at int64) string {
	text = text[:min(len(text), sampleBytes)]
	if bytes.HasPrefix(text, []byte("\xFF\xFE")) || bytes.HasPrefix(text, []byte("\xFE\xFF")) {
		return "UTF-16"
	}
	nuls := nulsOf(text)
	// Blanks alone are one character in ten of most scripts. Other files with NULs have them anywhere.
	many, few := max(nuls[0], nuls[1]), min(nuls[0], nuls[1])
	if many*20 < len(text) || many == 0 || few*10 > many {
		return ""
	}
	return cmp.Or(strings.ToUpper(wide(text[at%2:])), "UTF-16")
}
