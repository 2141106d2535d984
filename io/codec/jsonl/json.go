package jsonl

import (
	"bytes"

	"github.com/neardup/neardup/io/codec"
)

// NewJSON returns the codec of files of JSON objects that are in one array, or one after another, over
// as many lines as they like. Columns are those of New.
//
// A value that is no object is an unreadable record. What stands between records is not checked, but that an array
// ends with its bracket. Brackets and quotes alone tell where a record ends, so
// one whose brackets do not match reaches to the end of the file, and is Unclosed.
func NewJSON(fields codec.Fields) codec.Codec { return objects{jsonl: newJSONL(fields)} }

type objects struct {
	*jsonl
	array bool // the file is one
}

// Header is the bracket of an array, with what stands before it, or a byte order mark.
func (objects) Header(data []byte, atEOF bool) (int, bool) {
	bom, ok := codec.BOM(data, atEOF)
	if !ok {
		return 0, false
	}
	for i, b := range data[bom:] {
		switch {
		case isBlank(b):
		case b == '[':
			return bom + i + 1, true
		default:
			return bom, true
		}
	}
	return bom, atEOF
}

func (c objects) WithHeader(header []byte) (codec.Codec, error) {
	c.array = bytes.HasSuffix(header, []byte("["))
	return c, nil
}

// maxGap bounds what stands between two records: a longer run of blanks and commas begins a record. So a copy
// of some records need not hold more.
const maxGap = 2000

// Start skips blanks, commas and the bracket that closes the array.
func (objects) Start(data []byte, atEOF bool) (n int, ok bool) {
	for i, b := range data {
		if !isBlank(b) && b != ',' && b != ']' || i == maxGap {
			return i, true
		}
	}
	if atEOF {
		return len(data), false
	}
	return 0, false
}

// Where in a record a byte may be. The number of open brackets is above these in a state.
const (
	atBegin    codec.State = iota // before the value
	inBrackets                    // in an object or an array
	inString                      // of these
	inEscape
	atEnd    // behind the bracket that closes the value
	inOther  // in a value without brackets, or something behind the value that does not belong there
	inQuotes // of these
	inQuotesEscape

	placeBits = 3
)

// End finds the end of a value: its last bracket, or what stands
// before a blank, a comma or a bracket that closes the array.
func (objects) End(data []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	place, depth := state&(1<<placeBits-1), state>>placeBits
	for i, b := range data {
		switch place {
		case inString:
			switch b {
			case '"':
				place = inBrackets
			case '\\':
				place = inEscape
			}
		case inEscape:
			place = inString
		case inBrackets:
			switch b {
			case '"':
				place = inString
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					place = atEnd
				}
			}
		case atBegin:
			switch {
			case b == '{', b == '[':
				place, depth = inBrackets, 1
			case b == '"':
				place = inQuotes
			case !isBlank(b):
				place = inOther
			}
		case atEnd, inOther:
			switch {
			case isBlank(b), b == ',', b == ']', place == atEnd && (b == '{' || b == '['):
				return i, 0, true
			case b == '"':
				place = inQuotes
			default:
				place = inOther
			}
		case inQuotes:
			switch b {
			case '"':
				place = inOther
			case '\\':
				place = inQuotesEscape
			}
		case inQuotesEscape:
			place = inQuotes
		}
	}
	return len(data), depth<<placeBits | place, atEOF
}

// Unclosed is a value's bracket or quote, or the array.
func (c objects) Unclosed(state codec.State, tail []byte) (what string, lost bool) {
	switch place := state & (1<<placeBits - 1); {
	case place == inBrackets:
		return "a bracket of the value that begins there is not closed", true
	case place == inString, place == inEscape, place == inQuotes, place == inQuotesEscape:
		return "a quote in the value that begins there is not closed", true
	case c.array && bytes.IndexByte(tail, ']') < 0:
		return "the array that the file begins with is not closed", false
	}
	return "", false
}

// Splittable is false: only what stands before a bracket tells whether it is in a string.
func (objects) Splittable() bool { return false }

// Separated is true: between two records in an array there must be a comma.
func (objects) Separated() bool { return true }

// InLines reports whether a file of JSON is one of JSON Lines, as its first line that is not blank has it: an
// object by itself. Head is the beginning of the file, and if it has no such line it has a part of it.
func InLines(head []byte) bool {
	bom, _ := codec.BOM(head, true)
	head = bytes.TrimLeft(head[bom:], " \t\r\n")
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	line, _, whole := bytes.Cut(head, []byte("\n"))
	n, state, ended := objects{}.End(line, 0, false)
	return !whole && !ended || (ended || state == atEnd) && len(bytes.TrimSpace(line[n:])) == 0
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
