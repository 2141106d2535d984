// Package match has the rules that two documents must meet besides being similar.
//
// A rule that a value is equal cuts the documents into parts, of which none is compared with another. So a part is a
// hash: what is hashed of a document's tokens is hashed with it, and documents of two parts have no token, shingle or
// key in common, but by chance, as any two hashes of 64 bits.
package match

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/kernels/hash"
)

// rules are what may be asked of a column.
var rules = []string{"equal"}

// Columns reads rules, each COLUMN=equal, and returns their columns.
func Columns(all []string) (columns []string, err error) {
	for _, text := range all {
		at := strings.LastIndexByte(text, '=') // names may have one
		if at <= 0 {
			return nil, fmt.Errorf("%s: name a column and its rule, as in language=equal", text)
		}
		column, rule := text[:at], text[at+1:]
		if !slices.Contains(rules, rule) {
			return nil, fmt.Errorf("column %s: there is no rule %q; give %s=%s", column, rule, column, nearest(rule))
		}
		if slices.Contains(columns, column) {
			return nil, fmt.Errorf("column %s has two rules; drop one", column)
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// nearest is the rule that was meant.
func nearest(rule string) string {
	if name := edit.Nearest(strings.ToLower(rule), slices.Values(rules)); name != "" {
		return name
	}
	return rules[0]
}

// Part is the part of a document with such values, each behind its length as a uvarint. A document that lacks one is
// alone in its part, by its key. Without values all are in part 0.
func Part(values []byte, key uint64) uint64 {
	for rest := values; len(rest) > 0; {
		length, n := binary.Uvarint(rest)
		if length == 0 {
			return hash.Mix(hash.Mix(key) ^ alone)
		}
		rest = rest[n+int(length):]
	}
	if len(values) == 0 {
		return 0
	}
	return hash.Bytes(values)
}

// alone sets keys apart from other values.
const alone = 0x6e756d6265727321

// grouped are what may stand between groups of three digits.
const grouped = ",.'’٬\u00a0\u202f\u2009"

// AppendNumbers appends the numbers of a text, each with a semicolon behind it. A number is a run of decimal digits of
// any script, without leading zeros. One character of ,.'’٬ or a no-break or thin space between one to three digits and
// groups of three is none of a number: 1,000 and 1.000 are 1000. Any other splits it, so that a date is its numbers in
// their order, and 1.5 as 1,5 is 1 and 5.
func AppendNumbers(dst, text []byte) []byte {
	for len(text) > 0 {
		value, n := digit(text)
		if value < 0 {
			text = text[n:]
			continue
		}
		start := len(dst)
		var count int
		dst, count, text = appendDigits(dst, text)
		for count <= 3 { // groups may follow
			rest := text
			r, n := utf8.DecodeRune(rest)
			if n == 0 || !strings.ContainsRune(grouped, r) {
				break
			}
			group, digits, after := appendDigits(nil, rest[n:])
			if digits != 3 {
				break
			}
			dst, text = append(dst, group...), after
		}
		digits := dst[start:]
		zeros := 0
		for zeros < len(digits)-1 && digits[zeros] == '0' {
			zeros++
		}
		dst = append(slices.Delete(dst, start, start+zeros), ';')
	}
	return dst
}

// appendDigits appends the digits that text begins with, and returns how many they are, and what follows them.
func appendDigits(dst, text []byte) (digits []byte, count int, rest []byte) {
	for {
		value, n := digit(text)
		if value < 0 {
			return dst, count, text
		}
		dst, count, text = append(dst, '0'+byte(value)), count+1, text[n:]
	}
}

// digit is the value of the decimal digit that text begins with, -1 if that is none, and the bytes of the character.
func digit(text []byte) (value, n int) {
	if len(text) == 0 {
		return -1, 0
	}
	if c := text[0]; c < utf8.RuneSelf {
		if c >= '0' && c <= '9' {
			return int(c - '0'), 1
		}
		return -1, 1
	}
	r, n := utf8.DecodeRune(text)
	return valueOf(r), n
}

// valueOf is the value of a decimal digit, -1 of what is none: ranges of digits begin with a zero and have tens.
func valueOf(r rune) int {
	for _, t := range unicode.Nd.R16 {
		if lo, hi := rune(t.Lo), rune(t.Hi); r >= lo && r <= hi {
			return int(r-lo) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if lo, hi := rune(t.Lo), rune(t.Hi); r >= lo && r <= hi {
			return int(r-lo) % 10
		}
	}
	return -1
}
