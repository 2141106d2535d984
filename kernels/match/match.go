// Package match defines rules that two documents must satisfy in addition to being similar.
//
// A rule that requires equal values divides the documents into parts, and documents of different parts are not
// compared. A part is a hash that is combined with the hashes of a document's tokens, so that documents of two parts
// have no token, shingle or key in common, except by chance, like any two 64-bit hashes. Other rules are decided by
// Hold, from traits that follow the features of each document.
package match

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
)

// A Rule is a condition on the values that two documents have in a column.
type Rule struct {
	Column string
	Kind   Kind
	// Most is the maximum difference of two values, for Within, and for Dates in seconds.
	Most float64 `json:",omitempty"`
	// MissingOK lets a document without a value satisfy the rule with every other; otherwise it satisfies the rule with
	// none.
	MissingOK bool `json:",omitempty"`
	// Shingles are the kind of shingles, such as char:3, that Similar compares; Steps first normalise the values.
	Shingles  string           `json:",omitempty"`
	Steps     string           `json:",omitempty"`
	Threshold setsim.Threshold `json:",omitzero"`
}

// Kind is a kind of rule.
type Kind string

// The kinds of rules.
const (
	Equal     Kind = "equal"     // equal values, byte for byte
	Different Kind = "different" // different values
	Within    Kind = "within"    // numbers that differ by at most Most
	Dates     Kind = "dates"     // dates or times that differ by at most Most
	Similar   Kind = "similar"   // texts with at least this Jaccard similarity
)

// Parse parses rules, each in the form COLUMN=RULE.
func Parse(all []string) (rules []Rule, err error) {
	for _, text := range all {
		at := strings.LastIndexByte(text, '=') // names may contain =
		if at <= 0 {
			return nil, fmt.Errorf("%q has no rule; name a column and its rule, as in language=equal", text)
		}
		r := Rule{Column: text[:at]}
		if valid := r.parse(text[at+1:]); valid != "" {
			return nil, fmt.Errorf("column %s: %q is not a rule; use a rule such as %s=%s", r.Column, text[at+1:],
				r.Column, valid)
		}
		if slices.ContainsFunc(rules, func(other Rule) bool { return other.Column == r.Column }) {
			return nil, fmt.Errorf("column %s has two rules; drop one", r.Column)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// parse parses a rule. If it is invalid, parse returns the rule that was probably meant.
func (r *Rule) parse(text string) (meant string) {
	rule, option, has := strings.Cut(text, ",")
	name, most, bounded := strings.Cut(rule, ":")
	known := edit.Nearest(strings.ToLower(name), slices.Values(names))
	if slices.Contains(names[similar:], known) {
		return r.parseSimilar(text, known)
	}
	if r.MissingOK = option == missingOK; has {
		option = "," + missingOK
	}
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

// names are the first words of rules. Those from index similar on are kinds of shingles.
var names = []string{string(Equal), string(Different), string(Within), "char", "word", "byte"}

const similar = 3

// parseSimilar parses KIND:K,T[,STEP…][,missing-ok]. The caller must validate the steps.
func (r *Rule) parseSimilar(text, kind string) (meant string) {
	parts := strings.Split(text, ",")
	name, count, _ := strings.Cut(parts[0], ":")
	k, err := strconv.ParseUint(count, 10, 16)
	threshold := ".7"
	if len(parts) > 1 {
		if t, err := strconv.ParseFloat(parts[1], 64); err == nil {
			if r.Threshold, err = setsim.ParseThreshold(t); err == nil {
				threshold = parts[1]
			}
		}
		parts = parts[2:]
	} else {
		parts = nil
	}
	wrong := name != kind || err != nil || k == 0 || r.Threshold.Num == 0
	if n := len(parts) - 1; n >= 0 && parts[n] == missingOK {
		r.MissingOK, parts = true, parts[:n]
	}
	if err != nil || k == 0 {
		k = 3
	}
	r.Kind, r.Steps = Similar, strings.Join(parts, ",")
	r.Shingles = fmt.Sprintf("%s:%d", kind, k)
	if !wrong {
		return ""
	}
	meant = r.Shingles + "," + threshold
	if r.Steps != "" {
		meant += "," + r.Steps
	}
	if r.MissingOK {
		meant += "," + missingOK
	}
	return meant
}

const missingOK = "missing-ok"

// seconds is the number of seconds in a unit of time.
var seconds = map[byte]float64{'d': 24 * 60 * 60, 'h': 60 * 60, 'm': 60, 's': 1}

// bound parses the maximum difference of values: a number, or a time such as 7d.
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

// blocks reports whether the rule divides the documents into parts. Other rules are checked for each pair.
func (r *Rule) blocks() bool { return r.Kind == Equal && !r.MissingOK }

// read returns the form of a value that a rule compares, or false if there is none.
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

// date returns the seconds since 1970 of YYYY, YYYY-MM or YYYY-MM-DD. The last may be followed by T or a space, a time
// HH:MM[:SS[.SSS]], and Z or ±HH:MM.
func date(text string) (float64, bool) {
	parts := dated.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	valid := true
	number := func(i int, usual, least, most float64) float64 {
		if parts[i] == "" {
			return usual
		}
		n, err := strconv.ParseFloat(parts[i], 64)
		valid = valid && err == nil && n >= least && n <= most
		return n
	}
	year, month, day := number(1, 0, 0, 9999), number(2, 1, 1, 12), number(3, 1, 1, 31)
	first := monthBegins(year, month)
	valid = valid && first+day <= monthBegins(year, month+1) // 31 February is no date
	at := 24*60*60*(first+day-1) + 60*60*number(4, 0, 0, 24) + 60*number(5, 0, 0, 59) + number(6, 0, 0, 61)
	zone := 60*60*number(8, 0, 0, 23) + 60*number(9, 0, 0, 59)
	if parts[7] == "-" {
		zone = -zone
	}
	return at - zone, valid
}

// monthBegins returns the days from 1970 to the first day of a month; month 13 is the next January.
func monthBegins(year, month float64) float64 {
	if month <= 2 { // let the year begin in March, so that the leap day is its last
		year, month = year-1, month+12
	}
	leaps := math.Floor(year/4) - math.Floor(year/100) + math.Floor(year/400)
	return 365*year + leaps + math.Floor((153*month-457)/5) - 719468
}

var dated = regexp.MustCompile(`^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?(?:Z|([+-])(\d\d):(\d\d))?)?)?)?$`)

// Pairwise reports whether a rule is checked for each pair. If so, Own and Hold apply to features with traits.
func Pairwise(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return !r.blocks() })
}

// Words returns the number of words that Append appends per document, or 0 if it varies.
func Words(rules []Rule) (n int) {
	for i := range rules {
		switch {
		case rules[i].Kind == Similar:
			return 0
		case !rules[i].blocks():
			n += traitWords
		}
	}
	return n + 1
}

// traitWords is the number of trait words per rule that is checked for each pair, except Similar.
const traitWords = 2

// Append returns the part of a document with these values and, if a rule is Pairwise, appends the document's traits,
// which Hold compares. A document that lacks a required value is alone in a part, given by its key. Without rules that
// divide the documents, all others are in part 0. Two documents of a part with equal traits satisfy all rules. Append
// calls set for Similar rules, by index, to get the shingle set of a value.
func Append(
	dst []uint64, rules []Rule, values []byte, key uint64, set func(i int, value []byte) []uint64,
) (traits []uint64, part uint64) {
	start, lacks, pairwise := len(dst), false, false
	for i := range rules {
		var value []byte
		value, values = first(values)
		r := &rules[i]
		pairwise = pairwise || !r.blocks()
		if r.Kind == Similar {
			shingles := set(i, value)
			dst = append(append(dst, uint64(len(shingles))), shingles...)
			lacks = lacks || len(shingles) == 0 && !r.MissingOK
			continue
		}
		of, has := r.read(value)
		lacks = lacks || !has && !r.MissingOK
		switch {
		case r.blocks():
			part = hash.Mix(part*31 + of)
		case r.Kind == Different: // so that no two documents have the same traits
			dst = append(dst, key+1, of)
			if !has {
				dst[len(dst)-1] = none
			}
		case has:
			dst = append(dst, 1, of)
		default:
			dst = append(dst, 0, 0)
		}
	}
	if pairwise {
		dst = append(dst, uint64(len(dst)-start+1))
	}
	if lacks {
		part = hash.Mix(hash.Mix(key) ^ alone)
	}
	return dst, part
}

// Texts yields the values of Similar rules. Without values it yields none.
func Texts(rules []Rule, values []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := 0; i < len(rules) && len(values) > 0; i++ {
			var value []byte
			if value, values = first(values); rules[i].Kind == Similar && !yield(value) {
				return
			}
		}
	}
}

// Reads reports whether a rule is for numbers or dates, so that a value may be invalid.
func (r *Rule) Reads() bool { return r.Kind == Within || r.Kind == Dates }

// Unread yields the index of each rule for numbers or dates for which a document's value is present but invalid, with
// the value.
func Unread(rules []Rule, values []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range rules {
			var value []byte
			value, values = first(values)
			if !rules[i].Reads() || len(value) == 0 {
				continue
			}
			if _, is := rules[i].read(value); !is && !yield(i, value) {
				return
			}
		}
	}
}

// first returns the first of the packed values, and the rest.
func first(values []byte) (value, others []byte) {
	length, n := binary.Uvarint(values)
	return values[n:][:length], values[n+int(length):]
}

// Own splits features with traits into the features and the traits.
func Own(features []uint64) (own, traits []uint64) {
	at := len(features) - int(features[len(features)-1])
	return features[:at], features[at:]
}

// none is the value of a document that lacks one; it differs from any.
const none = 0

// Hold reports whether two documents of one part, with these traits, satisfy all rules.
func Hold(rules []Rule, a, b []uint64) bool {
	for i := range rules {
		if rules[i].blocks() {
			continue
		}
		if rules[i].Kind == Similar {
			x, y := a[1:][:a[0]], b[1:][:b[0]]
			a, b = a[1+len(x):], b[1+len(y):]
			if len(x) > 0 && len(y) > 0 {
				if _, ok := setsim.Similar(x, y, rules[i].Threshold); !ok {
					return false
				}
			}
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
			if !missing && !near(math.Float64frombits(x), math.Float64frombits(y), rules[i].Most) {
				return false
			}
		}
	}
	return true
}

// near reports whether two numbers differ by at most most. Fractions are rounded when they are read, so that 1.1 and 1
// seem to differ by more than .1.
func near(x, y, most float64) bool {
	apart := math.Abs(x - y)
	if x != math.Trunc(x) || y != math.Trunc(y) {
		apart -= float64(0x1p-53 * (math.Abs(x) + math.Abs(y) + float64(2*most)))
	}
	return apart <= most
}

// Unlike returns the value that a document with these traits must not share with another: that of the first Different
// rule. ok is false if there is none.
func Unlike(rules []Rule, traits []uint64) (value uint64, ok bool) {
	for i := range rules {
		switch {
		case rules[i].blocks():
		case rules[i].Kind == Similar:
			traits = traits[1+traits[0]:]
		case rules[i].Kind == Different:
			return traits[1], traits[1] != none
		default:
			traits = traits[traitWords:]
		}
	}
	return 0, false
}

// Similarities appends the similarity of two documents with these traits by each Similar rule, in order; 0 if a missing
// value was accepted.
func Similarities(dst []float64, rules []Rule, a, b []uint64) []float64 {
	for i := range rules {
		switch {
		case rules[i].blocks():
		case rules[i].Kind == Similar:
			x, y := a[1:][:a[0]], b[1:][:b[0]]
			a, b = a[1+len(x):], b[1+len(y):]
			similarity := 0.
			if len(x) > 0 && len(y) > 0 {
				shared, _ := setsim.Similar(x, y, rules[i].Threshold)
				similarity = setsim.Similarity(shared, len(x), len(y))
			}
			dst = append(dst, similarity)
		default:
			a, b = a[traitWords:], b[traitWords:]
		}
	}
	return dst
}

// Least returns the smallest of the similarities that are not 0, which stands for a missing value, or 1.
func Least(similarities []float64) float64 {
	least := 1.
	for _, s := range similarities {
		if s > 0 {
			least = min(least, s)
		}
	}
	return least
}

// alone distinguishes keys from other values.
const alone = 0x6e756d6265727321

// grouped has the characters that may separate groups of three digits.
const grouped = ",.'’٬\u00a0\u202f\u2009"

// AppendNumbers appends the numbers of a text, each followed by a semicolon. A number is a run of decimal digits of any
// script, without leading zeros. A single ,.'’٬ or no-break or thin space between one to three digits and groups of
// three is ignored: 1,000 and 1.000 are 1000. Any other character ends the number, so that a date is the sequence of
// its numbers, and both 1.5 and 1,5 are 1 and 5.
func AppendNumbers(dst, text []byte) []byte {
	for {
		n := 0 // skip ahead: most bytes are no digits
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

// plain reports whether eight bytes are ASCII and contain no digit.
func plain(w uint64) bool {
	const ones = 0x0101010101010101
	return (w|^((w^ones*'0')+ones*(0x80-10)))&(ones*0x80) == 0
}

// appendDigits appends the digits at the start of text, and returns their number and the rest of text.
func appendDigits(dst, text []byte) (digits []byte, count int, rest []byte) {
	for {
		value, n := digit(text)
		if value < 0 {
			return dst, count, text
		}
		dst, count, text = append(dst, '0'+byte(value)), count+1, text[n:]
	}
}

// digit returns the value of the decimal digit at the start of text, or -1 if there is none, and the length of the
// first character.
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

// valueOf returns the value of a decimal digit, or -1 for other characters. Ranges of digits begin with a zero and
// consist of tens.
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
