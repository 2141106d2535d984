package jsonl

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/neardup/neardup/io/codec"
)

// maxDepth is the maximum nesting of values, as in encoding/json, because the scanner recurses.
const maxDepth = 10000

// scanner checks one line and notes the values of the columns.
type scanner struct {
	data  []byte
	pos   int
	depth int
	found []value
	lists int // number of arrays with columns that contain pos
	// more holds the values in arrays, whose slots are array or spread. It is a pointer so that found stays on the stack.
	more *[]listed
}

// listed is a value in an array, for the column of a slot.
type listed struct {
	slot int
	value
}

// line scans the whole line, which must be one object.
func (s *scanner) line(root *node) error {
	s.blanks()
	v, err := s.value(root)
	if err != nil {
		return err
	}
	s.blanks()
	if s.pos < len(s.data) {
		return s.unexpected("after top-level value")
	}
	if v.kind != object {
		return &codec.Error{Reason: codec.NotAnObject, Detail: "it is " + v.kind.String()}
	}
	return nil
}

// value scans the value that begins at pos. If n is not nil, the value leads to columns at or below n.
func (s *scanner) value(n *node) (value, error) {
	begin := s.pos
	switch b := s.peek(); {
	case b == '"':
		v := value{kind: str, begin: begin + 1}
		err := s.str(&v)
		v.end = s.pos - 1
		return v, err
	case b == '{':
		return value{kind: object}, s.object(n)
	case b == '[':
		return value{kind: array}, s.array(n)
	case b == '-', isDigit(b):
		err := s.number()
		return value{kind: number, begin: begin, end: s.pos}, err
	case b == 't':
		return value{kind: boolean}, s.literal("true")
	case b == 'f':
		return value{kind: boolean}, s.literal("false")
	case b == 'n':
		return value{kind: null}, s.literal("null")
	default:
		return value{}, s.unexpected("where a value must begin")
	}
}

// object scans the object that begins at pos.
func (s *scanner) object(n *node) error {
	if err := s.enter(); err != nil {
		return err
	}
	before := len(*s.more)
	s.blanks()
	if s.take('}') {
		s.depth--
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.unexpected("where a key in quotes must begin")
		}
		key := value{begin: s.pos + 1}
		if err := s.str(&key); err != nil {
			return err
		}
		key.end = s.pos - 1
		s.blanks()
		if !s.take(':') {
			return s.unexpected("after object key")
		}
		s.blanks()
		child := n.lookup(s.data[key.begin:key.end], key.escaped)
		if child != nil {
			s.forget(child, before)
		}
		v, err := s.value(child)
		if err != nil {
			return err
		}
		s.note(child, v)
		s.blanks()
		if s.take('}') {
			s.depth--
			return nil
		}
		if !s.take(',') {
			return s.unexpected("after object key:value pair")
		}
		s.blanks()
	}
}

// note keeps the value at n. In an array, it adds it to the values before.
func (s *scanner) note(n *node, v value) {
	switch {
	case n == nil || n.slot == none:
	case s.lists == 0:
		s.found[n.slot] = v
	case v.kind != array: // the elements of an array are noted instead
		*s.more = append(*s.more, listed{n.slot, v})
	}
}

// forget drops what was found at and below n since more had before values: an earlier value of a repeated key is void,
// including everything found in it.
func (s *scanner) forget(n *node, before int) {
	if s.lists == 0 {
		n.fill(s.found, value{})
	}
	for i, l := range (*s.more)[before:] {
		if n.has(l.slot) {
			(*s.more)[before+i].kind = null
		}
	}
}

// array scans the array that begins at pos. Its elements, or their values, are for the columns at and below n.
func (s *scanner) array(n *node) error {
	if n == nil {
		return s.elements(nil)
	}
	n.fill(s.found, value{kind: spread})
	s.lists++
	err := s.elements(n)
	s.lists--
	return err
}

func (s *scanner) elements(n *node) error {
	if err := s.enter(); err != nil {
		return err
	}
	s.blanks()
	if s.take(']') {
		s.depth--
		return nil
	}
	for {
		v, err := s.value(n)
		if err != nil {
			return err
		}
		s.note(n, v)
		s.blanks()
		if s.take(']') {
			s.depth--
			return nil
		}
		if !s.take(',') {
			return s.unexpected("after array element")
		}
		s.blanks()
	}
}

// enter skips an opening bracket.
func (s *scanner) enter() error {
	if s.depth == maxDepth {
		return s.broken(fmt.Sprintf("nested more than %d levels deep", maxDepth))
	}
	s.depth++
	s.pos++
	return nil
}

// str scans the string that begins at pos, and sets the properties of v.
func (s *scanner) str(v *value) error {
	s.pos++
	for {
		n, wide := plain(s.data[s.pos:])
		s.pos += n
		v.special = v.special || wide
		switch s.peek() {
		case '"':
			s.pos++
			return nil
		case '\\':
			s.pos++
			v.escaped = true
			v.special = v.special || s.peek() == 'u' || s.peek() == 'b'
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.unexpected("in string literal")
		}
	}
}

// plainWords returns how many bytes at the beginning of b, in a string, stand for themselves: all except a quote, a
// backslash and control characters. wide says that some of them are not ASCII. Most bytes of a corpus pass here, so it
// takes eight at a time; in each test below only the lowest set bit is exact, and only that bit is used.
func plainWords(b []byte) (n int, wide bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	all := uint64(0)
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		stop := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if stop != 0 {
			all |= w & (stop&-stop - 1)
			return n + bits.TrailingZeros64(stop)/8, all&highs != 0
		}
		all |= w
	}
	for n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\' {
		all |= uint64(b[n])
		n++
	}
	return n, all&highs != 0
}

// escape scans the bytes after a backslash.
func (s *scanner) escape() error {
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			if !isHex(s.peek()) {
				return s.unexpected("in \\u hexadecimal character escape")
			}
			s.pos++
		}
		return nil
	default:
		return s.unexpected("in string escape code")
	}
}

// number scans the number that begins at pos.
func (s *scanner) number() error {
	s.take('-')
	if !s.take('0') {
		if err := s.digits("in numeric literal"); err != nil {
			return err
		}
	}
	if s.take('.') {
		if err := s.digits("after decimal point in numeric literal"); err != nil {
			return err
		}
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits("in exponent of numeric literal")
	}
	return nil
}

// digits scans one or more digits.
func (s *scanner) digits(context string) error {
	if !isDigit(s.peek()) {
		return s.unexpected(context)
	}
	for isDigit(s.peek()) {
		s.pos++
	}
	return nil
}

// literal scans want, whose first byte is at pos.
func (s *scanner) literal(want string) error {
	for i := range len(want) {
		if !s.take(want[i]) {
			return s.unexpected("in literal " + want)
		}
	}
	return nil
}

// blanks skips white space.
func (s *scanner) blanks() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// take skips b if it is at pos.
func (s *scanner) take(b byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == b {
		s.pos++
		return true
	}
	return false
}

// peek returns the byte at pos or, at the end of the line, NUL, which JSON allows nowhere.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// unexpected returns an error about the byte at pos.
func (s *scanner) unexpected(context string) error {
	if s.pos >= len(s.data) {
		return s.broken("unexpected end of line")
	}
	// Quoted as a byte, because pos may be within a character.
	b := s.data[s.pos]
	if b == '\'' {
		return s.broken(`invalid character '\'' ` + context)
	}
	quoted := strconv.Quote(string([]byte{b}))
	return s.broken("invalid character '" + quoted[1:len(quoted)-1] + "' " + context)
}

// broken returns an error which says that the line is not JSON at pos. Columns are counted in bytes from 1.
func (s *scanner) broken(what string) error {
	return &codec.Error{Reason: codec.BrokenJSON, Detail: fmt.Sprintf("column %d: %s", s.pos+1, what)}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isHex(b byte) bool {
	return isDigit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}
