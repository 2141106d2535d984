package pages

import (
	"bytes"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/markup"
	"github.com/neardup/neardup/io/codec"
)

// records is the codec of the elements of one name in an XML file. Comments, sections of character data and processing
// instructions between them are also records, which are Besides, so that nothing in them is taken for a record.
type records struct {
	page
	names []string // of the text columns
}

// maxName is the maximum length of a record's name, which a State must hold.
const maxName = 1000

func (c *records) WithHeader([]byte) (codec.Codec, error) {
	_, err := recordOf(c.names)
	return c, err
}

func (*records) Header(data []byte, atEOF bool) (int, bool) { return codec.BOM(data, atEOF) }

// Besides reports whether a record is not an element.
func Besides(record []byte) bool {
	begin := bytes.ReplaceAll(record[:min(len(record), 4)], []byte{0}, nil) // NULs of UTF-16
	return bytes.HasPrefix(begin, []byte("<!")) || bytes.HasPrefix(begin, []byte("<?"))
}

// pieces are what "<" begins besides start and end tags, and how they end. The first three are records between others.
var pieces = []struct{ begin, end string }{
	{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"},
}

// besides is the number of pieces that are records.
const besides = 3

func (c *records) Start(data []byte, atEOF bool) (n int, ok bool) {
	for ; ; n++ {
		i := bytes.IndexByte(data[n:], '<')
		if i < 0 {
			return len(data), false
		}
		n += i
		begins, whole := c.begins(data[n:])
		switch {
		case begins && whole:
			return n, true
		case begins && !atEOF:
			return n, false
		}
	}
}

// begins reports whether data, as far as it goes, begins a record, and whether it is long enough to be certain.
func (c *records) begins(data []byte) (begins, whole bool) {
	for _, piece := range pieces[:besides] {
		if n := min(len(piece.begin), len(data)); string(data[:n]) == piece.begin[:n] {
			return true, n == len(piece.begin)
		}
	}
	open := "<" + c.record
	n := min(len(open), len(data))
	if string(data[:n]) != open[:n] {
		return false, true
	}
	if len(data) <= len(open) {
		return true, false
	}
	return endsName(data[len(open)]), true
}

func endsName(b byte) bool {
	return b == ' ' || '\t' <= b && b <= '\r' && b != '\v' || b == '/' || b == '>'
}

// place is a position in a record, packed into a State.
type place struct {
	mode    codec.State
	own     codec.State // 1 in a tag of the record's name
	matched codec.State // in a name, bytes that match the record's; in a tag, 1 after a slash; in quotes, the quote
	depth   codec.State // number of open elements with the record's name
}

// Modes. That of a name precedes that of the rest of its tag.
const (
	text codec.State = iota
	startName
	startTag
	endName
	endTag
	quoted
	closed  // the record has ended, except perhaps for a line end
	inPiece // in the first of pieces; one more for each later one
)

// Sizes of the fields of a State, in bits.
const (
	modeBits    = 4
	matchedBits = 11
)

func placeOf(s codec.State) place {
	return place{s & (1<<modeBits - 1), s >> modeBits & 1, s >> (modeBits + 1) & (1<<matchedBits - 1),
		s >> (modeBits + 1 + matchedBits)}
}

func (p place) state() codec.State {
	return p.mode | p.own<<modeBits | p.matched<<(modeBits+1) | p.depth<<(modeBits+1+matchedBits)
}

func (c *records) End(window []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	p := placeOf(state)
	for n < len(window) {
		if p.mode == closed {
			size, ok := lineEnd(window[n:], atEOF)
			if !ok {
				return n, p.state(), false
			}
			return n + size, 0, true
		}
		size := c.step(&p, window[n:], atEOF)
		if n += size; size == 0 {
			break
		}
		if p.mode == text && p.depth == 0 { // the end of a record that is Besides
			return n, 0, true
		}
	}
	if p.mode == closed && atEOF {
		return n, 0, true
	}
	return n, p.state(), atEOF
}

// lineEnd returns the length of the line end that data begins with; ok is false if data is too short to tell.
func lineEnd(data []byte, atEOF bool) (n int, ok bool) {
	switch {
	case data[0] == '\n':
		return 1, true
	case data[0] != '\r' || len(data) == 1 && atEOF:
		return 0, true
	case len(data) == 1:
		return 0, false
	case data[1] == '\n':
		return 2, true
	}
	return 0, true
}

// step processes the beginning of data and returns its length; 0 if it depends on what follows.
func (c *records) step(p *place, data []byte, atEOF bool) int {
	switch p.mode {
	case text:
		switch n := bytes.IndexByte(data, '<'); n {
		case -1:
			return len(data)
		case 0:
			return p.open(data, atEOF)
		default:
			return n
		}
	case startName, endName:
		return c.name(p, data, atEOF)
	case startTag:
		return p.tag(data)
	case quoted:
		n, found := through(data, string(rune(p.matched)), atEOF)
		if found {
			p.mode, p.matched = startTag, 0
		}
		return n
	}
	end := ">"
	if p.mode >= inPiece {
		end = pieces[p.mode-inPiece].end
	}
	n, found := through(data, end, atEOF)
	if found {
		p.close(p.own)
	}
	return n
}

// through returns the length of data through the first end in it, or, without one, of what is before any end.
func through(data []byte, end string, atEOF bool) (n int, found bool) {
	if i := bytes.Index(data, []byte(end)); i >= 0 {
		return i + len(end), true
	}
	if atEOF {
		return len(data), false
	}
	return max(0, len(data)-len(end)+1), false
}

// open processes a "<" and, if it begins a piece or an end tag, the rest of that beginning.
func (p *place) open(data []byte, atEOF bool) int {
	for i, piece := range pieces {
		if bytes.HasPrefix(data, []byte(piece.begin)) {
			p.mode = inPiece + codec.State(i)
			return len(piece.begin)
		}
		if !atEOF && strings.HasPrefix(piece.begin, string(data[:min(len(data), len(piece.begin))])) {
			return 0
		}
	}
	switch {
	case len(data) == 1: // the file ends
	case data[1] == '/':
		p.mode = endName
		return 2
	case markup.BeginsName(data[1]):
		p.mode = startName
	}
	return 1
}

// name processes a tag's name and, if it is whole, what follows in the tag.
func (c *records) name(p *place, data []byte, atEOF bool) int {
	n := slices.IndexFunc(data, endsName)
	part := data
	if n >= 0 {
		part = data[:n]
	}
	if rest := c.record[min(int(p.matched), len(c.record)):]; strings.HasPrefix(rest, string(part)) {
		p.matched += codec.State(len(part))
	} else {
		p.matched = maxName + 1 // not the record's name
	}
	if n < 0 {
		return len(data)
	}
	if int(p.matched) == len(c.record) {
		p.own = 1
	}
	if p.mode == startName {
		p.depth += p.own
	}
	p.mode, p.matched = p.mode+1, 0
	return n + c.step(p, data[n:], atEOF)
}

// tag processes a byte of a start tag after its name.
func (p *place) tag(data []byte) int {
	switch b := data[0]; b {
	case '"', '\'':
		p.mode, p.matched = quoted, codec.State(b)
	case '>':
		p.close(p.own & p.matched)
	case '/':
		p.matched = 1
	default:
		p.matched = 0
	}
	return 1
}

// close ends a tag or a piece; ends is 1 if that also ends an element of the record's name.
func (p *place) close(ends codec.State) {
	*p = place{depth: p.depth - ends}
	if ends == 1 && p.depth == 0 {
		p.mode = closed
	}
}

// Unclosed reports an open record, or an open piece between two records: it may have swallowed others.
func (c *records) Unclosed(state codec.State, _ []byte, _ bool) (what string, lost bool) {
	switch {
	case state == 0:
		return "", false
	case placeOf(state).depth > 0:
		return "the element <" + c.record + "> that begins there is not closed", true
	}
	return "the comment, section or instruction that begins there is not closed", true
}
