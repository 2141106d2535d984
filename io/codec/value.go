package codec

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
)

// Value is the value of a column by which documents are ordered.
type Value struct {
	Kind Kind
	Text []byte // a number as written, or the bytes of a string
}

// Kind is the type of a Value.
type Kind uint8

// Kinds of values. Only numbers and strings have an order; all else is NoValue.
const (
	NoValue Kind = iota
	NumberValue
	StringValue
)

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// Untyped returns the value of text in a format without types: a number if it is a decimal number, none if it is empty.
func Untyped(text []byte) Value {
	switch {
	case len(text) == 0:
		return Value{}
	case decimal.Match(text):
		return Value{Kind: NumberValue, Text: text}
	default:
		return Value{Kind: StringValue, Text: text}
	}
}

// A rank begins with the kind of its value: numbers precede strings, and strings precede none, whether the smallest or
// the largest is first.
const (
	numberRank = 1 + iota
	stringRank
	noRank
)

// AppendRank appends the rank of v: bytes that sort as the values do, the smallest first or, if largest is set, the
// largest. Numbers sort numerically, by up to 1,024 digits, and strings by their first 1,024 bytes.
func AppendRank(dst []byte, v Value, largest bool) []byte {
	kind := len(dst)
	switch v.Kind {
	case NumberValue:
		dst = appendNumber(append(dst, numberRank), v.Text)
	case StringValue:
		dst = appendString(append(dst, stringRank), v.Text)
	default:
		dst = append(dst, noRank)
	}
	if largest {
		complement(dst[kind+1:])
	}
	return dst
}

// complement reverses the order of byte strings of which none is a prefix of another.
func complement(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// rankedBytes is how many bytes of a string and digits of a number count, because each document carries its rank.
const rankedBytes = 1 << 10

// appendString appends the first bytes of s and a terminator that sorts before any continuation.
func appendString(dst, s []byte) []byte {
	s = s[:min(len(s), rankedBytes)]
	return append(append(dst, bytes.ReplaceAll(s, []byte{0}, []byte{0, 1})...), 0, 0)
}

// Signs of numbers.
const (
	negative = iota
	zero
	positive
)

// exponentBits bounds exponents, so that sums do not overflow: a larger one counts as the largest.
const exponentBits = 62

// appendNumber appends a number ±0.d₁d₂d₃… · 10^e with d₁ ≠ 0: sign, e, and the first digits in pairs up to the last
// that is not 0. For a negative number, the bytes after the sign are complemented.
func appendNumber(dst, text []byte) []byte {
	sign := positive
	if text[0] == '-' {
		sign = negative
	}
	mantissa, exponent := bytes.TrimLeft(text, "+-"), int64(0)
	if i := bytes.IndexAny(mantissa, "eE"); i >= 0 {
		// For numbers out of range, ParseInt returns the nearest one in range.
		exponent, _ = strconv.ParseInt(string(mantissa[i+1:]), 10, exponentBits)
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	all := slices.Concat(whole, fraction)
	digits := bytes.TrimLeft(all, "0")
	exponent += int64(len(whole) - (len(all) - len(digits)))
	digits = bytes.TrimRight(digits[:min(len(digits), rankedBytes)], "0")
	if len(digits) == 0 {
		return append(dst, zero)
	}
	dst = append(dst, byte(sign))
	begin := len(dst)
	dst = appendExponent(dst, exponent)
	for pair := range slices.Chunk(digits, 2) {
		value := 10 * (pair[0] - '0')
		if len(pair) == 2 {
			value += pair[1] - '0'
		}
		dst = append(dst, 1+value)
	}
	dst = append(dst, 0)
	if sign == negative {
		complement(dst[begin:])
	}
	return dst
}

// appendExponent appends an exponent: one byte for usual ones, nine for others.
func appendExponent(dst []byte, e int64) []byte {
	const far = 0x7F
	switch {
	case e <= -far:
		dst = append(dst, 0)
	case e >= far:
		dst = append(dst, 0xFF)
	default:
		return append(dst, byte(0x80+e))
	}
	return binary.BigEndian.AppendUint64(dst, uint64(e)^1<<63)
}
