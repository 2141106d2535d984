package source

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

const oneDocument = `{"text":"one"}` + "\n"

// plant writes files of one document each below a new folder and changes to it.
func plant(t *testing.T, names ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	t.Chdir(root)
	for _, name := range names {
		write(t, "", name, []byte(oneDocument))
	}
	return root
}

// sources returns the names of the files of in, as the output has them.
func sources(in *Inputs) (names []string) {
	for _, source := range in.Names() {
		names = append(names, source)
	}
	return names
}

func TestPlanOrder(t *testing.T) {
	root := plant(t, "b/2.jsonl", "b/10.jsonl", "b/sub/1.jsonl", "b/sub-1.jsonl", "a.jsonl", "c.ndjson", "b/README", "b/x.log")
	for _, tt := range []struct {
		args     string
		root     string
		sources  string
		skipped  string
		repeated string
	}{
		{"b", "b", "10.jsonl 2.jsonl sub-1.jsonl sub/1.jsonl", "b/README b/x.log", ""},
		{"c.ndjson b a.jsonl", "", "c.ndjson b/10.jsonl b/2.jsonl b/sub-1.jsonl b/sub/1.jsonl a.jsonl", "b/README b/x.log", ""},
		{"b/sub b/2.jsonl", "b", "sub/1.jsonl 2.jsonl", "", ""},
		{"b/sub/1.jsonl b/sub", "b/sub", "1.jsonl", "", "b/sub/1.jsonl"},
		{"b/sub/../2.jsonl b", "b", "2.jsonl 10.jsonl sub-1.jsonl sub/1.jsonl", "b/README b/x.log", "b/2.jsonl"},
		{"b/s*", "b", "sub-1.jsonl sub/1.jsonl", "", ""},
		{"?", "b", "10.jsonl 2.jsonl sub-1.jsonl sub/1.jsonl", "b/README b/x.log", ""}, // a folder that a pattern matches is a folder
		{"b/2.jsonl", "b", "2.jsonl", "", ""},
	} {
		listing, err := Plan(t.Context(), strings.Fields(tt.args), Options{Fields: fields})
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		relative := func(paths []string) string {
			var names []string
			for _, path := range paths {
				names = append(names, strings.TrimPrefix(path, root+"/"))
			}
			return strings.Join(names, " ")
		}
		in := listing.Inputs
		if got := filepath.Join(root, tt.root); in.Root != got {
			t.Errorf("%s: root %s, want %s", tt.args, in.Root, got)
		}
		if got := strings.Join(sources(in), " "); got != tt.sources {
			t.Errorf("%s: files\n%s\nwant\n%s", tt.args, got, tt.sources)
		}
		if got := relative(listing.Skipped); got != tt.skipped {
			t.Errorf("%s: skipped %s, want %s", tt.args, got, tt.skipped)
		}
		if got := relative(listing.Repeated); got != tt.repeated {
			t.Errorf("%s: repeated %s, want %s", tt.args, got, tt.repeated)
		}
	}
}

// TestLinks checks that a file is read once, under the path that comes first in input order, whatever links lead to it.
func TestLinks(t *testing.T) {
	root := plant(t, "in/b.jsonl", "in/same.jsonl", "other/c.jsonl")
	for link, target := range map[string]string{"in/a.jsonl": "b.jsonl", "in/d.jsonl": "../other/c.jsonl"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link("in/b.jsonl", "other/hard.jsonl"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, sources, links string }{
		{"in", "a.jsonl d.jsonl same.jsonl", "in/b.jsonl=in/a.jsonl"},
		{"in/b.jsonl in", "b.jsonl d.jsonl same.jsonl", "in/a.jsonl=in/b.jsonl"},
		{"other in", "other/c.jsonl other/hard.jsonl in/same.jsonl", "in/a.jsonl=other/hard.jsonl in/b.jsonl=other/hard.jsonl in/d.jsonl=other/c.jsonl"},
		{"in/b.jsonl other/hard.jsonl", "b.jsonl", "other/hard.jsonl=in/b.jsonl"},
		{"in/same.jsonl other/c.jsonl", "in/same.jsonl other/c.jsonl", ""},
	} {
		listing, err := Plan(t.Context(), strings.Fields(tt.args), Options{Fields: fields})
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		var links []string
		for _, l := range listing.Links {
			links = append(links, strings.TrimPrefix(l.Path, root+"/")+"="+strings.TrimPrefix(l.First, root+"/"))
		}
		if got := strings.Join(sources(listing.Inputs), " "); got != tt.sources || strings.Join(links, " ") != tt.links {
			t.Errorf("%s: files %s, links %q; want %s, %s", tt.args, got, links, tt.sources, tt.links)
		}
	}
}

func init() { storage.Register("objects://", &storagetest.Memory{}) }

// put writes an object with one document.
func put(t *testing.T, path string) {
	t.Helper()
	_, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error {
		_, err := io.WriteString(w, oneDocument)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoLinks checks that objects with equal content are separate files in a store without links.
func TestNoLinks(t *testing.T) {
	put(t, "objects://bucket/a.jsonl")
	put(t, "objects://bucket/b.jsonl")
	listing, err := Plan(t.Context(), []string{"objects://bucket"}, Options{Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	if got := sources(listing.Inputs); !slices.Equal(got, []string{"a.jsonl", "b.jsonl"}) || len(listing.Links) > 0 {
		t.Errorf("files %q, links %+v", got, listing.Links)
	}
}

func TestCommonRoot(t *testing.T) {
	for _, tt := range []struct{ folders, want string }{
		{"/a", "/a"},
		{"/a /a", "/a"},
		{"/a/b /a", "/a"},
		{"/a /a/b", "/a"},
		{"/a/b /a/bc", "/a"},
		{"/a/b/c /a/d /a/b", "/a"},
		{"/a /b", "/"},
		{"/ /b", "/"},
		{"/b /", "/"},
	} {
		if got := commonRoot(strings.Fields(tt.folders)); got != tt.want {
			t.Errorf("common root of %s is %s, want %s", tt.folders, got, tt.want)
		}
	}
}

func TestFormats(t *testing.T) {
	const table, lines, list = "id\ttext\n", oneDocument, "[" + oneDocument + "]"
	for _, tt := range []struct {
		format  string
		files   string // in the folder
		content string
		want    string // name=format, or a part of the error
	}{
		{"", "A.Tab b.tsv.zst c.TSV.GZ d e.md", table, "A.Tab=tsv b.tsv.zst=tsv c.TSV.GZ=tsv"},
		{"", "c.SGML d.sgm.gzip README", table, "c.SGML=reuters d.sgm.gzip=reuters"},
		{"", "a.JSON b.jsonl c.ndjson.zstd", lines, "a.JSON=jsonl b.jsonl=jsonl c.ndjson.zstd=jsonl"},
		{"", "a.JSON", list, "a.JSON=json"},
		{"", "a.json b.jsonl", list, "in holds several formats: json (in/a.json), jsonl (in/b.jsonl); choose with --include or --exclude, as in --include '*.json'"},
		{"", "a.jsonl b.orc c.orc", lines, "in holds several formats: orc (2 files, such as in/b.orc), jsonl (in/a.jsonl); choose"},
		{"", "b.orc", lines, "in: no file has a known format; neardup does not read ORC files; convert or unpack the file, for example with: " +
			`python -c 'import pandas; pandas.read_orc("in/b.orc").to_parquet("in/b.orc.parquet")'`},
		{"", "b.Docx c.docx d.pdf README", lines, "in: no file has a known format; neardup does not read Word documents; " +
			"convert or unpack the file, for example with: pandoc in/b.Docx --to plain --output in/b.Docx.txt"},
		{"", "dataset_info.json state.json data-00000-of-00001.arrow", list, "in: neardup does not read datasets that save_to_disk wrote; " +
			`convert or unpack the file, for example with: python -c 'import datasets; ds = datasets.load_from_disk("in"); ds.to_parquet("in.parquet")'`},
		{"", "data-00000-of-00001.arrow", list, "in: neardup does not read datasets that save_to_disk wrote"},
		{"", "a.jsonl.gz b.jsonl.bz2", lines, "in holds several formats: bz2 (in/b.jsonl.bz2), jsonl (in/a.jsonl.gz); choose with --include or --exclude, as in --include '*.jsonl.gz'"},
		{"", "a.txt b.txt.gz", lines, "in: no file has a known format; use --format files (one document per file) or lines (one per line)"},
		{"", "a.jsonl Thumbs.db Desktop.ini", lines, "a.jsonl=jsonl"},
		{"", "README notes.md", lines, "in: no file has a known format; use --format json, jsonl, "},
		{"jsonl", "a.json b.jsonl c.ndjson d e.md", lines, "a.json=jsonl b.jsonl=jsonl c.ndjson=jsonl"},
		{"jsonl", "a.jsonl c.sgm", lines, "in holds several formats: jsonl (in/a.jsonl), reuters (in/c.sgm); choose with --include or --exclude, as in --include '*.jsonl'"},
		{"jsonl", "d.txt e", lines, "d.txt=jsonl e=jsonl"}, // names that say nothing about the format
		{"lines", "d.tsv e", lines, "d.tsv=lines e=lines"},
		{"lines", "a.jsonl d.tsv e", lines, "in holds several formats: jsonl (in/a.jsonl), tsv (in/d.tsv); choose"},
		{"files", "a.jsonl d.txt e", lines, "a.jsonl=files d.txt=files e=files"},
	} {
		o := Options{Format: tt.format, Fields: fields}
		plant(t)
		for _, name := range strings.Fields(tt.files) {
			write(t, "in", name, []byte(tt.content))
		}
		for _, arg := range []string{"in", "i*"} {
			listing, err := Plan(t.Context(), []string{arg}, o)
			if err != nil {
				if want := arg + strings.TrimPrefix(tt.want, "in"); !strings.Contains(err.Error(), want) {
					t.Errorf("%q, folder of %s: %v, want %s", tt.format, tt.files, err, want)
				}
				continue
			}
			var got []string
			for _, f := range listedFiles(t, listing.Inputs) {
				if f.IDIsSource != (f.Format == "files") {
					t.Errorf("%s is named by its source: %v", f.Source, f.IDIsSource)
				}
				got = append(got, f.Source+"="+f.Format)
			}
			if got := strings.Join(got, " "); got != tt.want || len(got)+len(listing.Skipped) < len(strings.Fields(tt.files)) {
				t.Errorf("%q, folder of %s: %s, want %s", tt.format, tt.files, got, tt.want)
			}
		}
	}
}

// TestBesides checks that a few text files, tables or XML files beside other data are skipped, but no more than a
// twentieth of it.
func TestBesides(t *testing.T) {
	for _, ending := range []string{".txt", ".csv", ".xml"} {
		for _, tt := range []struct {
			bytes int
			fails bool
		}{{50, false}, {60, true}} {
			plant(t)
			write(t, "in", "a.jsonl", bytes.Repeat([]byte(" "), 1000))
			write(t, "in", "b"+ending, bytes.Repeat([]byte(" "), tt.bytes))
			listing, err := Plan(t.Context(), []string{"in"}, Options{Fields: fields})
			if (err != nil) != tt.fails || err == nil && (listing.Inputs.Len() != 1 || len(listing.Skipped) != 1) {
				t.Errorf("%d bytes of %s: %+v, %v", tt.bytes, ending, listing, err)
			}
		}
	}
	// They are read if they are asked for. Larger shares are not skipped.
	plant(t)
	write(t, "in", "a.csv", []byte("text\n"))
	write(t, "in", "README", make([]byte, 1000))
	if got := sources(inputs(t, Options{Fields: fields}, "in")); !slices.Equal(got, []string{"a.csv"}) {
		t.Errorf("files %q", got)
	}
	write(t, "in", "b.pdf", make([]byte, 1000))
	if _, err := Plan(t.Context(), []string{"in"}, Options{Fields: fields}); err == nil || !strings.Contains(err.Error(), "pdf (in/b.pdf), csv (in/a.csv)") {
		t.Errorf("error %v", err)
	}
}

// TestNamedFormats checks that files and folders given by name may be of several formats.
func TestNamedFormats(t *testing.T) {
	// A file given by name is read in the requested format, whatever it is called.
	plant(t, "b.tsv", "a.jsonl")
	for _, f := range listedFiles(t, inputs(t, Options{Format: "jsonl", Fields: fields}, "b.tsv", "*.jsonl")) {
		if f.Format != "jsonl" {
			t.Errorf("%s is read as %s", f.Source, f.Format)
		}
	}
	// A file given beside a folder says nothing about the names in that folder.
	plant(t, "in/a.jsonl", "in/sub/b.dat")
	if got := sources(inputs(t, Options{Format: "jsonl", Fields: fields}, "in/*")); !slices.Equal(got, []string{"a.jsonl", "sub/b.dat"}) {
		t.Errorf("files %q", got)
	}
}

// TestConversions checks that a document of another program is answered with the command that converts it to text,
// whatever format it is read as.
func TestConversions(t *testing.T) {
	plant(t)
	write(t, "", "word.docx", []byte("PK\x03\x04...."))
	write(t, "", "page.pdf", []byte("%PDF-1.7\n"))
	write(t, "", "page", []byte("%PDF-1.7\n"))
	for _, format := range []string{"files", "lines"} {
		for arg, want := range map[string]string{
			"word.docx": "neardup does not read Word documents; convert or unpack the file, for example with: pandoc FILE --to plain --output FILE.txt; or leave it out with --exclude '*.docx'",
			"page.pdf":  "neardup does not read PDF files; convert or unpack the file, for example with: pdftotext FILE; or leave it out with --exclude '*.pdf'",
			"page":      "pdf files cannot be read; unpack or convert the file first, or leave it out",
		} {
			path, err := filepath.Abs(arg)
			if err != nil {
				t.Fatal(err)
			}
			want = path + ": " + strings.ReplaceAll(want, "FILE", path)
			o := Options{Format: format}
			listing, err := Plan(t.Context(), []string{arg}, o)
			if err == nil {
				_, err = Sample(t.Context(), listing.Inputs, false, o, nil)
			}
			if err == nil || err.Error() != want {
				t.Errorf("--format %s %s: %v, want %s", format, arg, err, want)
			}
		}
	}
}

func TestPlanErrors(t *testing.T) {
	plant(t, "in/README", "notes.txt", "folder/x.jsonl", "caf\xe9.jsonl", "tie/x-00000-of-00002.jsonl")
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, "", "t.tsv", []byte("id\tBody \nrow\t1\n"))
	write(t, "", "wide.tsv", []byte("\xFF\xFEt\x00e\x00x\x00t\x00\n\x00"))
	write(t, "", "old.tsv", []byte("gr\xF6\xDFe\tf\xFCr alle Stra\xDFen der Stadt\n"))
	write(t, "", "utf8.tsv", []byte("größe\tfür alle Straßen der Stadt\n"))
	write(t, "", "date.tsv", []byte("id\ttext\n"))
	write(t, "", "mac.csv", []byte("id,text\r"+strings.Repeat("1,an old Mac\r", 1<<17)))
	write(t, "", "long.tsv", []byte(strings.Repeat("column\t", 1<<20)))
	for name, content := range map[string]string{
		"zip": "PK\x03\x04....", "xz": "\xfd7zXZ\x00..", "parquet": "PAR1....", "bzip2": "BZh91AY&SY....", "lz4": "\x04\x22\x4d\x18....",
	} {
		write(t, "", name+".jsonl", []byte(content))
	}
	for _, tt := range []struct {
		arg, format string
		want        []string
	}{
		{"missing", "", []string{"missing", "no such file"}},
		{"notes.txt", "", []string{"notes.txt: cannot tell the format from the file name; use --format files (one document per file)"}},
		{"note*", "", []string{"notes.txt: cannot tell the format from the file name; use --format files (one document per file)"}},
		{"in", "", []string{"in: no file has a known format; use --format json, jsonl, "}},
		{"notes.txt", "txt", []string{`"txt" is not supported: use --format files (one document per file) or lines (one per line)`}},
		{"notes.txt", "docx", []string{`"docx" is not supported: neardup does not read Word documents; convert or unpack the file, for example with: pandoc FILE`}},
		{"empty", "lines", []string{"empty: the folder contains no files; choose another"}},
		{"folder", "xls", []string{`"xls" is unknown; use json, jsonl, csv, tsv, lines, files, html, xml, parquet, reuters`}},
		{"t.tsv", "", []string{"/t.tsv: ", `no text column "text"`, `"id", "Body "`}},
		{"wide.tsv", "", []string{"/wide.tsv: its header is not UTF-8; it may be UTF-16; read it with --encoding UTF-16"}},
		{"old.tsv", "", []string{"/old.tsv: no text column", "; the file may be windows-1252; read it with --encoding windows-1252"}},
		{"utf8.tsv", "", []string{"/utf8.tsv: no text column"}},
		{"mac.csv", "", []string{"/mac.csv: lines end with CR alone, as on old Macs; convert the file with: tr '\\r' '\\n'"}},
		{"long.tsv", "", []string{"/long.tsv: its header does not end within", "is this a TSV file?"}},
		{"caf*", "", []string{`caf\xe9.jsonl": the name is not UTF-8`, "rename it"}},
		{"zip.jsonl", "", []string{"/zip.jsonl: zip files cannot be read; unpack"}},
		{"xz.jsonl", "", []string{"/xz.jsonl: xz files cannot be read; unpack"}},
		{"parquet.jsonl", "", []string{"/parquet.jsonl: parquet files cannot be read as another format; use --format parquet"}},
		{"bzip2.jsonl", "", []string{"/bzip2.jsonl: bzip2 files cannot be read"}},
		{"lz4.jsonl", "", []string{"/lz4.jsonl: lz4 files cannot be read"}},
		{"notes.txt", "lines", []string{"/notes.txt: the lines format has no columns to rank documents by", "keep first, longest or"}},
		{"notes.txt", "files", []string{"/notes.txt: the files format has no columns to rank documents by"}},
		{"date.tsv", "", []string{"/date.tsv: ", `--keep: no column "Date"`, `"id", "text"`}},
	} {
		o := Options{Format: tt.format, Fields: fields, Rank: Rank{{Column: "Date"}}}
		listing, err := Plan(t.Context(), []string{tt.arg}, o)
		if err == nil {
			_, err = Sample(t.Context(), listing.Inputs, false, o, nil)
		}
		if err == nil {
			t.Errorf("%s: no error, want %q", tt.arg, tt.want)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q in it", tt.arg, err, want)
			}
		}
	}
}

// TestCompressionByContent checks that compression is recognized by content: names can be wrong.
func TestCompressionByContent(t *testing.T) {
	plant(t)
	write(t, "", "plain.jsonl.gz", []byte(oneDocument))
	write(t, "", "packed.jsonl", readertest.Pack(t, []byte(oneDocument), "zstd"))
	write(t, "", "empty.jsonl.gz", nil)
	write(t, "", "BZh.jsonl", []byte("BZh is how this begins\n"))
	for path, want := range map[string]string{"plain.jsonl.gz": "", "packed.jsonl": "zstd", "empty.jsonl.gz": "", "BZh.jsonl": ""} {
		if got := opened(t, inputs(t, Options{Fields: fields}, path), 0, Options{Fields: fields}).Compression; got != want {
			t.Errorf("%s: compression %q, want %q", path, got, want)
		}
	}
}

// TestShuffledListing checks that a store may list files in any order.
func TestShuffledListing(t *testing.T) {
	plant(t, "in/b.jsonl", "in/a.jsonl", "in/sub/c.jsonl", "in/README", "in/sub-2/d.jsonl")
	entries, err := storage.List(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	arranged := func(entries []storage.Entry) (files, skipped []string) {
		formats, skipped, err := Options{}.choose(t.Context(), "in", entries)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			if formats[i] != "" {
				files = append(files, e.Path+" "+formats[i])
			}
		}
		return files, skipped
	}
	want, wantSkipped := arranged(slices.Clone(entries))
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		got, skipped := arranged(slices.Clone(entries))
		if !slices.Equal(got, want) || !slices.Equal(skipped, wantSkipped) {
			t.Fatalf("got %v %v, want %v %v", got, skipped, want, wantSkipped)
		}
	}
}

// TestPlanCuts plans files that are larger than a piece; they are sparse.
func TestPlanCuts(t *testing.T) {
	plant(t, "a.jsonl")
	for name, size := range map[string]int64{"b.jsonl": 600 << 20, "c.jsonl": 256 << 20} {
		write(t, "", name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
	}
	in := inputs(t, Options{Fields: fields, SplitBytes: 16 << 20}, "a.jsonl", "b.jsonl", "c.jsonl")
	small := int64(len(oneDocument))
	for i, want := range []int64{0, small, small + 600<<20} {
		if got := in.File(i).Offset; got != want {
			t.Errorf("file %d is at %d, want %d", i, got, want)
		}
	}
	const mib = 1 << 20
	wantPieces := []blocks.Span{
		{File: 0, End: blocks.End},
		{File: 1, Start: 0, End: 256 * mib},
		{File: 1, Start: 256 * mib, End: 512 * mib},
		{File: 1, Start: 512 * mib, End: blocks.End},
		{File: 2, End: blocks.End},
	}
	if got := spansOf(&in.Pieces); !slices.Equal(got, wantPieces) {
		t.Errorf("pieces %+v\nwant %+v", got, wantPieces)
	}
	if got, want := in.Splits.Len(), 1+(600+15)/16+256/16; got != want {
		t.Errorf("%d splits, want %d", got, want)
	}
	if got, want := in.Shards, 1+(600+256)/64; got != want { // a.jsonl takes the last shard, which is almost empty
		t.Errorf("%d shards, want %d", got, want)
	}

	write(t, "", "b-00001-of-00003.jsonl", []byte(oneDocument))
	_, err := Plan(t.Context(), []string{"b.jsonl", "b-00001-of-00003.jsonl"}, Options{Fields: fields})
	if err == nil || !strings.Contains(err.Error(), "would both be written as corpus/b-00001-of-00003.jsonl; rename one") {
		t.Errorf("two corpus files of one name: error %v", err)
	}
}

// TestOneNameOfTwoKeys plans keys of a store that would be one file of the output.
func TestOneNameOfTwoKeys(t *testing.T) {
	for i, key := range []string{"x//y.jsonl", "x/./y.jsonl", "x/z/../y.jsonl"} {
		folder := fmt.Sprintf("objects://names-%d/", i)
		put(t, folder+"x/y.jsonl")
		put(t, folder+key)
		_, err := Plan(t.Context(), []string{folder + "x/y.jsonl", folder + key}, Options{Fields: fields})
		if err == nil || !strings.Contains(err.Error(), "would both be written as corpus/") {
			t.Errorf("%s: error %v", key, err)
		}
	}
}

// TestLimit checks that the input, and with it the corpus, ends with the Nth readable document, even if that is in
// another split or file.
func TestLimit(t *testing.T) {
	const bad = "[]\n"
	file := func(contents ...string) []byte { return []byte(strings.Join(contents, "")) }
	plant(t)
	write(t, "", "a.jsonl", file("\n", oneDocument, bad, "\n", oneDocument, bad))
	write(t, "", "b.jsonl", file(bad, bad))
	write(t, "", "c.jsonl", readertest.Pack(t, file(bad, oneDocument, oneDocument, bad), "gzip"))
	for _, splitBytes := range []int64{0, 1, 7, 20} {
		for _, tt := range []struct {
			limit       int64
			good, files int
			all         int // records
		}{
			{1, 1, 1, 1}, {2, 2, 1, 3}, {3, 3, 3, 8}, {4, 4, 3, 9}, {5, 4, 3, 10}, {0, 4, 3, 10},
		} {
			o := Options{Fields: fields, MaxDocument: 1 << 20, SplitBytes: splitBytes, Limit: tt.limit}
			in := inputs(t, o, "a.jsonl", "b.jsonl", "c.jsonl")
			for name, spans := range map[string][]blocks.Span{"splits": spansOf(&in.Splits), "pieces": spansOf(&in.Pieces)} {
				var good, all int
				for _, span := range spans {
					found := readAll(t, in, span)
					for _, rec := range found {
						all++
						if !rec.Unreadable {
							good++
						}
					}
				}
				if good != tt.good || all != tt.all {
					t.Errorf("--limit %d, splits of %d: %s have %d documents of %d records, want %d of %d",
						tt.limit, splitBytes, name, good, all, tt.good, tt.all)
				}
			}
			if got := in.Pieces.Len(); got != tt.files {
				t.Errorf("--limit %d: %d corpus files, want %d", tt.limit, got, tt.files)
			}
		}
	}
}

// TestLimitOfFiles checks that an empty file counts as a document like others.
func TestLimitOfFiles(t *testing.T) {
	plant(t)
	for i, content := range []string{"", "x", "", "\xEF\xBB\xBF", "y"} {
		write(t, "in", fmt.Sprint(i), []byte(content))
	}
	for limit := int64(1); limit <= 6; limit++ {
		in := inputs(t, Options{Format: "files", Fields: fields, Limit: limit}, "in")
		want := int(min(limit, 5))
		for name, spans := range map[string][]blocks.Span{"splits": spansOf(&in.Splits), "pieces": spansOf(&in.Pieces)} {
			documents := 0
			for _, span := range spans {
				found := readAll(t, in, span)
				documents += len(found)
			}
			if documents != want || len(spans) != want {
				t.Errorf("--limit %d: %d %s with %d documents, want %d", limit, len(spans), name, documents, want)
			}
		}
	}
}

func TestMaxRecord(t *testing.T) {
	// A text within the limit fits even if every character of it is written as \u0000.
	const most = 1000
	f := &codectest.Sample{}
	text := strings.Repeat("\x01", most)
	f.Record(`{"text":"`+strings.Repeat(`\u0001`, most)+"\"}\n", "", text)
	in := inputs(t, Options{Fields: fields, MaxDocument: most}, write(t, t.TempDir(), "x.jsonl", f.Content))
	_, err := Records(t.Context(), in, []blocks.Span{in.Splits.At(0)}, Options{Fields: fields, MaxDocument: most}, func(record *reading.Record) error {
		if record.Long || string(record.Doc.Text) != text {
			t.Errorf("a record that is long: %v, of %d bytes of text", record.Long, len(record.Doc.Text))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPick checks patterns that select the files to read, by name or by path below the input folder.
func TestPick(t *testing.T) {
	plant(t, "in/a.jsonl", "in/b.jsonl", "in/tmp/a.jsonl", "in/sub/tmp/c.jsonl", "in/sub/d.jsonl", "tmp/e.jsonl")
	for _, tt := range []struct{ args, include, exclude, want string }{
		{"in", "", "", "a.jsonl b.jsonl sub/d.jsonl sub/tmp/c.jsonl tmp/a.jsonl"},
		{"in", "a*", "", "a.jsonl tmp/a.jsonl"},
		{"in", "sub", "", "sub/d.jsonl sub/tmp/c.jsonl"},
		{"in", "", "tmp", "a.jsonl b.jsonl sub/d.jsonl"},
		{"in", "", "sub/tmp", "a.jsonl b.jsonl sub/d.jsonl tmp/a.jsonl"},
		{"in", "", "**/tmp/*", "a.jsonl b.jsonl sub/d.jsonl"},
		{"in", "[ab].jsonl sub", "tmp b*", "a.jsonl sub/d.jsonl"},
		{"in", "in", "", ""},
		{"in/a.jsonl tmp/e.jsonl", "", "tmp", "in/a.jsonl tmp/e.jsonl"},
		{"in/a.jsonl tmp/e.jsonl", "", "tmp/*", "a.jsonl"},
		{"in/a.jsonl in/b.jsonl", "b*", "", "b.jsonl"},
		{"in/tmp/a.jsonl", "", "*", ""},
		{"in", "[", "", ""},
	} {
		o := Options{Fields: fields, Include: strings.Fields(tt.include), Exclude: strings.Fields(tt.exclude)}
		listing, err := Plan(t.Context(), strings.Fields(tt.args), o)
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "leaves no input file") && !strings.Contains(err.Error(), "pattern [") {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		if got := strings.Join(sources(listing.Inputs), " "); got != tt.want || len(listing.Skipped) > 0 {
			t.Errorf("%+v: %s, skipped %q", tt, got, listing.Skipped)
		}
	}
}

// TestPickUnreadable checks that --exclude leaves out a link without a target, and that --include does not: the link may
// stand for any file.
func TestPickUnreadable(t *testing.T) {
	plant(t, "in/a.jsonl")
	if err := os.Symlink("nowhere", "in/gone"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Include: []string{"a.jsonl"}}, {Exclude: []string{"g"}}} {
		o.Fields = fields
		if _, err := Plan(t.Context(), []string{"in"}, o); err == nil || !strings.Contains(err.Error(), "in/gone") {
			t.Errorf("include %q, exclude %q: error %v, want one that names the link", o.Include, o.Exclude, err)
		}
	}
	listing, err := Plan(t.Context(), []string{"in"}, Options{Fields: fields, Exclude: []string{"gone"}})
	if err != nil || !slices.Equal(sources(listing.Inputs), []string{"a.jsonl"}) {
		t.Errorf("excluded: %+v, error %v", listing, err)
	}
}

// TestSizeOfSplits checks that small input is still cut into many splits, but that none is smaller than a megabyte.
func TestSizeOfSplits(t *testing.T) {
	path := write(t, t.TempDir(), "a.jsonl", nil)
	for _, c := range []struct {
		size   int64
		splits int
	}{
		{1, 1}, {1 << 20, 1}, {10 << 20, 10}, {64 << 20, 64}, {200 << 20, 64}, {1 << 30, 64}, {2 << 30, 128},
	} {
		if err := os.Truncate(path, c.size); err != nil {
			t.Fatal(err)
		}
		listing, err := Plan(t.Context(), []string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := listing.Inputs.Splits.Len(); got != c.splits {
			t.Errorf("%d bytes: %d splits, want %d", c.size, got, c.splits)
		}
	}
}

// TestSplitsOfRows checks that small row groups are not cut, so that no page is decompressed twice.
func TestSplitsOfRows(t *testing.T) {
	type row struct {
		Text []byte `parquet:"text,plain"`
	}
	const groups, rows = 6, 3 << 6 // of 16 KiB each
	var content bytes.Buffer
	w := parquet.NewGenericWriter[row](&content, parquet.Compression(&parquet.Uncompressed), parquet.PageBufferSize(1<<20))
	for range groups {
		if _, err := w.Write(slices.Repeat([]row{{make([]byte, 16<<10)}}, rows)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	listing, err := Plan(t.Context(), []string{write(t, t.TempDir(), "a.parquet", content.Bytes())}, Options{Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	if got := spansOf(&listing.Inputs.Splits); len(got) != 2 || got[0].End != groups*rows/2 {
		t.Errorf("splits %v", got)
	}
}

// TestStdinTwice checks that an error about standard input given twice names it, and not the file that it was copied
// to.
func TestStdinTwice(t *testing.T) {
	o := Options{Stdin: write(t, t.TempDir(), "stdin", []byte("a\n")), Format: "lines"}
	if _, err := Plan(t.Context(), []string{"-", "-"}, o); err == nil || err.Error() != "standard input (-) is given twice; give it once" {
		t.Errorf("error %v", err)
	}
}

// A pattern matches a file or a folder that it is in. Folders of an absolute path, as in references, end at "/".
func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		glob, source string
		want         bool
	}{
		{"b*", "b/2.jsonl", true}, {"b/*", "b/sub/1.jsonl", true}, {"*", "a.jsonl", true}, {"c*", "b/c.jsonl", false},
		{"c*", "/data/c.jsonl", false}, {"/data", "/data/sub/c.jsonl", true}, {"/d*/sub", "/data/sub/c.jsonl", true},
		{"x", "s3://bucket/x.jsonl", false}, {"s3://bucket/day*", "s3://bucket/day=1/x.jsonl", true},
	} {
		if got := Matches(tt.glob, tt.source); got != tt.want {
			t.Errorf("%s matches %s: %t", tt.glob, tt.source, got)
		}
	}
}
