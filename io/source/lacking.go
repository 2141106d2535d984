package source

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/records"
)

// Lacking counts, for each input file, the documents with none of the text columns. The zero value is ready to use.
type Lacking struct {
	files   []lackingFile // by ordinal
	columns []lackingColumns
}

type lackingFile struct{ documents, without int64 }

// lackingColumns are the columns of a document that has no text column.
type lackingColumns struct {
	key     blocks.Key
	columns string
}

// Add adds documents of a file, of which without have no text column; columns are those of one of these, at key. Add
// may be called in any order.
func (l *Lacking) Add(key blocks.Key, documents, without int64, columns string) {
	file := key.File()
	if more := file + 1 - len(l.files); more > 0 {
		l.files = append(l.files, make([]lackingFile, more)...)
	}
	l.files[file].documents += documents
	l.files[file].without += without
	if without == 0 {
		return
	}
	at, found := slices.BinarySearchFunc(l.columns, key,
		func(c lackingColumns, key blocks.Key) int { return cmp.Compare(c.key, key) })
	if first := at > 0 && l.columns[at-1].key.File() == file; found || first || at == records.MostSources {
		return // keep the first document of a file, and the first files
	}
	l.columns = slices.Insert(l.columns, at, lackingColumns{key, columns})
	if at+1 < len(l.columns) && l.columns[at+1].key.File() == file {
		l.columns = slices.Delete(l.columns, at+1, at+2)
	}
	l.columns = l.columns[:min(len(l.columns), records.MostSources)]
}

// AddFact adds the counts of a fact of Read; it ignores other facts.
func (l *Lacking) AddFact(in *blocks.Inputs, fact blocks.Fact) error {
	if fact.Kind != blocks.FactRead {
		return nil
	}
	split, err := strconv.Atoi(fact.Name)
	if err != nil {
		return err
	}
	span := in.Splits.At(split)
	n := fact.Counts
	l.Add(blocks.NewKey(span.File, span.Start), n[blocks.CountRecords]-n[blocks.CountUnreadable],
		n[blocks.CountNoColumn], fact.Columns)
	return nil
}

// Sources returns the sources with documents that have no text column, as records.Run lists them, and the total number
// of documents in the sources where no document has one. It groups files of one document by folder.
func (l *Lacking) Sources(in *blocks.Inputs) (sources []records.NoColumn, whole int64) {
	folders := map[string]*lackingFile{}
	for file, f := range l.files {
		if f.documents == 1 {
			name := path.Dir(in.Name(file))
			if folders[name] == nil {
				folders[name] = &lackingFile{}
			}
			folders[name].documents++
			folders[name].without += f.without
		}
	}
	var partly []records.NoColumn
	for file, f := range l.files {
		if f.without == 0 {
			continue
		}
		n := records.NoColumn{Source: in.Name(file), Documents: f.without, Of: f.documents, Columns: l.columnsOf(file)}
		if f.documents == 1 {
			name := path.Dir(n.Source)
			folder := folders[name]
			n.Documents, n.Of = folder.without, folder.documents
			*folder = lackingFile{} // the folder's first file stands for all
			if n.Of != 1 {
				n.Source = "files in " + folderNamed(in, name) + " with one record each"
			}
		}
		if n.Whole() {
			whole += n.Documents
			sources = append(sources, n)[:min(len(sources)+1, records.MostSources)]
		} else if n.Documents > 0 && len(partly) < records.MostSources {
			partly = append(partly, n)
		}
	}
	return append(sources, partly[:min(len(partly), records.MostSources-len(sources))]...), whole
}

// folderNamed returns a folder's name for a message: the root of the input is named by its path.
func folderNamed(in *blocks.Inputs, name string) string {
	if name == "." && in.Root != "" {
		return in.Root
	}
	return name
}

func (l *Lacking) columnsOf(file int) string {
	at := slices.IndexFunc(l.columns, func(c lackingColumns) bool { return c.key.File() == file })
	if at < 0 {
		return ""
	}
	return l.columns[at].columns
}

// add adds a record of the file with this number, in input order.
func (l *Lacking) add(number int, file *blocks.File, record *reading.Record, o Options) {
	key := blocks.NewKey(number, record.Position)
	switch {
	case record.Err != nil || record.Long:
	case !o.lacks(record):
		l.Add(key, 1, 0, "")
	case number < len(l.files) && l.files[number].without > 0:
		l.Add(key, 1, 1, "") // the first one's columns are kept
	default:
		l.Add(key, 1, 1, shown(file, record))
	}
}

// lacks reports whether record is a document with none of the text columns.
func (o Options) lacks(record *reading.Record) bool {
	if record.Err != nil || record.Long {
		return false
	}
	texts, missing := len(o.Fields.Text)-o.Fields.Values, record.Doc.Missing
	return texts > 0 && len(missing) >= texts && missing[texts-1] == texts-1
}

// shown lists the columns of a record for a message; "" if all records of its file have the same.
func shown(file *blocks.File, record *reading.Record) string {
	if columns := columnsOf(file, record); len(columns) > 0 {
		return codec.Listed(columns)
	}
	return ""
}

// columnsOf returns the columns of a record, or nil if all records of its file have the same.
func columnsOf(file *blocks.File, record *reading.Record) []string {
	f, err := formatNamed(file.Format)
	if err != nil || f.columns == nil {
		return nil
	}
	text, err := decode(file.Encoding, record.Raw)
	if err != nil {
		return nil
	}
	return f.columns(text)
}
