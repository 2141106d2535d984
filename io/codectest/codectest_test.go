package codectest_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
)

// dots is a small correct codec: records end with a dot, commas are filler, ! is a header.
type dots struct{}

func (dots) Header(data []byte, atEOF bool) (int, bool) {
	if len(data) == 0 {
		return 0, atEOF
	}
	return len(data[:1]) - len(bytes.TrimPrefix(data[:1], []byte("!"))), true
}

func (d dots) WithHeader([]byte) (codec.Codec, error) { return d, nil }

func (dots) Start(data []byte, _ bool) (int, bool) {
	n := len(data) - len(bytes.TrimLeft(data, ","))
	return n, n < len(data)
}

func (dots) End(data []byte, _ codec.State, atEOF bool) (int, codec.State, bool) {
	if i := bytes.IndexByte(data, '.'); i >= 0 {
		return i + 1, 0, true
	}
	return len(data), 0, atEOF
}

func (dots) Unclosed(codec.State, []byte, bool) (string, bool) { return "", false }

func (dots) Sync(data []byte, _ bool) (int, bool) {
	i := bytes.IndexAny(data, ".,")
	return i + 1, i >= 0
}

func (dots) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	if bytes.ContainsRune(record, '?') {
		return &codec.Error{Reason: "a question"}
	}
	doc.Text = append(doc.Text, record...)
	return nil
}

func (dots) Splittable() bool { return true }

func (dots) Separated() bool { return false }

// mutant is dots with one method replaced.
type mutant struct {
	dots
	header, start, sync func(data []byte, atEOF bool) (int, bool)
	end                 func(data []byte, state codec.State, atEOF bool) (int, codec.State, bool)
	decode              func(record []byte, doc *codec.Document) error
}

func (m mutant) WithHeader([]byte) (codec.Codec, error) { return m, nil }

func (m mutant) Header(data []byte, atEOF bool) (int, bool) {
	if m.header != nil {
		return m.header(data, atEOF)
	}
	return m.dots.Header(data, atEOF)
}

func (m mutant) Start(data []byte, atEOF bool) (int, bool) {
	if m.start != nil {
		return m.start(data, atEOF)
	}
	return m.dots.Start(data, atEOF)
}

func (m mutant) End(data []byte, state codec.State, atEOF bool) (int, codec.State, bool) {
	if m.end != nil {
		return m.end(data, state, atEOF)
	}
	return m.dots.End(data, state, atEOF)
}

func (m mutant) Sync(data []byte, atEOF bool) (int, bool) {
	if m.sync != nil {
		return m.sync(data, atEOF)
	}
	return m.dots.Sync(data, atEOF)
}

func (m mutant) Decode(record []byte, doc *codec.Document) error {
	if m.decode != nil {
		return m.decode(record, doc)
	}
	return m.dots.Decode(record, doc)
}

const sample = "!,one.,,a long record that is cut somewhere.why?.,three.,,four.,"

// verdict stands in for the testing.T of a test that may fail.
type verdict struct {
	testing.TB
	failed bool
}

func (*verdict) Helper() {}

func (v *verdict) Errorf(string, ...any) { v.failed = true }

func (v *verdict) Fatalf(string, ...any) { panic(v) }

func fails(t *testing.T, c codec.Codec, file string) (failed bool) {
	v := &verdict{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(v) {
			panic(r)
		} else if r != nil {
			failed = true
		}
	}()
	codectest.Invariants(v, c, []byte(file))
	return v.failed
}

func TestInvariantsHold(t *testing.T) {
	for _, file := range []string{"", "!", "!,,", ".", "a", sample, sample + "five"} {
		codectest.Invariants(t, dots{}, []byte(file))
		codectest.Invariants(t, mutant{}, []byte(file))
	}
}

// A suite that accepts these codecs would be worthless.
func TestInvariantsCatch(t *testing.T) {
	var kept []byte
	for name, m := range map[string]mutant{
		"header not waited for": {header: func(data []byte, _ bool) (int, bool) {
			n, _ := dots{}.Header(data, true)
			return n, true
		}},
		"no header at the end": {header: func([]byte, bool) (int, bool) { return 0, false }},
		"empty window is a record": {start: func(data []byte, atEOF bool) (int, bool) {
			n, ok := dots{}.Start(data, atEOF)
			return n, ok || !atEOF
		}},
		"filler left at the end": {start: func(data []byte, atEOF bool) (int, bool) {
			n, ok := dots{}.Start(data, atEOF)
			if !ok {
				return 0, false
			}
			return n, ok
		}},
		"filler in records": {start: func(data []byte, _ bool) (int, bool) { return 0, len(data) > 0 }},
		"records in filler": {start: func(data []byte, atEOF bool) (int, bool) {
			n, ok := dots{}.Start(data, atEOF)
			return n + len(data[n:])/20, ok
		}},
		"end of window is end of record": {end: func(data []byte, state codec.State, _ bool) (int, codec.State, bool) {
			return dots{}.End(data, state, true)
		}},
		"end needs the whole record": {end: func(data []byte, state codec.State, atEOF bool) (int, codec.State, bool) {
			if bytes.HasPrefix(data, []byte("at is")) {
				return 1, 0, true
			}
			return dots{}.End(data, state, atEOF)
		}},
		"searches all again": {end: func(data []byte, state codec.State, atEOF bool) (int, codec.State, bool) {
			n, next, ok := dots{}.End(data, state, atEOF)
			if !ok {
				n = 0
			}
			return n, next, ok
		}},
		"never ends": {end: func(data []byte, _ codec.State, _ bool) (int, codec.State, bool) { return len(data), 0, false }},
		"sync loses the first": {sync: func(data []byte, atEOF bool) (int, bool) {
			if len(data) == 0 {
				return 0, false
			}
			n, ok := dots{}.Sync(data[1:], atEOF)
			return n + 1, ok
		}},
		"sync does not skip": {sync: func(data []byte, _ bool) (int, bool) { return 1, len(data) > 0 }},
		"document not reset": {decode: func(record []byte, doc *codec.Document) error {
			doc.Text = append(doc.Text, record...)
			return nil
		}},
		"decode keeps the record": {decode: func(record []byte, doc *codec.Document) error {
			doc.Reset()
			doc.Text = append(doc.Text, kept...)
			kept = record
			return nil
		}},
		"error of another type": {decode: func([]byte, *codec.Document) error { return errors.New("oops") }},
		"id and no id": {decode: func(_ []byte, doc *codec.Document) error {
			doc.Reset()
			doc.ID = append(doc.ID, "id"...)
			return nil
		}},
		"text and no text": {decode: func(record []byte, doc *codec.Document) error {
			doc.Reset()
			doc.Text, doc.NoText = append(doc.Text, record...), true
			return nil
		}},
	} {
		if !fails(t, m, sample) {
			t.Errorf("%s: not caught", name)
		}
	}
}

func TestInvariantsCatchStuckStart(t *testing.T) {
	m := mutant{start: func(data []byte, atEOF bool) (int, bool) {
		n, ok := dots{}.Start(data, atEOF)
		if !ok && !atEOF {
			n = 0
		}
		return n, ok
	}}
	if fails(t, m, "a."+string(bytes.Repeat([]byte(","), 1000))) {
		t.Error("1000 bytes of filler: caught, want let pass")
	}
	if !fails(t, m, "a."+string(bytes.Repeat([]byte(","), 10000))) {
		t.Error("10000 bytes of filler: not caught")
	}
}
