// Package codectest is the conformance suite for codecs.
//
// A test of a codec calls Run with a sample file, and a fuzz target calls Fuzz: all ways to cut a file into windows and
// splits must agree even on files that make no sense.
package codectest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
)

// Want is what a record of a sample must decode to: a document, or the error of a record that cannot be read.
type Want struct {
	Position int64
	ID       string // "" for none
	Text     string
	NoText   bool
	Reason   string // of the error, if the record is unreadable; ID may still be set
}

// Run checks that c reads want from sample and satisfies the contract of codec.Codec. It does so with the sample as
// given, with CRLF instead of LF, without its last newline, and with a byte order mark. The sample must therefore be
// ASCII or UTF-8, use LF only, and not end with an empty line. It should have a few hundred bytes, some filler, an
// unreadable record if the format has such a thing, and a readable last record. The subtests share c and run in
// parallel, so that the race detector can check that it is immutable.
func Run(t *testing.T, c codec.Codec, sample []byte, want []Want) {
	t.Helper()
	t.Run("as it stands", func(t *testing.T) {
		t.Parallel()
		check(t, c, sample, want)
	})
	t.Run("CRLF", func(t *testing.T) {
		t.Parallel()
		want := slices.Clone(want)
		for i := range want {
			want[i].Position += int64(bytes.Count(sample[:want[i].Position], []byte("\n")))
		}
		check(t, withoutCR{c}, bytes.ReplaceAll(sample, []byte("\n"), []byte("\r\n")), want)
	})
	t.Run("no last newline", func(t *testing.T) {
		t.Parallel()
		check(t, c, bytes.TrimSuffix(sample, []byte("\n")), want)
	})
	t.Run("byte order mark", func(t *testing.T) {
		t.Parallel()
		const mark = "\xEF\xBB\xBF"
		marked := append([]byte(mark), sample...)
		header, ok := c.Header(marked, true)
		if !ok || header == 0 {
			return // the format takes the mark for content; its own tests check what happens
		}
		want := slices.Clone(want)
		for i := range want {
			want[i].Position += int64(len(mark))
		}
		check(t, c, marked, want)
	})
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		check(t, c, nil, nil)
	})
}

// Headed returns c as a codec whose records begin with a header that states their length, so that End may wait for it.
func Headed(c codec.Codec) codec.Codec { return headed{c} }

type headed struct{ codec.Codec }

func (c headed) WithHeader(header []byte) (codec.Codec, error) {
	inner, err := c.Codec.WithHeader(header)
	return headed{inner}, err
}

// withoutCR removes CR from texts: a text may span lines, and a CRLF inside it is kept.
type withoutCR struct{ codec.Codec }

func (c withoutCR) WithHeader(header []byte) (codec.Codec, error) {
	inner, err := c.Codec.WithHeader(header)
	return withoutCR{inner}, err
}

func (c withoutCR) Decode(record []byte, doc *codec.Document) error {
	err := c.Codec.Decode(record, doc)
	doc.Text = bytes.ReplaceAll(doc.Text, []byte("\r"), nil)
	return err
}

func check(t *testing.T, c codec.Codec, file []byte, want []Want) {
	t.Helper()
	header := readHeader(t, c, file, len(file))
	with, err := c.WithHeader(file[:header])
	if err != nil {
		t.Fatalf("WithHeader(%q): %v", file[:header], err)
	}
	var got []Want
	var doc codec.Document
	for _, r := range read(t, with, file, header, len(file), reading{step: len(file)}) {
		got = append(got, decode(t, with, file, r, &doc))
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("record %d: got %+v, want none", i, got[i])
		case i >= len(got):
			t.Errorf("record %d: got none, want %+v", i, want[i])
		case got[i] != want[i]:
			t.Errorf("record %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
	Invariants(t, c, file)
}

// decode decodes a record with the codec and returns the result.
func decode(t testing.TB, with codec.Codec, file []byte, r record, doc *codec.Document) Want {
	t.Helper()
	raw := bytes.Clone(file[r.begin:r.end])
	err := with.Decode(raw, doc)
	clear(raw) // anything that doc still shares with raw would be lost
	got := Want{Position: int64(r.begin), ID: string(doc.ID)}
	if !doc.HasID && got.ID != "" {
		t.Errorf("record at %d has an id %q and no id", r.begin, got.ID)
	}
	if err != nil {
		var unreadable *codec.Error
		if !errors.As(err, &unreadable) || unreadable.Reason == "" {
			t.Fatalf("record at %d: error %v (%T), want a *codec.Error with a reason", r.begin, err, err)
		}
		got.Reason = unreadable.Reason
		return got
	}
	got.Text, got.NoText = string(doc.Text), doc.NoText
	if got.NoText && got.Text != "" {
		t.Errorf("record at %d has the text %q and no text", r.begin, got.Text)
	}
	return got
}

// Fuzz calls Invariants with the files that the fuzzer finds.
func Fuzz(f *testing.F, c codec.Codec, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		// Invariants takes time proportional to the square of the size, and a short file shows as much.
		if len(file) <= 512 {
			Invariants(t, c, file)
		}
	})
}

// Invariants checks properties that hold for any file, however broken: windows of every size find the same records; the
// middle of an over-long record can be dropped; of two splits exactly one has each record; and a file from which
// records and filler were removed has exactly the remaining records. It does nothing if c rejects the header of the
// file.
func Invariants(t testing.TB, c codec.Codec, file []byte) {
	t.Helper()
	invariants(t, c, file, false)
}

// EncodedInvariants checks the same as Invariants, except that unreadable records are not kept when records are
// removed, just as no corpus keeps them. Such a record may end within a character, which the bytes that now follow
// would complete.
func EncodedInvariants(t testing.TB, c codec.Codec, file []byte) {
	t.Helper()
	invariants(t, c, file, true)
}

func invariants(t testing.TB, c codec.Codec, file []byte, readable bool) {
	t.Helper()
	header := readHeader(t, c, file, len(file))
	with, err := c.WithHeader(file[:header])
	if err != nil {
		return
	}
	whole := read(t, with, file, header, len(file), reading{step: len(file)})
	tile(t, file, header, whole)
	decodeAfresh(t, with, file, whole)

	for _, step := range []int{1, 2, 3, 7, 61} {
		if got := readHeader(t, c, file, step); got != header {
			t.Errorf("windows growing by %d: header of %d bytes, want %d", step, got, header)
		}
		for _, drop := range []bool{false, true} {
			how := reading{step: step, drop: drop}
			same(t, file, read(t, with, file, header, len(file), how), whole, "%+v", how)
		}
	}
	if with.Splittable() {
		// Testing a split at each offset costs the square of the size; long files have a few hundred.
		stride := 1 + len(file)/512
		for at := header + 1; at < len(file); at += stride {
			how := reading{step: 1 + at%64}
			both := slices.Concat(
				read(t, with, file, header, at, how),
				readSplit(t, with, file, at, len(file), how))
			same(t, file, both, whole, "split at %d", at)
		}
	}
	leaveOut(t, c, file, header, whole, func(r record) bool {
		return !readable || decode(t, with, file, r, new(codec.Document)).Reason == ""
	})
}

// tile checks that the records are in order and do not overlap.
func tile(t testing.TB, file []byte, header int, records []record) {
	t.Helper()
	end := header
	for _, r := range records {
		if r.begin < end || r.end <= r.begin || r.end > len(file) {
			t.Fatalf("records %v do not tile %q with a header of %d bytes", records, file, header)
		}
		end = r.end
	}
}

// decodeAfresh checks that a reused Document decodes to the same as a new one.
func decodeAfresh(t testing.TB, with codec.Codec, file []byte, records []record) {
	t.Helper()
	used := codec.Document{ID: []byte("used"), HasID: true, Text: []byte("used"), NoText: true}
	for _, r := range records {
		fresh := decode(t, with, file, r, new(codec.Document))
		if again := decode(t, with, file, r, &used); again != fresh {
			t.Errorf("record %q: got %+v in a used document, want %+v", file[r.begin:r.end], again, fresh)
		}
	}
}

// leaveOut removes every second record, and filler that neither separates records nor comes first, and checks that what
// is left is a file with exactly the other records that may be kept: a corpus without its near-duplicates.
func leaveOut(t testing.TB, c codec.Codec, file []byte, header int, records []record, keep func(record) bool) {
	t.Helper()
	const mark = "\xEF\xBB\xBF"
	if bytes.Contains(file[header:], []byte(mark)) {
		return // it might now come first, where it would be a header
	}
	begin := header
	if c.Separated() && len(records) > 0 {
		begin = records[0].begin
	}
	left := bytes.Clone(file[:begin])
	var want []record
	for i := 0; i < len(records); i += 2 {
		r := records[i]
		if !keep(r) {
			continue
		}
		if c.Separated() && len(want) > 0 { // separated by the filler of one side, if there is any
			gap := file[records[i-1].end:r.begin]
			if len(gap) == 0 {
				gap = file[records[i-2].end:records[i-1].begin]
			}
			left = append(left, gap...)
		}
		want = append(want, record{len(left), len(left) + r.end - r.begin})
		left = append(left, file[r.begin:r.end]...)
	}
	if got := readHeader(t, c, left, len(left)); got != header {
		t.Fatalf("%q has a header of %d bytes, want %d", left, got, header)
	}
	with, err := c.WithHeader(left[:header])
	if err != nil {
		t.Fatalf("header %q: %v", left[:header], err)
	}
	same(t, left, read(t, with, left, header, len(left), reading{step: len(left)}), want, "records left out of %q", file)
}

func same(t testing.TB, file []byte, got, want []record, format string, args ...any) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	t.Errorf(format, args...)
	t.Fatalf("got records\n%s\nwant\n%s", list(file, got), list(file, want))
}

func list(file []byte, records []record) string {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.quote(file))
	}
	return b.String()
}
