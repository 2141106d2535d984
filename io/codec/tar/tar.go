// Package tar reads the files in a tar archive, each as one document: POSIX (ustar, pax) and GNU tar.
//
// A record is a member: its headers, including long names before it, and its content padded to a multiple of 512 bytes.
// The blocks of zeros that end an archive are filler, so archives may follow one another. A member's name is only its
// id: no file of that name is ever written.
package tar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/neardup/neardup/io/codec"
)

const block = 512

// New returns the codec of tar. A document is the content of a regular file, byte for byte; its id is the file's path.
func New(codec.Fields) codec.Codec { return members{} }

type members struct{ codec.Sequential } // a member may itself be an archive

func (c members) WithHeader([]byte) (codec.Codec, error) { return c, nil }

func (members) Start(data []byte, atEOF bool) (n int, ok bool) {
	for len(data)-n >= block && zeros(data[n:n+block]) {
		n += block
	}
	rest := data[n:]
	switch {
	case len(rest) >= block, atEOF && !zeros(rest):
		return n, true
	case atEOF:
		return len(data), false
	}
	return n, false
}

func zeros(data []byte) bool { return len(bytes.TrimLeft(data, "\x00")) == 0 }

// States of a record after its headers.
const (
	damaged codec.State = 1 + iota // a header is damaged: the record has all that follows
	content                        // of the content's last byte; one more for each byte still to come
)

func (members) End(data []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	if state == 0 {
		m, err := parse(data)
		switch {
		case errors.Is(err, errShort) && !atEOF && len(data) < codec.MaxHead:
			return 0, 0, false
		case err != nil:
			state = damaged
		case m.stored == 0:
			return m.head, 0, true
		default:
			n, state = m.head, content+codec.State(m.stored-1)
		}
	}
	if state == damaged {
		return len(data), damaged, atEOF
	}
	remaining := int64(state-content) + 1
	take := min(remaining, int64(len(data)-n))
	if n += int(take); remaining == take {
		return n, 0, true
	}
	return n, state - codec.State(take), atEOF
}

// Unclosed reports a member too long for Decode that ends early, or whose header is damaged: it may have swallowed
// others.
func (members) Unclosed(state codec.State, _ []byte, long bool) (what string, lost bool) {
	switch {
	case !long || state == 0:
		return "", false
	case state == damaged:
		return "the header of a file that begins there is damaged", true
	}
	return fmt.Sprintf("the archive ends %d bytes before the end of the file that begins there", state-content+1), true
}

func (members) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	m, err := parse(record)
	if err != nil {
		return &codec.Error{Reason: codec.BrokenTar, Detail: err.Error() + "; the rest of the archive cannot " +
			"be read, so fetch it again"}
	}
	doc.ID, doc.HasID = append(doc.ID, m.name...), m.name != ""
	if there := int64(len(record) - m.head); there < m.stored {
		return &codec.Error{Reason: codec.BrokenTar,
			Detail: fmt.Sprintf("the archive ends %d bytes before the end of this member; fetch it again", m.stored-there)}
	}
	doc.Text = append(doc.Text, record[m.head:m.head+int(m.size)]...)
	return nil
}

// Besides reports whether record, which is whole, is not a regular file but a folder, a link, a device, a sparse file,
// or headers for the following members. A damaged one is not Besides.
func Besides(record []byte) bool {
	m, err := parse(record)
	return err == nil && !m.regular && int64(len(record)-m.head) == m.stored
}

// member is the information in a member's headers.
type member struct {
	name    string
	head    int   // bytes of the headers
	size    int64 // bytes of the content
	stored  int64 // size of the content including its padding
	regular bool
}

// Types of headers (POSIX.1-2024, pax; GNU tar manual, "Basic Tar Format").
const (
	regular     = '0'
	oldRegular  = 0
	hardLink    = '1'
	fifo        = '6'
	contiguous  = '7'
	paxNext     = 'x' // applies to the next member
	gnuLongName = 'L'
	gnuLongLink = 'K'
	gnuSparse   = 'S'
)

var (
	errShort = errors.New("its header is truncated") // the headers continue beyond the data
	errHead  = fmt.Errorf("its headers have more than %d bytes", codec.MaxHead)
)

// parse reads the headers at the beginning of data.
func parse(data []byte) (m member, err error) {
	var pax, long []byte
	for {
		if len(data)-m.head < block {
			return m, errShort
		}
		h := data[m.head : m.head+block]
		if m.size, err = sizeOf(h); err != nil {
			return m, err
		}
		m.head += block
		kind := h[156]
		for more := kind == gnuSparse && h[482] != 0; more; m.head += block {
			switch {
			case m.head > codec.MaxHead-block:
				return m, errHead
			case len(data)-m.head < block:
				return m, errShort
			}
			more = data[m.head+504] != 0
		}
		if kind != paxNext && kind != gnuLongName && kind != gnuLongLink {
			return m, m.finish(h, pax, long)
		}
		padded := roundUp(m.size)
		switch {
		case int64(m.head)+padded > codec.MaxHead-block:
			return m, errHead
		case int64(len(data)-m.head) < padded:
			return m, errShort
		}
		switch value := data[m.head : m.head+int(m.size)]; kind {
		case paxNext:
			pax = value
		case gnuLongName:
			long = value
		}
		m.head += int(padded)
	}
}

// finish completes m from its own header and from those before it.
func (m *member) finish(h, pax, long []byte) error {
	m.name = cString(h[:100])
	if prefix := cString(h[345:500]); prefix != "" && string(h[257:263]) == "ustar\x00" {
		m.name = prefix + "/" + m.name
	}
	if long != nil {
		m.name = cString(long)
	}
	sparse := false
	for key, value := range paxRecords(pax) {
		switch {
		case key == "":
			return fmt.Errorf("its pax header is malformed at %.20q", value)
		case key == "path":
			m.name = value
		case key == "size":
			size, err := strconv.ParseInt(value, 10, 64)
			if err != nil || size < 0 || size > maxSize {
				return fmt.Errorf("its size is %q", value)
			}
			m.size = size
		case strings.HasPrefix(key, "GNU.sparse."):
			sparse = true
		}
	}
	kind := h[156]
	if kind >= hardLink && kind <= fifo {
		m.size = 0 // for links and folders, the field has no or another meaning
	}
	m.stored = roundUp(m.size)
	m.regular = (kind == regular || kind == oldRegular || kind == contiguous) && !sparse && !strings.HasSuffix(m.name, "/")
	return nil
}

// maxSize is larger than any file.
const maxSize = 1 << 60

func roundUp(size int64) int64 { return (size + block - 1) / block * block }

func cString(field []byte) string {
	s, _, _ := bytes.Cut(field, []byte{0})
	return string(s)
}

// octal returns the digits of a field. Some programs write a NUL before them.
func octal(field []byte) string {
	return strings.TrimRight(cString(bytes.TrimLeft(field, " \x00")), " ")
}

// sizeOf checks the checksum of a header and returns the size in it.
func sizeOf(h []byte) (int64, error) {
	var unsigned, signed int64
	for i, c := range h {
		if i >= 148 && i < 156 {
			c = ' ' // the checksum itself
		}
		unsigned += int64(c)
		signed += int64(int8(c)) // some programs sum signed bytes
	}
	sum, err := strconv.ParseInt(octal(h[148:156]), 8, 64)
	if err != nil || sum != unsigned && sum != signed {
		return 0, errors.New("the checksum of its header is wrong")
	}
	field := h[124:136]
	if field[0] == 0x80 && binary.BigEndian.Uint32(field) == 0x80000000 { // GNU tar, for 8 GiB and more
		if size := binary.BigEndian.Uint64(field[4:]); size < maxSize {
			return int64(size), nil
		}
		return 0, errors.New("its size is impossibly large")
	}
	digits := octal(field)
	if digits == "" {
		return 0, nil
	}
	size, err := strconv.ParseInt(digits, 8, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("its size is %q", digits)
	}
	return size, nil
}

// paxRecords yields the keys and values of records "LENGTH KEY=VALUE\n"; anything else with the key "".
func paxRecords(data []byte) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for len(data) > 0 {
			length, _, _ := strings.Cut(string(data[:min(len(data), 20)]), " ")
			n, err := strconv.Atoi(length)
			if err != nil || n <= len(length) || n > len(data) || data[n-1] != '\n' {
				yield("", string(data))
				return
			}
			key, value, ok := strings.Cut(string(data[len(length)+1:n-1]), "=")
			if !ok || key == "" {
				yield("", string(data))
				return
			}
			if !yield(key, value) {
				return
			}
			data = data[n:]
		}
	}
}
