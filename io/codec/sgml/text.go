package sgml

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// appendText appends the text of src, which is in ISO 8859-1, to dst in UTF-8.
func appendText(dst, src []byte) []byte {
	for {
		n := plain(src)
		dst = append(dst, src[:n]...)
		src = src[n:]
		if len(src) == 0 {
			return dst
		}
		r, n := special(src)
		dst = utf8.AppendRune(dst, r)
		src = src[n:]
	}
}

// plain returns how many bytes at the beginning of src stand for themselves.
func plain(src []byte) int {
	for i, b := range src {
		if b == '<' || b == '&' || b >= utf8.RuneSelf {
			return i
		}
	}
	return len(src)
}

// special returns the character that the beginning of src stands for, and that beginning's length.
func special(src []byte) (r rune, n int) {
	switch src[0] {
	case '<':
		if n := tag(src); n > 0 {
			return ' ', n
		}
	case '&':
		if r, n := reference(src); n > 0 {
			return r, n
		}
	}
	return rune(src[0]), 1
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

// reference returns the character for the reference that src begins with, and its length, or 0 if there is none.
func reference(src []byte) (r rune, n int) {
	n = bytes.IndexByte(src[:min(len(src), longestReference)], ';') + 1
	if n == 0 {
		return 0, 0
	}
	switch name := string(src[1 : n-1]); name {
	case "lt":
		return '<', n
	case "gt":
		return '>', n
	case "amp":
		return '&', n
	case "quot":
		return '"', n
	case "apos":
		return '\'', n
	default:
		return numeric(name, n)
	}
}

// numeric decodes "#65" or "#x41" and returns n with the character.
func numeric(name string, n int) (rune, int) {
	if len(name) < 2 || name[0] != '#' {
		return 0, 0
	}
	digits, base := name[1:], 10
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, base = digits[1:], 16
	}
	v, err := strconv.ParseUint(digits, base, 31)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), n
}
