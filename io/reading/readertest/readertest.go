// Package readertest is the conformance suite of record readers. It includes a reader of row groups, which shows that
// the suite does not require a byte format.
package readertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// Case is a file and the records that a reader must find in it. Its columns are id and text.
type Case struct {
	Format     string // name of the format
	IDIsSource bool   // the file is one document
	Stored     []byte
	Records    []codectest.Planted
	// NeverKept says that all copies drop unreadable records, as a run does. A file that begins with one may not be
	// recognised.
	NeverKept bool
	// Without returns the content without the records at dropped, which are ascending positions.
	Without func(dropped []int64) string
	// Content returns the content of a stored file in the form of Without: its decompressed bytes, or its values.
	Content func(stored []byte) string
}

// Fields are the fields of every Case.
var Fields = codec.Fields{Text: []string{"text"}, ID: "id"}

// anyLength exceeds the length of any record.
const anyLength = 1 << 30

// Plant writes a file below a temporary folder and inspects it.
func Plant(t testing.TB, r reading.RecordReader, format string, stored []byte) *blocks.File {
	t.Helper()
	return plant(t, r, format, filepath.Join(t.TempDir(), "file"), stored)
}

func plant(t testing.TB, r reading.RecordReader, format, path string, stored []byte) *blocks.File {
	t.Helper()
	write(t, path, stored)
	file := Listed(t, path)
	file.Format = format
	if err := r.Inspect(t.Context(), file, reading.Options{Fields: Fields, MaxRecord: anyLength}); err != nil {
		t.Fatal(err)
	}
	return file
}

func write(t testing.TB, path string, stored []byte) {
	t.Helper()
	if _, err := storage.WriteFile(t.Context(), path,
		func(w io.Writer) error { _, err := w.Write(stored); return err }); err != nil {
		t.Fatal(err)
	}
}

// Listed returns a file in the form in which the planner lists it.
func Listed(t testing.TB, path string) *blocks.File {
	t.Helper()
	entries, err := storage.List(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return &blocks.File{Path: path, Source: filepath.Base(path), Size: entries[0].Size, Version: entries[0].Version}
}

// Spans returns the spans into which r cuts file.
func Spans(r reading.RecordReader, file *blocks.File, size int64) (spans []blocks.Span) {
	start := int64(0)
	for _, end := range r.Cut(file, size) {
		spans = append(spans, blocks.Span{Start: start, End: end})
		start = end
	}
	return append(spans, blocks.Span{Start: start, End: blocks.End})
}

// objects is the scheme of an object store, which keeps an open file unchanged.
const objects = "conformance://"

func init() { storage.Register(objects, &storagetest.Memory{}) }

var planted atomic.Int64 // objects in that store

// Run checks that r reads the records of c, from a disk and an object store, and fulfils the contract of
// reading.RecordReader. The subtests share r and run in parallel, so the race detector can see that it is immutable.
func Run(t *testing.T, r reading.RecordReader, c Case) {
	t.Helper()
	for name, check := range map[string]func(suite, *testing.T){
		"spans": suite.spans, "long": suite.long, "some": suite.some, "copies": suite.copies,
		"ends": suite.ends, "changes": suite.changes,
	} {
		for _, store := range []string{"", objects} {
			t.Run(store+name, func(t *testing.T) {
				t.Parallel()
				check(newSuite(t, r, c, store, c.Stored), t)
			})
		}
	}
}

type suite struct {
	Case
	r     reading.RecordReader
	store string // its scheme; "": a disk
	file  *blocks.File
}

func newSuite(t *testing.T, r reading.RecordReader, c Case, store string, stored []byte) suite {
	t.Helper()
	path := fmt.Sprint(store, planted.Add(1))
	if store == "" {
		path = filepath.Join(t.TempDir(), "file")
	}
	file := plant(t, r, c.Format, path, stored)
	file.IDIsSource = c.IDIsSource
	return suite{c, r, store, file}
}

// sizes returns sizes of spans: all up to the file's, or some for a long file. Spans of one byte cut wherever possible.
func (s suite) sizes() (sizes []int64) {
	step := 1 + s.file.Size/nightly.Or[int64](300, 60)
	for size := int64(1); size <= s.file.Size+step; size += step {
		sizes = append(sizes, size)
	}
	return sizes
}

// found is a record that was read.
type found struct {
	codectest.Planted
	long bool
}

func newFound(t *testing.T, record *reading.Record) found {
	t.Helper()
	f := found{codectest.Planted{Position: record.Position, ID: string(record.Doc.ID), Text: string(record.Doc.Text),
		Unreadable: record.Err != nil}, record.Long}
	if record.Err != nil {
		var e *codec.Error
		if !errors.As(record.Err, &e) || e.Reason == "" || record.Long {
			t.Errorf("record at %d, long %v: error %v, want a *codec.Error with a reason",
				record.Position, record.Long, record.Err)
		}
		f.Raw = string(record.Raw)
		f.ID, f.Text = "", ""
	}
	return f
}

// want returns what newFound should make of the planted records, where those of more than most bytes are long.
func (s suite) want(most int) (want []found) {
	for _, r := range codectest.Seen(s.Records, most) {
		f := found{r, len(r.Raw) > most}
		if f.long {
			f.ID, f.Text, f.Unreadable, f.Besides = "", "", false, false
		}
		if !f.Unreadable {
			f.Raw = ""
		}
		want = append(want, f)
	}
	return want
}

func (s suite) read(t *testing.T, most int, spans ...blocks.Span) (records []found, progress reading.Progress) {
	t.Helper()
	progress, err := s.r.Read(t.Context(), s.file, spans, reading.Options{Fields: Fields, MaxRecord: most},
		func(record *reading.Record) error {
			records = append(records, newFound(t, record))
			return nil
		})
	if err != nil {
		t.Fatalf("spans %+v: %v", spans, err)
	}
	for _, r := range records {
		if !slices.ContainsFunc(spans, func(span blocks.Span) bool {
			return span.Start <= r.Position &&
				r.Position < span.End
		}) {
			t.Errorf("spans %+v have the record at %d", spans, r.Position)
		}
	}
	return records, progress
}

func same(t *testing.T, got, want []found, format string, args ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf(format+": records\n%+v\nwant\n%+v", append(args, got, want)...)
	}
}

// spans checks that each record is read exactly once, in order, whatever the size of spans.
func (s suite) spans(t *testing.T) {
	_, whole := s.read(t, anyLength, blocks.Span{End: blocks.End})
	for _, size := range s.sizes() {
		var got []found
		var sum reading.Progress
		before := int64(0)
		var others []blocks.Span // every second span, and its records
		var want []found
		var share reading.Progress
		for i, span := range Spans(s.r, s.file, size) {
			if i > 0 && span.Start <= before {
				t.Fatalf("cuts %v do not ascend", s.r.Cut(s.file, size))
			}
			before = span.Start
			records, progress := s.read(t, anyLength, span)
			got = append(got, records...)
			sum.Content += progress.Content
			sum.Stored += progress.Stored
			if i%2 == 1 {
				others, want = append(others, span), append(want, records...)
				share.Content += progress.Content
				share.Stored += progress.Stored
			}
		}
		together, progress := s.read(t, anyLength, others...)
		same(t, together, want, "every second span of %d, at once", size)
		if progress != share {
			t.Errorf("every second span of %d: %+v was read at once, %+v one by one", size, progress, share)
		}
		same(t, got, s.want(anyLength), "spans of %d", size)
		if sum != whole || sum.Stored > s.file.Size {
			t.Errorf("spans of %d: %+v was read of %d bytes, want %+v", size, sum, s.file.Size, whole)
		}
	}
	if s.file.Sequential && len(s.r.Cut(s.file, 1)) > 0 {
		t.Error("a sequential file is cut")
	}
}

// long checks that a record is long by its length alone, whatever the span.
func (s suite) long(t *testing.T) {
	least := codectest.Least(s.Format, s.Records)
	for most := least + 16; most < least+60; most++ {
		sizes := []int64{s.file.Size + 1}
		if most%nightly.Or(1, 8) == 0 { // these cut records in two
			sizes = append(sizes, 1, 7)
		}
		for _, size := range sizes {
			var got []found
			for _, span := range Spans(s.r, s.file, size) {
				records, _ := s.read(t, most, span)
				got = append(got, records...)
			}
			same(t, got, s.want(most), "at most %d, spans of %d", most, size)
		}
	}
}

// selections returns subsets of a span's records, including none and all: every subset if there are few records.
func (s suite) selections(span blocks.Span) (selections [][]int64) {
	var positions []int64
	for _, r := range codectest.Seen(s.Records, anyLength) {
		if span.Start <= r.Position && r.Position < span.End {
			positions = append(positions, r.Position)
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(positions))))
	few := nightly.Or(6, 4)
	for n := range uint64(1) << min(len(positions), few) {
		if len(positions) > few && n > 0 {
			if n = random.Uint64(); len(selections) == 1 {
				n = 1<<len(positions) - 1 // all records
			}
		}
		selection := []int64{}
		for i, p := range positions {
			if n>>(i%64)&1 == 1 {
				selection = append(selection, p)
			}
		}
		selections = append(selections, selection)
	}
	return selections
}

// some checks that positions lead back to the records, in any ascending selection.
func (s suite) some(t *testing.T) {
	o := reading.Options{Fields: Fields, MaxRecord: anyLength}
	for _, size := range []int64{1, 7, 64, s.file.Size + 1} {
		for _, span := range Spans(s.r, s.file, size) {
			for _, selection := range s.selections(span) {
				var got []found
				err := s.r.ReadSome(t.Context(), s.file, span, selection, o, func(record *reading.Record) error {
					got = append(got, newFound(t, record))
					return nil
				})
				if err != nil {
					t.Fatalf("positions %v: %v", selection, err)
				}
				want := s.want(anyLength)
				want = slices.DeleteFunc(want, func(f found) bool { return !slices.Contains(selection, f.Position) })
				same(t, got, want, "positions %v of span %+v", selection, span)
			}
		}
	}
	err := s.r.ReadSome(t.Context(), s.file, blocks.Span{End: blocks.End}, []int64{1 << 39}, o,
		func(*reading.Record) error { return nil })
	if err == nil {
		t.Error("a record where none is: no error")
	}
}

// copies checks that a copy has all records except the dropped ones, and can be read like the file.
func (s suite) copies(t *testing.T) {
	o := reading.Options{Fields: Fields, MaxRecord: anyLength}
	whole := blocks.Span{End: blocks.End}
	for _, dropped := range s.selections(whole) {
		if s.IDIsSource && len(dropped) > 0 {
			continue // the file goes with its document
		}
		if s.NeverKept && slices.ContainsFunc(s.Records,
			func(r codectest.Planted) bool { return r.Unreadable && !slices.Contains(dropped, r.Position) }) {
			continue
		}
		var want []found
		for _, f := range s.want(anyLength) {
			if !slices.Contains(dropped, f.Position) {
				f.Position = 0
				want = append(want, f)
			}
		}
		for _, size := range []int64{s.file.Size + 1, 40} {
			spans := Spans(s.r, s.file, size)
			var got []found
			total := int64(0)
			for _, span := range spans {
				var b bytes.Buffer
				mine := slices.DeleteFunc(slices.Clone(dropped), func(p int64) bool { return p < span.Start || p >= span.End })
				kept, _, err := s.r.Copy(t.Context(), &b, s.file, span, reading.Changes{Dropped: mine}, o)
				if err != nil {
					t.Fatalf("dropped %v of span %+v: %v", mine, span, err)
				}
				total += kept
				if content := s.Content(b.Bytes()); len(spans) == 1 && content != s.Without(dropped) {
					t.Fatalf("without %v:\n%q\nwant\n%q", dropped, content, s.Without(dropped))
				}
				records, _ := newSuite(t, s.r, s.Case, objects, b.Bytes()).read(t, anyLength, whole)
				got = append(got, records...)
			}
			for i := range got {
				got[i].Position = 0
			}
			same(t, got, want, "copies of spans of %d without %v", size, dropped)
			if total != int64(len(want)) {
				t.Errorf("without %v: %d records are kept, want %d", dropped, total, len(want))
			}
		}
	}
	missing := reading.Changes{Dropped: []int64{1 << 39}}
	if _, _, err := s.r.Copy(t.Context(), io.Discard, s.file, whole, missing, o); err == nil {
		t.Error("dropped what is not there: no error")
	}
	if _, _, err := s.r.Copy(t.Context(), failing{}, s.file, whole, reading.Changes{}, o); len(s.Stored) > 0 &&
		!errors.Is(err, errFull) {
		t.Errorf("nowhere to write: error %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// ends checks that reading ends when it is told to.
func (s suite) ends(t *testing.T) {
	if len(codectest.Seen(s.Records, anyLength)) == 0 {
		return
	}
	o := reading.Options{Fields: Fields, MaxRecord: anyLength}
	whole := blocks.Span{End: blocks.End}
	all := []int64{codectest.Seen(s.Records, anyLength)[0].Position}
	oops := errors.New("oops")
	for _, told := range []error{reading.ErrStop, oops} {
		calls := 0
		see := func(*reading.Record) error { calls++; return told }
		_, err := s.r.Read(t.Context(), s.file, []blocks.Span{whole}, o, see)
		again := s.r.ReadSome(t.Context(), s.file, whole, all, o, see)
		if calls != 2 || errors.Is(told, oops) != errors.Is(err, oops) || errors.Is(told, oops) != errors.Is(again, oops) ||
			errors.Is(told, reading.ErrStop) && errors.Join(err, again) != nil {
			t.Errorf("told %v: %d calls, errors %v and %v", told, calls, err, again)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	see := func(*reading.Record) error { t.Error("a record after the end"); return nil }
	_, read := s.r.Read(ctx, s.file, []blocks.Span{whole}, o, see)
	_, _, copied := s.r.Copy(ctx, io.Discard, s.file, whole, reading.Changes{}, o)
	for name, err := range map[string]error{"Read": read, "ReadSome": s.r.ReadSome(ctx, s.file, whole, all, o, see),
		"Copy": copied} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s when all has ended: %v", name, err)
		}
	}
}

// changes checks that a file that changes before or during reading is an error (in an object store, before).
func (s suite) changes(t *testing.T) {
	o := reading.Options{Fields: Fields, MaxRecord: anyLength}
	whole := blocks.Span{End: blocks.End}
	var positions []int64
	for _, r := range codectest.Seen(s.Records, anyLength) {
		positions = append(positions, r.Position)
	}
	change := func() {
		t.Helper()
		more := append(slices.Clone(s.Stored), "more"...)
		if s.store != "" {
			write(t, s.file.Path, more)
		} else if err := os.WriteFile(s.file.Path, more, 0o666); err != nil { // the open file itself
			t.Fatal(err)
		}
	}
	for name, do := range map[string]func(see func()) error{
		"Read": func(see func()) error {
			_, err := s.r.Read(t.Context(), s.file, []blocks.Span{whole}, o, func(*reading.Record) error { see(); return nil })
			return err
		},
		"ReadSome": func(see func()) error {
			return s.r.ReadSome(t.Context(), s.file, whole, positions, o, func(*reading.Record) error { see(); return nil })
		},
		"Copy": func(see func()) error {
			_, _, err := s.r.Copy(t.Context(), calling(see), s.file, whole, reading.Changes{}, o)
			return err
		},
	} {
		write(t, s.file.Path, s.Stored)
		s.file.Version = Listed(t, s.file.Path).Version
		changed := len(positions) == 0 || s.store != ""
		if changed {
			change()
		}
		err := do(func() {
			if !changed {
				changed = true
				change()
			}
		})
		want := fmt.Sprintf("%s changed", s.file.Path)
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s of a file that changes: error %v", name, err)
		}
	}
}

// calling is a writer that calls a function.
type calling func()

func (c calling) Write(p []byte) (int, error) { c(); return len(p), nil }

// Pack compresses content as other programs do: gzip, zstd, or not at all.
func Pack(t testing.TB, content []byte, compression string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch compression {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		encoder, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = encoder
	default:
		return content
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Unpack is the reverse of Pack.
func Unpack(t testing.TB, content []byte, compression string) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(content)
	var err error
	switch compression {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
