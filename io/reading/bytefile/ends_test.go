package bytefile

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec/warc"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// TestUnclosed checks that a file which ends with an open element is not read as if it were complete, whether or not
// the open record is long, however large the file and in any encoding.
func TestUnclosed(t *testing.T) {
	many := strings.Repeat("{\"text\": \"a, b\"}\n", 5_000)
	for name, tt := range map[string]struct {
		format, content string
		at              int // of the record, or the end of the file
		want            string
	}{
		"an array behind a comma":  {"json", `[{"a":1},{"a":2},`, 17, ", but the array that the file begins with is not closed"},
		"an array behind a record": {"json", "[\n  {\n    \"a\": 1\n  }\n", 21, ", but the array that the file begins with is not closed"},
		"an empty array":           {"json", " [", 2, ", but the array that the file begins with is not closed"},
		"several arrays":           {"json", "[{}]\n[{}]\n", 10, ", but the array that the file begins with is not closed"},
		"an object":                {"json", "[\n  {\n    \"a\": 1,\n", 4, ": a bracket of the value that begins there is not closed, so 14 bytes were not read"},
		"an object by itself":      {"json", `{"a":1}{"a":{"b":2}`, 7, ": a bracket of the value that begins there is not closed, so 12 bytes"},
		"a string":                 {"json", `[{"a":1},{"a":"\`, 9, ": a quote in the value that begins there is not closed, so 7 bytes"},
		"a string by itself":       {"json", `{} "a`, 3, ": a quote in the value that begins there is not closed, so 2 bytes"},
		"an object in an array":    {"json", `[{"a":1},{"a":2,{"a":3}]`, 24, ", but the array that the file begins with is not closed; the last record (15 bytes) begins at byte 9; fix"},
		"a bracket far ahead":      {"json", "{\"text\": [}\n" + many, 0, fmt.Sprintf(": a bracket of the value that begins there is not closed, so %d bytes were not read", 12+len(many))},
		"a row":                    {"csv", "text\na\n\"b\n", 7, ": a quote in the row that begins there is not closed, so 3 bytes"},
		"a quote far ahead":        {"csv", "text\na\nb,\"c\n" + strings.Repeat("a\n", 200_000), 7, ": a quote in the row that begins there is not closed, so 400005 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, encoding := range []string{"", "utf-16le"} {
				for _, compression := range []string{"", "gzip"} {
					content, at, want := tt.content, tt.at, tt.want
					if encoding != "" {
						content, at, want = wide(content), 2*at, regexp.MustCompile(`(, so \d+ bytes|; the last record).*`).ReplaceAllString(want, "")
					}
					stored := readertest.Pack(t, []byte(content), compression)
					for _, most := range []int{10, 1000, anyLength} {
						for _, end := range []int64{int64(at + 1), blocks.End} { // a sample, and the whole file
							unclosed(t, tt.format, stored, reading.Options{Encoding: encoding, MaxRecord: most}, end, at, want)
						}
					}
				}
			}
		})
	}
}

// TestUnclosedArchive checks that an archive which ends within a file too long to be decoded, or in which such a one may
// have swallowed others, is not read as if it were complete. A shorter one is an unreadable record.
func TestUnclosedArchive(t *testing.T) {
	const most = 4096
	files := func(sizes ...int) []byte {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, size := range sizes {
			err := w.WriteHeader(&tar.Header{Name: "a", Mode: 0o600, Size: int64(size)})
			if _, failed := w.Write(bytes.Repeat([]byte("a"), size)); err != nil || failed != nil {
				t.Fatal(err, failed)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return archive.Bytes()
	}
	pages := func(sizes ...int) []byte {
		var archive bytes.Buffer
		for _, size := range sizes {
			fmt.Fprintf(&archive, "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", size, strings.Repeat("a", size))
		}
		return archive.Bytes()
	}
	damaged := slices.Concat(files(10), bytes.Repeat([]byte("x"), 512), files(5000))
	for name, tt := range map[string]struct {
		format  string
		content []byte
		at      int
		want    string
	}{
		"a damaged header":    {"tar", damaged, 1024, ": the header of a file that begins there is damaged, so 6144 bytes were not read"},
		"a file cut off":      {"tar", files(10, 5120)[:1024+512+5000], 1024, ": the archive ends 120 bytes before the end of the file that begins there, so 5512 bytes were not read"},
		"a page cut off":      {"warc", pages(10, 6000)[:6000], len(pages(10)), ": the record that begins there has a wrong header or length, or is cut off, so "},
		"no header of a page": {"warc", slices.Concat([]byte("WARC/1.0 "), bytes.Repeat([]byte("x"), 5000)), 0, ": the record that begins there has a wrong header or length, or is cut off, so 5009 bytes were not read"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, compression := range []string{"", "gzip"} {
				stored := readertest.Pack(t, tt.content, compression)
				unclosed(t, tt.format, stored, reading.Options{MaxRecord: most}, blocks.End, tt.at, tt.want)
				path := filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(path, stored, 0o666); err != nil {
					t.Fatal(err)
				}
				var broken []int64
				file, o := readertest.Listed(t, path), reading.Options{MaxRecord: anyLength}
				if err := readers[tt.format].Inspect(t.Context(), file, o); err != nil {
					t.Fatal(err)
				}
				_, err := readers[tt.format].Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o,
					func(record *reading.Record) error {
						if record.Err != nil {
							broken = append(broken, record.Position)
						}
						return nil
					})
				if err != nil || !slices.Equal(broken, []int64{int64(tt.at)}) {
					t.Errorf("if records may have any length: error %v, unreadable at %d, want at %d", err, broken, tt.at)
				}
			}
		})
	}
}

// wide returns ASCII text as UTF-16.
func wide(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }

func unclosed(t *testing.T, format string, stored []byte, o reading.Options, end int64, at int, want string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, stored, 0o666); err != nil {
		t.Fatal(err)
	}
	file := readertest.Listed(t, path)
	if err := readers[format].Inspect(t.Context(), file, o); err != nil {
		t.Fatal(err)
	}
	_, err := readers[format].Read(t.Context(), file, []blocks.Span{{End: end}}, o, func(*reading.Record) error { return nil })
	place := fmt.Sprintf("at byte %d", at)
	if file.Compression != "" {
		place += " of its content"
	}
	if strings.HasPrefix(want, ":") {
		want = path + strings.Replace(want, "there", place, 1)
	} else {
		want = path + " ends " + place + want
	}
	if broken := (*reading.ContentError)(nil); !errors.As(err, &broken) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%+v, up to %d: error %v, want %s", o, end, err, want)
	}
}

// TestClosed checks that a complete file is accepted whatever stands at its end.
func TestClosed(t *testing.T) {
	for format, contents := range map[string][]string{
		"json": {"", "\n", "[]", "[] \n", `[{"a":1},]`, `{"a":1}`, `{"a":1}]`, "1 2", "[\"a\"]\n\n", "[" + strings.Repeat(" ", 3000) + "{}]"},
		"csv":  {"", "a", "a\n\"b\"", "a\nb\"\n", "a\n\"b\"\"\"", "a\n\"b\"c\n", "a\n\"b\"c\"\n"},
	} {
		for _, content := range contents {
			in := plant(t, "lines", []byte(content))
			in.reader = readers[format]
			o := reading.Options{MaxRecord: anyLength}
			if err := in.reader.Inspect(t.Context(), in.file, o); err != nil {
				t.Fatal(err)
			}
			if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, o, func(*reading.Record) error { return nil }); err != nil {
				t.Errorf("%q: %v", content, err)
			}
		}
	}
}

// lying returns a record that states a wrong length for its content.
func lying(id, text string, length int) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", id, length, text)
}

// comeTrue reports whether, of every step-th record, one record's claim about its end is true, or becomes true for a
// later record with a wrong length.
func comeTrue(records []string, claims []int, step int) bool {
	content := ""
	var claimed []int
	for i := 0; i < len(records); i += step {
		content += records[i]
		if claims[i] == 0 {
			continue
		}
		claimed = append(claimed, len(content)-len(records[i])+claims[i])
		for _, claim := range claimed {
			if claim <= len(content) && strings.Trim(content[claim:], "\r\n") == "" {
				return true
			}
		}
	}
	return false
}

// TestLyingLengths checks that a WARC record with a wrong length is unreadable and does not affect the other records,
// in windows and spans of any size.
func TestLyingLengths(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := &codectest.Sample{Format: "warc"}
		var raws []string
		var claims []int // for each record, where it says its content ends; 0 if it tells the truth
		for i := range rapid.IntRange(1, 8).Draw(r, "records") {
			id, text := fmt.Sprint(i), strings.Repeat("x\r\n", rapid.IntRange(0, 5).Draw(r, "lines"))
			raw := codectest.WARC("conversion", id, "text/plain", text)
			claim := 0
			if rapid.Bool().Draw(r, "lies") {
				length := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 1500), rapid.Just(1<<50)).Draw(r, "length")
				raw = lying(id, text, length)
				claim = strings.Index(raw, "\r\n\r\n") + 4 + length
				s.Record(raw, "", "")
				s.Records[i].Unreadable = true
			} else {
				s.Record(raw, id, text)
			}
			raws, claims = append(raws, raw), append(claims, claim)
		}
		if comeTrue(raws, claims, 1) || comeTrue(raws, claims, 2) { // Invariants removes every second record
			r.Skip()
		}
		codectest.Invariants(t, codectest.Headed(warc.New(readertest.Fields)), s.Content)
		got, content := readAll(t, plant(t, "warc", s.Content), whole, anyLength)
		for i := range s.Records {
			if s.Records[i].Unreadable {
				got[min(i, len(got)-1)].ID = ""
			}
		}
		if !slices.Equal(got, s.Records) || !bytes.Equal(content, s.Content) {
			r.Fatalf("%q has the records\n%+v\nwant\n%+v", s.Content, got, s.Records)
		}
	})
}

// TestTakenRecords checks that a length which ends at the end of a later record does not swallow that record, whichever
// of its line ends it includes.
func TestTakenRecords(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var taken string
		var want []string
		for i := range rapid.IntRange(1, 4).Draw(r, "taken") {
			id, kind := fmt.Sprint("taken ", i), rapid.SampledFrom([]string{"conversion", "request"}).Draw(r, "type")
			if kind == "conversion" {
				want = append(want, id)
			}
			taken += codectest.WARC(kind, id, "text/plain", rapid.StringMatching("(one|two\r\n|WARC/1\\.0\r\n){0,5}").Draw(r, "text"))
		}
		text := rapid.SampledFrom([]string{"", "text", "\nWARC/1.0 is a format\n"}).Draw(r, "before")
		length := len(text) + len("\r\n\r\n") + len(taken) - rapid.IntRange(0, len("\r\n\r\n")).Draw(r, "line ends")
		content := lying("liar", text, length) + taken
		if rapid.Bool().Draw(r, "more") {
			content += codectest.WARC("conversion", "last", "text/plain", "last")
			want = append(want, "last")
		}
		codectest.Invariants(t, codectest.Headed(warc.New(readertest.Fields)), []byte(content))
		var got []string
		records, _ := readAll(t, plant(t, "warc", []byte(content)), whole, anyLength)
		for _, record := range records {
			if !record.Unreadable {
				got = append(got, record.ID)
			}
		}
		if !slices.Equal(got, want) || !records[0].Unreadable {
			r.Fatalf("%q has the records %q, want %q", content, got, want)
		}
	})
}

// TestLyingLongLength checks that a file cannot be read to its end if a long record has swallowed others, which are
// lost.
func TestLyingLongLength(t *testing.T) {
	one := codectest.WARC("conversion", "a", "text/plain", "one")
	for _, length := range []int{9_000, 1 << 50} {
		content := one + lying("b", "two", length) + strings.Repeat(one, 100)
		for _, most := range []int{200, 8000} {
			unclosed(t, "warc", []byte(content), reading.Options{MaxRecord: most}, blocks.End, len(one), ": the record that begins there states a wrong length, and contains other records, so ")
		}
		if got, _ := readAll(t, plant(t, "warc", []byte(content)), whole, 20_000); len(got) != 102 {
			t.Errorf("%d records, want 102", len(got))
		}
	}
	archived := codectest.WARC("resource", "archive", "text/plain", strings.TrimSpace(strings.Repeat(one, 100)))
	if got, _ := readAll(t, plant(t, "warc", []byte(one+archived+one)), whole, 200); len(got) != 3 {
		t.Errorf("a long record that ends with another: %d records, want 3", len(got))
	}
}
