package pages

import (
	"bytes"

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

// besides are the beginnings of records that are Besides.
var besides = []string{"<!--", "<![CDATA[", "<?"}

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
	for _, begin := range besides {
		if n := min(len(begin), len(data)); string(data[:n]) == begin[:n] {
			return true, n == len(begin)
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
	matched codec.State // bytes that match what is expected
	depth   codec.State // number of open elements with the record's name
}

const (
	text      codec.State = iota
	opened                // after "<"
	startName             // in the name of a start tag
	endName
	ownTag // in the tag of an element with the record's name; matched: 1 after a slash
	otherTag
	ownEnd // in an end tag
	otherEnd
	inOwn // in a quoted attribute; matched is the quote
	inOther
	declared // after "<!"
	dashed   // after "<!-"
	section  // in "<![CDATA["
	declaration
	comment // matched: number of dashes
	data    // matched: number of brackets
	instruction
	closed // the record has ended, except perhaps for a line end
)

// Sizes of the fields of a State, in bits.
const (
	modeBits    = 5
	matchedBits = 11
)

func placeOf(s codec.State) place {
	return place{s & (1<<modeBits - 1), s >> modeBits & (1<<matchedBits - 1), s >> (modeBits + matchedBits)}
}

func (p place) state() codec.State {
	return p.mode | p.matched<<modeBits | p.depth<<(modeBits+matchedBits)
}

func (c *records) End(window []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	p := placeOf(state)
	for i := 0; i < len(window); i++ {
		if p.mode == text {
			skipped := bytes.IndexByte(window[i:], '<')
			if skipped < 0 {
				break
			}
			i += skipped
		}
		if p.mode == closed {
			n, ok := lineEnd(window[i:], atEOF)
			if !ok {
				return i, p.state(), false
			}
			return i + n, 0, true
		}
		if c.step(&p, window[i]); p.mode == text && p.depth == 0 { // the end of a record that is Besides
			return i + 1, 0, true
		}
	}
	if p.mode == closed && atEOF {
		return len(window), 0, true
	}
	return len(window), p.state(), atEOF
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

// step processes a byte.
func (c *records) step(p *place, b byte) {
	switch p.mode {
	case text:
		p.mode = opened
	case opened:
		c.open(p, b)
	case startName, endName:
		c.name(p, b)
	case ownTag, otherTag:
		c.tag(p, b)
	case inOwn, inOther:
		if codec.State(b) == p.matched {
			p.mode, p.matched = p.mode-inOwn+ownTag, 0
		}
	case ownEnd, otherEnd:
		if b == '>' {
			p.close(p.mode == ownEnd)
		}
	case declared:
		p.matched, p.mode = 0, declaration
		switch b {
		case '-':
			p.mode = dashed
		case '[':
			p.mode = section
		case '>':
			p.close(false)
		}
	case dashed:
		switch p.mode = declaration; b {
		case '-':
			p.mode = comment
		case '>':
			p.close(false)
		}
	case section:
		const rest = "CDATA["
		switch {
		case rest[p.matched] != b && b == '>':
			p.close(false)
		case rest[p.matched] != b:
			p.mode = declaration
		case int(p.matched) == len(rest)-1:
			p.mode, p.matched = data, 0
		default:
			p.matched++
		}
	case declaration:
		if b == '>' {
			p.close(false)
		}
	case comment:
		p.until(b, '-', 2)
	case data:
		p.until(b, ']', 2)
	case instruction:
		p.until(b, '?', 1)
	}
}

// until closes at a ">" that follows this many markers.
func (p *place) until(b, marker byte, times codec.State) {
	switch {
	case b == marker:
		p.matched = min(p.matched+1, times)
	case b == '>' && p.matched == times:
		p.close(false)
	default:
		p.matched = 0
	}
}

// open processes the byte after a "<".
func (c *records) open(p *place, b byte) {
	p.matched = 0
	switch {
	case b == '!':
		p.mode = declared
	case b == '?':
		p.mode = instruction
	case b == '/':
		p.mode = endName
	case b == '<':
	case markup.BeginsName(b):
		p.mode = startName
		c.name(p, b)
	default:
		p.mode = text
	}
}

// name processes a byte of a tag's name, or the byte after it.
func (c *records) name(p *place, b byte) {
	if !endsName(b) {
		if int(p.matched) < len(c.record) && c.record[p.matched] == b {
			p.matched++
		} else {
			p.matched = maxName + 1 // not the record's name
		}
		return
	}
	own := int(p.matched) == len(c.record)
	p.matched = 0
	switch {
	case p.mode == endName && own:
		p.mode = ownEnd
	case p.mode == endName:
		p.mode = otherEnd
	case own:
		p.mode = ownTag
		p.depth++
	default:
		p.mode = otherTag
	}
	c.step(p, b)
}

// tag processes a byte of a tag after its name.
func (*records) tag(p *place, b byte) {
	switch b {
	case '"', '\'':
		p.mode, p.matched = p.mode-ownTag+inOwn, codec.State(b)
	case '>':
		p.close(p.mode == ownTag && p.matched == 1)
	case '/':
		p.matched = 1
	default:
		p.matched = 0
	}
}

// close ends a tag or a piece that is Besides; own says that it also ends an element of the record's name.
func (p *place) close(own bool) {
	p.mode, p.matched = text, 0
	if !own {
		return
	}
	if p.depth--; p.depth == 0 {
		p.mode = closed
	}
}

// Unclosed reports an open record, or an open piece between two records: it may have swallowed others.
func (c *records) Unclosed(state codec.State, _ []byte) (what string, lost bool) {
	switch p := placeOf(state); {
	case state == 0:
		return "", false
	case p.depth > 0:
		return "the element " + c.record + " that begins there is not closed", true
	}
	return "the comment, section or instruction that begins there is not closed", true
}
