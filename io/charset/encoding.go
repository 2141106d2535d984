package charset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// Encoding is a text encoding in which ASCII characters can be told from others without decoding.
type Encoding struct {
	// Name is the name in the Encoding Standard, such as windows-1251.
	Name  string
	table *charmap.Charmap  // for single bytes, or nil
	other encoding.Encoding // for several bytes
	order binary.ByteOrder  // for UTF-16, or nil
}

// Names of UTF-16 in the Encoding Standard.
const (
	littleEndian = "utf-16le"
	bigEndian    = "utf-16be"
)

// unsupported are stateful encodings, and names that are not encodings of text.
var unsupported = []string{"iso-2022-jp", "replacement", "x-user-defined"}

// Named returns the encoding with a name or label of the Encoding Standard, where latin1 is windows-1252 and utf-16 is
// utf-16le. It returns nil for UTF-8.
func Named(name string) (*Encoding, error) {
	found, err := htmlindex.Get(name)
	if plain := strings.ReplaceAll(name, "-", ""); err != nil && plain != name { // latin-1 is Python's name
		found, err = htmlindex.Get(plain)
	}
	if err != nil {
		return nil, fmt.Errorf("no encoding is called %q; use a name from the Encoding Standard, such as windows-1252, "+
			"shift_jis or utf-16le", name)
	}
	canonical, err := htmlindex.Name(found)
	if err != nil || slices.Contains(unsupported, canonical) {
		return nil, fmt.Errorf("encoding %q cannot be read; convert the files to UTF-8 (iconv -f %s -t UTF-8)", name, name)
	}
	switch canonical {
	case "utf-8":
		return nil, nil //nolint:nilnil // there is nothing to decode
	case littleEndian:
		return &Encoding{Name: canonical, order: binary.LittleEndian}, nil
	case bigEndian:
		return &Encoding{Name: canonical, order: binary.BigEndian}, nil
	}
	table, _ := found.(*charmap.Charmap)
	return &Encoding{Name: canonical, table: table, other: found}, nil
}

// Marked returns the name of the encoding of head's byte order mark, or "" if head, the beginning of a file, has none.
func Marked(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		return "utf-8"
	case bytes.HasPrefix(head, []byte("\xFF\xFE")):
		return littleEndian
	case bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return bigEndian
	}
	return ""
}

// Unit returns the minimum number of bytes per character.
func (e *Encoding) Unit() int {
	if e.order != nil {
		return 2
	}
	return 1
}

// Plain reports whether all bytes below 0x80 are ASCII characters.
func (e *Encoding) Plain() bool { return e.table != nil }

// invalid stands in a decoded text for bytes that are invalid in its encoding; it is invalid in UTF-8, too.
const invalid = 0xFF

// AppendDecoded appends text in UTF-8, with a byte FF for what is invalid in the encoding.
func (e *Encoding) AppendDecoded(dst, text []byte) []byte {
	begin := len(dst)
	switch {
	case e.order != nil:
		return e.appendUTF16(dst, text)
	case e.table != nil:
		for _, b := range text {
			if b < utf8.RuneSelf {
				dst = append(dst, b)
			} else {
				dst = utf8.AppendRune(dst, e.table.DecodeByte(b))
			}
		}
	default:
		dst, _, _ = transform.Append(e.other.NewDecoder(), dst, text) // a decoder returns no errors
	}
	return append(dst[:begin], bytes.ReplaceAll(dst[begin:], []byte("\uFFFD"), []byte{invalid})...)
}

func (e *Encoding) appendUTF16(dst, text []byte) []byte {
	for len(text) >= 2 {
		r := rune(e.order.Uint16(text))
		text = text[2:]
		if utf16.IsSurrogate(r) {
			pair := utf8.RuneError
			if len(text) >= 2 {
				pair = utf16.DecodeRune(r, rune(e.order.Uint16(text)))
			}
			if pair == utf8.RuneError {
				dst = append(dst, invalid)
				continue
			}
			r, text = pair, text[2:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	if len(text) > 0 {
		dst = append(dst, invalid)
	}
	return dst
}

// AppendOutline appends one byte per Unit of text, which must begin with a character: an ASCII character as it is, and
// 0x80 for a part of another. Unless atEOF, it omits an incomplete character at the end.
func (e *Encoding) AppendOutline(dst, text []byte, atEOF bool) []byte {
	for len(text) > 0 {
		n := e.length(text)
		if n > len(text) {
			if !atEOF {
				return dst
			}
			n = len(text)
		}
		b := text[0]
		switch {
		case e.order != nil && n == 2 && e.order.Uint16(text) < utf8.RuneSelf:
			dst = append(dst, byte(e.order.Uint16(text)))
		case e.order == nil && n == 1 && b < utf8.RuneSelf:
			dst = append(dst, b)
		default:
			for range (n + e.Unit() - 1) / e.Unit() {
				dst = append(dst, 0x80)
			}
		}
		text = text[n:]
	}
	return dst
}

// length returns the number of bytes of the character that text begins with, which may be more than text has. A byte
// followed by one that cannot belong to its character counts as a character, so no line end is taken for part of one.
func (e *Encoding) length(text []byte) int {
	lead := text[0]
	switch {
	case e.order != nil:
		return 2
	case lead < utf8.RuneSelf || e.table != nil || lead == 0x80 || lead == 0xFF:
		return 1
	case e.Name == "shift_jis" && lead >= 0xA0 && lead < 0xE0: // half-width
		return 1
	case len(text) == 1:
		return 2
	}
	trail := text[1]
	switch {
	case isDigit(trail) && strings.HasPrefix(e.Name, "gb"):
		if len(text) > 2 && text[2] <= 0x80 || len(text) > 3 && !isDigit(text[3]) {
			return 1
		}
		return 4
	case e.Name == "euc-jp" && lead == 0x8F && trail >= utf8.RuneSelf:
		if len(text) > 2 && text[2] < utf8.RuneSelf {
			return 1
		}
		return 3
	case trail < 0x40:
		return 1
	case trail < utf8.RuneSelf && e.Name == "euc-jp":
		return 1
	}
	return 2
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
