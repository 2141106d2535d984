package sgml

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendText appends the text of src, which is in ISO 8859-1, to dst in UTF-8.
func appendText(dst, src []byte) []byte {
	for len(src) > 0 {
		r, n := rune(src[0]), 0
		switch r {
		case '<':
			if n = tag(src); n > 0 {
				r = ' '
			}
		case '&':
			if decoded, size := reference(src); size > 0 {
				r, n = decoded, size
			}
		}
		dst, src = utf8.AppendRune(dst, r), src[max(n, 1):]
	}
	return dst
}

// tag returns the length of the tag that src begins with, or 0 if there is none: a "<" that is not followed by a name,
// or is followed by another "<" before the next ">", is text.
func tag(src []byte) int {
	name := bytes.TrimPrefix(src[1:], []byte("/"))
	if len(name) == 0 || !isLetter(name[0]) {
		return 0
	}
	rest := src[1:]
	end := bytes.IndexAny(rest, "<>")
	if end < 0 || rest[end] == '<' {
		return 0
	}
	return 1 + end + 1
}

func isLetter(b byte) bool {
	b |= 0x20
	return 'a' <= b && b <= 'z'
}

// longestReference is the length of the longest reference that is decoded: &#1114111; is as long as &#x10FFFF;, and
// names are shorter.
const longestReference = len("&#x10FFFF;")

var named = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"', "apos": '\''}

// reference returns the character for the reference that src begins with, and its length, or 0 if there is none.
func reference(src []byte) (r rune, n int) {
	n = bytes.IndexByte(src[:min(len(src), longestReference)], ';') + 1
	if n == 0 {
		return 0, 0
	}
	name := string(src[1 : n-1])
	if r, ok := named[name]; ok {
		return r, n
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex := strings.TrimLeft(digits, "xX"); len(hex) == len(digits)-1 {
		digits, base = hex, 16
	}
	v, err := strconv.ParseUint(digits, base, 31)
	if !ok || err != nil || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), n
}
