package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

var (
	options = reading.Options{Fields: readertest.Fields, MaxRecord: 1 << 20}
	whole   = blocks.Span{End: blocks.End}
)

// archive is a file of gzip members being built.
type archive struct {
	stored  []byte
	records []codectest.Planted // as they must be read
	members []codectest.Planted // all of them; Raw is what is stored
}

// pack returns a gzip member. Level 0 stores its content uncompressed.
func pack(t testing.TB, level int, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		_, err = io.WriteString(z, content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// add adds stored bytes that must be read as p, whose Raw is their content.
func (a *archive) add(stored []byte, p codectest.Planted) {
	p.Position = int64(len(a.stored))
	a.records = append(a.records, p)
	p.Raw = string(stored)
	a.members = append(a.members, p)
	a.stored = append(a.stored, stored...)
}

func (a *archive) record(t testing.TB, kind, id, text string) {
	raw := codectest.WARC(kind, id, "text/plain", text)
	p := codectest.Planted{Raw: raw, ID: id, Text: text, Besides: kind == "warcinfo"}
	a.add(pack(t, 6, raw), p)
}

func (a *archive) garbage(stored []byte) {
	a.add(stored, codectest.Planted{Raw: string(stored), Unreadable: true})
}

// without returns the stored bytes of all members but the dropped ones.
func (a *archive) without(dropped []int64) string {
	var b strings.Builder
	for _, m := range a.members {
		if !slices.Contains(dropped, m.Position) {
			b.WriteString(m.Raw)
		}
	}
	return b.String()
}

func (a *archive) run(t *testing.T) {
	readertest.Run(t, Reader{}, readertest.Case{
		Format: "warc", Stored: a.stored, Records: a.records, NeverKept: true, Without: a.without, Content: func(stored []byte) string { return string(stored) },
	})
}

// noise returns text that gzip hardly compresses.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x ", random.Uint64())
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	var small archive
	small.record(t, "warcinfo", "info", "software")
	small.record(t, "conversion", "a", "one")
	small.record(t, "response", "b", "two") // not HTTP, so its content is text
	small.add(pack(t, 6, codectest.WARC("conversion", "c", "text/plain", "x")+"y"), codectest.Planted{Raw: codectest.WARC("conversion", "c", "text/plain", "x") + "y", Unreadable: true})
	small.add(pack(t, 6, ""), codectest.Planted{Besides: true})
	small.record(t, "conversion", "", strings.Repeat("three ", 100))

	var broken archive
	broken.record(t, "conversion", "a", "one")
	member := pack(t, 6, codectest.WARC("conversion", "b", "text/plain", "two"))
	member[len(member)-5] ^= 1 // part of the checksum
	broken.garbage(member)
	broken.record(t, "conversion", "c", "three")

	var between archive
	between.record(t, "conversion", "a", "one")
	between.garbage([]byte("what is here?"))
	between.record(t, "conversion", "b", "two")

	var last archive
	last.record(t, "conversion", "a", "one")
	last.garbage(member[:len(member)-9])

	for name, a := range map[string]*archive{"small": &small, "broken": &broken, "between": &between, "truncated": &last} {
		t.Run(name, a.run)
	}
	for _, sample := range codectest.Samples() {
		if sample.Format != "warc" {
			continue
		}
		for _, compression := range []string{"", "gzip", "zstd"} { // compression of all records in one stream
			t.Run("a stream "+compression, func(t *testing.T) {
				readertest.Run(t, Reader{}, readertest.Case{
					Format: "warc", Records: sample.Records, Stored: readertest.Pack(t, sample.Content, compression), Without: sample.Without,
					Content: func(stored []byte) string { return string(readertest.Unpack(t, stored, compression)) },
				})
			})
		}
	}
}

// TestSpans checks that spans of a longer file find each record once, starting in the middle of members and of bytes
// that are none. Some records contain members, which must not be found.
func TestSpans(t *testing.T) {
	nightly.Checks(t, 25)
	rapid.Check(t, func(r *rapid.T) {
		var inner, a archive
		for i := range 40 {
			inner.record(t, "conversion", fmt.Sprint("inner", i), noise(500+i))
		}
		a.record(t, "warcinfo", "", "")
		for i := range rapid.IntRange(1, 30).Draw(r, "records") {
			switch rapid.IntRange(0, 7).Draw(r, "kind") {
			case 0:
				raw := codectest.WARC("resource", fmt.Sprint(i), "application/gzip", string(inner.stored))
				a.add(pack(t, 0, raw), codectest.Planted{ID: fmt.Sprint(i)})
			case 1:
				bad := pack(t, 6, codectest.WARC("conversion", "", "text/plain", noise(3000)))
				bad[len(bad)/2]++
				a.garbage(bad)
			default:
				a.record(t, "conversion", fmt.Sprint(i), noise(rapid.IntRange(0, 100_000).Draw(r, "bytes")))
			}
		}
		a.record(t, "conversion", "tail", noise(150_000)) // a member is only certain by what follows it
		for len(a.stored) < 2*storedBlock {
			a.record(t, "conversion", "more", noise(50_000))
		}
		file := readertest.Plant(t, Reader{}, "warc", a.stored)
		read := func(size int64) (positions []int64) {
			for _, span := range readertest.Spans(Reader{}, file, size) {
				if _, err := (Reader{}).Read(t.Context(), file, []blocks.Span{span}, options, func(record *reading.Record) error {
					positions = append(positions, record.Position)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			return positions
		}
		all := read(file.Size + 1)
		if got := read(rapid.Int64Range(10_000, file.Size).Draw(r, "size")); !slices.Equal(got, all) {
			r.Fatalf("records at %v, want %v", got, all)
		}
		if got := read(rapid.Int64Range(300_000, 600_000).Draw(r, "large")); !slices.Equal(got, all) {
			r.Fatalf("records at %v, want %v", got, all)
		}
		for _, m := range a.members {
			if m.ID != "" && !slices.Contains(all, m.Position) && !behindGarbage(&a, m.Position) {
				r.Fatalf("no record at %d, which is %s", m.Position, m.ID)
			}
		}
	})
}

// behindGarbage reports whether a member is stored in a stored block after a broken one and before the next broken one.
// Such a member is not certain and counts as part of the broken data.
func behindGarbage(a *archive, position int64) bool {
	i := slices.IndexFunc(a.members, func(m codectest.Planted) bool { return m.Position == position })
	before := slices.ContainsFunc(a.members[:i], func(m codectest.Planted) bool { return m.Unreadable })
	after := slices.ContainsFunc(a.members[i:], func(m codectest.Planted) bool {
		return m.Unreadable && m.Position-position < storedBlock
	})
	return before && after
}

// TestSeek checks that from any position, the next member found is the one that a walk from the start of the file
// finds: not one of those stored uncompressed inside another, and the first one after a member that breaks off.
func TestSeek(t *testing.T) {
	var inner, a archive
	for i := range 1000 {
		inner.record(t, "conversion", fmt.Sprint("inner", i), noise(400))
	}
	a.record(t, "warcinfo", "", "")
	a.add(pack(t, 0, codectest.WARC("resource", "r", "application/gzip", string(inner.stored))), codectest.Planted{})
	whole := pack(t, 6, codectest.WARC("conversion", "", "text/plain", noise(9000)))
	a.garbage(whole[:len(whole)/2])
	for range 10 {
		a.record(t, "conversion", "", noise(40_000))
	}
	file := readertest.Plant(t, Reader{}, "warc", a.stored)
	step := nightly.Or[int64](7919, 23_761)
	err := walk(t.Context(), file, options, func(w *walker) error {
		for start := int64(1); start < file.Size; start += step {
			want := file.Size
			for _, m := range slices.Backward(a.members) {
				if m.Position >= start {
					want = m.Position
				}
			}
			if got, err := w.seek(start); err != nil || got != want {
				t.Errorf("from %d: a member at %d, error %v, want %d", start, got, err, want)
			}
		}
		return nil
	})
	if err != nil || len(a.members[1].Raw) < backBytes {
		t.Errorf("error %v, a member of %d bytes", err, len(a.members[1].Raw))
	}
}

// TestLyingLength checks that a record which claims more bytes than its member has is unreadable, however many those
// are.
func TestLyingLength(t *testing.T) {
	var a archive
	a.record(t, "warcinfo", "", "")
	for i, length := range []string{"9", "2147483648", "1000000000000000", "99999999999999999999", "-1", "+8", "8\r\nContent-Length: 9", "", "x"} {
		raw := "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: " + length + "\r\n\r\n12345678\r\n\r\n"
		if length == "9" {
			raw = strings.TrimSpace(raw)
		}
		a.add(pack(t, 6, raw), codectest.Planted{Raw: raw, Unreadable: true})
		a.record(t, "conversion", fmt.Sprint("b", i), "two")
	}
	a.run(t)
}

// TestTakenMember checks that a record of any type which swallows the next record of its member is unreadable.
func TestTakenMember(t *testing.T) {
	for _, kind := range []string{"conversion", "request"} {
		var a archive
		a.record(t, "warcinfo", "", "")
		raw := "WARC/1.0\r\nWARC-Type: " + kind + "\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
		content := "12345678\r\n\r\n" + strings.TrimSpace(codectest.WARC("conversion", "b", "text/plain", "two"))
		raw = fmt.Sprintf(raw, len(content)) + content + "\r\n\r\n"
		a.add(pack(t, 6, raw), codectest.Planted{Raw: raw, Unreadable: true})
		a.record(t, "conversion", "c", "three")
		t.Run(kind, a.run)
	}
}

// TestFirst checks that a file counts as one of members if its first member holds a single record, and that no more
// than this member is read to find out.
func TestFirst(t *testing.T) {
	one := codectest.WARC("conversion", "a", "text/plain", "one")
	large := codectest.WARC("conversion", "b", "text/plain", noise(3*codec.MaxHead))
	many := strings.Repeat(codectest.WARC("conversion", "c", "text/plain", noise(50_000)), 100)
	broken := pack(t, 6, large)
	broken[len(broken)-5] ^= 1 // part of the checksum
	for name, tt := range map[string]struct {
		stored  []byte
		members bool
	}{
		"a member":                    {pack(t, 6, one), true},
		"line ends":                   {pack(t, 6, one+"\r\n\n"), true},
		"a large member":              {pack(t, 6, large), true},
		"two records":                 {pack(t, 6, one+one), false},
		"a record behind a large one": {pack(t, 6, large+one), false},
		"a stream":                    {pack(t, 6, one+many), false},
		"a stream, broken later":      {pack(t, 6, large+many)[:4*codec.MaxHead], false},
		"a stream, broken at once":    {pack(t, 6, one+many)[:1000], false},
		"something else":              {pack(t, 6, "one"), false},
		"too short":                   {pack(t, 6, strings.TrimSpace(one)[:len(one)-6]), false},
		"a large one, too short":      {pack(t, 6, large[:len(large)-6]), false},
		"broken":                      {slices.Concat(broken, pack(t, 6, one), pack(t, 6, large)), true},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, tt.stored, 0o666); err != nil {
			t.Fatal(err)
		}
		file := readertest.Listed(t, path)
		if err := (Reader{}).Inspect(t.Context(), file, options); err != nil || file.Sequential == tt.members {
			t.Errorf("%s: sequential %v, error %v", name, file.Sequential, err)
		}
	}
	file := readertest.Plant(t, Reader{}, "warc", pack(t, 6, one+many))
	if err := walk(t.Context(), file, options, func(w *walker) error {
		w.first()
		if w.source.at > 2*readBytes {
			t.Errorf("%d bytes are read", w.source.at)
		}
		return nil
	}); err != nil || file.Size < 4*readBytes {
		t.Errorf("a file of %d bytes, error %v", file.Size, err)
	}
}

// TestOldVersion checks that files of versions before 1.0 are rejected with that reason.
func TestOldVersion(t *testing.T) {
	old := strings.ReplaceAll(codectest.WARC("conversion", "a", "text/plain", "one"), "WARC/1.0", "WARC/0.18")
	for name, stored := range map[string][]byte{
		"plain": []byte(old + old), "member": slices.Concat(pack(t, 6, old), pack(t, 6, old)), "stream": pack(t, 6, "\r\n"+old+old), "zstd": readertest.Pack(t, []byte(old), "zstd"),
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, stored, 0o666); err != nil {
			t.Fatal(err)
		}
		err := (Reader{}).Inspect(t.Context(), readertest.Listed(t, path), options)
		if err == nil || errors.As(err, new(*reading.ContentError)) || err.Error() != path+": its records are WARC/0.18; convert the file to WARC/1.0" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestBomb checks that of a member with far more content than a record may have, no more than that is kept.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	b.Write(pack(t, 6, codectest.WARC("warcinfo", "", "", "")))
	z := gzip.NewWriter(&b)
	const size = 1 << 28
	fmt.Fprintf(z, "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: %d\r\n\r\n", size)
	for range size >> 16 {
		if _, err := z.Write(make([]byte, 1<<16)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b.Write(pack(t, 6, codectest.WARC("conversion", "after", "text/plain", "text")))
	file := readertest.Plant(t, Reader{}, "warc", b.Bytes())
	var ids []string
	err := walk(t.Context(), file, options, func(w *walker) error {
		return w.each(whole, func(m member) error {
			ids = append(ids, fmt.Sprint(m.long))
			if cap(w.plain) > 4*options.MaxRecord {
				t.Errorf("%d bytes are held", cap(w.plain))
			}
			return nil
		})
	})
	if err != nil || !slices.Equal(ids, []string{"false", "true", "false"}) {
		t.Errorf("long: %v, error %v", ids, err)
	}
}

// FuzzSpans checks that, whatever the file is, spans have each record once, and what is not dropped is copied as it is.
func FuzzSpans(f *testing.F) {
	one := pack(f, 6, codectest.WARC("conversion", "a", "text/plain", "one"))
	f.Add(slices.Concat(one, []byte("xx"), one, one[:20]), uint8(30))
	f.Add(slices.Concat(one, pack(f, 0, codectest.WARC("resource", "b", "application/gzip", string(one))), one), uint8(1))
	f.Fuzz(func(t *testing.T, stored []byte, size uint8) {
		path := filepath.Join(t.TempDir(), "file")
		stored = append(slices.Clone(one), stored...)
		if err := os.WriteFile(path, stored, 0o666); err != nil {
			t.Fatal(err)
		}
		file := readertest.Listed(t, path)
		if err := (Reader{}).Inspect(t.Context(), file, options); err != nil {
			return
		}
		var all, cut []int64
		at := func(positions *[]int64) func(*reading.Record) error {
			return func(record *reading.Record) error {
				*positions = append(*positions, record.Position)
				return nil
			}
		}
		if _, err := (Reader{}).Read(t.Context(), file, []blocks.Span{whole}, options, at(&all)); err != nil {
			return
		}
		for _, span := range readertest.Spans(Reader{}, file, 1+int64(size)) {
			if _, err := (Reader{}).Read(t.Context(), file, []blocks.Span{span}, options, at(&cut)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(all, cut) {
			t.Errorf("records at %v in spans of %d, at %v in one", cut, size, all)
		}
		var b bytes.Buffer
		if _, _, err := (Reader{}).Copy(t.Context(), &b, file, whole, reading.Changes{}, options); err != nil || !bytes.Equal(b.Bytes(), stored) {
			t.Errorf("%d bytes become %d, error %v", len(stored), b.Len(), err)
		}
	})
}
