package records

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

var update = flag.Bool("update", false, "write docs/tables.md")

// section is a part of docs/tables.md: what a table has a row for, and the columns.
type section struct {
	name, intro string
	columns     []string
}

// columnsOf returns a line for each column of a table.
func columnsOf[T any](t *testing.T) (lines []string) {
	t.Helper()
	docs := map[string]string{}
	for field := range fieldsOf(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		docs[name] = field.Tag.Get("doc")
	}
	for _, column := range parquet.SchemaOf(new(T)).Fields() {
		doc := docs[column.Name()]
		if doc == "" {
			t.Errorf("column %s of %T: the tag doc must say what it means", column.Name(), *new(T))
		}
		null := "no"
		if column.Optional() || column.Type().String() == "LIST" { // pyarrow takes every list for one that may be null
			null = "yes"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s |\n", column.Name(), typeName(t, column), null, code(doc)))
	}
	return lines
}

// fieldsOf yields the fields of a struct.
func fieldsOf(of reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := 0; i < of.NumField() && yield(of.Field(i)); i++ {
		}
	}
}

// typeName returns what pyarrow calls the type of a column.
func typeName(t *testing.T, column parquet.Field) string {
	t.Helper()
	switch column.Type().String() {
	case "STRING":
		return "string"
	case "LIST":
		return "list<element: " + typeName(t, column.Fields()[0].Fields()[0]) + " not null>"
	}
	switch kind := column.Type().Kind(); kind {
	case parquet.Boolean:
		return "bool"
	case parquet.Int32:
		return "int32"
	case parquet.Int64:
		return "int64"
	case parquet.Double:
		return "double"
	case parquet.ByteArray:
		return "binary"
	default:
		t.Fatalf("column %s is of the kind %v", column.Name(), kind)
		return ""
	}
}

// quoted is text between single quotes, which are no apostrophes.
var quoted = regexp.MustCompile(`(^|[^\pL\pN])'([^']+)'`)

// code writes text between single quotes as code.
func code(doc string) string {
	return strings.ReplaceAll(quoted.ReplaceAllString(doc, "$1`$2`"), "|", `\|`)
}

// TestTables holds docs/tables.md to the rows of the tables and to run.json. Run it with -update to write the page.
func TestTables(t *testing.T) {
	const path = "../docs/tables.md"
	page := tablesPage(t)
	if *update {
		if err := os.WriteFile(path, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, page) {
		t.Errorf("%s is not what the rows are; run go test ./records -run TestTables -update", path)
	}
}

// keysOf returns a line for each key of an object, and of the objects in it whose keys have a meaning of their own.
func keysOf(t *testing.T, of reflect.Type, prefix string) (lines []string) {
	t.Helper()
	for field := range fieldsOf(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner, key := field.Type, prefix+name
		switch inner.Kind() {
		case reflect.Pointer:
			inner = inner.Elem()
		case reflect.Slice:
			inner, key = inner.Elem(), key+"[]"
		}
		switch doc := field.Tag.Get("doc"); {
		case doc != "":
			lines = append(lines, fmt.Sprintf("| `%s` | %s |\n", prefix+name, code(doc)))
		case field.Anonymous:
			lines = append(lines, keysOf(t, inner, prefix)...)
		case inner.Kind() == reflect.Struct:
			lines = append(lines, keysOf(t, inner, key+".")...)
		case name != "-":
			t.Errorf("key %s%s of %v: the tag doc must say what it means", prefix, name, of)
		}
	}
	return lines
}

// tablesPage renders all tables as Markdown.
func tablesPage(t *testing.T) []byte {
	var page bytes.Buffer
	page.WriteString("# Output tables and run.json\n\n[Docs](index.md) › Tables\n\n" +
		"This page lists every column of every table, and the keys of `run.json`. It is generated from the types in package `records` (`go test ./records -run TestTables -update`). [Formats](formats.md#output-tables) says how tables are stored.\n\n" +
		"Types are those of pyarrow. `source` is a file's path below the root of the inputs; for `--against` files, the whole path. `position` says [where a record begins](formats.md#position-source-id) in its file.\n")
	for _, s := range []section{
		{"pairs", "A row for each near pair (two documents, neither a copy, whose similarity is at least the threshold), a before b in input order, and one for each copy, with its [representative](glossary.md) as a.", columnsOf[Pair](t)},
		{"clusters", "A row for each document of a cluster of two or more. A cluster is a connected component of pairs: two of its documents need not be similar to each other, and with `--cluster star` several may be kept. " +
			"A cluster has only references that resemble input documents. A reference with the same shingle set as an earlier reference is in no table.", columnsOf[Clustered](t)},
		{"removed", "A row for each document that is not in the corpus because it resembles a kept one. `--cluster star` names the most similar document kept before it ([order](algorithms/survivors.md)); `components` names the first document of the cluster. " +
			"A copy of a document that is removed as `near` is removed as `near` too. `passages --drop-covered` also writes this table.", columnsOf[Removed](t)},
		{"rejected", "A row for each unreadable record, and for each document that was not compared.", columnsOf[Rejected](t)},
		{"documents", "A row for every record, if `--write` names the table. The input file `a/b.jsonl` has `documents/a/b.jsonl.parquet`, in the order of the file, so there is no `source` column ([how to join it](howto/tags.md)).", columnsOf[Documented](t)},
		{"passages", "A row for each [passage](howto/passages.md): words of a document that also occur earlier. Offsets here and in the next three tables are bytes of the document's text in UTF-8, after escapes are resolved, with one space between two `--text` columns.", columnsOf[Passage](t)},
		{"coverage", "A row for each document that has a passage.", columnsOf[Coverage](t)},
		{"repeats", "A row for each of the 1,000 most frequent passages, the most frequent first.", columnsOf[Repeat](t)},
		{"contaminated", "`neardup passages --against` writes this table and `rejected` instead of `passages`, `coverage` and `repeats`. It has a row for each document and item if the document contains at least `--item-share` of the item's words.", columnsOf[Contaminated](t)},
		{"neighbours", "`neardup query --output FILE` writes these rows, the most similar first, and `--json` prints them, each with the `buckets` that it shares if the query searched buckets.", columnsOf[Neighbour](t)},
		{"buckets", "`neardup compare --output DIR` writes `DIR/buckets` for the methods `bands`, `signatures` and `pieces`. Documents share a bucket if `band` and `bucket` are equal.", columnsOf[Bucketed](t)},
		{"candidates", "`DIR/candidates` has a row for each pair that shares a bucket.", columnsOf[Candidate](t)},
		{"pairs of compare", "`DIR/pairs` has a row for each pair that a method finds similar, if all methods compare by one measure.", columnsOf[Found](t)},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| column | type | null | meaning |\n|---|---|---|---|\n%s", s.name, s.intro, strings.Join(s.columns, ""))
	}
	page.WriteString("\n## Measures\n\nThe metadata of a table names the measure of its `similarity`.\n\n| `measure` | `similarity` |\n|---|---|\n" +
		"| `jaccard` | for shingle sets: shared / (size_a + size_b − shared) |\n" +
		"| `containment` | shared / the smaller of size_a and size_b |\n" +
		"| `cosine` | a·b / (\\|a\\|·\\|b\\|), with a component for each distinct shingle, weighted by `--weights` |\n" +
		"| `simhash-overlap` | shared / size_a: equal bits of two SimHash signatures, which [estimate the cosine](algorithms/simhash.md) |\n")
	fmt.Fprintf(&page, "\n## run.json\n\nThe parameters of a run, its choices and its results. Keys that do not apply are left out. `a.b` is the key `b` of the object `a`, and `a[].b` that of each object in the list `a`.\n\n"+
		"| key | meaning |\n|---|---|\n%s", strings.Join(keysOf(t, reflect.TypeFor[Run](), ""), ""))
	fmt.Fprintf(&page, "\n## comparison\n\n`neardup compare --json` prints this object, and `run.json` has it too. It has the parameters, `examples` (rows of `pairs`) and, for each method:\n\n"+
		"| key | meaning |\n|---|---|\n%s", strings.Join(keysOf(t, reflect.TypeFor[Method](), ""), ""))
	return page.Bytes()
}
