package source

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/records"
)

// sampleOf returns the texts of the sample.
func sampleOf(t testing.TB, in *Inputs, o Options) (texts []string, sampled Sampled) {
	t.Helper()
	sampled, err := Sample(t.Context(), in, false, o, func(text, _ []byte) { texts = append(texts, string(text)) })
	if err != nil {
		t.Fatal(err)
	}
	return texts, sampled
}

// TestSampleOfSmallInput checks that the sample of a small input is all of it, in input order, with or without empty
// files.
func TestSampleOfSmallInput(t *testing.T) {
	for _, compression := range []string{"", "gzip", "zstd"} {
		root := t.TempDir()
		var want []string
		for i := range 200 {
			var content strings.Builder
			for j := range i % 4 {
				text := fmt.Sprintf("file %d, line %d: %s", i, j, strings.Repeat("x", i*j))
				want = append(want, text)
				fmt.Fprintf(&content, "{\"text\":%q}\n", text)
			}
			write(t, root, fmt.Sprintf("%03d.jsonl", i), readertest.Pack(t, []byte(content.String()), compression))
		}
		o := Options{Fields: fields, MaxDocument: 1 << 20}
		in := inputs(t, o, root)
		got, sampled := sampleOf(t, in, o)
		if !slices.Equal(got, want) {
			t.Errorf("%s: a sample of %d documents, want all %d", compression, len(got), len(want))
		}
		if sampled.Documents != int64(len(want)) {
			t.Errorf("%s: %d documents, want %d", compression, sampled.Documents, len(want))
		}
		if sampled.Records != int64(len(want)) {
			t.Errorf("%s: an estimate of %d records, want %d", compression, sampled.Records, len(want))
		}
	}
}

// What will be rejected from the input is counted, too. Long ids are not, since they are not passed on.
func TestSampleOfRejected(t *testing.T) {
	long := strings.Repeat("i", MaxID+1)
	lines := []string{`{"id":"ab","text":"x"}`, `{"id":"` + long + `","text":"y"}`, "{", `{"id":` + strings.Repeat("1", records.MaxRaw)}
	o := Options{Fields: fields, MaxDocument: 1 << 20}
	path := write(t, t.TempDir(), "a.jsonl", []byte(strings.Join(lines, "\n")))
	in := inputs(t, o, path)
	texts, sampled := sampleOf(t, in, o)
	want := Sampled{
		Documents: 2, Records: 4, IDs: int64(len("ab") + len(fmt.Sprintf("a.jsonl@%d", len(lines[0])+1))),
		Unreadable: 2, UnreadableBytes: int64(len("{\n") + records.MaxRaw), Files: 1, Stored: in.Bytes(),
		Note: fmt.Sprintf("a.jsonl at byte %d: malformed JSON: column 2: unexpected end of line", len(lines[0])+len(lines[1])+2),
	}
	if !reflect.DeepEqual(sampled, want) || !slices.Equal(texts, []string{"x"}) {
		t.Errorf("sampled %q, %+v, want %+v", texts, sampled, want)
	}
}

func TestSampleOfFiles(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		write(t, root, fmt.Sprintf("%03d", i), []byte(strings.Repeat("x", i%3)))
	}
	o := Options{Format: "files", Fields: fields, MaxDocument: 1}
	in := inputs(t, o, root)
	texts, sampled := sampleOf(t, in, o)
	if len(texts) != 100 || !reflect.DeepEqual(sampled, Sampled{Documents: 200, Records: 300, IDs: 200 * 3, Stored: 300, Files: 200, Plain: "files"}) {
		t.Errorf("%d texts, sampled %+v; want 100 of one byte among 200 documents, and 100 empty ones", len(texts), sampled)
	}
	in = inputs(t, o, write(t, t.TempDir(), "empty", nil))
	if texts, sampled := sampleOf(t, in, o); len(texts) != 0 || sampled.Documents != 0 || sampled.Records != 1 {
		t.Errorf("of an empty file: %d texts, sampled %+v", len(texts), sampled)
	}
}

// TestSampleSpans checks that windows do not depend on how the input is divided into files, that together they are no
// larger than allowed, and that they cover a small input completely.
func TestSampleSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []*blocks.File
		var offset int64
		for range rapid.IntRange(1, 20).Draw(t, "files") {
			f := &blocks.File{Format: "lines", Offset: offset}
			f.Size = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<16), rapid.Int64Range(0, 1<<30)).Draw(t, "size")
			f.Sequential = rapid.Bool().Draw(t, "sequential")
			offset += f.Size
			files = append(files, f)
		}
		whole := &blocks.File{Format: "lines", Size: offset}
		inWindow := func(at int64) bool {
			return slices.ContainsFunc(usualCut(offset).spans(0, whole, offset).spans, func(s blocks.Span) bool { return s.Start <= at && at < s.End })
		}
		var bytes int64
		var spans []blocks.Span
		for i, f := range files {
			w := usualCut(offset).spans(i, f, offset)
			if w.after != blocks.End { // what follows is counted, but not part of the sample
				w.spans[0].End = w.after
			}
			spans = append(spans, w.spans...)
		}
		for i, span := range spans {
			file := files[span.File]
			n := span.End - span.Start
			if span.End == blocks.End {
				n = file.Size
			}
			bytes += n
			if n <= 0 || n > file.Size {
				t.Errorf("span %+v of a file of %d bytes", span, file.Size)
			}
			if i > 0 && (span.File < spans[i-1].File || span.File == spans[i-1].File && span.Start <= spans[i-1].End) {
				t.Errorf("spans %+v and %+v", spans[i-1], span)
			}
			if file.Sequential {
				if span.Start != 0 {
					t.Errorf("span %+v of a sequential file", span)
				}
				continue
			}
			for _, at := range []int64{span.Start - 1, span.Start, span.End - 1, span.End} {
				inside := span.Start <= at && at < span.End
				if at >= 0 && at < file.Size && inWindow(file.Offset+at) != inside {
					t.Errorf("span %+v: byte %d is in a window: %v", span, at, !inside)
				}
			}
		}
		gigabytes := max(1, (offset+1<<30-1)/(1<<30))
		if want := min(offset, min(gigabytes, 16)*(4<<20)); bytes > want || offset <= want && bytes != offset {
			t.Errorf("%d bytes are sampled of %d", bytes, offset)
		}
	})
}

// TestSampleDependsOnInputAlone, not on how it is split.
func TestSampleDependsOnInputAlone(t *testing.T) {
	lengths := slices.Repeat([]int{300, 5000, 100_000, 40, 20}, 60) // 6 MB: windows have gaps
	f := codectest.OfLengths("lines", lengths...)
	o := Options{Format: "lines", Fields: fields, MaxDocument: 50_000}
	path := write(t, t.TempDir(), "file", f.Content)
	var want []string
	for _, splitBytes := range []int64{0, 1 << 12, 99_991} {
		o.SplitBytes = splitBytes
		texts, sampled := sampleOf(t, inputs(t, o, path), o)
		if want == nil {
			want = texts
		}
		if !slices.Equal(texts, want) {
			t.Errorf("splits of %d: another sample", splitBytes)
		}
		// The number of records is estimated to within about a quarter.
		if n := float64(len(lengths)); float64(sampled.Records) < n*3/4 || float64(sampled.Records) > n*5/4 {
			t.Errorf("an estimate of %d records, want about %d", sampled.Records, len(lengths))
		}
	}
	for _, text := range want {
		if len(text) > 50_000 {
			t.Errorf("a text of %d bytes", len(text))
		}
	}
}

// TestSampleOfCompressed checks that the sample reads the same amount of a file each time, which would not be so if the
// decompressor read ahead.
func TestSampleOfCompressed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var lines bytes.Buffer
	for lines.Len() < 24<<20 {
		fmt.Fprintf(&lines, "%x\n", []uint64{random.Uint64(), random.Uint64(), random.Uint64()})
	}
	for _, compression := range []string{"gzip", "zstd"} {
		o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
		in := inputs(t, o, write(t, t.TempDir(), "file", readertest.Pack(t, lines.Bytes(), compression)))
		if in.Bytes() < 2*sampleWindows*sampleBytes {
			t.Fatalf("%s: all of %d bytes are the sample", compression, in.Bytes())
		}
		_, first := sampleOf(t, in, o)
		if n := int64(bytes.Count(lines.Bytes(), []byte{'\n'})); first.Records < n*98/100 || first.Records > n*102/100 { // a block of zstd is begun
			t.Errorf("%s: an estimate of %d records of %d", compression, first.Records, n)
		}
		if first.Stored > in.Bytes()/2 {
			t.Errorf("%s: %d bytes of %d are read of a file whose records are alike", compression, first.Stored, in.Bytes())
		}
		for range 10 {
			if _, again := sampleOf(t, in, o); !reflect.DeepEqual(again, first) {
				t.Errorf("%s: %+v, before %+v", compression, again, first)
			}
		}
	}
}

// TestSampleOfSpooled checks that the sample is the same when an earlier sample, or the run being continued, has left
// decompressed bytes.
func TestSampleOfSpooled(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var lines bytes.Buffer
	for lines.Len() < 200<<10 {
		fmt.Fprintf(&lines, "%x\n", []uint64{random.Uint64(), random.Uint64(), random.Uint64()})
	}
	for _, compression := range []string{"gzip", "zstd"} {
		root := t.TempDir()
		for i := range 80 { // more than the windows cover
			write(t, root, fmt.Sprint(i), readertest.Pack(t, lines.Bytes(), compression))
		}
		o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
		in := inputs(t, o, root)
		path := filepath.Join(storagetest.RunFolder(t), "inputs")
		for i := range in.Len() {
			in.Spool(path, i)
		}
		_, first := sampleOf(t, in, o)
		if plain, err := os.ReadFile(spoolPath(path, 0)); err != nil || !bytes.Equal(plain, lines.Bytes()) {
			t.Errorf("%s: %d bytes are left, %v", compression, len(plain), err)
		}
		if _, again := sampleOf(t, in, o); !reflect.DeepEqual(again, first) {
			t.Errorf("%s: %+v, before %+v", compression, again, first)
		}
	}
}

// TestRecordsOfUnevenFile checks that the number of records is estimated to within a fifth for a file that can only be
// read from its start and has other records there than in the rest, and for many small files.
func TestRecordsOfUnevenFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var lines bytes.Buffer
	n := int64(0)
	for ; lines.Len() < 16<<20; n++ {
		for range 1 + 9*min(lines.Len()/(3<<20), 1) { // records are short in the first fifth
			fmt.Fprintf(&lines, "%x ", random.Uint64())
		}
		lines.WriteByte('\n')
	}
	o := Options{Format: "lines", Fields: fields, MaxDocument: 1 << 20}
	for _, compression := range []string{"", "gzip", "zstd"} {
		root := t.TempDir()
		write(t, root, "file", readertest.Pack(t, lines.Bytes(), compression))
		many := t.TempDir()
		for i, rest := 0, lines.Bytes(); len(rest) > 0; i++ {
			end := min(60_000, len(rest))
			end += bytes.IndexByte(rest[end-1:], '\n')
			write(t, many, fmt.Sprintf("%03d", i), readertest.Pack(t, rest[:end], compression))
			rest = rest[end:]
		}
		for _, folder := range []string{root, many} {
			if _, sampled := sampleOf(t, inputs(t, o, folder), o); sampled.Records < n*4/5 || sampled.Records > n*6/5 {
				t.Errorf("%q, %s: an estimate of %d records, want about %d", compression, folder, sampled.Records, n)
			}
		}
	}
}

// TestSampleMissing checks that a text column counts as missing if no record has it, null or not. A record that cannot
// be read says nothing about columns, unless one of its texts has the wrong type.
func TestSampleMissing(t *testing.T) {
	const lacks, null, list, broken, bytes = `{"id":1,"titel":"a"}`, `{"text":null}`, `{"text":[]}`, `{"id`, "{\"text\":\"\xE9\"}"
	for _, tt := range []struct {
		name, content string
		text          string
		missing       []string
		columns       string
	}{
		{"a.jsonl", lacks, "text", []string{"text"}, "id titel"},
		{"a.jsonl", broken + "\n" + lacks + "\n" + `{"b":1}`, "text", []string{"text"}, "id titel"},
		{"a.jsonl", lacks + "\n" + null, "text", nil, ""},
		{"a.jsonl", null, "text", nil, ""},
		{"a.jsonl", lacks + "\n" + list, "text", nil, ""},
		{"a.jsonl", list + "\n" + lacks, "text", nil, ""},
		{"a.jsonl", lacks + "\n" + bytes, "text", nil, ""},
		{"a.jsonl", broken, "text", nil, ""},
		{"a.jsonl", "", "text", nil, ""},
		{"a.jsonl", lacks + "\n" + null, "titel text more", []string{"more"}, "id titel"},
		{"a.jsonl", lacks, "text titel m.t", []string{"text", "m.t"}, "id titel"},
		{"a.sgm", `<REUTERS OLDID="1"><TITLE>a</TITLE></REUTERS>`, "text", nil, ""},
		{"a.sgm", `<REUTERS OLDID="1"><TITLE>a</TITLE></REUTERS>`, "titel", []string{"titel"}, "TITLE"},
		{"a.tsv", "text\n\n", "text", nil, ""},
	} {
		o := Options{Fields: codec.Fields{Text: strings.Fields(tt.text), ID: "id"}, MaxDocument: 1000}
		_, sampled := sampleOf(t, inputs(t, o, write(t, t.TempDir(), tt.name, []byte(tt.content))), o)
		if !slices.Equal(sampled.Missing, tt.missing) || strings.Join(sampled.Columns, " ") != tt.columns {
			t.Errorf("%s of %q: missing %q, columns %q; want %q, %s", tt.text, tt.content, sampled.Missing, sampled.Columns, tt.missing, tt.columns)
		}
	}
}

// TestWindows checks that 4 MiB are read for each GiB or part of one, up to 16, in at most 1024 windows that do not
// overlap.
func TestWindows(t *testing.T) {
	for gib, want := range map[int64]struct{ windows, mib int64 }{1: {256, 4}, 3: {768, 12}, 5: {1024, 20}, 16: {1024, 64}, 40: {1024, 64}} {
		w := usualCut(gib<<30).spans(0, &blocks.File{Size: gib << 30}, gib<<30)
		if int64(len(w.spans)) != want.windows || w.covered != want.mib<<20 {
			t.Errorf("%d GiB: %d windows of %d bytes in all, want %+v", gib, len(w.spans), w.covered, want)
		}
	}
}

// cuts is a reader of files that can be cut at some rows only.
type cuts struct {
	reading.RecordReader
	at []int64
}

func (c cuts) Cut(*blocks.File, int64) []int64 { return c.at }

// TestGathered checks that eight windows of rows are read in one place, which begins where the reader can begin. In a
// file that is read completely, and in one of bytes, windows stay where they are.
func TestGathered(t *testing.T) {
	const size = 256 << 20
	rows := &blocks.File{Size: size, Positions: 1 << 20} // a window has 64 of them
	w := usualCut(size).spans(0, rows, size)
	var even []int64
	for i := int64(1); i < 1<<10; i++ {
		even = append(even, i<<10)
	}
	for name, c := range map[string]struct {
		cuts  []int64
		first []int64 // of the places
		rows  int64   // of the first
	}{
		"anywhere":    {even, []int64{0, 8 << 12, 16 << 12}, 8 * 64},
		"two groups":  {[]int64{1 << 19}, []int64{0, 1 << 19}, 128 * 64},
		"near groups": {[]int64{100}, []int64{0}, 256 * 64},
		"one group":   {nil, []int64{0}, 256 * 64},
	} {
		got := w.gathered(cuts{at: c.cuts}, rows)
		var covered int64
		for i, span := range got.spans {
			covered += (span.End - span.Start) * (size >> 20)
			if i > 0 && span.Start < got.spans[i-1].End {
				t.Errorf("%s: %+v overlaps the place before", name, span)
			}
		}
		if got.covered != covered {
			t.Errorf("%s: %d bytes are covered, want %d", name, got.covered, covered)
		}
		for i, first := range c.first {
			if i >= len(got.spans) || got.spans[i].Start != first {
				t.Fatalf("%s: places %+v, want such that begin at %d", name, got.spans[:min(3, len(got.spans))], c.first)
			}
		}
		if n := got.spans[0].End - got.spans[0].Start; n != c.rows {
			t.Errorf("%s: the first place has %d rows, want %d", name, n, c.rows)
		}
	}
	bytes := &blocks.File{Size: size}
	if w := usualCut(size).spans(0, bytes, size); len(w.gathered(cuts{}, bytes).spans) != 256 {
		t.Error("windows of bytes are gathered")
	}
	small := &blocks.File{Size: 1 << 20, Positions: 100}
	if w := usualCut(1<<20).spans(0, small, 1<<20).gathered(cuts{}, small); len(w.spans) != 1 || w.spans[0].End != 100 || w.covered != 1<<20 {
		t.Errorf("a small file: %+v", w)
	}
}
