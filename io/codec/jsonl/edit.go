package jsonl

import (
	"fmt"
	"unicode/utf8"

	"github.com/neardup/neardup/io/codec"
)

// Edit replaces strings.
func (c *jsonl) Edit(dst, record []byte, edit func(text []byte) []byte) (edited []byte, ok bool) {
	found := make([]value, c.slots)
	line := codec.TrimNewline(record)
	var more []listed
	s := scanner{data: line, found: found, more: &more}
	if s.line(&c.root) != nil {
		return dst, false
	}
	var all []codec.Replacement
	for _, column := range c.text {
		switch v := found[column.pick(found)]; v.kind {
		case absent, null:
			edit(nil)
		case str:
			quoted := appendQuoted(nil, edit(v.appendTo(nil, line)))
			all = append(all, codec.Replacement{Begin: v.begin, End: v.end, With: quoted})
		default:
			return dst, false
		}
	}
	return codec.Replace(dst, record, all)
}

// appendQuoted appends a text as written between quotes, with the necessary escapes.
func appendQuoted(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b == '\n':
			dst = append(dst, '\\', 'n')
		case b == '\r':
			dst = append(dst, '\\', 'r')
		case b == '\t':
			dst = append(dst, '\\', 't')
		case b < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, b)
		case b == 0xED && isSurrogate(text[i:]): // a surrogate as appendRune writes it
			dst = fmt.Appendf(dst, `\u%04x`, 0xD000|rune(text[i+1]&0x3F)<<6|rune(text[i+2]&0x3F))
			i += 3
			continue
		default:
			dst = append(dst, b)
		}
		i++
	}
	return dst
}

func isSurrogate(text []byte) bool {
	return len(text) >= 3 && text[1] >= 0xA0 && text[1] < 0xC0 && !utf8.RuneStart(text[2])
}
