package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// share passes in to the workers and returns the path where it was written.
func share(t *testing.T, in *source.Inputs) string {
	t.Helper()
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := in.Share(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Forget(path) })
	return path
}

// iterate returns an iterator over blocks like that of a grouped value.
func iterate(packed ...[]byte) func(*[]byte) bool {
	return func(block *[]byte) bool {
		if len(packed) == 0 {
			return false
		}
		*block, packed = packed[0], packed[1:]
		return true
	}
}

// oneFact returns a function that takes the facts of a step, and a pointer to the only fact it was given.
func oneFact(t *testing.T) (func([]byte), *blocks.Fact) {
	t.Helper()
	fact := &blocks.Fact{}
	return func(line []byte) {
		if fact.Kind != "" {
			t.Error("two facts")
		}
		if err := json.Unmarshal(line, fact); err != nil {
			t.Error(err)
		}
	}, fact
}

// shards returns inputs with nothing but a number of shards.
func shards(n int) *source.Inputs {
	in := &blocks.Inputs{Shards: n}
	in.Add(&blocks.File{Source: "a"}, nil, nil)
	return &source.Inputs{Inputs: in}
}

// writeTable writes rows in blocks, in a random order drawn with seed, and returns the file and its fact.
func writeTable[T blocks.Row](t *testing.T, name string, rows []T, seed uint64, metadata map[string]string) ([]byte, *blocks.Fact) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, seed))
	packed := make([][]byte, 1+random.IntN(5))
	for _, i := range random.Perm(len(rows)) {
		b := random.IntN(len(packed))
		// Only both keys together distinguish rows. The first is the document's: the name of a cluster begins with it.
		packed[b] = blocks.NewRow(nil, blocks.Key(i/3), blocks.Key(i%3), &rows[i]).Append(packed[b])
	}
	f := &tableFn[T]{Table: output.Part(name), Params: Params{
		Inputs: share(t, shards(4)), Output: output.Folder{Dir: storagetest.RunFolder(t)}, Write: []output.Part{output.Part(name)}, Metadata: metadata,
	}}
	emit, fact := oneFact(t)
	if err := f.ProcessElement(t.Context(), 2, iterate(packed...), emit); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(f.Params.Output.Dir, name, "part-00002-of-00004.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if want := name + "/part-00002-of-00004.parquet"; fact.Kind != blocks.FactTable || fact.Name != want || fact.Bytes != int64(len(file)) {
		t.Errorf("fact %+v, want of %s and %d bytes", fact, want, len(file))
	}
	return file, fact
}

func readTable[T any](t *testing.T, file []byte) []T {
	t.Helper()
	rows, err := parquet.Read[T](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// check writes rows, reads them back, and repeats this with other orders.
func check[T blocks.Row](t *testing.T, name string, rows []T, counts map[string]int64) {
	t.Helper()
	metadata := map[string]string{"measure": "jaccard", "a": "1", "z": "26", "threshold": "0.8"}
	file, fact := writeTable[T](t, name, rows, 1, metadata)
	if got := readTable[T](t, file); !reflect.DeepEqual(got, rows) {
		t.Errorf("%s: %d rows came back, unlike the %d written", name, len(got), len(rows))
	}
	if !reflect.DeepEqual(fact.Counts, counts) {
		t.Errorf("%s: counts %v, want %v", name, fact.Counts, counts)
	}
	for seed := range uint64(5) {
		if again, other := writeTable[T](t, name, rows, seed+2, metadata); !bytes.Equal(again, file) || other.SHA256 != fact.SHA256 {
			t.Errorf("%s: %d other bytes for rows in another order", name, len(again))
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range metadata {
		if got, ok := f.Lookup(key); !ok || got != want {
			t.Errorf("%s: metadata %s is %q, want %q", name, key, got, want)
		}
	}
}

// few is a number of rows that is enough for several batches and pages.
const few = 3000

func TestTables(t *testing.T) {
	var pairs []records.Pair
	var clusters []records.Clustered
	var removed []records.Removed
	var rejected []records.Rejected
	for i := range few {
		id, source := fmt.Sprintf("id %d", i), fmt.Sprintf("part/%d.jsonl", i/100)
		similarity := 1 - float64(i%10)/20
		pair := records.Pair{
			IDA: id, IDB: id + "b", SourceA: source, SourceB: "b", PositionA: int64(i), PositionB: 1 << 39,
			Similarity: similarity, Shared: int32(i), SizeA: int32(i + 1), SizeB: int32(i + 2),
		}
		if i%10 == 0 {
			pair.Same = new(records.ReasonEqual)
		}
		cluster := records.Clustered{
			Cluster: int64(i/3 + i%3), ID: id, Source: source, Position: int64(i), Size: 7, Members: 3, Kept: i%3 == 0,
		}
		if i%7 == 0 {
			pair.InA, pair.Matches = &source, []float64{similarity, 1}[:i%3]
			cluster.In, cluster.Partial = &source, &cluster.Kept
		}
		pairs, clusters = append(pairs, pair), append(clusters, cluster)
		r := records.Removed{
			ID: id, Source: source, Position: int64(i), Cluster: 5, KeptID: "kept", KeptSource: source, KeptPosition: 9,
			Reason: records.ReasonNear, Similarity: &similarity,
		}
		if i%4 == 0 {
			r.Reason = records.ReasonSameSet
		}
		if i%5 == 0 {
			r.Similarity = nil
		}
		if i%7 == 0 {
			r.KeptIn, r.Differs = &source, []string{"numbers", "symbols"}[:i%3]
		}
		removed = append(removed, r)
		row := records.Rejected{Source: source, Position: int64(i), Reason: records.ReasonNoToken}
		switch i % 3 {
		case 0:
			row.ID = &id
		case 1:
			row.Reason, row.Detail, row.Raw = "broken json", "column 1", &[]byte{'{', 0, 0xff, byte(i)}
			if i%2 == 0 { // it is not null, so the record still counts as unreadable
				row.Raw = &[]byte{}
			}
		}
		rejected = append(rejected, row)
	}
	check(t, "pairs", pairs, map[string]int64{"rows": few, "copies": few / 10, "near": few - few/10})
	check(t, "clusters", clusters, map[string]int64{"rows": few, "clusters": few / 3})
	check(t, "removed", removed, map[string]int64{"rows": few, "same_set": few / 4, "near": few * 3 / 5, "chained": few * 3 / 20})
	check(t, "rejected", rejected, map[string]int64{"rows": few, "unreadable": few / 3, "not_compared no token": few - few/3})
	check(t, "pairs", []records.Pair{}, map[string]int64{"rows": 0})
}

// TestNulls: nulls and values come back in whatever order they follow one another.
func TestNulls(t *testing.T) {
	comeBack[records.Pair](t)
	comeBack[records.Clustered](t)
	comeBack[records.Removed](t)
	comeBack[records.Rejected](t)
	inAnyOrder(t, func(w io.Writer, rows []records.Documented) error {
		all := func(yield func(*records.Documented, error) bool) {
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
		}
		return (&documentsFn{}).write(w, all, map[string]int64{})
	})
}

// comeBack writes rows to a table and reads them.
func comeBack[T blocks.Row](t *testing.T) {
	inAnyOrder(t, func(w io.Writer, rows []T) error {
		parts := func(yield func(blocks.RowPart, error) bool) {
			for i := range rows {
				if !yield(blocks.NewRow(nil, 0, blocks.Key(i), &rows[i]), nil) {
					return
				}
			}
		}
		return (&tableFn[T]{}).write(w, parts, map[string]int64{})
	})
}

// inAnyOrder writes rows whose fields are all null or all set, in every order of up to six, and compares them with what
// is read.
func inAnyOrder[T any](t *testing.T, write func(io.Writer, []T) error) {
	t.Helper()
	var null, set T
	for _, field := range reflect.ValueOf(&set).Elem().Fields() {
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		if field.Kind() == reflect.Slice {
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		}
	}
	for pattern := 2; pattern < 2<<6; pattern++ { // its first bit is not a row
		var rows []T
		for p := pattern; p > 1; p >>= 1 {
			rows = append(rows, []T{null, set}[p&1])
		}
		var file bytes.Buffer
		if err := write(&file, rows); err != nil {
			t.Fatal(err)
		}
		got := readTable[T](t, file.Bytes())
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Fatalf("%T, pattern %b: %s", null, pattern, diff)
		}
	}
}

// TestSchemas compares the tables with the contract in DESIGN.md §9, which is repeated here.
func TestSchemas(t *testing.T) {
	for name, tt := range map[string]struct {
		schema *parquet.Schema
		want   string
	}{
		"pairs": {written[records.Pair](t, "pairs"), `
			id_a string, id_b string, source_a string, source_b string, position_a int64, position_b int64,
			similarity double, same string null, shared int32, size_a int32, size_b int32,
			in_a string null, matches list of double null`},
		"clusters": {written[records.Clustered](t, "clusters"), `
			cluster int64, id string, source string, position int64, size int32, members int32, kept bool,
			in string null, partial bool null`},
		"removed": {written[records.Removed](t, "removed"), `
			id string, source string, position int64, cluster int64, kept_id string, kept_source string,
			kept_position int64, similarity double null, reason string, kept_in string null, differs list of string null`},
		"rejected": {written[records.Rejected](t, "rejected"), `
			source string, position int64, id string null, reason string, detail string, raw bytes null`},
		"buckets": {written[records.Bucketed](t, "buckets"), `
			band int32, bucket string, label string, id string, source string, position int64`},
		"candidates": {written[records.Candidate](t, "candidates"), `
			id_a string, id_b string, source_a string, source_b string, position_a int64, position_b int64`},
	} {
		var columns []string
		for _, field := range tt.schema.Fields() {
			column := field.Name() + " " + columnType(field)
			if field.Optional() {
				column += " null"
			}
			columns = append(columns, column)
		}
		if got, want := strings.Join(columns, ", "), strings.Join(strings.Fields(tt.want), " "); got != want {
			t.Errorf("%s has\n%s\nwant\n%s", name, got, want)
		}
	}
}

// written returns the schema of the file of a table.
func written[T blocks.Row](t *testing.T, name string) *parquet.Schema {
	t.Helper()
	file, _ := writeTable[T](t, name, nil, 1, nil)
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return f.Schema()
}

func columnType(field parquet.Field) string {
	switch field.Type().String() {
	case "STRING":
		return "string"
	case "LIST":
		return "list of " + columnType(field.Fields()[0].Fields()[0])
	}
	switch field.Type().Kind() {
	case parquet.Boolean:
		return "bool"
	case parquet.Int32:
		return "int32"
	case parquet.Int64:
		return "int64"
	case parquet.Double:
		return "double"
	case parquet.ByteArray:
		return "bytes"
	default:
		return field.Type().String()
	}
}

// TestEveryShard checks that a written table has a file even for a shard without rows, and that a table that is not
// written causes no work. No two tables may share the list of shards: Flink would keep the network memory of all of
// them allocated at once.
func TestEveryShard(t *testing.T) {
	for want, write := range [][]output.Part{{output.Corpus}, {output.Clusters}, {output.Clusters, output.Pairs}} {
		p, s := beam.NewPipelineWithRoot()
		rows := beam.ParDo(s, underOneKey, beam.Impulse(s))
		Table(s, output.Clusters, 1, Params{Write: write}, flow.Rows[records.Clustered](rows))
		Table(s, output.Pairs, 1, Params{Write: write}, flow.Rows[records.Pair](rows))
		edges, _, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		lists := 0
		for _, e := range edges {
			if e.DoFn != nil && reflect.TypeOf(e.DoFn.Recv) == reflect.TypeFor[*everyFn]() {
				lists++
			}
		}
		if lists != want {
			t.Errorf("%v is written: all shards are listed %d times", write, lists)
		}
	}
}

// TestTableNotWritten checks that a table that was not requested is still counted.
func TestTableNotWritten(t *testing.T) {
	dir := storagetest.RunFolder(t)
	f := &tableFn[records.Clustered]{
		Table:  output.Clusters,
		Params: Params{Inputs: share(t, shards(1)), Output: output.Folder{Dir: dir}, Write: []output.Part{"pairs"}},
	}
	emit, fact := oneFact(t)
	block := blocks.NewRow(nil, 7, 7, &records.Clustered{Cluster: 7}).Append(nil)
	if err := f.ProcessElement(t.Context(), 0, iterate(block, nil, []byte{}), emit); err != nil {
		t.Fatal(err)
	}
	if fact.Bytes != 0 || fact.SHA256 != "" || !reflect.DeepEqual(fact.Counts, map[string]int64{"rows": 1, "clusters": 1}) {
		t.Errorf("fact %+v", fact)
	}
	if entries, err := storage.List(t.Context(), dir); err != nil || len(entries) != 0 {
		t.Errorf("the output holds %v, %v", entries, err)
	}
}

func TestTableCorruptBlocks(t *testing.T) {
	whole := blocks.NewRow(nil, 7, 7, &records.Clustered{Cluster: 7, ID: "id"}).Append(nil)
	fields := blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: 7, B: 7}}, Fields: []byte("not fields")}.Append(nil)
	dir := storagetest.RunFolder(t)
	f := &tableFn[records.Clustered]{
		Table:  output.Clusters,
		Params: Params{Inputs: share(t, shards(1)), Output: output.Folder{Dir: dir}, Write: []output.Part{"clusters"}},
	}
	for name, block := range map[string][]byte{"truncated": whole[:len(whole)-1], "of another kind": fields} {
		err := f.ProcessElement(t.Context(), 0, iterate(whole, block), func([]byte) { t.Errorf("%s: a fact", name) })
		if !errors.Is(err, blocks.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "clusters", ".*")); err != nil || len(left) != 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
}

func TestMarks(t *testing.T) {
	in := shards(2)
	in.Add(&blocks.File{Source: "b", Size: 1 << 20}, nil, []int64{5})
	batches := slices.Collect(in.Batches())
	all := share(t, in)
	var files []int64
	for file := range in.Len() {
		files = append(files, int64(file))
	}
	for _, of := range []struct {
		fn   *everyFn
		want []int64
	}{
		{&everyFn{Inputs: all, Of: ofShards}, []int64{0, 1}},
		{&everyFn{Inputs: all, Of: ofFiles}, files},
		{&everyFn{all, ofBatches, blocks.Range{}}, batches},
		{&everyFn{all, ofBatches, blocks.Range{First: batches[1], End: blocks.End}}, batches[1:]},
		{&everyFn{all, ofBatches, blocks.Range{First: 0, End: batches[1]}}, batches[:1]},
	} {
		var got []int64
		err := of.fn.ProcessElement(t.Context(), nil, func(i int64, block []byte) {
			if len(block) != 0 {
				t.Errorf("mark %d has %d bytes", i, len(block))
			}
			got = append(got, i)
		})
		if err != nil || !slices.Equal(got, of.want) {
			t.Errorf("marks %v, %v, want %v", got, err, of.want)
		}
	}
}

// TestLongRows: row groups of long rows have fewer of them, so the writer holds few bytes. Three batches of 1,024 rows
// exceed 8 MiB.
func TestLongRows(t *testing.T) {
	const rows = 20_000
	for name, c := range map[string]struct{ idBytes, groups int }{"usual": {20, 1}, "long": {4 << 10, 7}} {
		var file bytes.Buffer
		w := newRowWriter[records.Documented](&file, Params{})
		for i := range rows {
			id := fmt.Sprintf("%0*d", c.idBytes, i)
			if err := w.add(records.Documented{ID: id}, len(id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(f.RowGroups()); f.NumRows() != rows || n != c.groups {
			t.Errorf("%s: %d rows in %d row groups, want %d in %d", name, f.NumRows(), n, rows, c.groups)
		}
	}
}
