package bytefile

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

var options = reading.Options{Fields: readertest.Fields, MaxRecord: anyLength}

// TestConformance checks that every format passes the suite, in every compression.
func TestConformance(t *testing.T) {
	for _, sample := range codectest.Samples() {
		empty := &codectest.Sample{Format: sample.Format}
		if oneDocument(sample.Format) {
			empty.Record("", "", "") // an empty document
		}
		for name, s := range map[string]*codectest.Sample{sample.Format: sample, "empty " + sample.Format: empty} {
			for _, compression := range []string{"", "gzip", "zstd"} {
				t.Run(name+" "+compression, func(t *testing.T) {
					readertest.Run(t, readers[s.Format], readertest.Case{
						Format: s.Format, IDIsSource: oneDocument(s.Format), Records: s.Records,
						Stored:  readertest.Pack(t, s.Content, compression),
						Without: s.Without,
						Content: func(stored []byte) string { return string(readertest.Unpack(t, stored, compression)) },
					})
				})
			}
		}
	}
}

func TestInspect(t *testing.T) {
	in := plant(t, "lines", []byte("one\n"))
	ranked := options
	ranked.Fields.Value = "v"
	err := in.reader.Inspect(t.Context(), in.file, ranked)
	if err == nil || !strings.HasPrefix(err.Error(), in.file.Path+": the lines format has no columns to rank documents by") {
		t.Errorf("to rank lines by a column: error %v", err)
	}
	for _, tt := range []struct {
		format, compression string
		sequential          bool
	}{{"lines", "", false}, {"lines", "gzip", true}, {"lines", "zstd", true}, {"files", "", true}} {
		file := plant(t, tt.format, readertest.Pack(t, []byte("one\n"), tt.compression)).file
		if file.Compression != tt.compression || file.Sequential != tt.sequential {
			t.Errorf("%+v is %q, sequential %v", tt, file.Compression, file.Sequential)
		}
	}
}

// TestUnpackedOnce checks that within one context of storage.Once, what Inspect or Head has decompressed is not
// decompressed again.
func TestUnpackedOnce(t *testing.T) {
	small, large := codectest.OfLengths("lines", 10, 300), codectest.OfLengths("lines", 200_000, 200_000)
	for _, compression := range []string{"gzip", "zstd"} {
		for _, content := range [][]byte{small.Content, large.Content} {
			in := plant(t, "lines", readertest.Pack(t, content, compression))
			for name, begin := range map[string]func(ctx context.Context) error{
				"Inspect": func(ctx context.Context) error { return in.reader.Inspect(ctx, in.file, options) },
				"Head":    func(ctx context.Context) error { _, err := Head(ctx, in.file, options); return err },
			} {
				ctx, done := storage.Once(t.Context())
				if err := begin(ctx); err != nil {
					t.Fatal(err)
				}
				c, err := in.cursor(ctx, whole, anyLength)
				if err != nil {
					t.Fatal(err)
				}
				if c.read() == 0 {
					t.Errorf("%s: %d bytes of %s are unpacked again", name, len(content), compression)
				}
				if err := c.close(); err != nil {
					t.Error(err)
				}
				if err := begin(ctx); err != nil {
					t.Fatal(err)
				}
				var read []byte
				progress, err := in.reader.Read(ctx, in.file, []blocks.Span{whole}, options, func(r *reading.Record) error {
					read = append(read, r.Raw...)
					return nil
				})
				if err != nil || !bytes.Equal(read, content) || progress != (reading.Progress{Content: int64(len(read)), Stored: in.file.Size}) {
					t.Errorf("%s: read %d of %d bytes, %+v, %v", name, len(read), len(content), progress, err)
				}
				done()
			}
		}
	}
}

// TestCut checks that cuts are at multiples of the size, and never inside the header.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := &blocks.File{
			Size:   rapid.Int64Range(0, 100).Draw(t, "size"),
			Header: make([]byte, rapid.IntRange(0, 20).Draw(t, "header")),
		}
		size := rapid.Int64Range(1, 120).Draw(t, "span")
		var want []int64
		for at := int64(1); at < file.Size; at++ {
			if at%size == 0 && at > int64(len(file.Header)) {
				want = append(want, at)
			}
		}
		if got := readers["lines"].Cut(file, size); !slices.Equal(got, want) {
			t.Errorf("cut at %v, want %v", got, want)
		}
	})
}

// random returns lines of the given lengths that hardly compress: content that takes many times its packed size is not
// spooled.
func random(lengths ...int) (content []byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range lengths {
		for range n - 1 {
			content = append(content, byte('a'+rng.IntN(26)))
		}
		content = append(content, '\n')
	}
	return content
}

// spool sets up a spool for the decompressed bytes of in, and reads all of in so that they are kept there.
func spool(t *testing.T, in input) {
	t.Helper()
	temp, err := storage.TempFolder(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in.file.Spool = filepath.Join(temp, "plain-0")
	if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, options, func(*reading.Record) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, ok := reading.Spooled(t.Context(), in.file.Spool); !ok {
		t.Fatal("nothing is spooled")
	}
}

// TestSpool checks that the first read that reaches the end leaves the decompressed bytes for other readers.
func TestSpool(t *testing.T) {
	content := random(1000, 300_000, 20)
	for _, compression := range []string{"gzip", "zstd"} {
		in := plant(t, "lines", readertest.Pack(t, content, compression))
		in.file.Spool = filepath.Join(storagetest.RunFolder(t), "0")
		oops := errors.New("oops")
		if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, options, func(*reading.Record) error { return oops }); !errors.Is(err, oops) {
			t.Errorf("%s: error %v", compression, err)
		}
		if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, options, func(*reading.Record) error { return reading.ErrStop }); err != nil {
			t.Errorf("%s: error %v", compression, err)
		}
		if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{{End: 900}}, options, func(*reading.Record) error { return nil }); err != nil {
			t.Errorf("%s: error %v", compression, err)
		}
		if _, err := os.Stat(in.file.Spool); err == nil {
			t.Errorf("%s: a read that failed, was stopped or ended early leaves its bytes", compression)
		}
		spool(t, in)
		if plain, err := os.ReadFile(in.file.Spool); err != nil || !bytes.Equal(plain, content) {
			t.Errorf("%s: %d bytes are left, error %v", compression, len(plain), err)
		}
		if info, err := os.Stat(in.file.Spool); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v", compression, info.Mode(), err)
		}
		c, err := in.cursor(t.Context(), whole, anyLength)
		if err != nil || c.packed != nil {
			t.Errorf("%s: unpacked again, error %v", compression, err)
		}
		c.close()
	}
}

// TestSpoolByBeginning checks that reading the beginning leaves the decompressed bytes if a small file has no more.
func TestSpoolByBeginning(t *testing.T) {
	content := random(1000, 2000, 20)
	for _, compression := range []string{"gzip", "zstd"} {
		in := plant(t, "lines", readertest.Pack(t, content, compression))
		in.file.Spool = filepath.Join(storagetest.RunFolder(t), "0")
		if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{{End: 500}}, options, func(*reading.Record) error { return nil }); err != nil {
			t.Errorf("%s: error %v", compression, err)
		}
		if plain, err := os.ReadFile(in.file.Spool); err != nil || !bytes.Equal(plain, content) {
			t.Errorf("%s: %d bytes are left, error %v", compression, len(plain), err)
		}
	}
}

// TestSpoolNowhere checks that everything can be read even if the decompressed bytes cannot be kept.
func TestSpoolNowhere(t *testing.T) {
	f := codectest.OfLengths("lines", 1000, 20)
	in := plant(t, "lines", readertest.Pack(t, f.Content, "gzip"))
	in.file.Spool = filepath.Join(in.file.Path, "0") // below a file, which is no folder
	records := 0
	progress, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, options, func(*reading.Record) error { records++; return nil })
	if err != nil || records != 2 || progress.Content != 1020 || progress.Stored != in.file.Size {
		t.Errorf("%d records, %+v, error %v", records, progress, err)
	}
}

// calling is a writer that calls a function.
type calling func()

func (c calling) Write(p []byte) (int, error) { c(); return len(p), nil }

// TestCopyOfChangedFile checks that a copy notices that the file has changed: with a spool, nobody else looks at the
// file.
func TestCopyOfChangedFile(t *testing.T) {
	content := random(1000, 2000, 20)
	for _, compression := range []string{"gzip", "zstd"} {
		for name, dropped := range map[string][]int64{"whole": nil, "anew": {0}} {
			in := plant(t, "lines", readertest.Pack(t, content, compression))
			spool(t, in)
			change := func() {
				if err := os.WriteFile(in.file.Path, []byte("other"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := in.reader.Copy(t.Context(), calling(change), in.file, whole, reading.Changes{Dropped: dropped}, options)
			if err == nil || !strings.Contains(err.Error(), in.file.Path+" changed") {
				t.Errorf("%s %s: error %v", compression, name, err)
			}
		}
	}
}

// zstdFrame compresses content to one frame. The frame states its size if it is long or a single segment.
func zstdFrame(t *testing.T, content []byte, options ...zstd.EOption) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	return encoder.EncodeAll(content, nil)
}

// TestFramesTile checks that frames are found up to their last byte, that each can be decompressed alone, and that
// together they are the file, whatever their blocks and checksums.
func TestFramesTile(t *testing.T) {
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(i*i>>3 ^ i>>7 ^ i*i*i>>11)
	}
	for name, option := range map[string]zstd.EOption{
		"checksum": zstd.WithEncoderCRC(true), "no checksum": zstd.WithEncoderCRC(false),
		"single segment": zstd.WithSingleSegment(true), "fastest": zstd.WithEncoderLevel(zstd.SpeedFastest),
	} {
		var stored []byte
		var ends, plainEnds []int64
		plain := int64(0)
		for _, content := range [][]byte{
			bytes.Repeat([]byte("a"), 300_000), noise, noise[:256], bytes.Repeat([]byte("text "), 100_000), noise[:65_791], noise[:65_792],
		} {
			stored = append(stored, zstdFrame(t, content, option)...)
			if plain += int64(len(content)); len(content) > 0 {
				ends, plainEnds = append(ends, int64(len(stored))), append(plainEnds, plain)
			}
		}
		var frames []frame
		for at, plain := int64(0), int64(0); ; {
			f, ok := beginFrame(bytes.NewReader(stored), at, plain)
			if !ok {
				break
			}
			for limit := at; !f.whole; limit += 70_000 {
				if err := f.walk(bytes.NewReader(stored), limit); err != nil {
					t.Fatal(err)
				}
			}
			if f.plainEnd > plain {
				frames = append(frames, f)
			}
			at, plain = f.end, f.plainEnd
		}
		if len(frames) != len(ends) {
			t.Fatalf("%s: %d frames, want %d", name, len(frames), len(ends))
		}
		for i, f := range frames {
			content := stored[f.start:f.end]
			if f.end != ends[i] || f.plainEnd != plainEnds[i] {
				t.Errorf("%s: frame %d ends at %d (%d), want %d (%d)", name, i, f.end, f.plainEnd, ends[i], plainEnds[i])
				continue
			}
			before := int64(0)
			if i > 0 {
				before = plainEnds[i-1]
			}
			if got := readertest.Unpack(t, content, zstded); int64(len(got)) != f.plainEnd-before {
				t.Errorf("%s: frame %d has %d bytes", name, i, len(got))
			}
		}
	}
}

// TestCopyAtFrameEnds drops one-byte records before, at and after the ends of frames: a frame is copied as it is if and
// only if nothing in it is dropped.
func TestCopyAtFrameEnds(t *testing.T) {
	const records, perFrame = 9, 3
	for cut := 1; cut <= perFrame; cut++ {
		var stored []byte
		var frames [][]byte
		for at := 0; at < records; {
			n := min(perFrame, records-at)
			if at == 0 {
				n = cut
			}
			frames = append(frames, zstdFrame(t, bytes.Repeat([]byte("\n"), n), zstd.WithEncoderCRC(n%2 == 0), zstd.WithSingleSegment(true)))
			stored = append(stored, frames[len(frames)-1]...)
			at += n
		}
		in := plant(t, "lines", stored)
		for drop := 1; drop < 1<<records; drop++ {
			var dropped []int64
			for i := range records {
				if drop>>i&1 == 1 {
					dropped = append(dropped, int64(i))
				}
			}
			var b bytes.Buffer
			kept, _, err := in.reader.Copy(t.Context(), &b, in.file, whole, reading.Changes{Dropped: dropped}, options)
			if err != nil || kept != int64(records-len(dropped)) || int64(len(readertest.Unpack(t, b.Bytes(), zstded))) != kept {
				t.Fatalf("cut %d, dropped %v: %d records in %d bytes, error %v", cut, dropped, kept, len(readertest.Unpack(t, b.Bytes(), zstded)), err)
			}
			// What is compressed anew does not state its size, which is how copied frames are recognized here.
			left, at := b.Bytes(), 0
			for i, f := range frames {
				n := perFrame
				if i == 0 {
					n = cut
				}
				n = min(n, records-at)
				untouched := drop>>at&(1<<n-1) == 0
				if copied := bytes.Contains(left, f); copied != untouched && (i == 0 || !bytes.Equal(f, frames[i-1])) {
					same := 0
					for _, other := range frames {
						if bytes.Equal(other, f) {
							same++
						}
					}
					if same == 1 {
						t.Fatalf("cut %d, dropped %v: frame %d is copied: %v, want %v", cut, dropped, i, copied, untouched)
					}
				}
				at += n
			}
		}
	}
}

// TestCopyIsFramesAlone checks that a copy consisting of whole frames has nothing else in it.
func TestCopyIsFramesAlone(t *testing.T) {
	first, second := zstdFrame(t, []byte("one\n"), zstd.WithSingleSegment(true)), zstdFrame(t, []byte("two\n"), zstd.WithSingleSegment(true))
	in := plant(t, "lines", slices.Concat(first, second))
	for dropped, want := range map[int64][]byte{0: second, 4: first} {
		var b bytes.Buffer
		if _, _, err := in.reader.Copy(t.Context(), &b, in.file, whole, reading.Changes{Dropped: []int64{dropped}}, options); err != nil || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("without the record at %d: %x, want %x, error %v", dropped, b.Bytes(), want, err)
		}
	}
}

// TestStopped checks that a copy can also be interrupted between its records.
func TestStopped(t *testing.T) {
	in := plant(t, "lines", []byte("one\ntwo\nthree\n"))
	ctx, cancel := context.WithCancel(t.Context())
	writes := 0
	_, _, err := in.reader.Copy(ctx, calling(func() {
		if writes++; writes == 2 {
			cancel()
		}
	}), in.file, whole, reading.Changes{}, options)
	if !errors.Is(err, context.Canceled) || writes > 3 {
		t.Errorf("error %v after %d writes", err, writes)
	}
}

// TestReadSomeStopped checks that an interruption ends the reading at the next record, even if no more bytes need to be
// read.
func TestReadSomeStopped(t *testing.T) {
	in := plant(t, "lines", []byte("one\ntwo\nthree\n"))
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := in.reader.ReadSome(ctx, in.file, whole, []int64{0, 4, 8}, options, func(*reading.Record) error {
		seen++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%d records were read, error %v", seen, err)
	}
}

// A record may extend beyond the start of the next span, whose first bytes are then no longer in memory.
func TestSpanBehind(t *testing.T) {
	in := plant(t, "lines", []byte(strings.Repeat("a", tailBytes)+"\nb\n")) // the first read ends with it
	var got []int64
	if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{{End: 1}, {Start: 2, End: blocks.End}}, options, func(r *reading.Record) error {
		got = append(got, r.Position)
		return nil
	}); err != nil || !slices.Equal(got, []int64{0, tailBytes + 1}) {
		t.Errorf("records at %v, error %v", got, err)
	}
}
