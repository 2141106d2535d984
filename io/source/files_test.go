package source

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/storage"
)

// file is a file under construction, with what a reader is to find in it.
type file struct {
	format  string
	ending  string
	content []byte
	header  int
	records []record
}

// record is a record as planted.
type record struct {
	position   int64
	raw        string
	id         string // "" for none
	text       string
	unreadable bool
}

func (f *file) head(raw string) {
	f.content, f.header = append(f.content, raw...), len(f.content)+len(raw)
}

func (f *file) filler(raw string) { f.content = append(f.content, raw...) }

func (f *file) record(raw, id, text string) {
	f.records = append(f.records, record{position: int64(len(f.content)), raw: raw, id: id, text: text})
	f.content = append(f.content, raw...)
}

func (f *file) unreadable(raw string) {
	f.record(raw, "", "")
	f.records[len(f.records)-1].unreadable = true
}

// samples are small files, one of each format, with all that a format knows besides records.
func samples() []*file {
	jsonl := &file{format: "jsonl", ending: ".jsonl"}
	jsonl.head("\xEF\xBB\xBF")
	jsonl.filler("\n \r\n")
	jsonl.record("{\"id\":\"a\",\"text\":\"one\"}\n", "a", "one")
	jsonl.filler("\n\n")
	jsonl.record(" {\"text\":\"two\"}\r\n", "", "two")
	jsonl.unreadable("{\"text\":\n")
	jsonl.unreadable("\"three\"}\n")
	jsonl.filler("   \n")
	jsonl.record("{\"id\":4,\"text\":\"\"}", "4", "")

	tsv := &file{format: "tsv", ending: ".tsv"}
	tsv.head("id\ttext\n")
	tsv.filler("\n")
	tsv.record("a\tone\n", "a", "one")
	tsv.record("\ttwo\r\n", "", "two")
	tsv.filler("\r\n\n")
	tsv.unreadable("too few\n")
	tsv.record("d\t\n", "d", "")

	lines := &file{format: "lines", ending: ".txt"}
	lines.record("one\n", "", "one")
	lines.record("\n", "", "")
	lines.record("three\r\n", "", "three")
	lines.record("four", "", "four")

	whole := &file{format: "files", ending: ".txt"}
	whole.record("one\n\ntwo", "", "one\n\ntwo")

	reuters := &file{format: "reuters", ending: ".sgm"}
	reuters.head("<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n")
	reuters.filler("noise ")
	reuters.record("<REUTERS OLDID=\"1\"><BODY>one</BODY></REUTERS>\n", "1", "one")
	reuters.record("<REUTERS OLDID=\"2\"><BODY>two\n</BODY></REUTERS>\r\n", "2", "two\n")
	reuters.filler("\n <!-- noise -->\n")
	reuters.unreadable("<REUTERS OLDID=\"3\"><BODY>")
	reuters.record("<REUTERS OLDID=\"4\"><BODY>four</BODY></REUTERS>", "4", "four")
	return []*file{jsonl, tsv, lines, whole, reuters}
}

var fields = codec.Fields{Text: []string{"text"}, ID: "id"}

// options read a sample, in records of any length.
func (f *file) options() Options {
	return Options{Format: f.format, Fields: fields, MaxDocument: 1 << 20}
}

// pack compresses as other programs do.
func pack(t testing.TB, content []byte, compression string) []byte {
	t.Helper()
	var b bytes.Buffer
	switch compression {
	case "":
		return content
	case gzipped:
		w := gzip.NewWriter(&b)
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	case zstded:
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// write writes a file below folder and returns its path.
func write(t testing.TB, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// inputs plans args, which must succeed.
func inputs(t testing.TB, o Options, args ...string) *blocks.Inputs {
	t.Helper()
	listing, err := Plan(t.Context(), args, o)
	if err != nil {
		t.Fatal(err)
	}
	return listing.Inputs
}

// identityOf is what List says of a file now.
func identityOf(t testing.TB, path string) string {
	t.Helper()
	info, err := storage.Stat(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Version
}
