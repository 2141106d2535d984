package parquetfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// hostile are options that let little memory be taken.
var hostile = reading.Options{
	Fields: codec.Fields{Text: []string{"text", "tags", "f16"}, ID: "id", Value: "i64"}, MaxRecord: 1 << 16, MaxWindow: 1 << 20,
}

// tried reads content in every way there is, and returns the first error.
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
	_, err = (Reader{}).CopyExcept(context.Background(), io.Discard, file, whole, []int64{rows / 2}, o)
	return err
}

var errMany = errors.New("more rows than a test reads")

// FuzzReader: whatever a file is, it is read or refused, and nothing panics.
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

// TestDamaged: a file in which bytes of the footer, or of pages, are others takes no more memory than a whole one by
// more than its limits allow, and is read or refused.
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := tried(t, damaged, hostile)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 { // five times what the whole file takes
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

// footed returns a file that has a footer of fields, and nothing else.
func footed(fields ...thriftField) []byte {
	footer := appendStruct(nil, fields)
	content := append(bytes.Clone(magic), footer...)
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), magic...)
}

func schemaElement(name string, fields ...thriftField) []byte {
	all := append([]thriftField{}, fields...)
	all = append(all, thriftField{4, thriftBinary, append(binary.AppendUvarint(nil, uint64(len(name))), name...)})
	return edit([]byte{0}, func(int16) bool { return true }, all...)
}

// TestLies: what a footer claims is checked before it is believed.
func TestLies(t *testing.T) {
	root := func(children int64) []byte { return schemaElement("root", integerField(5, thriftI32, children)) }
	column := func(kind int64, more ...thriftField) []byte {
		return schemaElement("text", append([]thriftField{integerField(1, thriftI32, kind)}, more...)...)
	}
	schema := listField(2, [][]byte{root(1), column(6)})
	rows := func(n int64) thriftField { return integerField(3, thriftI64, n) }
	group := func(n int64, columns ...[]byte) []byte {
		return appendStruct(nil, []thriftField{listField(1, columns), integerField(3, thriftI64, n)})
	}
	chunk := func(values, stored, at int64) []byte {
		meta := appendStruct(nil, []thriftField{
			integerField(1, thriftI32, 6), integerField(4, thriftI32, 0), integerField(5, thriftI64, values),
			integerField(6, thriftI64, stored), integerField(7, thriftI64, stored), integerField(9, thriftI64, at),
		})
		return appendStruct(nil, []thriftField{{3, thriftStruct, meta}})
	}
	wide := make([][]byte, maxColumns+2)
	for i := range wide {
		wide[i] = column(6)
	}
	wide[0] = root(maxColumns + 1)
	deep := [][]byte{}
	for range maxDepth + 2 {
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
		"nothing":              {nil, "too few for a Parquet file"},
		"text":                 {[]byte(strings.Repeat("text ", 9)), "does not begin as a Parquet file"},
		"cut short":            {footed(schema, rows(0))[:20], "it may be cut short"},
		"encrypted":            {append([]byte("PARE1234"), "1234PARE"...), "is encrypted"},
		"signed":               {footed(schema, rows(0), thriftField{8, thriftStruct, []byte{0}}), "is encrypted"},
		"a long footer":        {long, "a footer of 2147483648 bytes"},
		"a long list":          {append(append(bytes.Clone(magic), lists...), append(binary.LittleEndian.AppendUint32(nil, uint32(len(lists))), magic...)...), "it ends early"},
		"no schema":            {footed(rows(0)), "schema: it ends early"},
		"children":             {footed(listField(2, [][]byte{root(1 << 30), column(6)}), rows(0)), "it ends early"},
		"orphans":              {footed(listField(2, [][]byte{root(1), column(6), column(6)}), rows(0)), "belong to no group"},
		"depth":                {footed(listField(2, deep), rows(0)), "nested more than 100 deep"},
		"width":                {footed(listField(2, wide), rows(0)), "more than 100000 columns"},
		"a type":               {footed(listField(2, [][]byte{root(1), column(9)}), rows(0)), "unknown type 9"},
		"an array of nothing":  {footed(listField(2, [][]byte{root(1), column(7)}), rows(0)), "unknown type 7 of length 0"},
		"a repetition":         {footed(listField(2, [][]byte{root(1), column(6, integerField(3, thriftI32, 3))}), rows(0)), "repetition type 3"},
		"rows":                 {footed(schema, rows(7), listField(4, nil)), "there are 7 rows, and 0 in row groups"},
		"rows below none":      {footed(schema, rows(-1), listField(4, [][]byte{group(-1)})), "its metadata is broken"},
		"too many rows":        {footed(schema, rows(1<<41), listField(4, [][]byte{group(1 << 41)})), "its metadata is broken"},
		"a column less":        {footed(schema, rows(1), listField(4, [][]byte{group(1)})), "it has 0 columns, the schema 1"},
		"a column more":        {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, 4), chunk(1, 2, 4))})), "row group at row 0"},
		"values":               {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(2, 2, 4))})), `column "text": its metadata is broken`},
		"an offset":            {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, 1<<40))})), `column "text": its metadata is broken`},
		"an offset below none": {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, -4))})), `column "text": its metadata is broken`},
		"bytes":                {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 1<<40, 4))})), `column "text": its metadata is broken`},
		"no page":              {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 0, 4))})), "page at byte 4: it ends early"},
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

// TestWide: a file of a million columns is refused by name, and takes no more memory than its footer and a little.
func TestWide(t *testing.T) {
	const columns = 1_000_000
	elements := [][]byte{schemaElement("root", integerField(5, thriftI32, columns))}
	chunks := make([][]byte, columns)
	for i := range columns {
		elements = append(elements, schemaElement(fmt.Sprint("column", i), integerField(1, thriftI32, int64(int32s)), integerField(3, thriftI32, optional)))
		chunks[i] = appendStruct(nil, []thriftField{{3, thriftStruct, appendStruct(nil, []thriftField{
			integerField(1, thriftI32, int64(int32s)), integerField(4, thriftI32, 0), integerField(5, thriftI64, 0),
			integerField(6, thriftI64, 0), integerField(7, thriftI64, 0), integerField(9, thriftI64, 4),
		})}})
	}
	group := appendStruct(nil, []thriftField{listField(1, chunks), integerField(3, thriftI64, 0)})
	content := footed(listField(2, elements), integerField(3, thriftI64, 0), listField(4, [][]byte{group}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFooter(bytes.NewReader(content), &blocks.File{Path: "wide.parquet", Size: int64(len(content))})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "wide.parquet: more than 100000 columns; write the columns needed to a file of their own") {
		t.Errorf("error %v", err)
	}
	const elementsOf100000 = 64 << 20 // with those that append copies
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(content))+elementsOf100000 {
		t.Errorf("%d bytes of memory for a footer of %d", took, len(content))
	}
}

// TestPageBombs: a page that claims much, or unpacks to much, is refused before it takes memory.
func TestPageBombs(t *testing.T) {
	for name, c := range map[string]struct {
		codec compression
		data  []byte
		size  int
	}{
		"zstd":   {zstded, bombOf(t, zstded), 100},
		"gzip":   {gzipped, bombOf(t, gzipped), 100},
		"brotli": {brotlied, bombOf(t, brotlied), 100},
		"snappy": {snappied, bombOf(t, snappied), 100},
		"lz4":    {lz4Raw, bombOf(t, lz4Raw), 100},
		"hadoop": {lz4Framed, bombOf(t, lz4Framed), 100},
		"short":  {zstded, bombOf(t, zstded), 1<<24 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.codec.decompress(nil, c.data, c.size); err == nil {
				t.Error("no error")
			}
			if data, err := c.codec.decompress(nil, c.data, 1<<24); err != nil || len(data) != 1<<24 {
				t.Errorf("%d bytes, error %v", len(data), err)
			}
		})
	}
}

// TestUnpackerGoesOn: a zstd stream that is left before its end does not hold up the next page. If it did, all
// would wait, which is a deadlock for synctest.
func TestUnpackerGoesOn(t *testing.T) {
	page := bombOf(t, zstded)
	synctest.Test(t, func(t *testing.T) {
		d := unpackers.New().(*zstd.Decoder)
		for range 3 {
			if _, err := unpackZstd(d, make([]byte, 100), page); err == nil {
				t.Error("a page of 16 MiB unpacks to 100 bytes")
			}
			plain, err := unpackZstd(d, make([]byte, 1<<24), page)
			if err != nil || !bytes.Equal(plain, make([]byte, 1<<24)) {
				t.Errorf("the next page: %d bytes, error %v", len(plain), err)
			}
		}
	})
}

// bombOf returns 16 MiB of zeros, packed.
func bombOf(t *testing.T, c compression) []byte {
	t.Helper()
	p := packer{codec: c}
	data, err := p.pack(make([]byte, 1<<24))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(data)
}
