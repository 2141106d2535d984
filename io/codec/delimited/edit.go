package delimited

import (
	"bytes"

	"github.com/neardup/neardup/io/codec"
)

// Edit replaces values. It quotes a value that was quoted, or that needs quotes now.
func (c *table) Edit(dst, record []byte, edit func(text []byte) []byte) (edited []byte, ok bool) {
	type place struct {
		begin, end int
		cell
	}
	var places []place
	line := codec.TrimNewline(record)
	row := row{table: c, rest: line}
	for begin := 0; row.next(); {
		end := begin + len(row.raw)
		if row.cell.quoted {
			end += 2
		}
		places = append(places, place{begin, end, row.cell})
		begin = end + 1
	}
	if row.err != nil || len(places) < c.least {
		return dst, false
	}
	var all []codec.Replacement
	for _, index := range c.text {
		p := places[index]
		with := edit(p.appendValue(nil))
		if p.quoted || c.quoted && c.needsQuotes(with) {
			with = append(append([]byte{'"'}, bytes.ReplaceAll(with, []byte(`"`), []byte(`""`))...), '"')
		}
		all = append(all, codec.Replacement{Begin: p.begin, End: p.end, With: with})
	}
	return codec.Replace(dst, record, all)
}

func (c *table) needsQuotes(value []byte) bool {
	return bytes.HasPrefix(value, []byte(`"`)) || bytes.ContainsAny(value, "\r\n"+string(rune(c.delimiter)))
}
