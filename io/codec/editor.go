package codec

import (
	"cmp"
	"slices"
)

// Editor is a Codec that can replace texts in a record.
type Editor interface {
	// Edit appends to dst a record in which edit has replaced the value of each text column, in the order of Fields.Text;
	// the rest is unchanged. For a column without a value, edit gets an empty text, and its result is ignored. If a value
	// is not a separate string, ok is false and Edit returns dst unchanged.
	Edit(dst, record []byte, edit func(text []byte) []byte) (edited []byte, ok bool)
}

// A Replacement replaces the bytes of a record from Begin to End.
type Replacement struct {
	Begin, End int
	With       []byte
}

// Replace sorts the replacements and appends the record with them to dst. ok is false if they overlap.
func Replace(dst, record []byte, all []Replacement) (edited []byte, ok bool) {
	slices.SortStableFunc(all, func(a, b Replacement) int { return cmp.Compare(a.Begin, b.Begin) })
	edited, at := dst, 0
	for _, r := range all {
		if r.Begin < at {
			return dst, false
		}
		edited = append(append(edited, record[at:r.Begin]...), r.With...)
		at = r.End
	}
	return append(edited, record[at:]...), true
}
