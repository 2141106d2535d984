package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
)

const anyLength = 1 << 30

// readAll returns the records of a span, parts of long ones joined, and all bytes of its pieces.
func readAll(t testing.TB, in *blocks.Inputs, span blocks.Span, maxRecord int) (found []record, content []byte) {
	t.Helper()
	r, err := Open(t.Context(), in, span, fields, maxRecord)
	if err != nil {
		t.Fatal(err)
	}
	var doc codec.Document
	position := int64(-1)
	for {
		piece, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if position >= 0 && piece.Position != position {
			t.Fatalf("span %+v: a piece at %d, the one before ends at %d", span, piece.Position, position)
		}
		position = piece.Position + int64(len(piece.Raw))
		content = append(content, piece.Raw...)
		switch {
		case piece.Filler:
			continue
		case piece.Continued:
			found[len(found)-1].raw += string(piece.Raw)
			continue
		}
		rec := record{position: piece.Position, raw: string(piece.Raw)}
		if !piece.Long {
			rec.unreadable = r.Decode(piece, &doc) != nil
			if !rec.unreadable {
				rec.text = string(doc.Text)
				rec.id = string(doc.ID)
			}
		}
		found = append(found, rec)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return found, content
}

// TestReaderTiles: whatever the spans, their pieces one after another are the file less its
// header, and each record is in one of them.
func TestReaderTiles(t *testing.T) {
	for _, f := range samples() {
		for _, compression := range []string{"", gzipped, zstded} {
			t.Run(f.format+" "+compression, func(t *testing.T) {
				t.Parallel()
				path := write(t, t.TempDir(), "file"+f.ending, pack(t, f.content, compression))
				in := inputs(t, f.options(), path)
				if got := in.Files[0]; got.Compression != compression || len(got.Header) != f.header {
					t.Fatalf("compression %q, header of %d bytes, want %q, %d", got.Compression, len(got.Header), compression, f.header)
				}
				for size := range len(f.content) + 1 {
					cuts := spans(0, &in.Files[0], int64(size+1))
					if splits := len(cuts) > 1; splits && (compression != "" || f.format == "files") {
						t.Fatalf("cut into %d spans", len(cuts))
					}
					var found []record
					var content []byte
					for _, span := range cuts {
						r, c := readAll(t, in, span, anyLength)
						found, content = append(found, r...), append(content, c...)
						for _, rec := range r {
							if rec.position < span.Start || rec.position >= span.End {
								t.Errorf("span %+v has the record at %d", span, rec.position)
							}
						}
					}
					if !bytes.Equal(content, f.content[f.header:]) {
						t.Fatalf("spans of %d: pieces\n%q\nwant\n%q", size+1, content, f.content[f.header:])
					}
					if !slices.Equal(found, f.records) {
						t.Fatalf("spans of %d: records\n%+v\nwant\n%+v", size+1, found, f.records)
					}
				}
			})
		}
	}
}

// big is a file with records of the given lengths.
func big(format string, lengths ...int) *file {
	f := &file{format: format, ending: "." + format}
	for i, n := range lengths {
		frame := map[string][2]string{
			"lines":   {"", "\n"},
			"jsonl":   {`{"text":"`, "\"}\r\n"},
			"reuters": {"<REUTERS ><BODY>", "</BODY></REUTERS>\r\n"},
		}[format]
		text := strings.Repeat(string(rune('a'+i%26)), max(n-len(frame[0])-len(frame[1]), 0))
		f.record(frame[0]+text+frame[1], "", text)
	}
	return f
}

// TestReaderLongRecords: a record is long if it has more than maxRecord bytes, and only then:
// not by how much of it the reader happens to hold, which depends on the span.
func TestReaderLongRecords(t *testing.T) {
	const most = 300_000 // more than is read at once
	for _, format := range []string{"lines", "jsonl", "reuters"} {
		for _, compression := range []string{"", gzipped} {
			t.Run(format+" "+compression, func(t *testing.T) {
				t.Parallel()
				f := big(format, 10_000, most-1, most, most+1, 40, most+16, most+17, 900_000, 40, 262_144, most+2)
				path := write(t, t.TempDir(), "file", pack(t, f.content, compression))
				in := inputs(t, f.options(), path)
				file := in.Files[0]
				sizes := []int64{1 << 40}
				if compression == "" {
					sizes = []int64{1 << 40, 1_000_003, 262_145, 99_999}
				}
				for _, size := range sizes {
					var found []record
					var long []bool
					for _, span := range spans(0, &file, size) {
						r, err := Open(t.Context(), in, span, fields, most)
						if err != nil {
							t.Fatal(err)
						}
						for {
							piece, err := r.Next()
							if err == io.EOF {
								break
							}
							if err != nil {
								t.Fatal(err)
							}
							if len(piece.Raw) == 0 || len(piece.Raw) > 2*most {
								t.Errorf("a piece of %d bytes", len(piece.Raw))
							}
							if len(r.buf) > most+2*readBytes {
								t.Fatalf("%d bytes are held of records of %d", len(r.buf), most)
							}
							if piece.Continued {
								found[len(found)-1].raw += string(piece.Raw)
								continue
							}
							found = append(found, record{position: piece.Position, raw: string(piece.Raw)})
							long = append(long, piece.Long)
						}
						if err := r.Close(); err != nil {
							t.Fatal(err)
						}
					}
					if len(found) != len(f.records) {
						t.Fatalf("spans of %d: %d records, want %d", size, len(found), len(f.records))
					}
					for i, want := range f.records {
						if found[i].raw != want.raw || found[i].position != want.position {
							t.Errorf("spans of %d: record %d at %d of %d bytes, want at %d of %d",
								size, i, found[i].position, len(found[i].raw), want.position, len(want.raw))
						}
						if want := len(want.raw) > most; long[i] != want {
							t.Errorf("spans of %d: record of %d bytes is long: %v, want %v", size, len(f.records[i].raw), long[i], want)
						}
					}
				}
			})
		}
	}
}

// TestReaderTinyParts cuts small records into parts as small as they can be.
func TestReaderTinyParts(t *testing.T) {
	for _, f := range samples() {
		path := write(t, t.TempDir(), "file"+f.ending, f.content)
		in := inputs(t, f.options(), path)
		for maxRecord := range 60 {
			found, content := readAll(t, in, in.Splits[0], maxRecord)
			if !bytes.Equal(content, f.content[f.header:]) {
				t.Errorf("%s, at most %d: pieces %q", f.format, maxRecord, content)
			}
			for i, rec := range found {
				if want := f.records[i]; rec.raw != want.raw || rec.position != want.position {
					t.Errorf("%s, at most %d: record %q at %d, want %q at %d", f.format, maxRecord, rec.raw, rec.position, want.raw, want.position)
				}
			}
		}
	}
}

// TestReaderDoesNotSearchOn: a span in the midst of one endless record is left without reading
// the rest of the file into memory, or at all.
func TestReaderDoesNotSearchOn(t *testing.T) {
	for _, format := range []string{"lines", "reuters"} {
		f := big(format, 20<<20, 40)
		in := inputs(t, f.options(), write(t, t.TempDir(), "file", f.content))
		for _, span := range []blocks.Span{{Start: 1 << 20, End: 2 << 20}, {Start: 1, End: 2}} {
			r, err := Open(t.Context(), in, span, fields, anyLength)
			if err != nil {
				t.Fatal(err)
			}
			if piece, err := r.Next(); err != io.EOF {
				t.Errorf("%s, span %+v: a piece at %d of %d bytes, error %v", format, span, piece.Position, len(piece.Raw), err)
			}
			if len(r.buf) > 2<<20 || r.pos > span.End+1<<20 {
				t.Errorf("%s, span %+v: %d bytes are held, %d were passed", format, span, len(r.buf), r.pos)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestReaderLongAtWindowEdge: the reader holds a byte more than a record may have, of which it
// cannot tell yet whether it is the record's.
func TestReaderLongAtWindowEdge(t *testing.T) {
	const most = 300_000
	f := big("reuters", 2*readBytes-most-1)
	text := strings.Repeat("x", most-len("<REUTERS ><BODY></BODY></REUTERS>"))
	f.record("<REUTERS ><BODY>"+text+"</BODY></REUTERS>", "", text)
	f.filler("\rx")
	in := inputs(t, f.options(), write(t, t.TempDir(), "file", f.content))
	if found, _ := readAll(t, in, in.Splits[0], most); !slices.Equal(found, f.records) {
		t.Errorf("%d records, the last with %d bytes of text, want %d", len(found), len(found[len(found)-1].text), len(text))
	}
}

// TestSeek reads records here and there, near and far, in one pass.
func TestSeek(t *testing.T) {
	var lengths []int
	for i := range 200 {
		lengths = append(lengths, 100+i*i%20_000, 40)
	}
	lengths = append(lengths, 1<<20, 1<<20, 40)
	f := big("jsonl", lengths...)
	for _, compression := range []string{"", zstded} {
		in := inputs(t, f.options(), write(t, t.TempDir(), "file", pack(t, f.content, compression)))
		rapid.Check(t, func(t *rapid.T) {
			r, err := Open(t.Context(), in, in.Splits[0], fields, 1<<19)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i := rapid.IntRange(0, 50).Draw(t, "first"); i < len(f.records); i += rapid.IntRange(1, 300).Draw(t, "step") {
				want := f.records[i]
				if len(want.raw) > 1<<19 {
					continue
				}
				piece, err := r.seek(want.position)
				if err != nil || piece.Position != want.position || string(piece.Raw) != want.raw {
					t.Fatalf("record %d at %d: %d bytes at %d, error %v", i, want.position, len(piece.Raw), piece.Position, err)
				}
			}
		})
	}
	in := inputs(t, f.options(), write(t, t.TempDir(), "file", f.content))
	for position, want := range map[int64]string{1: "no record begins there", int64(len(f.content)) + 1<<20: "the file ends before it"} {
		r, err := Open(t.Context(), in, in.Splits[0], fields, 1<<19)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.seek(position); err == nil || err.Error() != want {
			t.Errorf("seek to %d: error %v, want %s", position, err, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEmptyFiles(t *testing.T) {
	for _, content := range []string{"", "\xEF\xBB\xBF"} {
		for _, f := range samples() {
			if f.format == "tsv" && content != "" {
				continue // it has a header, of one column without a name
			}
			in := inputs(t, f.options(), write(t, t.TempDir(), "file"+f.ending, []byte(content)))
			found, left := readAll(t, in, in.Splits[0], anyLength)
			var want []record
			if f.format == "files" {
				want = []record{{raw: content, text: content}} // an empty document, or one of a mark
			}
			if !slices.Equal(found, want) || string(left) != strings.TrimPrefix(content, string(in.Files[0].Header)) {
				t.Errorf("%s of %q: records %+v, want %+v", f.format, content, found, want)
			}
		}
	}
}

// TestStreams: what compressors put one after another is read as one.
func TestStreams(t *testing.T) {
	f := big("lines", 3000, 40, 700_000, 500, 1)
	skippable := func(content string) []byte {
		frame := binary.LittleEndian.AppendUint32([]byte{0x5a, 0x2a, 0x4d, 0x18}, uint32(len(content)))
		return append(frame, content...)
	}
	for name, compression := range map[string]string{"gzip": gzipped, "zstd": zstded} {
		half := len(f.content) / 2
		streams := slices.Concat(pack(t, f.content[:half], compression), pack(t, nil, compression), pack(t, f.content[half:], compression))
		check := func(name string, content []byte) {
			in := inputs(t, f.options(), write(t, t.TempDir(), "file", content))
			if found, _ := readAll(t, in, in.Splits[0], anyLength); !slices.Equal(found, f.records) {
				t.Errorf("%s: %d records, want %d", name, len(found), len(f.records))
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
	f := big("lines", 100_000, 200_000, 300_000, 40)
	noise := make([]byte, len(f.content)) // that does not compress away
	for i := range noise {
		noise[i] = byte(i*i>>3 ^ i>>7)
	}
	f = &file{format: "lines"}
	f.record(string(noise), "", "")
	gz, zst := pack(t, f.content, gzipped), pack(t, f.content, zstded)
	damaged := slices.Clone(gz)
	damaged[len(damaged)-6] ^= 1 // in the checksum
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"gzip truncated":           {gz[:len(gz)/2], "of its content: the compressed data ends early, or other bytes follow it; fetch the file again"},
		"gzip without its trailer": {gz[:len(gz)-8], "the compressed data ends early, or other bytes follow it; fetch the file again"},
		"gzip's magic alone":       {gz[:2], "at byte 0 of its content: the compressed data ends early, or other bytes follow it; fetch"},
		"gzip and garbage":         {append(slices.Clone(gz), "garbage, and more"...), "invalid header; fetch the file again, or leave it out"},
		"gzip damaged":             {damaged, "invalid checksum; fetch the file again, or leave it out"},
		"zstd truncated":           {zst[:len(zst)/2], "of its content: the compressed data ends early, or other bytes follow it; fetch the file again"},
		"zstd's magic alone":       {zst[:4], "at byte 0 of its content: the compressed data ends early, or other bytes follow it; fetch"},
		"zstd and garbage":         {append(slices.Clone(zst), "garbage, and more"...), "fetch the file again, or leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "broken", tt.content)
			err := func() error {
				listing, err := Plan(t.Context(), []string{path}, f.options())
				if err != nil {
					return err
				}
				r, err := Open(t.Context(), listing.Inputs, listing.Inputs.Splits[0], fields, anyLength)
				if err != nil {
					return err
				}
				for err == nil {
					_, err = r.Next()
				}
				return errors.Join(err, r.Close())
			}()
			if err == nil || !strings.HasPrefix(err.Error(), path+": at byte ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v\nwant the path, the position and %q", err, tt.want)
			}
		})
	}
}

// TestReadingMovingFiles: a file that is not what was listed ends in an error that names it, if
// not at once, then on Close.
func TestReadingMovingFiles(t *testing.T) {
	for _, compression := range []string{"", gzipped, zstded} {
		f := big("lines", 100_000, 200_000, 300_000)
		path := write(t, t.TempDir(), "file", pack(t, f.content, compression))
		in := inputs(t, f.options(), path)
		r, err := Open(t.Context(), in, in.Splits[0], fields, anyLength)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		write(t, "", path, append(pack(t, f.content, compression), "more\n"...))
		const want = " changed since it was listed"
		if err := r.Close(); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%s: Close after a change: error %v", compression, err)
		}
		if _, err := Open(t.Context(), in, in.Splits[0], fields, anyLength); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%s: Open after a change: error %v", compression, err)
		}
	}
}

// TestPositionLimit reads at the end of the largest file there is (it has holes).
func TestPositionLimit(t *testing.T) {
	path := write(t, t.TempDir(), "file", nil)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const limit = int64(1) << 40
	if _, err := f.WriteAt([]byte("\nlast\n"), limit-6); err != nil {
		t.Skipf("no file of 1 TiB here: %v", err)
	}
	o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20, SplitBytes: limit - 100}
	in := inputs(t, o, path)
	if n := len(in.Splits); n != 2 {
		t.Fatalf("%d splits, want 2", n)
	}
	found, _ := readAll(t, in, in.Splits[1], anyLength)
	if len(found) != 1 || found[0].text != "last" || found[0].position != limit-5 {
		t.Errorf("found %+v", found)
	}
	key := blocks.NewKey(0, found[0].position)
	if got := in.Splits[in.Split(key)]; got != in.Splits[1] {
		t.Errorf("the last key is in split %+v", got)
	}

	if _, err := f.WriteAt([]byte("x\n"), limit); err != nil {
		t.Fatal(err)
	}
	if _, err := Plan(t.Context(), []string{path}, o); err == nil || !strings.Contains(err.Error(), "split the file") {
		t.Errorf("a larger file is planned: error %v", err)
	}
	// Of a compressed file the planner cannot know.
	grown := inputs(t, o, write(t, t.TempDir(), "small", nil))
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	grown.Files[0].Path, grown.Files[0].Identity, grown.Files[0].Size = path, identityOf(t, path), info.Size()
	r, err := Open(t.Context(), grown, blocks.Span{Start: limit - 5, End: blocks.End}, fields, anyLength)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if piece, err := r.Next(); err != nil || string(piece.Raw) != "last\n" {
		t.Fatalf("piece %q, error %v", piece.Raw, err)
	}
	if piece, err := r.Next(); err == nil || !strings.Contains(err.Error(), "split the file") {
		t.Errorf("piece %q at %d, error %v", piece.Raw, piece.Position, err)
	}
}

// TestCompressIsDeterministic: a corpus is byte-identical in every run, and so whatever the
// pieces it is written in.
func TestCompressIsDeterministic(t *testing.T) {
	content := bytes.Repeat([]byte("A line that is much like the next.\n"), 40_000)
	for i := range content {
		if i*i%1009 < 40 {
			content[i] = byte('a' + i%23)
		}
	}
	for _, compression := range []string{gzipped, zstded} {
		var first []byte
		w, err := Compress(io.Discard, compression)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range []int{len(content), len(content), 35, 4096, 100_001} {
			var b bytes.Buffer
			if i%2 == 0 {
				if w, err = Compress(&b, compression); err != nil {
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
				plain, err := decompress(&b, compression, true)
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

// TestZstdWindows: frames of --long are read too.
func TestZstdWindows(t *testing.T) {
	f := big("lines", 1<<20, 40)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(f.content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in := inputs(t, f.options(), write(t, t.TempDir(), "file", b.Bytes()))
	if found, _ := readAll(t, in, in.Splits[0], anyLength); !slices.Equal(found, f.records) {
		t.Errorf("%d records, want %d", len(found), len(f.records))
	}
}

func BenchmarkReader(b *testing.B) {
	f := big("lines", slices.Repeat([]int{200, 1000, 5000}, 2000)...)
	for _, compression := range []string{"", gzipped, zstded} {
		b.Run(fmt.Sprintf("lines %s", compression), func(b *testing.B) {
			in := inputs(b, f.options(), write(b, b.TempDir(), "file", pack(b, f.content, compression)))
			b.SetBytes(int64(len(f.content)))
			for b.Loop() {
				r, err := Open(b.Context(), in, in.Splits[0], fields, anyLength)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = r.Next()
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
