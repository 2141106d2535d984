package blocks

import "unicode/utf8"

// Listing is the entry of one record in a list of all records. It travels as the fields of a row.
type Listing struct {
	ID    []byte
	HasID bool
	Rank  []byte // empty if the record has no text, or documents are not ranked
}

// AppendListing appends a record to a block.
func AppendListing(dst []byte, l Listing) []byte {
	if !utf8.Valid(l.ID) { // Parquet requires string columns to be valid UTF-8
		l.ID = []byte(ValidText(string(l.ID)))
	}
	return AppendBytes(AppendOptional(dst, l.ID, l.HasID), l.Rank)
}

// Listing reads what AppendListing wrote; its bytes share memory with the block.
func (d *Decoder) Listing() (l Listing) {
	l.ID, l.HasID = d.Optional()
	l.Rank = d.Bytes()
	return l
}
