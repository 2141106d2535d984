package source

import (
	"encoding/binary"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
)

// matched returns a function that moves the last Fields.Values text columns of a record to doc.Values, then calls see.
func (o Options) matched(see func(*reading.Record) error) func(*reading.Record) error {
	texts := len(o.Fields.Text) - o.Fields.Values
	return func(record *reading.Record) error {
		doc := record.Doc
		if record.Err != nil || record.Long {
			return see(record)
		}
		text, ends, from := doc.Text, doc.Ends, 0
		for i := range len(o.Fields.Text) {
			end, n := binary.Uvarint(ends)
			if n <= 0 { // the last column, or no column has a value
				end = uint64(len(text))
			}
			switch {
			case i == texts-1:
				doc.Text, doc.NoText = text[:end], doc.NoText || doc.Nulls >= texts
				doc.Ends = doc.Ends[:len(doc.Ends)-len(ends)]
			case i >= texts:
				doc.Values = blocks.AppendBytes(doc.Values, text[min(from, int(end)):end])
			}
			ends, from = ends[max(n, 0):], int(end)+len(o.Fields.Between(i+1))
		}
		return see(record)
	}
}
