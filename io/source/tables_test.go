package source

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestTablesRefused checks that a folder or pattern that would read a table is rejected, with the command that lists
// the table's files, before any other advice. A file given by its own name is accepted, and so is a folder in which
// --exclude leaves no table.
func TestTablesRefused(t *testing.T) {
	l := newLake(t)
	names := []string{"delta/day=1/x.parquet", "delta/_delta_log/00000000000000000000.json", "hudi/x.parquet", "hudi/.hoodie/hoodie.properties",
		"iceberg/data/x.parquet", "iceberg/metadata/v1.metadata.json", "iceberg/metadata/m0.avro", "plain/metadata/notes.jsonl", "plain/x.jsonl"}
	root := plant(t, names...)
	for _, name := range names {
		l.Put("lake", name, oneDocument, nil)
	}
	for _, tt := range []struct {
		arg, exclude string
		refused      string // "" if it is accepted
	}{
		{".", "", "delta contains a table (Delta) and may contain files with deleted rows; list the table's live files, as DeltaTable(...).file_uris() does, and give that list with --inputs-from"},
		{"delta/day=1", "", "/delta contains a table (Delta)"},
		{"*/*.parquet", "", "/hudi contains a table (Hudi)"},
		{"iceberg", "", "/iceberg contains a table (Iceberg) and may contain files with deleted rows; list the table's live files, as table.scan().plan_files() does"},
		{"iceberg/data/*.parquet", "", "/iceberg contains a table (Iceberg)"},
		{"iceberg/metadata", "*.avro", "/iceberg contains a table (Iceberg)"},
		{"plain", "", ""},
		{".", "delta,hudi,iceberg", ""},
		{".", "delta,hudi,metadata", "/iceberg contains a table (Iceberg)"},
		{"iceberg/data/x.parquet", "", ""},
	} {
		for _, at := range []string{root, "s3://lake"} {
			o := Options{Fields: fields}
			if tt.exclude != "" {
				o.Exclude = strings.Split(tt.exclude, ",")
			}
			_, err := Plan(t.Context(), []string{strings.TrimSuffix(at+"/"+tt.arg, "/.")}, o)
			if tt.refused == "" && err != nil || tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("%s/%s without %q: error %v, want %q", at, tt.arg, tt.exclude, err, tt.refused)
			}
		}
	}
}

// TestDeletesRefused checks that files listing deleted rows are rejected by their names, however they are given, or by
// their content.
func TestDeletesRefused(t *testing.T) {
	const uuid = "8a08e760-22d2-43af-a3ac-fa735e94a5a6"
	for _, name := range []string{"deletion_vector_" + uuid + ".bin", "00000-4-" + uuid + "-00001-deletes.parquet", uuid + ".puffin"} {
		plant(t, "in/"+name, "in/x.jsonl")
		for _, arg := range []string{"in", "in/*", "in/" + name} {
			_, err := Plan(t.Context(), []string{arg}, Options{Fields: fields})
			if err == nil || !strings.Contains(err.Error(), name+": its name says that it lists deleted rows of other files") {
				t.Errorf("%s: error %v", arg, err)
			}
		}
	}
	dir := plant(t)
	type position struct {
		File string `parquet:"file_path"`
		Pos  int64  `parquet:"pos"`
	}
	type written struct {
		Text string `parquet:"text"`
		Pos  int64  `parquet:"pos"`
	}
	metadata := parquet.KeyValueMetadata("delete-type", "equality")
	for name, err := range map[string]error{
		"position.parquet": parquet.WriteFile(path.Join(dir, "position.parquet"), []position{{"a", 1}}),
		"equality.parquet": parquet.WriteFile(path.Join(dir, "equality.parquet"), []written{{"a", 1}}, metadata),
		"data.parquet":     parquet.WriteFile(path.Join(dir, "data.parquet"), []written{{"a", 1}}, parquet.KeyValueMetadata("delete", "type")),
	} {
		mustDo(t, err)
		o := Options{Fields: fields, Format: "parquet"}
		_, err = Sample(t.Context(), inputs(t, o, name), false, o, nil)
		if refused := err != nil && strings.Contains(err.Error(), name+": this is an Iceberg delete file"); refused != (name != "data.parquet") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestRequestsForTables checks that it takes three requests for each parent folder to find out that a folder is not a
// table, and none at all if there is no Parquet file.
func TestRequestsForTables(t *testing.T) {
	l := newLake(t)
	for _, name := range []string{"a/b/parquet/day=1/x.parquet", "a/b/parquet/day=2/x.parquet", "a/b/jsonl/metadata/x.jsonl", "a/b/jsonl/x.jsonl"} {
		l.Put("lake", name, oneDocument, nil)
	}
	seen := 0
	for arg, want := range map[string]int{"a/b/jsonl": 1, "a/b/parquet": 1 + 3*3, "a/b/jsonl/x.jsonl": 0, "a/b/parquet/day=1/x.parquet": 0} {
		_, err := Plan(t.Context(), []string{"s3://lake/" + arg}, Options{Fields: fields})
		mustDo(t, err)
		l.busy.Wait()
		lists := 0
		for _, r := range l.Log()[seen:] {
			if r.Method == http.MethodGet && r.Key == "" {
				lists++
			}
		}
		if seen = len(l.Log()); lists != want {
			t.Errorf("%s: %d listings, want %d", arg, lists, want)
		}
	}
}
