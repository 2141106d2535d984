// Package match has the rules that two documents must meet besides being similar.
//
// A rule that a value is equal cuts the documents into parts, of which none is compared with another. So a part is a
// hash: what is hashed of a document's tokens is hashed with it, and documents of two parts have no token, shingle or
// key in common, but by chance, as any two hashes of 64 bits. What other rules ask of two documents, Hold tells by
// traits that are behind the features of each.
package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/kernels/hash"
)

// A Rule is what the values that two documents have in a column must be to each other.
type Rule struct {
	Column string
	Kind   Kind
	// Most is how far apart two values may be, of Within, and of Dates in seconds.
	Most float64 `json:",omitempty"`
	// MissingOK: a document without a value meets the rule with any other. Otherwise it meets it with none.
	MissingOK bool `json:",omitempty"`
}

// Kind is what a rule asks.
type Kind string

// The kinds of rules.
const (
	Equal     Kind = "equal"     // the same value, byte for byte
	Different Kind = "different" // another one
	Within    Kind = "within"    // two numbers that are so near
	Dates     Kind = "dates"     // two dates or times that are so near
)

// Parse reads rules, each COLUMN=RULE.
func Parse(all []string) (rules []Rule, err error) {
	for _, text := range all {
		at := strings.LastIndexByte(text, '=') // names may have one
		if at <= 0 {
			return nil, fmt.Errorf("%s: name a column and its rule, as in language=equal", text)
		}
		r := Rule{Column: text[:at]}
		if valid := r.parse(text[at+1:]); valid != "" {
			return nil, fmt.Errorf("column %s: there is no rule %q; give %s=%s", r.Column, text[at+1:], r.Column, valid)
		}
		if slices.ContainsFunc(rules, func(other Rule) bool { return other.Column == r.Column }) {
			return nil, fmt.Errorf("column %s has two rules; drop one", r.Column)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// parse reads a rule; if it is none it returns that which was meant.
func (r *Rule) parse(text string) (meant string) {
	rule, option, has := strings.Cut(text, ",")
	if r.MissingOK = option == missingOK; has {
		option = "," + missingOK
	}
	name, most, bounded := strings.Cut(rule, ":")
	known := edit.Nearest(strings.ToLower(name), slices.Values([]string{string(Equal), string(Different), string(Within)}))
	ok := known != "" && known == name && r.MissingOK == has
	switch r.Kind = Kind(cmp.Or(known, string(Equal))); r.Kind {
	case Within:
		if r.Kind, r.Most = bound(most); r.Kind == "" {
			return string(Within) + ":1" + option
		}
		if !ok {
			return string(Within) + ":" + most + option
		}
	default:
		if !ok || bounded {
			return string(r.Kind) + option
		}
	}
	return ""
}

const missingOK = "missing-ok"

// seconds are how many a unit of time has.
var seconds = map[byte]float64{'d': 24 * 60 * 60, 'h': 60 * 60, 'm': 60, 's': 1}

// bound reads how far apart values may be: a number, or a time as 7d.
func bound(text string) (Kind, float64) {
	kind, unit := Within, 1.
	if last := len(text) - 1; last >= 0 && seconds[text[last]] > 0 {
		kind, unit, text = Dates, seconds[text[last]], text[:last]
	}
	most, err := strconv.ParseFloat(text, 64)
	if err != nil || !(most >= 0 && most <= math.MaxInt32*unit) {
		return "", 0
	}
	return kind, most * unit
}

// blocks reports whether the rule cuts the documents into parts. What others ask is looked up for each pair.
func (r *Rule) blocks() bool { return r.Kind == Equal && !r.MissingOK }

// read returns what a rule compares of a value; false if there is none.
func (r *Rule) read(value []byte) (uint64, bool) {
	switch r.Kind {
	case Within:
		number, err := strconv.ParseFloat(strings.TrimSpace(string(value)), 64)
		return math.Float64bits(number), err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
	case Dates:
		at, ok := date(strings.TrimSpace(string(value)))
		return math.Float64bits(at), ok
	default:
		return hash.Bytes(value), len(value) > 0
	}
}

// date returns the seconds since 1970 of what begins with a year, YYYY-MM or YYYY-MM-DD, and may have a time behind it:
// THH:MM[:SS[.SSS]], or a space instead of T, and Z or ±HH:MM.
func date(text string) (float64, bool) {
	parts := dated.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	number := func(i int, usual, least, most float64) float64 {
		if parts[i] == "" {
			return usual
		}
		n, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || n < least || n > most {
			return math.NaN()
		}
		return n
	}
	year, month, day := number(1, 0, 0, 9999), number(2, 1, 1, 12), number(3, 1, 1, 31)
	if month <= 2 { // the year begins in March, its leap day is the last
		year, month = year-1, month+12
	}
	leaps := math.Floor(year/4) - math.Floor(year/100) + math.Floor(year/400)
	days := 365*year + leaps + math.Floor((153*month-457)/5) + day - 719469
	at := 24*60*60*days + 60*60*number(4, 0, 0, 24) + 60*number(5, 0, 0, 59) + number(6, 0, 0, 61)
	zone := 60*60*number(8, 0, 0, 23) + 60*number(9, 0, 0, 59)
	if parts[7] == "-" {
		zone = -zone
	}
	return at - zone, !math.IsNaN(at - zone)
}

var dated = regexp.MustCompile(`^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?(?:Z|([+-])(\d\d):(\d\d))?)?)?)?$`)

// each calls do with each rule and the document's value, empty if it has none. Values are each behind its length as a
// uvarint.
func each(rules []Rule, values []byte, do func(r *Rule, value []byte)) {
	for i := range rules {
		length, n := binary.Uvarint(values)
		do(&rules[i], values[n:][:length])
		values = values[n+int(length):]
	}
}

// Part is the part of a document with such values. A document that lacks one which a rule must have is
// alone in its part, by its key. Without rules that cut, all others are in part 0.
func Part(rules []Rule, values []byte, key uint64) (part uint64) {
	lacks := false
	each(rules, values, func(r *Rule, value []byte) {
		of, has := r.read(value)
		if lacks = lacks || !has && !r.MissingOK; r.blocks() {
			part = hash.Mix(part*31 + of)
		}
	})
	if lacks {
		return hash.Mix(hash.Mix(key) ^ alone)
	}
	return part
}

// traitWords are what a document has of each rule that is looked up for each pair.
const traitWords = 2

// Words is how many AppendTraits appends.
func Words(rules []Rule) (n int) {
	for i := range rules {
		if !rules[i].blocks() {
			n += traitWords
		}
	}
	return n
}

// AppendTraits appends what Hold compares of a document. Two with the same traits meet all rules.
func AppendTraits(dst []uint64, rules []Rule, values []byte, key uint64) []uint64 {
	each(rules, values, func(r *Rule, value []byte) {
		if r.blocks() {
			return
		}
		of, has := r.read(value)
		switch {
		case r.Kind == Different: // no two have the same traits
			dst = append(dst, key+1, of)
			if !has {
				dst[len(dst)-1] = none
			}
		case has:
			dst = append(dst, 1, of)
		default:
			dst = append(dst, 0, 0)
		}
	})
	return dst
}

// none is the value of a document that may be different from any.
const none = 0

// Hold reports whether two documents of one part with such traits meet all rules.
func Hold(rules []Rule, a, b []uint64) bool {
	for i := range rules {
		if rules[i].blocks() {
			continue
		}
		x, y := a[1], b[1]
		missing := a[0] == 0 || b[0] == 0
		a, b = a[traitWords:], b[traitWords:]
		switch rules[i].Kind {
		case Different:
			if x == y && x != none {
				return false
			}
		case Equal:
			if x != y && !missing {
				return false
			}
		default:
			if !missing && math.Abs(math.Float64frombits(x)-math.Float64frombits(y)) > rules[i].Most {
				return false
			}
		}
	}
	return true
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
	for {
		n := 0 // most bytes are no digit
		for len(text)-n >= 8 && plain(binary.LittleEndian.Uint64(text[n:])) {
			n += 8
		}
		for n < len(text) && text[n] < utf8.RuneSelf && text[n]-'0' > 9 {
			n++
		}
		if text = text[n:]; len(text) == 0 {
			return dst
		}
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
}

// plain reports whether eight bytes are ASCII, and none is a digit.
func plain(w uint64) bool {
	const ones = 0x0101010101010101
	return (w|^((w^ones*'0')+ones*(0x80-10)))&(ones*0x80) == 0
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
