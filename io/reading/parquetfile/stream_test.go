package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/brotli"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	core "github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// plainText is a row whose text is in PLAIN pages.
type plainText struct {
	Text *string `parquet:"text,optional,plain"`
}

// buffer is the size of the buffer for a streamed page.
const buffer = 256 << 10

// longest is MaxRecord here; one text in a page is longer.
const longest = buffer + 1000

// largeTexts returns rows of more than LargePage bytes, which hardly compress, and the texts that are read from them.
var largeTexts = sync.OnceValues(func() (rows []plainText, texts []string) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, 1<<20)
	for i := range letters {
		letters[i] = 'a' + byte(random.IntN(26))
	}
	for i := range 2100 {
		n := 4000 + 7*i
		switch i % 1000 {
		case 17:
			n = buffer + 10 // it does not fit the buffer
		case 18:
			n = longest + 1
		}
		at := random.IntN(len(letters) - n)
		row, text := plainText{}, "null"
		if i%5 != 3 || n > longest {
			text = string(letters[at : at+n])
			whole := text
			row.Text = &whole
		}
		rows = append(rows, row)
		if n > longest {
			text = "long"
		}
		texts = append(texts, text)
	}
	return rows, texts
})

// largePages returns a file with a row group of one large page.
func largePages(t *testing.T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[plainText](&b, append(options, parquet.PageBufferSize(64<<20))...)
	rows, _ := largeTexts()
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var ofTexts = reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: longest}

// textsOf reads the rows at some positions, or all rows if there are none.
func textsOf(t *testing.T, file *blocks.File, span blocks.Span, some []int64) (texts []string, err error) {
	see := func(record *reading.Record) error {
		switch text := string(record.Doc.Text); {
		case record.Long:
			texts = append(texts, "long")
		case record.Doc.NoText:
			texts = append(texts, "null")
		default:
			texts = append(texts, text)
		}
		return nil
	}
	if some != nil {
		return texts, Reader{}.ReadSome(t.Context(), file, span, some, ofTexts, see)
	}
	_, err = Reader{}.Read(t.Context(), file, []blocks.Span{span}, ofTexts, see)
	return texts, err
}

func plantTexts(t *testing.T, content []byte) *blocks.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file := readertest.Listed(t, path)
	file.Format = "parquet"
	if err := (Reader{}).Inspect(t.Context(), file, ofTexts); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestLargePages: all or some texts of large pages are read correctly, from the page as it unpacks or from what the
// first reader kept.
func TestLargePages(t *testing.T) {
	for name, c := range map[string]compress.Codec{"none": &parquet.Uncompressed, "zstd": &parquet.Zstd, "gzip": &parquet.Gzip,
		"brotli": &brotli.Codec{Quality: 1}, "snappy": &parquet.Snappy} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprint(name, version), func(t *testing.T) {
				content := largePages(t, parquet.Compression(c), parquet.DataPageVersion(version))
				_, want := largeTexts()
				some := []int64{0, 3, 16, 17, 18, 19, 400, 1018, 1900, 2099}
				var wantSome []string
				for _, i := range some {
					wantSome = append(wantSome, want[i])
				}
				file, span, leaf := plantTexts(t, content), blocks.Span{End: blocks.End}, opened(t, content).Leaves[0]
				if cuts := (Reader{}).Cut(file, 1000); len(cuts) > 0 {
					t.Fatalf("its page is not large: it is cut at %d places", len(cuts))
				}
				check := func(how string) {
					t.Helper()
					if got, err := textsOf(t, file, span, nil); err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %d texts, error %v", how, len(got), err)
					}
					if got, err := textsOf(t, file, span, some); err != nil || !slices.Equal(got, wantSome) {
						t.Errorf("%s: some: %d texts, error %v", how, len(got), err)
					}
				}
				check("not kept")
				file.Spool = filepath.Join(storagetest.RunFolder(t), "plain-0")
				check("first")
				if _, err := os.Stat(keptAt(file, span, &leaf)); err == nil != (name != "none") {
					t.Errorf("what is kept: %v", err)
				}
				check("kept")
				part := blocks.Span{End: 2000} // of the page
				for range 2 {
					if got, err := textsOf(t, file, part, nil); err != nil || !slices.Equal(got, want[:2000]) {
						t.Errorf("a part: %d texts, error %v", len(got), err)
					}
				}
				file.Spool = filepath.Join(storagetest.RunFolder(t), "plain-0")
				if _, err := textsOf(t, file, part, nil); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(keptAt(file, part, &leaf)); err == nil != (name != "none") {
					t.Errorf("what is kept of a part: %v", err)
				}
			})
		}
	}
}

// TestKept: a second reader of a span takes its pages from what the first one kept, and only complete pages are kept.
func TestKept(t *testing.T) {
	path := "../../../testdata/parquet/pyarrow-snappy-1.parquet"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, span := plantTexts(t, content), blocks.Span{End: blocks.End}
	want, err := textsOf(t, file, span, nil)
	if err != nil {
		t.Fatal(err)
	}
	file.Spool = filepath.Join(storagetest.RunFolder(t), "plain-0")
	oops := errors.New("oops")
	for stop, want := range map[error]error{oops: oops, reading.ErrStop: nil} {
		_, err := Reader{}.Read(t.Context(), file, []blocks.Span{span}, ofTexts, func(*reading.Record) error { return stop })
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
	leaves := opened(t, content).Leaves
	kept := keptAt(file, span, &leaves[slices.IndexFunc(leaves, func(l core.Leaf) bool { return l.Name == "text" })])
	if _, err := os.Stat(kept); err == nil {
		t.Error("a read that failed or was stopped leaves pages")
	}
	if got, err := textsOf(t, file, span, nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("first: %d texts, error %v", len(got), err)
	}
	data, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, bytes.ReplaceAll(data, []byte("Größe"), []byte("Grüße")), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "Größe", "Grüße")
	}
	some := []int64{0, int64(len(want)) - 1}
	if got, err := textsOf(t, file, span, nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("again: %d texts, error %v", len(got), err)
	}
	if got, err := textsOf(t, file, span, some); err != nil || !slices.Equal(got, []string{want[0], want[len(want)-1]}) {
		t.Errorf("some again: %q, error %v", got, err)
	}
}

// TestKeptWhole: if a page was not read to its end, keeping it fails.
func TestKeptWhole(t *testing.T) {
	var b bytes.Buffer
	k := keeper{w: &b}
	_, _ = k.begin(4, 4).Write([]byte("page"))
	k.begin(20, 6)
	_, _ = k.Write([]byte("pag"))
	if err := k.finish(); err == nil {
		t.Error("half a page is kept")
	}
	_, _ = k.Write([]byte("e 2"))
	if err := k.finish(); err != nil {
		t.Error(err)
	}
}

// TestBrokenStream: in a large page with a checksum, any changed byte is an error.
func TestBrokenStream(t *testing.T) {
	content := largePages(t, parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1))
	f := opened(t, content)
	var column *core.Column
	_ = f.Chunks(&f.Groups[0], func(_ int, c *core.Chunk) error { column = f.Column(&f.Leaves[0], &f.Groups[0], c); return nil })
	if _, err := column.Peek(false); err != nil || !column.Header.HasCRC {
		t.Fatalf("no page with a checksum, error %v", err)
	}
	end := column.Offset + column.Header.Size()
	begin := end - column.Header.Stored
	for _, at := range []int64{begin + 8, (begin + end) / 2, end - 1} {
		damaged := bytes.Clone(content)
		damaged[at] ^= 0x10
		if _, err := textsOf(t, plantTexts(t, damaged), blocks.Span{End: blocks.End}, nil); !errors.As(err, new(*reading.ContentError)) {
			t.Errorf("byte %d of %d: error %v", at-begin, end-begin, err)
		}
	}
}

// TestLargeTextsAtATime: with little memory, large texts are shown one at a time, and so are pages read.
func TestLargeTextsAtATime(t *testing.T) {
	const readers, size = 4, 2 << 20
	long := strings.Repeat("long ", size/5)
	file := plantTexts(t, encoded(t, [][]document{{{Text: &long}}}, parquet.Compression(&parquet.Uncompressed)))
	for room, want := range map[int64]int64{0: readers, 1: 1, readers*2*size + reading.ShownCost*size: 1, readers * (2 + reading.ShownCost) * size: readers} {
		synctest.Test(t, func(t *testing.T) {
			o := reading.Options{MaxRecord: 1 << 30, Room: room}
			o.Fields.Text = []string{"text"}
			var inside atomic.Int64
			all, ended := make(chan struct{}), make(chan error, readers)
			for range readers {
				go func() {
					_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error {
						inside.Add(1)
						<-all
						return nil
					})
					ended <- err
				}()
			}
			synctest.Wait()
			if got := inside.Load(); got != want {
				t.Errorf("room of %d: %d texts at a time, want %d", room, got, want)
			}
			close(all)
			for range readers {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
