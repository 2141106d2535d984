package parquetfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	core "github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// hostile are options with small limits on memory.
var hostile = reading.Options{
	Fields: codec.Fields{Text: []string{"text", "tags", "f16"}, ID: "id", Value: "i64"}, MaxRecord: 1 << 16, MaxWindow: 1 << 20,
}

// tried reads content in all possible ways, and returns the first error.
func tried(t testing.TB, content []byte, o reading.Options) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	file := readertest.Listed(t, path)
	if err := (Reader{}).Inspect(context.Background(), file, o); err != nil {
		return err
	}
	for _, size := range []int64{1 << 10, 1 << 20} {
		last := int64(0)
		for _, cut := range (Reader{}).Cut(file, size) {
			if cut <= last || cut >= file.Positions {
				t.Fatalf("cuts of %d: one at %d after one at %d of %d rows", size, cut, last, file.Positions)
			}
			last = cut
		}
	}
	whole := blocks.Span{End: blocks.End}
	rows := int64(0)
	_, err := (Reader{}).Read(context.Background(), file, []blocks.Span{whole}, o, func(*reading.Record) error {
		if rows++; rows > 10_000 {
			return errMany
		}
		return nil
	})
	if err != nil {
		return err
	}
	if rows != file.Positions {
		t.Fatalf("%d rows were read of %d", rows, file.Positions)
	}
	if rows == 0 {
		return nil
	}
	if err := (Reader{}).ReadSome(context.Background(), file, whole, []int64{rows / 2, rows - 1}, o, func(*reading.Record) error { return nil }); err != nil && rows > 2 {
		return err
	}
	_, _, err = (Reader{}).Copy(context.Background(), io.Discard, file, whole, reading.Changes{Dropped: []int64{rows / 2}}, o)
	return err
}

var errMany = errors.New("more rows than a test reads")

// FuzzReader: any file is read or refused, and nothing panics.
func FuzzReader(f *testing.F) {
	paths, err := filepath.Glob("../../../testdata/parquet/*.parquet")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add(encoded(f, [][]document{documents(5)}))
	f.Fuzz(func(t *testing.T, content []byte) { _ = tried(t, content, hostile) })
}

// TestDamaged: a file with changed bytes in its footer or pages is read or refused, and takes no more memory than the
// limits allow.
func TestDamaged(t *testing.T) {
	content, err := os.ReadFile("../../../testdata/parquet/pyarrow-zstd-2.parquet")
	if err != nil {
		t.Fatal(err)
	}
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for i := range 400 {
		damaged := bytes.Clone(content)
		from, to := 4, len(content)-8-length
		if i%2 == 0 {
			from, to = to, len(content)-8
		}
		for range 1 + random.IntN(3) {
			damaged[from+random.IntN(to-from)] = byte(random.Uint32())
		}
		var err error
		if took := allocated(func() { err = tried(t, damaged, hostile) }); took > 32<<20 { // five times what the whole file takes
			t.Errorf("%d: %d bytes were allocated; error %v", i, took, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 200 {
		t.Errorf("%d of 400 damaged files were refused", refused)
	}
}

// footed returns a file that consists of a footer of these fields.
func footed(fields ...thriftField) []byte {
	footer := appendStruct(nil, fields)
	content := append([]byte(core.Magic), footer...)
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), core.Magic...)
}

func schemaElement(name string, fields ...thriftField) []byte {
	all := append([]thriftField{}, fields...)
	all = append(all, thriftField{4, thrift.BINARY, append(binary.AppendUvarint(nil, uint64(len(name))), name...)})
	return edit([]byte{0}, func(int16) bool { return true }, all...)
}

// TestLies: what a footer claims is checked before it is believed.
func TestLies(t *testing.T) {
	root := func(children int64) []byte { return schemaElement("root", integerField(5, thrift.I32, children)) }
	column := func(kind int64, more ...thriftField) []byte {
		return schemaElement("text", append([]thriftField{integerField(1, thrift.I32, kind)}, more...)...)
	}
	schema := listField(2, [][]byte{root(1), column(6)})
	rows := func(n int64) thriftField { return integerField(3, thrift.I64, n) }
	group := func(n int64, columns ...[]byte) []byte {
		return appendStruct(nil, []thriftField{listField(1, columns), integerField(3, thrift.I64, n)})
	}
	chunk := func(values, stored, at int64) []byte {
		meta := appendStruct(nil, []thriftField{
			integerField(1, thrift.I32, 6), integerField(4, thrift.I32, 0), integerField(5, thrift.I64, values),
			integerField(6, thrift.I64, stored), integerField(7, thrift.I64, stored), integerField(9, thrift.I64, at),
		})
		return appendStruct(nil, []thriftField{{3, thrift.STRUCT, meta}})
	}
	wide := make([][]byte, 100_000+2)
	for i := range wide {
		wide[i] = column(6)
	}
	wide[0] = root(100_000 + 1)
	deep := [][]byte{}
	for range 100 + 2 {
		deep = append(deep, root(1))
	}
	long := footed(schema, rows(0))
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	lists := append([]byte{0x29, 0xfc}, bytes.Repeat([]byte{0xff}, 4)...) // field 2, a list of 2^28 structs and more
	lists = append(lists, 0x7f)
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"nothing":              {nil, "too few for Parquet"},
		"text":                 {[]byte(strings.Repeat("text ", 9)), "it is not a Parquet file; check --format"},
		"truncated":            {footed(schema, rows(0))[:20], "it may be truncated; fetch the file again, or leave it out"},
		"encrypted":            {append([]byte("PARE1234"), "1234PARE"...), "is encrypted"},
		"signed":               {footed(schema, rows(0), thriftField{8, thrift.STRUCT, []byte{0}}), "is encrypted"},
		"a long footer":        {long, "the footer has 2147483648 bytes"},
		"a long list":          {append(append([]byte(core.Magic), lists...), append(binary.LittleEndian.AppendUint32(nil, uint32(len(lists))), core.Magic...)...), "truncated"},
		"no schema":            {footed(rows(0)), "schema: it is truncated"},
		"children":             {footed(listField(2, [][]byte{root(1 << 30), column(6)}), rows(0)), "truncated"},
		"orphans":              {footed(listField(2, [][]byte{root(1), column(6), column(6)}), rows(0)), "belong to no group"},
		"depth":                {footed(listField(2, deep), rows(0)), "nested more than 100 levels deep"},
		"width":                {footed(listField(2, wide), rows(0)), "more than 100000 columns"},
		"a type":               {footed(listField(2, [][]byte{root(1), column(9)}), rows(0)), "unknown type 9"},
		"an array of nothing":  {footed(listField(2, [][]byte{root(1), column(7)}), rows(0)), "unknown type 7 of length 0"},
		"a repetition":         {footed(listField(2, [][]byte{root(1), column(6, integerField(3, thrift.I32, 3))}), rows(0)), "repetition type 3"},
		"rows":                 {footed(schema, rows(7), listField(4, nil)), "states 7 rows, but the row groups contain 0"},
		"rows below none":      {footed(schema, rows(-1), listField(4, [][]byte{group(-1)})), "its metadata is damaged"},
		"too many rows":        {footed(schema, rows(1<<41), listField(4, [][]byte{group(1 << 41)})), "its metadata is damaged"},
		"a column less":        {footed(schema, rows(1), listField(4, [][]byte{group(1)})), "it has 0 columns, the schema 1"},
		"a column more":        {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, 4), chunk(1, 2, 4))})), "row group at row 0"},
		"values":               {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(2, 2, 4))})), `column "text": its metadata is damaged`},
		"an offset":            {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, 1<<40))})), `column "text": its metadata is damaged`},
		"an offset below none": {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, -4))})), `column "text": its metadata is damaged`},
		"bytes":                {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 1<<40, 4))})), `column "text": its metadata is damaged`},
		"no page":              {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 0, 4))})), "page at byte 4: it is truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			o := hostile
			o.Fields = codec.Fields{Text: []string{"text"}}
			err := tried(t, c.content, o)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

// allocated returns the bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// texts returns a file with the repeated column "text". It has one page of the given entries, levels and values, and a
// dictionary unless that is empty. more has further fields of the column's SchemaElement.
func texts(rows, entries int64, rep, def, values, dictionary []byte, more ...thriftField) []byte {
	content := []byte(core.Magic)
	e := format.Plain
	if len(dictionary) > 0 {
		e = format.RLEDictionary
		head := thriftField{7, thrift.STRUCT, appendStruct(nil, []thriftField{integerField(1, thrift.I32, 1), integerField(2, thrift.I32, format.Plain)})}
		content = appendPage(content, format.DictionaryPage, head, dictionary)
	}
	at := int64(len(content))
	head := thriftField{8, thrift.STRUCT, appendStruct(nil, []thriftField{
		integerField(1, thrift.I64, entries), integerField(2, thrift.I64, 0), integerField(3, thrift.I64, rows), integerField(4, thrift.I32, e),
		integerField(5, thrift.I32, len(def)), integerField(6, thrift.I32, len(rep)), {7, thrift.FALSE, nil},
	})}
	content = appendPage(content, format.DataPageV2, head, slices.Concat(rep, def, values))
	size := int64(len(content) - len(core.Magic))
	meta := []thriftField{
		integerField(1, thrift.I32, format.ByteArray), integerField(4, thrift.I32, 0), integerField(5, thrift.I64, entries),
		integerField(6, thrift.I64, size), integerField(7, thrift.I64, size), integerField(9, thrift.I64, at),
	}
	if len(dictionary) > 0 {
		meta = append(meta, integerField(11, thrift.I64, len(core.Magic)))
	}
	chunk := appendStruct(nil, []thriftField{{3, thrift.STRUCT, appendStruct(nil, meta)}})
	group := appendStruct(nil, []thriftField{listField(1, [][]byte{chunk}), integerField(3, thrift.I64, rows)})
	column := schemaElement("text", append([]thriftField{integerField(1, thrift.I32, format.ByteArray), integerField(3, thrift.I32, format.Repeated)}, more...)...)
	footer := footed(listField(2, [][]byte{schemaElement("root", integerField(5, thrift.I32, 1)), column}), integerField(3, thrift.I64, rows), listField(4, [][]byte{group}))
	return append(content, footer[len(core.Magic):]...)
}

func appendPage(dst []byte, kind format.PageType, head thriftField, data []byte) []byte {
	size := int64(len(data))
	return append(appendStruct(dst, []thriftField{integerField(1, thrift.I32, kind), integerField(2, thrift.I32, size), integerField(3, thrift.I32, size), head}), data...)
}

// run appends a run of n equal numbers of one bit.
func run(dst []byte, n uint64, value byte) []byte {
	return append(binary.AppendUvarint(dst, n<<1), value)
}

// longList returns a file of two rows of the repeated column "text", with n empty texts and with one.
func longList(n uint64) []byte {
	rep := run(run(run(nil, 1, 0), n-1, 1), 1, 0)
	return texts(2, int64(n+1), rep, run(nil, n+1, 1), binary.AppendUvarint([]byte{0}, (n+1)<<1), make([]byte, 4))
}

// TestLongList: the spaces between the texts of a list count towards the length of a record, and no more of them are
// held.
func TestLongList(t *testing.T) {
	const n = 1 << 22
	file := readertest.Plant(t, Reader{}, "parquet", longList(n))
	o := reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: 1 << 16}
	var long []bool
	took := allocated(func() {
		_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(r *reading.Record) error {
			long = append(long, r.Long)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if !slices.Equal(long, []bool{true, false}) || took > n/2 {
		t.Errorf("too long: %v; %d bytes of memory for %d texts", long, took, n)
	}
}

// ending is a context that is cancelled after Err has been called left times.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndlessRow: reading, skipping and copying an endless row stop with the context.
func TestEndlessRow(t *testing.T) {
	file := readertest.Plant(t, Reader{}, "parquet", longList(1<<28))
	o := reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: 1 << 16}
	whole := blocks.Span{End: blocks.End}
	see := func(*reading.Record) error { return nil }
	for name, do := range map[string]func(ctx context.Context) error{
		"Read": func(ctx context.Context) error {
			_, err := Reader{}.Read(ctx, file, []blocks.Span{whole}, o, see)
			return err
		},
		"ReadSome": func(ctx context.Context) error { return Reader{}.ReadSome(ctx, file, whole, []int64{1}, o, see) },
		"Copy": func(ctx context.Context) error {
			_, _, err := Reader{}.Copy(ctx, io.Discard, file, whole, reading.Changes{Dropped: []int64{0}}, o)
			return err
		},
	} {
		if err := do(&ending{t.Context(), 100}); !errors.Is(err, context.Canceled) || errors.As(err, new(*reading.ContentError)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestLongRowIsNotCopied: the entries held while a row is copied are limited.
func TestLongRowIsNotCopied(t *testing.T) {
	w := pageWriter{leaf: &core.Leaf{MaxRep: 1, MaxDef: 1}, rep: make([]byte, maxEntries-1, maxEntries), def: make([]byte, maxEntries-1, maxEntries)}
	if err := w.entry(1, 1); err != nil {
		t.Errorf("the last entry: error %v", err)
	}
	if err := w.entry(1, 1); !errors.Is(err, errEntries) {
		t.Errorf("one more: error %v", err)
	}
}

// TestLongDecimals: the width of decimals is limited.
func TestLongDecimals(t *testing.T) {
	for _, n := range []int{maxDecimal, maxDecimal + 1} {
		values := appendPrefixed(nil, bytes.Repeat([]byte{1}, n))
		file := readertest.Plant(t, Reader{}, "parquet", texts(1, 1, run(nil, 1, 0), run(nil, 1, 1), values, nil, integerField(6, thrift.I32, deprecated.Decimal)))
		o := reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: 1 << 16}
		_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error { return nil })
		if n == maxDecimal && err != nil || n > maxDecimal && (err == nil || !strings.Contains(err.Error(), "a value has 65 bytes (maximum: 64); fetch the file again, or leave it out")) {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
}

// TestLargePageIsRefused: the error for a page that is too large names the flag that allows it.
func TestLargePageIsRefused(t *testing.T) {
	file := readertest.Plant(t, Reader{}, "parquet", encoded(t, [][]document{documents(5000)}))
	o := reading.Options{Fields: readertest.Fields, MaxRecord: 1 << 20, MaxWindow: 1000}
	_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error { return nil })
	if !errors.As(err, new(*reading.ContentError)) || !strings.Contains(err.Error(), " bytes when unpacked, more than 1000; raise --max-window") {
		t.Errorf("error %v", err)
	}
}
