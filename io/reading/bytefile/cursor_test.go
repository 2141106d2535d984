package bytefile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/markup"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/delimited"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/codec/pages"
	"github.com/neardup/neardup/io/codec/plaintext"
	"github.com/neardup/neardup/io/codec/sgml"
	"github.com/neardup/neardup/io/codec/tar"
	"github.com/neardup/neardup/io/codec/warc"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

const anyLength = 1 << 30

var whole = blocks.Span{End: blocks.End}

// readers maps formats to their readers.
var readers = map[string]Reader{
	"jsonl": {Codec: jsonl.New},
	"json":  {Codec: jsonl.NewJSON},
	"tsv":   {Codec: delimited.NewTSV},
	"csv":   {Codec: delimited.NewCSV},
	"lines": {Codec: func(codec.Fields) codec.Codec { return plaintext.Lines() }, Plain: true},
	"files": {Codec: func(codec.Fields) codec.Codec { return plaintext.File() }, Plain: true},
	"html":  {Codec: pages.NewHTML, Declared: markup.Encoding},
	"xml": {Codec: func(codec.Fields) codec.Codec {
		return pages.NewXML(codec.Fields{Text: []string{"page/text"}, ID: "id"})
	}, Declared: markup.Encoding, Besides: pages.Besides},
	"reuters": {Codec: sgml.NewReuters, Encoded: true},
	"warc":    {Codec: warc.New, Besides: warc.Besides, Encoded: true},
	"tar":     {Codec: tar.New, Plain: true, Besides: tar.Besides, Encoded: true},
}

// oneDocument reports whether each file of a format is a single document.
func oneDocument(format string) bool { return format == "files" || format == "html" }

// input is an inspected file.
type input struct {
	reader Reader
	file   *blocks.File
}

func plant(t testing.TB, format string, stored []byte) input {
	t.Helper()
	in := input{reader: readers[format]}
	in.file = readertest.Plant(t, in.reader, format, stored)
	in.file.IDIsSource = oneDocument(format)
	return in
}

func (in input) cursor(ctx context.Context, span blocks.Span, maxRecord int) (*cursor, error) {
	return in.reader.openSpan(ctx, in.file, span, reading.Options{Fields: readertest.Fields, MaxRecord: maxRecord}, nil, nil)
}

// readAll returns the records of a span, with the parts of long ones joined, and all bytes of its pieces.
func readAll(t testing.TB, in input, span blocks.Span, maxRecord int) (found []codectest.Planted, content []byte) {
	t.Helper()
	r, err := in.cursor(t.Context(), span, maxRecord)
	if err != nil {
		t.Fatal(err)
	}
	var doc codec.Document
	position := int64(-1)
	for {
		piece, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if position >= 0 && piece.position != position {
			t.Fatalf("span %+v: a piece at %d, the one before ends at %d", span, piece.position, position)
		}
		position = piece.position + int64(len(piece.raw))
		content = append(content, piece.raw...)
		switch {
		case piece.filler:
			continue
		case piece.continued:
			found[len(found)-1].Raw += string(piece.raw)
			continue
		}
		rec := codectest.Planted{Position: piece.position, Raw: string(piece.raw)}
		if !piece.long {
			rec.Unreadable = r.codec.Decode(piece.raw, &doc) != nil
			if !rec.Unreadable {
				rec.Text = string(doc.Text)
				rec.ID = string(doc.ID)
			}
		}
		found = append(found, rec)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	return found, content
}

// TestReaderTiles checks that, whatever the spans, their pieces joined in order are the file without its header, and
// each record is in one of them.
func TestReaderTiles(t *testing.T) {
	for _, f := range codectest.Samples() {
		for _, compression := range []string{"", gzipped, zstded} {
			t.Run(f.Format+" "+compression, func(t *testing.T) {
				t.Parallel()
				in := plant(t, f.Format, readertest.Pack(t, f.Content, compression))
				if got := in.file; got.Compression != compression || len(got.Header) != f.Header {
					t.Fatalf("compression %q, header of %d bytes, want %q, %d", got.Compression, len(got.Header), compression, f.Header)
				}
				for size := range len(f.Content) + 1 {
					cuts := readertest.Spans(in.reader, in.file, int64(size+1))
					if splits := len(cuts) > 1; splits && in.file.Sequential {
						t.Fatalf("cut into %d spans", len(cuts))
					}
					var found []codectest.Planted
					var content []byte
					for _, span := range cuts {
						r, c := readAll(t, in, span, anyLength)
						found, content = append(found, r...), append(content, c...)
						for _, rec := range r {
							if rec.Position < span.Start || rec.Position >= span.End {
								t.Errorf("span %+v has the record at %d", span, rec.Position)
							}
						}
					}
					if !bytes.Equal(content, f.Content[f.Header:]) {
						t.Fatalf("spans of %d: pieces\n%q\nwant\n%q", size+1, content, f.Content[f.Header:])
					}
					if want := codectest.Seen(f.Records, anyLength); !slices.Equal(found, want) {
						t.Fatalf("spans of %d: records\n%+v\nwant\n%+v", size+1, found, want)
					}
				}
			})
		}
	}
}

// TestReaderLongRecords checks that a record is long if and only if it has more than maxRecord bytes. It must not
// matter how much of it the reader happens to hold, which depends on the span.
func TestReaderLongRecords(t *testing.T) {
	const most = 300_000 // more than one read returns
	for _, format := range []string{"lines", "jsonl", "reuters"} {
		for _, compression := range []string{"", gzipped} {
			t.Run(format+" "+compression, func(t *testing.T) {
				t.Parallel()
				f := codectest.OfLengths(format, 10_000, most-1, most, most+1, 40, most+16, most+17, 900_000, 40, 262_144, most+2)
				in := plant(t, f.Format, readertest.Pack(t, f.Content, compression))
				sizes := []int64{1 << 40}
				if compression == "" {
					sizes = []int64{1 << 40, 1_000_003, 262_145, 99_999}
				}
				for _, size := range sizes {
					var found []codectest.Planted
					var long []bool
					for _, span := range readertest.Spans(in.reader, in.file, size) {
						r, err := in.cursor(t.Context(), span, most)
						if err != nil {
							t.Fatal(err)
						}
						for {
							piece, err := r.next()
							if err == io.EOF {
								break
							}
							if err != nil {
								t.Fatal(err)
							}
							if len(piece.raw) == 0 || len(piece.raw) > 2*most {
								t.Errorf("a piece of %d bytes", len(piece.raw))
							}
							if len(r.buf) > most+2*readBytes {
								t.Fatalf("%d bytes are held of records of %d", len(r.buf), most)
							}
							if piece.continued {
								found[len(found)-1].Raw += string(piece.raw)
								continue
							}
							found = append(found, codectest.Planted{Position: piece.position, Raw: string(piece.raw)})
							long = append(long, piece.long)
						}
						if err := r.close(); err != nil {
							t.Fatal(err)
						}
					}
					if len(found) != len(f.Records) {
						t.Fatalf("spans of %d: %d records, want %d", size, len(found), len(f.Records))
					}
					for i, want := range f.Records {
						if found[i].Raw != want.Raw || found[i].Position != want.Position {
							t.Errorf("spans of %d: record %d at %d of %d bytes, want at %d of %d",
								size, i, found[i].Position, len(found[i].Raw), want.Position, len(want.Raw))
						}
						if want := len(want.Raw) > most; long[i] != want {
							t.Errorf("spans of %d: record of %d bytes is long: %v, want %v", size, len(f.Records[i].Raw), long[i], want)
						}
					}
				}
			})
		}
	}
}

// TestReaderTinyParts cuts small records into the smallest possible parts.
func TestReaderTinyParts(t *testing.T) {
	for _, f := range codectest.Samples() {
		in := plant(t, f.Format, f.Content)
		least := codectest.Least(f.Format, f.Records)
		for maxRecord := least; maxRecord < least+60; maxRecord++ {
			found, content := readAll(t, in, whole, maxRecord)
			if !bytes.Equal(content, f.Content[f.Header:]) {
				t.Errorf("%s, at most %d: pieces %q", f.Format, maxRecord, content)
			}
			for i, rec := range found {
				if want := codectest.Seen(f.Records, maxRecord)[i]; rec.Raw != want.Raw || rec.Position != want.Position {
					t.Errorf("%s, at most %d: record %q at %d, want %q at %d", f.Format, maxRecord, rec.Raw, rec.Position, want.Raw, want.Position)
				}
			}
		}
	}
}

// TestReaderDoesNotSearchOn checks that a span in the middle of one endless record is finished without reading the rest
// of the file into memory, or even at all.
func TestReaderDoesNotSearchOn(t *testing.T) {
	for _, format := range []string{"lines", "reuters"} {
		f := codectest.OfLengths(format, 20<<20, 40)
		in := plant(t, f.Format, f.Content)
		for _, span := range []blocks.Span{{Start: 1 << 20, End: 2 << 20}, {Start: 1, End: 2}} {
			r, err := in.cursor(t.Context(), span, anyLength)
			if err != nil {
				t.Fatal(err)
			}
			if piece, err := r.next(); err != io.EOF {
				t.Errorf("%s, span %+v: a piece at %d of %d bytes, error %v", format, span, piece.position, len(piece.raw), err)
			}
			if len(r.buf) > 2<<20 || r.pos > span.End+1<<20 {
				t.Errorf("%s, span %+v: %d bytes are held, %d were passed", format, span, len(r.buf), r.pos)
			}
			if err := r.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestReaderLongAtWindowEdge covers the case that the reader holds one byte more than a record may have, and cannot
// tell yet whether that byte belongs to the record.
func TestReaderLongAtWindowEdge(t *testing.T) {
	const most = 300_000
	f := codectest.OfLengths("reuters", 2*readBytes-most-1)
	text := strings.Repeat("x", most-len("<REUTERS ><BODY></BODY></REUTERS>"))
	f.Record("<REUTERS ><BODY>"+text+"</BODY></REUTERS>", "", text)
	f.Filler("\rx")
	in := plant(t, f.Format, f.Content)
	if found, _ := readAll(t, in, whole, most); !slices.Equal(found, f.Records) {
		t.Errorf("%d records, the last with %d bytes of text, want %d", len(found), len(found[len(found)-1].Text), len(text))
	}
}

// TestSeek reads records at various positions, near and far, in one pass.
func TestSeek(t *testing.T) {
	var lengths []int
	for i := range 200 {
		lengths = append(lengths, 100+i*i%20_000, 40)
	}
	lengths = append(lengths, 1<<20, 1<<20, 40)
	f := codectest.OfLengths("jsonl", lengths...)
	for _, compression := range []string{"", zstded} {
		in := plant(t, f.Format, readertest.Pack(t, f.Content, compression))
		rapid.Check(t, func(t *rapid.T) {
			r, err := in.cursor(t.Context(), whole, 1<<19)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			for i := rapid.IntRange(0, 50).Draw(t, "first"); i < len(f.Records); i += rapid.IntRange(1, 300).Draw(t, "step") {
				want := f.Records[i]
				if len(want.Raw) > 1<<19 {
					continue
				}
				piece, err := r.seek(want.Position)
				if err != nil || piece.position != want.Position || string(piece.raw) != want.Raw {
					t.Fatalf("record %d at %d: %d bytes at %d, error %v", i, want.Position, len(piece.raw), piece.position, err)
				}
			}
		})
	}
	in := plant(t, f.Format, f.Content)
	for _, position := range []int64{1, int64(len(f.Content)) + 1<<20} {
		r, err := in.cursor(t.Context(), whole, 1<<19)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.seek(position); !errors.Is(err, reading.ErrAbsent) {
			t.Errorf("seek to %d: error %v", position, err)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEmptyFiles(t *testing.T) {
	for _, content := range []string{"", "\xEF\xBB\xBF"} {
		for _, f := range codectest.Samples() {
			if (f.Format == "tsv" || f.Format == "csv") && content != "" {
				continue // it has a header with one unnamed column
			}
			in := plant(t, f.Format, []byte(content))
			found, left := readAll(t, in, whole, anyLength)
			var want []codectest.Planted
			switch f.Format {
			case "warc", "tar":
				want = []codectest.Planted{{Raw: content, Unreadable: true}}[:min(len(content), 1)]
			case "files":
				want = []codectest.Planted{{Raw: content, Text: content}} // an empty document, or only a byte order mark
			case "html":
				want = []codectest.Planted{{Raw: content}}
			}
			if !slices.Equal(found, want) || string(left) != strings.TrimPrefix(content, string(in.file.Header)) {
				t.Errorf("%s of %q: records %+v, want %+v", f.Format, content, found, want)
			}
		}
	}
}

// TestStreams checks that several compressed streams in a row are read as one.
func TestStreams(t *testing.T) {
	f := codectest.OfLengths("lines", 3000, 40, 700_000, 500, 1)
	skippable := func(content string) []byte {
		frame := binary.LittleEndian.AppendUint32([]byte{0x5a, 0x2a, 0x4d, 0x18}, uint32(len(content)))
		return append(frame, content...)
	}
	for name, compression := range map[string]string{"gzip": gzipped, "zstd": zstded} {
		half := len(f.Content) / 2
		streams := slices.Concat(readertest.Pack(t, f.Content[:half], compression), readertest.Pack(t, nil, compression), readertest.Pack(t, f.Content[half:], compression))
		check := func(name string, content []byte) {
			in := plant(t, f.Format, content)
			if found, _ := readAll(t, in, whole, anyLength); !slices.Equal(found, f.Records) {
				t.Errorf("%s: %d records, want %d", name, len(found), len(f.Records))
			}
		}
		check(name+" streams", streams)
		if compression == zstded {
			check("skippable frame first", slices.Concat(skippable("a table"), streams))
			check("skippable frames", slices.Concat(streams, skippable(""), streams[:0], skippable("seek table")))
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	f := codectest.OfLengths("lines", 100_000, 200_000, 300_000, 40)
	noise := make([]byte, len(f.Content)) // noise that does not compress
	for i := range noise {
		noise[i] = byte(i*i>>3 ^ i>>7)
	}
	f = &codectest.Sample{Format: "lines"}
	f.Record(string(noise), "", "")
	gz, zst := readertest.Pack(t, f.Content, gzipped), readertest.Pack(t, f.Content, zstded)
	damaged := slices.Clone(gz)
	damaged[len(damaged)-6] ^= 1 // inside the checksum
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"gzip truncated":           {gz[:len(gz)/2], "of its content: the compressed data ends early or is followed by other bytes; fetch the file again"},
		"gzip without its trailer": {gz[:len(gz)-8], "the compressed data ends early or is followed by other bytes; fetch the file again"},
		"gzip's magic alone":       {gz[:2], "at byte 0 of its content: the compressed data ends early or is followed by other bytes; fetch"},
		"gzip and garbage":         {append(slices.Clone(gz), "garbage, and more"...), "or is followed by other bytes; fetch the file again, or leave it out"},
		"gzip damaged":             {damaged, "the compressed data is damaged; fetch the file again, or leave it out"},
		"zstd truncated":           {zst[:len(zst)/2], "of its content: the compressed data ends early or is followed by other bytes; fetch the file again"},
		"zstd's magic alone":       {zst[:4], "at byte 0 of its content: the compressed data ends early or is followed by other bytes; fetch"},
		// RFC 8878, section 3.1.1: a single-segment frame with dictionary 7 and a raw block.
		"zstd with a dictionary": {[]byte("\x28\xB5\x2F\xFD\x21\x07\x01\x09\x00\x00a"), "at byte 0 of its content: what follows is compressed with a zstd dictionary"},
		"zstd and garbage":       {append(slices.Clone(zst), "garbage, and more"...), "fetch the file again, or leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "broken")
			if err := os.WriteFile(path, tt.content, 0o666); err != nil {
				t.Fatal(err)
			}
			file := readertest.Listed(t, path)
			err := func() error {
				o := reading.Options{Fields: readertest.Fields, MaxRecord: anyLength}
				if err := readers["lines"].Inspect(t.Context(), file, o); err != nil {
					return err
				}
				_, err := readers["lines"].Read(t.Context(), file, []blocks.Span{whole}, o, func(*reading.Record) error { return nil })
				return err
			}()
			if broken := (*reading.ContentError)(nil); !errors.As(err, &broken) {
				t.Errorf("error %v (%T), want a ContentError", err, err)
			}
			if err == nil || !strings.HasPrefix(err.Error(), path+": at byte ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v\nwant the path, the position and %q", err, tt.want)
			}
		})
	}
}

// TestReadingMovingFiles checks that a file which differs from what was listed ends in an error that names it: at once,
// or else on Close.
func TestReadingMovingFiles(t *testing.T) {
	for _, compression := range []string{"", gzipped, zstded} {
		f := codectest.OfLengths("lines", 100_000, 200_000, 300_000)
		in := plant(t, f.Format, readertest.Pack(t, f.Content, compression))
		r, err := in.cursor(t.Context(), whole, anyLength)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.next(); err != nil {
			t.Fatal(err)
		}
		path := in.file.Path
		if err := os.WriteFile(path, append(readertest.Pack(t, f.Content, compression), "more\n"...), 0o666); err != nil {
			t.Fatal(err)
		}
		const want = " changed since it was listed"
		if err := r.close(); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%s: Close after a change: error %v", compression, err)
		}
		if _, err := in.cursor(t.Context(), whole, anyLength); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%s: Open after a change: error %v", compression, err)
		}
	}
}

// TestPositionLimit reads at the end of the largest possible file (a sparse one).
func TestPositionLimit(t *testing.T) {
	in := plant(t, "lines", nil)
	path := in.file.Path
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const limit = int64(1) << 40
	if _, err := f.WriteAt([]byte("\nlast\n"), limit-6); err != nil {
		t.Skipf("no file of 1 TiB here: %v", err)
	}
	o := reading.Options{Fields: readertest.Fields, MaxRecord: anyLength}
	in.file = readertest.Listed(t, path)
	if err := in.reader.Inspect(t.Context(), in.file, o); err != nil {
		t.Fatal(err)
	}
	cut := readertest.Spans(in.reader, in.file, limit-100)
	if len(cut) != 2 {
		t.Fatalf("%d spans, want 2", len(cut))
	}
	found, _ := readAll(t, in, cut[1], anyLength)
	if len(found) != 1 || found[0].Text != "last" || found[0].Position != limit-5 {
		t.Errorf("found %+v", found)
	}

	if _, err := f.WriteAt([]byte("x\n"), limit); err != nil {
		t.Fatal(err)
	}
	grown := readertest.Listed(t, path)
	if err := in.reader.Inspect(t.Context(), grown, o); err == nil || !strings.Contains(err.Error(), "split the file") {
		t.Errorf("a larger file is planned: error %v", err)
	}
	// The planner cannot know this for a compressed file.
	in.file = grown
	c, err := in.cursor(t.Context(), blocks.Span{Start: limit - 5, End: blocks.End}, anyLength)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if p, err := c.next(); err != nil || string(p.raw) != "last\n" {
		t.Fatalf("piece %q, error %v", p.raw, err)
	}
	if p, err := c.next(); err == nil || !strings.Contains(err.Error(), "split the file") {
		t.Errorf("piece %q at %d, error %v", p.raw, p.position, err)
	}
}

// TestCompressIsDeterministic checks that the same content is compressed to the same bytes, whatever pieces it is
// written in: a corpus must be byte-identical in every run.
func TestCompressIsDeterministic(t *testing.T) {
	content := bytes.Repeat([]byte("A line that is much like the next.\n"), 40_000)
	for i := range content {
		if i*i%1009 < 40 {
			content[i] = byte('a' + i%23)
		}
	}
	for _, compression := range []string{gzipped, zstded} {
		var first []byte
		w, err := compress(io.Discard, compression)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range []int{len(content), len(content), 35, 4096, 100_001} {
			var b bytes.Buffer
			if i%2 == 0 {
				if w, err = compress(&b, compression); err != nil {
					t.Fatal(err)
				}
			} else {
				w.Reset(&b)
			}
			for part := range slices.Chunk(content, step) {
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = bytes.Clone(b.Bytes())
				plain, err := decompress(&b, compression, 0)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(plain); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%q: %d bytes come back, %v", compression, len(got), err)
				}
			} else if !bytes.Equal(b.Bytes(), first) {
				t.Errorf("%q in steps of %d: %d bytes, unlike the %d before", compression, step, b.Len(), len(first))
			}
		}
	}
}

// TestZstdWindows checks that frames written with --long can be read.
func TestZstdWindows(t *testing.T) {
	f := codectest.OfLengths("lines", 1<<20, 40)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(f.Content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in := plant(t, f.Format, b.Bytes())
	if found, _ := readAll(t, in, whole, anyLength); !slices.Equal(found, f.Records) {
		t.Errorf("%d records, want %d", len(found), len(f.Records))
	}
}

func BenchmarkReader(b *testing.B) {
	f := codectest.OfLengths("lines", slices.Repeat([]int{200, 1000, 5000}, 2000)...)
	for _, compression := range []string{"", gzipped, zstded} {
		b.Run(fmt.Sprintf("lines %s", compression), func(b *testing.B) {
			in := plant(b, f.Format, readertest.Pack(b, f.Content, compression))
			b.SetBytes(int64(len(f.Content)))
			for b.Loop() {
				r, err := in.cursor(b.Context(), whole, anyLength)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = r.next()
				}
				if err := r.close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSeekBehindLong checks that a seek from within an over-long record ends that record, whether or not its end is in
// memory.
func TestSeekBehindLong(t *testing.T) {
	const most = 10_000
	for _, size := range []int{2 * most, 2 * readBytes} {
		f := codectest.OfLengths("lines", size, nearBytes+100, 40)
		for _, compression := range []string{"", zstded} {
			in := plant(t, f.Format, readertest.Pack(t, f.Content, compression))
			r, err := in.cursor(t.Context(), whole, most)
			if err != nil {
				t.Fatal(err)
			}
			if piece, err := r.seek(0); err != nil || !piece.long {
				t.Errorf("%d bytes, %q: the first is long: %v, error %v", size, compression, piece.long, err)
			}
			last := f.Records[2]
			if piece, err := r.seek(last.Position); err != nil || string(piece.raw) != last.Raw {
				t.Errorf("%d bytes, %q: seek to %d: %q, error %v", size, compression, last.Position, piece.raw, err)
			}
			if err := r.close(); err != nil {
				t.Error(err)
			}
		}
	}
}
