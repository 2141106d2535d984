package source

import (
	"fmt"
	"path"
	"regexp"

	"github.com/neardup/neardup/io/storage"
)

// liveFiles names, for each table format, the call that lists the files with a table's rows.
var liveFiles = map[string]string{
	"Delta":   "DeltaTable(...).file_uris()",
	"Hudi":    "HudiTable(...).get_file_slices()",
	"Iceberg": "table.scan().plan_files()",
}

// deletesName matches the names of deletion vectors and delete files, which list the deleted rows of other files.
var deletesName = regexp.MustCompile(`^deletion_vector_.*\.bin$|^\d{5}-.*-deletes\.(avro|orc|parquet)$|\.(dvd|puffin)$`)

// refuseTables returns an error if a folder or pattern finds entries in a table, or files that list deleted rows.
func refuseTables(entries []storage.Entry) error {
	for _, e := range entries {
		if t := e.Table; t != nil {
			return fmt.Errorf("%s contains a table (%s) and may contain files with deleted rows; list the table's live files, "+
				"as %s does, and give that list with --inputs-from",
				t.Folder, t.Format, liveFiles[t.Format])
		}
		if deletesName.MatchString(path.Base(e.Path)) {
			return fmt.Errorf("%s: its name says that it lists deleted rows of other files; rewrite the table without delete "+
				"files, and read the new files", e.Path)
		}
	}
	return nil
}
