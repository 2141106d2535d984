package source

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/records"
)

// foreign is a kind of data that neardup does not read, or whose name does not tell its format.
type foreign struct {
	ending string // of its files' names, without the dot
	name   string // plural
	way    string // how to make it readable; FILE stands for the path
}

var foreigners = []foreign{
	{"txt", "", "use --format files (one document per file) or lines (one per line)"},
	{"text", "", "use --format files (one document per file) or lines (one per line)"},
	{"7z", "7-Zip archives", "7z x FILE"},
	{"arc", "ARC files", "warcio recompress FILE FILE.warc.gz"},
	{"arrow", "Arrow files", `python -c 'import polars; polars.read_ipc("FILE").write_parquet("FILE.parquet")'`},
	{"avro", "Avro files", `python -c 'import polars; polars.read_avro("FILE").write_parquet("FILE.parquet")'`},
	{"bz2", "files compressed with bzip2", "bunzip2 --keep FILE"},
	{"db", "SQLite databases", "sqlite3 -header -csv FILE 'SELECT …' > FILE.csv"},
	{"doc", "Word documents", "soffice --headless --convert-to txt FILE"},
	{"docx", "Word documents", "pandoc FILE --to plain --output FILE.txt"},
	{"feather", "Arrow files", `python -c 'import polars; polars.read_ipc("FILE").write_parquet("FILE.parquet")'`},
	{"lz4", "files compressed with LZ4", "unlz4 FILE"},
	{"odt", "OpenDocument texts", "pandoc FILE --to plain --output FILE.txt"},
	{"orc", "ORC files", `python -c 'import pandas; pandas.read_orc("FILE").to_parquet("FILE.parquet")'`},
	{"pdf", "PDF files", "pdftotext FILE"},
	{"rar", "RAR archives", "unrar x FILE"},
	{"xlsx", "Excel workbooks", `python -c 'import pandas; pandas.read_excel("FILE").to_csv("FILE.csv", index=False)'`},
	{"xz", "files compressed with xz", "unxz --keep FILE"},
	{"zip", "ZIP archives", "unzip FILE"},
}

// foreignOf returns the kind of a file by its name, or the zero kind if its ending is not listed.
func foreignOf(name string) foreign {
	ending := strings.TrimPrefix(path.Ext(bytefile.TrimEnding(strings.ToLower(name))), ".")
	i := slices.IndexFunc(foreigners, func(k foreign) bool { return ending != "" && k.ending == ending })
	if i < 0 {
		return foreign{}
	}
	return foreigners[i]
}

// saved matches the files that save_to_disk of Hugging Face's datasets writes. The dataset is their folder.
var saved = regexp.MustCompile(`^data-\d{5}-of-\d{5}\.arrow$`)

// advice says what to do so that neardup reads file, which is of kind k.
func (k foreign) advice(file string) string {
	if saved.MatchString(path.Base(file)) {
		file, k.name = path.Dir(file), "datasets that save_to_disk wrote"
		k.way = `python -c 'import datasets; ds = datasets.load_from_disk("FILE"); ds.to_parquet("FILE.parquet")'`
	}
	way := k.way
	if !strings.ContainsAny(file, " \t\"'$`\\*?[") { // a shell needs no quotes for it
		way = strings.ReplaceAll(way, "FILE", file)
	}
	switch {
	case k.ending == "":
		return "use --format " + records.Or(Formats()...)
	case !k.converted():
		return way
	}
	return fmt.Sprintf("neardup does not read %s; convert or unpack the file, for example with: %s", k.name, way)
}

// converted reports whether files of the kind must be converted to be read.
func (k foreign) converted() bool { return !strings.Contains(k.way, "--format") }

// unread returns an error which says that no file of arg is read, and what to do about those of the commonest kind.
func unread(arg string, files ...string) error {
	count, first := map[foreign]int{}, map[foreign]string{}
	var most foreign
	for _, file := range files {
		kind := foreignOf(file)
		if count[kind]++; count[kind] == 1 {
			first[kind] = file
		}
		if count[kind] > count[most] {
			most = kind
		}
	}
	what := "no file has a known format; "
	if len(files) == 1 && files[0] == arg {
		what = "cannot tell the format from the file name; "
		if most.name != "" {
			what = ""
		}
	}
	return fmt.Errorf("%s: %s%s", arg, what, most.advice(first[most]))
}
