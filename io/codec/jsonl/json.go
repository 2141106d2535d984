package jsonl

import (
	"bytes"

	"github.com/neardup/neardup/io/codec"
)

// NewJSON returns the codec of files of JSON objects in one array, or one after another, over any number of lines.
// Columns are those of New.
//
// A value that is not an object is an unreadable record. What separates records is not checked, except that an array
// must end with its bracket. Only brackets and quotes determine where a record ends, so one with unmatched brackets
// extends to the end of the file, and is Unclosed.
func NewJSON(fields codec.Fields) codec.Codec { return objects{jsonl: newJSONL(fields)} }

type objects struct {
	*jsonl
	array bool // the file is an array
}

// Header returns the bracket of an array with what precedes it, or a byte order mark.
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

// maxGap bounds the bytes between two records: a longer run of spaces and commas begins a record. So copying some of
// the records need not hold more.
const maxGap = 2000

// Start skips spaces, commas and the bracket that closes the array.
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

// Positions in a record. A State has the number of open brackets in its higher bits.
const (
	atBegin    codec.State = iota // before the value
	inBrackets                    // in an object or an array
	inString                      // in a string within brackets
	inEscape
	atEnd    // after the bracket that closes the value
	inOther  // in a value without brackets, or in garbage after the value
	inQuotes // in a string outside brackets
	inQuotesEscape

	placeBits = 3
)

// End finds the end of a value: its last bracket, or the byte before a space, a comma or a bracket that closes the
// array.
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

// Unclosed reports an open bracket or quote of a value, or an open array.
func (c objects) Unclosed(state codec.State, tail []byte, _ bool) (what string, lost bool) {
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

// Splittable returns false: whether a bracket is in a string depends on all bytes before it.
func (objects) Splittable() bool { return false }

// Separated returns true: two records in an array need a comma between them.
func (objects) Separated() bool { return true }

// InLines reports whether a file of JSON holds JSON Lines: its first non-empty line is a whole object. head is the
// beginning of the file, which may have only a part of that line.
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
