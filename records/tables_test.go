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

// section is a part of docs/tables.md: what the rows of a table are, and the columns.
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
		kind := typeName(t, column)
		if column.Optional() || column.Type().String() == "LIST" { // pyarrow treats every list as nullable
			kind += " or null"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |\n", column.Name(), kind, code(doc)))
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

// quoted matches text between single quotes that are not apostrophes.
var quoted = regexp.MustCompile(`(^|[^\pL\pN])'([^']+)'`)

// code formats text between single quotes as code.
func code(doc string) string {
	return strings.ReplaceAll(quoted.ReplaceAllString(doc, "$1`$2`"), "|", `\|`)
}

// TestTables compares docs/tables.md with the rows of the tables and run.json. Run it with -update to write the page.
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
		"This page lists every column of every table, and the keys of `run.json`. `go test ./records -run TestTables -update` generates it. [Formats](formats.md#output-tables) says how the tables are stored.\n\n" +
		"Types are those of pyarrow. If a meaning is a plural, such as *documents in the cluster*, the value is their number. `source` is the path of a file below the root of the inputs; for a file of `--against`, it is the full path. `position` says [where a record begins](formats.md#position-source-id) in its file.\n")
	for _, s := range []section{
		{"pairs", "The table has a row for each near pair: two documents, neither of them a copy, whose similarity is at least the threshold. Document a comes before b in input order. It also has a row for each copy, with the copy as b and its [representative](glossary.md) as a.", columnsOf[Pair](t)},
		{"clusters", "The table has a row for each document of a cluster. A cluster is two or more documents that pairs connect. They need not all be similar to each other, and with `--cluster star` neardup may keep several of them. " +
			"References are in a cluster only if they resemble its input documents. A reference with the same shingle set as an earlier reference is in no table.", columnsOf[Clustered](t)},
		{"removed", "The table has a row for each document that is not in the corpus because it resembles a kept one. With `--cluster star`, the kept document is the one most similar to the removed document among those kept before it in the [order of preference](algorithms/survivors.md). A similar reference takes precedence. With `components`, it is the first of its cluster in that order, or the kept one that the document copies. " +
			"If a document is removed as `near`, its copies are removed as `near` too. `passages --drop-covered` also writes this table.", columnsOf[Removed](t)},
		{"rejected", "The table has a row for each unreadable record, and for each document that was not compared.", columnsOf[Rejected](t)},
		{"documents", "neardup writes this table only if `--write` names it. Each input file, such as `a/b.jsonl`, has a file `documents/a/b.jsonl.parquet`, with a row for every record in the order of the input. The table has no `source` column ([how to join it](howto/tags.md)).", columnsOf[Documented](t)},
		{"passages", "The table has a row for each [passage](howto/passages.md): words of a document that also occur earlier. Offsets in `passages`, `repeats` and `contaminated` count the bytes of a document's text in UTF-8, after escapes are resolved, with one space between two `--text` columns. An end is the offset after the last byte.", columnsOf[Passage](t)},
		{"coverage", "The table has a row for each document that has a passage.", columnsOf[Coverage](t)},
		{"repeats", "The table has a row for each of the 1,000 most frequent passages whose first place has `--length` words, the most frequent first.", columnsOf[Repeat](t)},
		{"contaminated", "`neardup passages --against` writes this table and `rejected` instead of `passages`, `coverage` and `repeats`. Each row names a document and an item of `--against`; the document contains at least `--item-share` of the item's words.", columnsOf[Contaminated](t)},
		{"neighbours", "`neardup query --output FILE` writes these rows, the most similar first. `--json` prints them; if the query searches an input by buckets, each row also has the `buckets` that the neighbour shares.", columnsOf[Neighbour](t)},
		{"buckets", "`neardup compare --output DIR` writes `DIR/buckets` for the methods `bands`, `signatures` and `pieces`. Two documents share a bucket if `band` and `bucket` are equal.", columnsOf[Bucketed](t)},
		{"candidates", "`DIR/candidates` has a row for each pair that shares a bucket.", columnsOf[Candidate](t)},
		{"pairs of compare", "If all methods use the same measure, `DIR/pairs` has a row for each pair that a method finds similar.", columnsOf[Found](t)},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| column | type | meaning |\n|---|---|---|\n%s", s.name, s.intro, strings.Join(s.columns, ""))
	}
	page.WriteString("\n## Measures\n\nThe metadata of each table names the measure of its `similarity`.\n\n| `measure` | `similarity` |\n|---|---|\n" +
		"| `jaccard` | shared / (size_a + size_b − shared), for shingle sets |\n" +
		"| `containment` | shared / min(size_a, size_b), for shingle sets |\n" +
		"| `cosine` | a·b / (\\|a\\|·\\|b\\|), for vectors with a component for each distinct shingle, weighted by `--weights` |\n" +
		"| `simhash-overlap` | shared / size_a: the share of equal bits in two SimHash signatures, which [estimates the cosine](algorithms/simhash.md) |\n")
	fmt.Fprintf(&page, "\n## run.json\n\n`run.json` has the parameters of a run, its choices and its results. It leaves out keys that do not apply. `a.b` is the key `b` of the object `a`, and `a[].b` is the key `b` of each object in the list `a`.\n\n"+
		"| key | meaning |\n|---|---|\n%s", strings.Join(keysOf(t, reflect.TypeFor[Run](), ""), ""))
	fmt.Fprintf(&page, "\n## comparison\n\n`neardup compare --json` prints this object, and `run.json` contains it. It has the parameters, `examples` (rows of `pairs`) and a list `methods`, with these keys for each method:\n\n"+
		"| key | meaning |\n|---|---|\n%s", strings.Join(keysOf(t, reflect.TypeFor[Method](), ""), ""))
	return page.Bytes()
}
