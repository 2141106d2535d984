package charset

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// proposeBytes is how much of a text a proposal considers.
const proposeBytes = 64 << 10

// Propose returns the name of the encoding that text, which is not UTF-8 and begins with a character, is most likely
// in, or "" if it is not reliable: if Detect and Guess, which judge by different properties, do not read the same
// characters. With that, no text of TestPropose is taken for another encoding.
func Propose(text []byte) string {
	text = text[:min(len(text), proposeBytes)]
	if marked := Marked(text); marked != "" {
		return marked
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return wide(text)
	}
	if utf8.Valid(text) {
		return ""
	}
	found, guessed := Detect(text), encodingNamed(Guess(beyondASCII(text)))
	e, err := Named(found.Name)
	uncertain := found.Percent == 0 && found.Name != candidates[0] // the most common encoding needs no certainty
	if err != nil || e == nil || guessed == nil || uncertain ||
		!bytes.Equal(e.AppendDecoded(nil, text), guessed.AppendDecoded(nil, text)) {
		return ""
	}
	return e.Name
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
