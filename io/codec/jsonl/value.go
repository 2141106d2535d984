package jsonl

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the type of a JSON value.
type kind uint8

const (
	absent kind = iota
	null
	boolean
	number
	str
	array
	object
	spread // the values, if any, are in an enclosing array
)

func (k kind) String() string {
	return [...]string{"missing", "null", "a boolean", "a number", "a string", "an array", "an object", "in an array"}[k]
}

// value is the value found for a column. It holds offsets instead of slices, so that the compiler can keep the values
// of a line on the stack.
type value struct {
	kind    kind
	escaped bool // a string with escapes
	// a string with characters beyond ASCII, or with control characters except white space
	special    bool
	begin, end int // in the line; for a string, between its quotes
}

// appendTo appends the text of a string or number in line to dst.
func (v value) appendTo(dst, line []byte) []byte {
	if !v.escaped {
		return append(dst, line[v.begin:v.end]...)
	}
	return appendUnescaped(dst, line[v.begin:v.end])
}

// appendUnescaped appends the string written as quoted to dst. The scanner has checked its escapes.
func appendUnescaped(dst, quoted []byte) []byte {
	for {
		i := bytes.IndexByte(quoted, '\\')
		if i < 0 {
			return append(dst, quoted...)
		}
		dst = append(dst, quoted[:i]...)
		escape := quoted[i+1]
		quoted = quoted[i+2:]
		switch escape {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(quoted)
			quoted = quoted[4:]
			if utf16.IsSurrogate(r) {
				r, quoted = surrogatePair(r, quoted)
			}
			dst = appendRune(dst, r)
		default: // a quote, a slash, a backslash
			dst = append(dst, escape)
		}
	}
}

// appendRune appends r in UTF-8. It encodes a surrogate as UTF-8 would if it had surrogates: so different texts stay
// different, and the result is recognisably not UTF-8.
func appendRune(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
	}
	return utf8.AppendRune(dst, r)
}

// surrogatePair returns the rune made of high and the escape at the beginning of rest, and what follows. If they make
// none, it returns high.
func surrogatePair(high rune, rest []byte) (rune, []byte) {
	if low, ok := bytes.CutPrefix(rest, []byte(`\u`)); ok {
		if r := utf16.DecodeRune(high, hex4(low)); r != utf8.RuneError {
			return r, low[4:]
		}
	}
	return high, rest
}

// hex4 returns the number written in the first four bytes, which are hexadecimal digits.
func hex4(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}
