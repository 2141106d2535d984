package codec

import (
	"cmp"
	"slices"
)

// Editor is a Codec that can put other texts into a record.
type Editor interface {
	// Edit appends to dst a record in which edit has replaced the value of each text column, in the order of Fields.Text;
	// all else is as it stands. Of a column without a value edit gets an empty text, and what it returns is left out. ok
	// is false, and dst as it was, if a value is not a string that stands by itself.
	Edit(dst, record []byte, edit func(text []byte) []byte) (edited []byte, ok bool)
}

// A Replacement is what stands in the place of the bytes of a record from Begin up to End.
type Replacement struct {
	Begin, End int
	With       []byte
}

// Replace appends a record with replacements to dst; ok is false if they overlap. It sorts them.
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
