package source

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/delimited"
	"github.com/neardup/neardup/io/jsonl"
	"github.com/neardup/neardup/io/plaintext"
	"github.com/neardup/neardup/io/sgml"
)

// format binds a name of --format to its codec.
type format struct {
	name       string
	extensions []string // by which it is known; none: only when asked for
	codec      func(codec.Fields) codec.Codec
	idIsSource bool // one document a file, named by its path
	plain      bool // a record is its text, and has no columns
}

// formats is the one list of what can be read.
var formats = []format{
	{name: "jsonl", extensions: []string{".jsonl", ".ndjson", ".json"}, codec: jsonl.New},
	{name: "tsv", extensions: []string{".tsv", ".tab"}, codec: delimited.NewTSV},
	{name: "lines", codec: func(codec.Fields) codec.Codec { return plaintext.Lines() }, plain: true},
	{name: "files", codec: func(codec.Fields) codec.Codec { return plaintext.File() }, idIsSource: true, plain: true},
	{name: "reuters", extensions: []string{".sgm", ".sgml"}, codec: sgml.NewReuters},
}

// Formats lists the names that Options.Format may have.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func formatNamed(name string) (format, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, fmt.Errorf("format %q is not one of %s", name, strings.Join(Formats(), ", "))
	}
	return formats[i], nil
}

// formatOf tells a file's format by its name, the endings of compression aside.
func formatOf(name string) (format, bool) {
	name, _ = cutCompression(strings.ToLower(name))
	i := slices.IndexFunc(formats, func(f format) bool {
		return slices.Contains(f.extensions, path.Ext(name))
	})
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// cutCompression cuts the ending of a compressed file off its name.
func cutCompression(name string) (base, ending string) {
	for _, ending := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		if base, ok := strings.CutSuffix(name, ending); ok {
			return base, ending
		}
	}
	return name, ""
}
