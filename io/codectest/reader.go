package codectest

import (
	"fmt"
	"testing"

	"github.com/neardup/neardup/io/codec"
)

const (
	// overlap is the length of a window within which End must make progress after the header of a record.
	overlap = 16
	// progress is the same for Start.
	progress = 4096
)

// record is the place of a record in a file.
type record struct{ begin, end int }

func (r record) quote(file []byte) string {
	return fmt.Sprintf("\t[%d, %d) %q\n", r.begin, r.end, file[r.begin:r.end])
}

// reading says how to read a file.
type reading struct {
	step int  // how many bytes a window grows by
	drop bool // bytes of a record that were already searched are dropped
}

// window is the part of a file that a reader holds. Like most readers, it learns that the file has ended only when a
// further read returns nothing.
type window struct {
	file       []byte
	begin, end int
	step       int
	atEOF      bool
}

// bytes returns the window without spare capacity, so that a codec cannot look beyond it.
func (w *window) bytes() []byte { return w.file[w.begin:w.end:w.end] }

func (w *window) grow() {
	w.atEOF = w.end == len(w.file)
	w.end = min(w.end+w.step, len(w.file))
}

// readHeader returns the length of the header of a file.
func readHeader(t testing.TB, c codec.Codec, file []byte, step int) int {
	t.Helper()
	w := window{file: file, step: step}
	for {
		n, ok := c.Header(w.bytes(), w.atEOF)
		if ok {
			return n
		}
		if w.atEOF {
			t.Fatalf("no header at the end of %q", file)
		}
		w.grow()
	}
}

// readSplit returns the records that begin in [from, to). from must not lie before the end of the header.
func readSplit(t testing.TB, c codec.Codec, file []byte, from, to int, how reading) []record {
	t.Helper()
	w := window{file: file, begin: from - 1, end: from - 1, step: how.step}
	for {
		n, ok := c.Sync(w.bytes(), w.atEOF)
		if ok {
			return read(t, c, file, w.begin+n, to, how)
		}
		if w.atEOF {
			return nil
		}
		w.begin = w.end
		w.grow()
	}
}

// read returns the records that begin in [from, to), where from is a position at which Start may begin.
func read(t testing.TB, c codec.Codec, file []byte, from, to int, how reading) (records []record) {
	t.Helper()
	w := window{file: file, begin: from, end: from, step: how.step}
	for {
		begin, ok := start(t, c, &w)
		if !ok || begin >= to {
			return records
		}
		w.begin = end(t, c, &w, how.drop)
		records = append(records, record{begin, w.begin})
	}
}

// start advances w to the next record and returns its position.
func start(t testing.TB, c codec.Codec, w *window) (int, bool) {
	t.Helper()
	for {
		n, ok := c.Start(w.bytes(), w.atEOF)
		if !ok && n == 0 && len(w.bytes()) >= progress {
			t.Fatalf("Start is stuck in %d bytes at %d", len(w.bytes()), w.begin)
		}
		if !ok && w.atEOF && n != len(w.bytes()) {
			t.Fatalf("Start leaves %q at the end of the file, want all of it dropped", w.bytes()[n:])
		}
		w.begin += n
		if ok || w.atEOF {
			return w.begin, ok
		}
		w.grow()
	}
}

// end returns where the record at the start of w ends.
func end(t testing.TB, c codec.Codec, w *window, drop bool) int {
	t.Helper()
	begin := w.begin
	at, state := begin, codec.State(0)
	for {
		n, next, ok := c.End(w.bytes()[at-w.begin:], state, w.atEOF)
		if n < 0 {
			w.begin, at, state = begin, begin, next
			continue
		}
		at += n
		if ok {
			return at
		}
		if w.atEOF {
			t.Fatalf("no end at the end of the file: %q", w.bytes())
		}
		most := overlap
		if _, ok := c.(headed); ok && state == 0 {
			most = codec.MaxHead
		}
		if w.end-at >= most {
			t.Fatalf("End leaves %d bytes at %d to be searched again", w.end-at, at)
		}
		state = next
		if drop {
			w.begin = at
		}
		w.grow()
	}
}
