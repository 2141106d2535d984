package source

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/markup"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/delimited"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/codec/pages"
	"github.com/neardup/neardup/io/codec/plaintext"
	"github.com/neardup/neardup/io/codec/sgml"
	"github.com/neardup/neardup/io/codec/tar"
	warccodec "github.com/neardup/neardup/io/codec/warc"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/io/reading/parquetfile"
	"github.com/neardup/neardup/io/reading/warc"
	"github.com/neardup/neardup/records"
)

// format binds a name of --format to its reader.
type format struct {
	name       string
	extensions []string // endings of its files' names; none: only --format selects it
	reader     reading.RecordReader
	// columns returns the columns of a record; nil if all records of a file have the same.
	columns     func(record []byte) []string
	idColumns   func(record []byte) []string // columns of a record that may hold an id
	oneDocument func(codec.Fields) bool      // a file is one document, named by its path; nil: never
	rows        bool                         // positions count rows
}

// formats lists all formats that neardup reads.
var formats = []format{
	{name: "json", extensions: []string{".json"}, reader: bytefile.Reader{Codec: jsonl.NewJSON},
		columns: jsonl.Columns, idColumns: jsonl.Columns},
	{name: "jsonl", extensions: []string{".jsonl", ".ndjson", ".json"}, reader: bytefile.Reader{Codec: jsonl.New},
		columns: jsonl.Columns, idColumns: jsonl.Columns},
	{name: "csv", extensions: []string{".csv"}, reader: bytefile.Reader{Codec: delimited.NewCSV}},
	{name: "tsv", extensions: []string{".tsv", ".tab"}, reader: bytefile.Reader{Codec: delimited.NewTSV}},
	{name: "lines", reader: bytefile.Reader{Codec: func(codec.Fields) codec.Codec { return plaintext.Lines() },
		Plain: true}},
	{name: "files", reader: bytefile.Reader{Codec: func(codec.Fields) codec.Codec { return plaintext.File() },
		Plain: true}, oneDocument: always},
	{name: "html", extensions: []string{".html", ".htm", ".xhtml"},
		reader:  bytefile.Reader{Codec: pages.NewHTML, Declared: markup.Encoding},
		columns: pages.Columns, idColumns: pages.Columns, oneDocument: always},
	{name: "xml", extensions: []string{".xml"},
		reader:  bytefile.Reader{Codec: pages.NewXML, Declared: markup.Encoding, Besides: pages.Besides},
		columns: pages.Columns, idColumns: pages.Columns, oneDocument: pages.OneDocument},
	{name: "parquet", extensions: []string{".parquet", ".pq", ".parq"}, reader: parquetfile.Reader{}, rows: true},
	{name: "reuters", extensions: []string{".sgm", ".sgml"},
		reader: bytefile.Reader{Codec: sgml.NewReuters, Encoded: true}, columns: sgml.Columns, idColumns: sgml.Attributes},
	{name: "warc", extensions: []string{".warc", ".wet"}, reader: warc.Reader{}, columns: warccodec.Columns,
		idColumns: warccodec.Fields},
	{name: "tar", extensions: []string{".tar", ".tgz"},
		reader: bytefile.Reader{Codec: tar.New, Plain: true, Besides: tar.Besides, Encoded: true, Members: true}},
}

func always(codec.Fields) bool { return true }

// Formats returns the values that Options.Format may have.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// plain reports whether each record is only a text, without columns.
func (f format) plain() bool {
	r, ok := f.reader.(bytefile.Reader)
	return ok && r.Plain
}

// decoded reports whether a whole file, not only some of its members, is decoded from an encoding other than UTF-8.
func decoded(file *blocks.File) bool {
	f, err := formatNamed(file.Format)
	r, ok := f.reader.(bytefile.Reader)
	return err == nil && file.Encoding != "" && (!ok || !r.Members)
}

func formatNamed(name string) (format, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, CheckFormat(name)
	}
	return formats[i], nil
}

// CheckFormat returns nil if name is one of Formats, or else an error that says what to give instead.
func CheckFormat(name string) error {
	if slices.Contains(Formats(), name) {
		return nil
	}
	if kind := foreignOf("." + name); kind != (foreign{}) {
		return fmt.Errorf("%q is not supported: %s", name, kind.advice("FILE"))
	}
	return fmt.Errorf("%q is unknown; use %s", name, records.Or(Formats()...))
}

// named reports whether a file's name has one of the format's endings, before any ending of a compression.
func (f format) named(name string) bool {
	return slices.Contains(f.extensions, path.Ext(bytefile.TrimEnding(strings.ToLower(name))))
}

// formatOf returns the first format that has the ending of a file's name.
func formatOf(name string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.named(name) })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}
