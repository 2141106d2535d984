package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// part is a record, or what stands between two records.
type part struct {
	raw    string
	filler bool
}

// parts lists, for each format, what a file may have after its header.
var parts = map[string]struct {
	header string
	parts  []part
}{
	"jsonl": {"\xEF\xBB\xBF", []part{
		{"\n", true}, {"{\"text\":\"one\"}\n", false}, {" \n\n", true}, {"{\"text\":\"two\"}\r\n", false},
		{"{broken\n", false}, {"{\"text\":\"" + strings.Repeat("long ", 300_000) + "\"}\n", false}, {"{\"text\":\"last\"}", false},
	}},
	"tsv": {"id\ttext\n", []part{
		{"1\tone\n", false}, {"\n", true}, {"2\ttwo\n", false}, {"3\n", false}, {"4\tfour\r\n", false}, {"\r\n", true},
	}},
	"lines": {"", []part{{"one\n", false}, {"\n", false}, {"three\n", false}, {"four\n", false}, {"five", false}}},
	"reuters": {"<!DOCTYPE lewis>\n", []part{
		{"\n", true}, {"<REUTERS OLDID=\"1\"><BODY>one</BODY></REUTERS>\n", false}, {"<!-- -->\n", true},
		{"<REUTERS OLDID=\"2\"><BODY>two</BODY></REUTERS>\n", false}, {"<REUTERS OLDID=\"3\">", false},
		{"<REUTERS OLDID=\"4\"></REUTERS>", false}, {" \n", true},
	}},
	"files": {"", []part{{"the whole\nfile", false}}},
}

var options = source.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxDocument: 100}

// plant writes a file and plans it.
func plant(t *testing.T, name, format string, content []byte) *source.Inputs {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	o := options
	o.Format = format
	listing, err := source.Plan(t.Context(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	return listing.Inputs
}

func unpack(t *testing.T, content []byte, compression string) string {
	t.Helper()
	return string(readertest.Unpack(t, content, compression))
}

// writeCorpus writes all pieces of in without the dropped records. It returns them by name, with their contents as
// written, and the number of records in them.
func writeCorpus(t *testing.T, in *source.Inputs, dropped []blocks.Key) (files map[string][]byte, kept int64) {
	t.Helper()
	f := &corpusFn{Params: Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}}, Options: options}
	packed := map[int64][][]byte{}
	for i := len(dropped) - 1; i >= 0; i-- { // in any order
		batch := in.Batch(dropped[i])
		packed[batch] = append(packed[batch], blocks.AppendKey(nil, dropped[i]), nil)
	}
	files = map[string][]byte{}
	for batch := range in.Batches() {
		err := f.ProcessElement(t.Context(), batch, iterate(append(packed[batch], []byte{})...), func(line []byte) {
			emit, fact := oneFact(t)
			emit(line)
			content, err := os.ReadFile(filepath.Join(f.Params.Output.Dir, fact.Name))
			if err != nil {
				t.Fatal(err)
			}
			if _, twice := files[fact.Name]; twice || fact.Kind != blocks.FactCorpus || fact.Bytes != int64(len(content)) {
				t.Errorf("fact %+v of a file of %d bytes, twice: %v", fact, len(content), twice)
			}
			kept += fact.Counts[blocks.CountRows]
			files[fact.Name] = content
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files, kept
}

// TestCorpus checks that the corpus is the input without the dropped records, whichever these are.
func TestCorpus(t *testing.T) {
	for format, f := range parts {
		for _, compression := range []string{"", "gzip", "zstd"} {
			t.Run(format+" "+compression, func(t *testing.T) {
				t.Parallel()
				whole := f.header
				for _, p := range f.parts {
					whole += p.raw
				}
				in := plant(t, "sub name.ext", format, readertest.Pack(t, []byte(whole), compression))
				for drop := range 1 << len(f.parts) {
					want, position, total := f.header, int64(len(f.header)), int64(0)
					var dropped []blocks.Key
					skip := false
					for i, p := range f.parts {
						if out := drop>>i&1 == 1; out && p.filler {
							skip = true // only records are dropped
						} else if out {
							dropped = append(dropped, blocks.NewKey(0, position))
						} else {
							want += p.raw
							if !p.filler {
								total++
							}
						}
						position += int64(len(p.raw))
					}
					if skip || len(whole) > 1<<20 && drop%5 != 0 {
						continue
					}
					files, kept := writeCorpus(t, in, dropped)
					if format == "files" && len(dropped) > 0 {
						if len(files) != 0 {
							t.Errorf("a dropped file was written: %v", files)
						}
						continue
					}
					got := unpack(t, files["corpus/sub name.ext"], compression)
					if got != want || kept != total || len(files) != 1 {
						t.Errorf("dropped %v: %d records in %d bytes, want %d in %d", dropped, kept, len(got), total, len(want))
					}
				}
			})
		}
	}
}

// TestCorpusFrames checks that zstd frames in which nothing is dropped are copied byte by byte, even where records
// cross their ends, and that the corpus has the same content as without frames.
func TestCorpusFrames(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	copied, anew := 0, 0
	for range 300 {
		var plain []byte
		var starts []int64
		for i := range random.IntN(30) {
			starts = append(starts, int64(len(plain)))
			plain = fmt.Appendf(plain, "line %d of %s\n", i, strings.Repeat("many ", random.IntN(200)))
		}
		type frame struct {
			packed     []byte
			start, end int64
		}
		var frames []frame
		var packed []byte
		for left := plain; len(left) > 0; {
			n := min(len(left), 256+random.IntN(2000))
			f := frame{start: int64(len(plain) - len(left)), end: int64(len(plain) - len(left) + n)}
			f.packed = encoder.EncodeAll(left[:n], nil)
			if random.IntN(20) == 0 { // it does not state its size, which affects all frames after it
				f.packed = readertest.Pack(t, left[:n], "zstd")
			}
			frames, packed, left = append(frames, f), append(packed, f.packed...), left[n:]
			if random.IntN(5) == 0 {
				packed = append(packed, "\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"...) // a skippable frame
			}
		}
		var dropped []blocks.Key
		gone := make([]bool, len(plain))
		var want []byte
		for i, start := range starts {
			end := int64(len(plain))
			if i+1 < len(starts) {
				end = starts[i+1]
			}
			if random.IntN(8) == 0 {
				dropped = append(dropped, blocks.NewKey(0, start))
				for p := start; p < end; p++ {
					gone[p] = true
				}
			} else {
				want = append(want, plain[start:end]...)
			}
		}
		in := plant(t, "x.zst", "lines", packed)
		files, kept := writeCorpus(t, in, dropped)
		got := files["corpus/x.zst"]
		if kept != int64(len(starts)-len(dropped)) || len(packed) > 0 && unpack(t, got, "zstd") != string(want) {
			t.Fatalf("%d frames, dropped %v: %d records, %q, want %q", len(frames), dropped, kept, unpack(t, got, "zstd"), want)
		}
		if len(dropped) == 0 {
			if !bytes.Equal(got, packed) {
				t.Fatal("a file that nothing is dropped of is not as it was")
			}
			continue
		}
		for _, f := range frames {
			if bytes.Count(packed, f.packed) > 1 {
				continue
			}
			whole := !slices.Contains(gone[f.start:f.end], true)
			var h zstd.Header
			if err := h.Decode(f.packed); err != nil {
				t.Fatal(err)
			}
			if !h.HasFCS {
				break
			}
			switch {
			case whole && !bytes.Contains(got, f.packed):
				t.Fatalf("frame %q is not copied", plain[f.start:f.end])
			case whole:
				copied++
			default:
				anew++
			}
		}
	}
	if copied < 100 || anew < 100 {
		t.Errorf("%d frames were copied, %d packed anew: little is shown", copied, anew)
	}
}

// TestCorpusOfSome checks that what lies after the records that --limit takes is not written: compressed or not, in
// frames or not, with dropped records or not.
func TestCorpusOfSome(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("many words ", 40)
	var whole []byte
	var ends []int
	for i := range 12 {
		whole = fmt.Appendf(whole, "line %d of %s\n", i, line)
		ends = append(ends, len(whole))
	}
	var frames []byte
	for part := range slices.Chunk(whole, ends[3]+100) { // lines cross the ends of frames
		frames = encoder.EncodeAll(part, frames)
	}
	for name, packed := range map[string][]byte{
		"": whole, "gzip": readertest.Pack(t, whole, "gzip"), "zstd": readertest.Pack(t, whole, "zstd"), "zstd frames": frames,
	} {
		compression, _, _ := strings.Cut(name, " ")
		in := plant(t, "x", "lines", packed)
		for limit := 1; limit <= len(ends); limit++ {
			for _, drop := range []int{-1, 0, limit - 1} {
				in.Truncate(0, int64(ends[limit-1]-2)) // as in the plan: just after the last record begins
				var dropped []blocks.Key
				want, kept := whole[:ends[limit-1]], int64(limit)
				if drop >= 0 {
					begin := 0
					if drop > 0 {
						begin = ends[drop-1]
					}
					dropped = []blocks.Key{blocks.NewKey(0, int64(begin))}
					want, kept = slices.Concat(want[:begin], want[ends[drop]:]), kept-1
				}
				files, got := writeCorpus(t, in, dropped)
				if text := unpack(t, files["corpus/x"], compression); text != string(want) || got != kept {
					t.Errorf("%q, %d lines less %d: %d records of %d bytes, want %d of %d", name, limit, drop, got, len(text), kept, len(want))
				}
			}
		}
	}
}

// endsAfter is a context that is done after it was asked a number of times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCorpusInterrupted also covers a file that is copied as a whole after its last record.
func TestCorpusInterrupted(t *testing.T) {
	in := plant(t, "x", "lines", readertest.Pack(t, []byte("one\ntwo\n"), "gzip"))
	for left := 0; ; left++ { // wherever the context is checked
		f := &corpusFn{Params: Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}}, Options: options}
		err := f.ProcessElement(&endsAfter{t.Context(), left}, 0, iterate(), func([]byte) {})
		if err == nil {
			// Two records, the end and the bytes; the store checks by itself.
			if left < 4 {
				t.Errorf("it looked %d times", left)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d: error %v", left, err)
		}
		if files, err := filepath.Glob(filepath.Join(f.Params.Output.Dir, "corpus", "*")); err != nil || len(files) > 0 {
			t.Errorf("after %d: files %v, %v", left, files, err)
		}
	}
}

// TestCorpusOfAnotherBatch checks that dropped records of a piece which is not in the batch cause an error instead of
// being ignored.
func TestCorpusOfAnotherBatch(t *testing.T) {
	in := plant(t, "x", "lines", []byte("one\ntwo\n"))
	f := &corpusFn{Params: Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}}, Options: options}
	err := f.ProcessElement(t.Context(), 0, iterate(blocks.AppendKey(nil, blocks.NewKey(1, 4))), func([]byte) {})
	if want := "a record was removed at 4 of file 1, which batch 0 of the corpus does not have"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// changing is a store whose files change after they were opened.
type changing struct {
	storage.Store
	steady bool // they do not change yet
}

type changed struct {
	storage.Reader
	asked int
}

func (c *changing) Open(ctx context.Context, path string) (storage.Reader, error) {
	r, err := c.Store.Open(ctx, path)
	if c.steady {
		return r, err
	}
	return &changed{Reader: r}, err
}

func (c *changed) Stat(ctx context.Context) (storage.Info, error) {
	info, err := c.Reader.Stat(ctx)
	if c.asked++; c.asked > 1 {
		info.Version += " and more"
	}
	return info, err
}

// TestCorpusOfChanged covers a compressed file, which is read once for its records and once for its bytes: what changes
// between the two must not end up in the corpus.
func TestCorpusOfChanged(t *testing.T) {
	store := &changing{Store: &storagetest.Memory{}}
	storage.Register("changing://", store)
	content := []byte("one\ntwo\n")
	for _, compression := range []string{"gzip", "zstd"} {
		for _, dropped := range [][]byte{nil, blocks.AppendKey(nil, 4)} {
			_, err := storage.WriteFile(t.Context(), "changing://b/x", func(w io.Writer) error {
				_, err := w.Write(readertest.Pack(t, content, compression))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			o := options
			o.Format, o.SplitBytes = "lines", 1 // it is inspected first
			store.steady = true
			listing, err := source.Plan(t.Context(), []string{"changing://b/x"}, o)
			store.steady = false
			if err != nil {
				t.Fatal(err)
			}
			in := listing.Inputs
			f := &corpusFn{Params: Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}}, Options: options}
			err = f.ProcessElement(t.Context(), 0, iterate(dropped), func([]byte) { t.Error("a fact") })
			if err == nil || !strings.Contains(err.Error(), "changed since it was listed") {
				t.Errorf("%s without %v: error %v", compression, dropped, err)
			}
		}
	}
}

// TestWriteOutput checks that what the manifest says about a file is true of the bytes that were written.
func TestWriteOutput(t *testing.T) {
	folder := storagetest.RunFolder(t)
	content := strings.Repeat("a line\n", 100_000)
	got, err := (output.Folder{Dir: folder}).Write(t.Context(), "sub/file", false, func(w io.Writer) error {
		for line := range strings.Lines(content) {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "sub", "file"))
	if err != nil || string(data) != content {
		t.Errorf("%d bytes, %v, want %d", len(data), err, len(content))
	}
	if want := (records.ManifestFile{Path: "sub/file", Bytes: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestWriteOutputOfAnEndedRun checks that a late worker leaves nothing behind, not even a folder.
func TestWriteOutputOfAnEndedRun(t *testing.T) {
	folder := storagetest.RunFolder(t)
	if err := storage.End(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	_, err := (output.Folder{Dir: folder}).Write(t.Context(), "sub/file", false, func(w io.Writer) error {
		_, err := io.WriteString(w, "late")
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestCorpusPieces checks that the pieces of a file, joined in order, are the same file, each with the header.
func TestCorpusPieces(t *testing.T) {
	f := parts["tsv"]
	whole := f.header
	for _, p := range f.parts {
		whole += p.raw
	}
	in := plant(t, "t.tsv", "tsv", []byte(whole))
	for size := int64(9); size < 30; size++ {
		file := in.File(0)
		var cuts []int64
		for start := size; start < int64(len(whole)); start += size {
			cuts = append(cuts, start)
		}
		in.Inputs = &blocks.Inputs{Root: in.Root, Shards: 1}
		in.Add(&file, nil, cuts)
		second := blocks.NewKey(0, int64(strings.Index(whole, "2\ttwo")))
		files, kept := writeCorpus(t, in, []blocks.Key{second})
		got := f.header
		for i := range in.Pieces.Len() {
			name := fmt.Sprintf("corpus/t-%05d-of-%05d.tsv", i, in.Pieces.Len())
			rest, ok := strings.CutPrefix(string(files[name]), f.header)
			if !ok {
				t.Errorf("pieces of %d: %s begins %.20q", size, name, files[name])
			}
			got += rest
		}
		if want := strings.Replace(whole, "2\ttwo\n", "", 1); got != want || kept != 3 {
			t.Errorf("pieces of %d: %q with %d records, want %q with 3", size, got, kept, want)
		}
	}
}

// TestCorpusIsDeterministic takes blocks in any order, here in the worst one of both kinds.
func TestCorpusIsDeterministic(t *testing.T) {
	for _, compression := range []string{"gzip", "zstd"} {
		var content bytes.Buffer
		var dropped []blocks.Key
		for i := range 20_000 {
			if i%7 == 0 {
				dropped = append(dropped, blocks.NewKey(0, int64(content.Len())))
			}
			fmt.Fprintf(&content, "line %d of many, %d\n", i, i*i%977)
		}
		in := plant(t, "x", "lines", readertest.Pack(t, content.Bytes(), compression))
		first, _ := writeCorpus(t, in, dropped)
		for i, j := 0, len(dropped)-1; i < j; i, j = i+1, j-1 {
			dropped[i], dropped[j] = dropped[j], dropped[i]
		}
		if again, _ := writeCorpus(t, in, dropped); !reflect.DeepEqual(again, first) {
			t.Errorf("%s: other bytes", compression)
		}
	}
}

func TestCorpusErrors(t *testing.T) {
	in := plant(t, "x", "lines", []byte("one\ntwo\n"))
	path := in.File(0).Path
	for name, tt := range map[string]struct {
		block []byte
		want  string
	}{
		"no record there":       {blocks.AppendKey(nil, blocks.NewKey(0, 1)), path + " at byte 1, where one was removed"},
		"dropped behind":        {blocks.AppendKey(blocks.AppendKey(nil, 4), 9), path + " at byte 9, where"},
		"dropped twice":         {blocks.AppendKey(blocks.AppendKey(nil, 4), 4), path + " at byte 4, where"},
		"keys that are cut off": {[]byte{1, 2, 3}, "corrupt"},
	} {
		f := &corpusFn{Params: Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}}, Options: options}
		err := f.ProcessElement(t.Context(), 0, iterate(tt.block), func([]byte) { t.Errorf("%s: a fact", name) })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		if left, err := os.ReadDir(filepath.Join(f.Params.Output.Dir, "corpus")); err == nil && len(left) != 0 {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := &corpusFn{Params: Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}}, Options: options}
	err := f.ProcessElement(t.Context(), 0, iterate(), func([]byte) { t.Error("a fact") })
	if err == nil || !strings.Contains(err.Error(), path+" changed") {
		t.Errorf("of a file that grew: error %v", err)
	}
}

// TestManyKeys checks that most keys of many dropped records are in files, and that each piece gets its own positions,
// in order.
func TestManyKeys(t *testing.T) {
	const n = 20_000
	in := plant(t, "x", "lines", bytes.Repeat([]byte("\n"), n))
	temp := storagetest.RunFolder(t)
	f := &corpusFn{
		Params:  Params{Inputs: share(t, in), Output: output.Folder{Dir: storagetest.RunFolder(t)}, Temp: temp, HeldRows: n},
		Options: options,
	}
	var keys []byte
	for i := range n {
		if position := int64(i) * 12_347 % n; position%3 == 0 {
			keys = blocks.AppendKey(keys, blocks.NewKey(0, position))
		}
	}
	groups := func(block *[]byte) bool {
		*block, keys = keys[:min(len(keys), 1<<10)], keys[min(len(keys), 1<<10):]
		return len(*block) > 0
	}
	emit, fact := oneFact(t)
	if err := f.ProcessElement(t.Context(), 0, groups, emit); err != nil {
		t.Fatal(err)
	}
	if kept := fact.Counts[blocks.CountRows]; kept != n-(n+2)/3 {
		t.Errorf("%d records", kept)
	}
	// A key takes at least 8 bytes, so that a third of n of them take more than twice the bytes held.
	if files, err := filepath.Glob(filepath.Join(temp, "sorted", "corpus", "*")); err != nil || len(files) < 2 {
		t.Errorf("%d files, error %v", len(files), err)
	}
}
