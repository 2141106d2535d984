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
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

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

// footed returns a file that has a footer of fields, and nothing else.
func footed(fields ...thriftField) []byte {
	footer := appendStruct(nil, fields)
	content := append(bytes.Clone(magic), footer...)
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), magic...)
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
		"text":                 {[]byte(strings.Repeat("text ", 9)), "does not begin like a Parquet file; check --format"},
		"cut short":            {footed(schema, rows(0))[:20], "it may be cut short; fetch it again, or leave it out with --exclude"},
		"encrypted":            {append([]byte("PARE1234"), "1234PARE"...), "is encrypted"},
		"signed":               {footed(schema, rows(0), thriftField{8, thrift.STRUCT, []byte{0}}), "is encrypted"},
		"a long footer":        {long, "a footer of 2147483648 bytes"},
		"a long list":          {append(append(bytes.Clone(magic), lists...), append(binary.LittleEndian.AppendUint32(nil, uint32(len(lists))), magic...)...), "cut short"},
		"no schema":            {footed(rows(0)), "schema: cut short"},
		"children":             {footed(listField(2, [][]byte{root(1 << 30), column(6)}), rows(0)), "cut short"},
		"orphans":              {footed(listField(2, [][]byte{root(1), column(6), column(6)}), rows(0)), "belong to no group"},
		"depth":                {footed(listField(2, deep), rows(0)), "nested more than 100 deep"},
		"width":                {footed(listField(2, wide), rows(0)), "more than 100000 columns"},
		"a type":               {footed(listField(2, [][]byte{root(1), column(9)}), rows(0)), "unknown type 9"},
		"an array of nothing":  {footed(listField(2, [][]byte{root(1), column(7)}), rows(0)), "unknown type 7 of length 0"},
		"a repetition":         {footed(listField(2, [][]byte{root(1), column(6, integerField(3, thrift.I32, 3))}), rows(0)), "repetition type 3"},
		"rows":                 {footed(schema, rows(7), listField(4, nil)), "there are 7 rows, and 0 in row groups"},
		"rows below none":      {footed(schema, rows(-1), listField(4, [][]byte{group(-1)})), "its metadata is broken"},
		"too many rows":        {footed(schema, rows(1<<41), listField(4, [][]byte{group(1 << 41)})), "its metadata is broken"},
		"a column less":        {footed(schema, rows(1), listField(4, [][]byte{group(1)})), "it has 0 columns, the schema 1"},
		"a column more":        {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, 4), chunk(1, 2, 4))})), "row group at row 0"},
		"values":               {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(2, 2, 4))})), `column "text": its metadata is broken`},
		"an offset":            {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, 1<<40))})), `column "text": its metadata is broken`},
		"an offset below none": {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 2, -4))})), `column "text": its metadata is broken`},
		"bytes":                {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 1<<40, 4))})), `column "text": its metadata is broken`},
		"no page":              {footed(schema, rows(1), listField(4, [][]byte{group(1, chunk(1, 0, 4))})), "page at byte 4: cut short"},
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
	elements := [][]byte{schemaElement("root", integerField(5, thrift.I32, columns))}
	chunks := make([][]byte, columns)
	for i := range columns {
		elements = append(elements, schemaElement(fmt.Sprint("column", i), integerField(1, thrift.I32, format.Int32), integerField(3, thrift.I32, format.Optional)))
		chunks[i] = appendStruct(nil, []thriftField{{3, thrift.STRUCT, appendStruct(nil, []thriftField{
			integerField(1, thrift.I32, format.Int32), integerField(4, thrift.I32, 0), integerField(5, thrift.I64, 0),
			integerField(6, thrift.I64, 0), integerField(7, thrift.I64, 0), integerField(9, thrift.I64, 4),
		})}})
	}
	group := appendStruct(nil, []thriftField{listField(1, chunks), integerField(3, thrift.I64, 0)})
	content := footed(listField(2, elements), integerField(3, thrift.I64, 0), listField(4, [][]byte{group}))
	var err error
	took := allocated(func() {
		_, err = readFooter(bytes.NewReader(content), &blocks.File{Path: "wide.parquet", Size: int64(len(content))})
	})
	if err == nil || !strings.Contains(err.Error(), "wide.parquet: more than 100000 columns; write the columns that you need to a file of their own") {
		t.Errorf("error %v", err)
	}
	const elementsOf100000 = 64 << 20 // with those that append copies
	if took > uint64(len(content))+elementsOf100000 {
		t.Errorf("%d bytes of memory for a footer of %d", took, len(content))
	}
}

// TestLargeFooters: columns deep in the schema, and row groups of nothing, take little memory.
func TestLargeFooters(t *testing.T) {
	deep := [][]byte{schemaElement("root", integerField(5, thrift.I32, 1))}
	for range maxDepth - 2 {
		deep = append(deep, schemaElement("a", integerField(5, thrift.I32, 1)))
	}
	const columns = maxColumns - maxDepth
	deep = append(deep, schemaElement("b", integerField(5, thrift.I32, columns)))
	deep = append(deep, slices.Repeat([][]byte{schemaElement("c", integerField(1, thrift.I32, format.Int32))}, columns)...)
	none := appendStruct(nil, []thriftField{integerField(3, thrift.I64, 0)})
	schema := listField(2, [][]byte{schemaElement("root", integerField(5, thrift.I32, 1)), schemaElement("c", integerField(1, thrift.I32, format.Int32))})
	for name, c := range map[string]struct {
		content []byte
		says    string
		most    uint64 // bytes of memory, with those that append copies
	}{
		"columns":    {footed(listField(2, deep), integerField(3, thrift.I64, 0)), "", 96 << 20},
		"row groups": {footed(schema, integerField(3, thrift.I64, 0), listField(4, slices.Repeat([][]byte{none}, 8*maxGroups))), "f: more than 1048576 row groups", 256 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			took := allocated(func() {
				_, err := readFooter(bytes.NewReader(c.content), &blocks.File{Path: "f", Size: int64(len(c.content))})
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
			})
			if took > uint64(len(c.content))+c.most {
				t.Errorf("%d bytes of memory for a footer of %d", took, len(c.content))
			}
		})
	}
}

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// texts returns a file of so many rows with the repeated column "text", in one page of so many entries, whose levels and values are
// given, and with a dictionary, which may be empty. More are fields of the column's SchemaElement.
func texts(rows, entries int64, rep, def, values, dictionary []byte, more ...thriftField) []byte {
	content := bytes.Clone(magic)
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
	size := int64(len(content) - len(magic))
	meta := []thriftField{
		integerField(1, thrift.I32, format.ByteArray), integerField(4, thrift.I32, 0), integerField(5, thrift.I64, entries),
		integerField(6, thrift.I64, size), integerField(7, thrift.I64, size), integerField(9, thrift.I64, at),
	}
	if len(dictionary) > 0 {
		meta = append(meta, integerField(11, thrift.I64, len(magic)))
	}
	chunk := appendStruct(nil, []thriftField{{3, thrift.STRUCT, appendStruct(nil, meta)}})
	group := appendStruct(nil, []thriftField{listField(1, [][]byte{chunk}), integerField(3, thrift.I64, rows)})
	column := schemaElement("text", append([]thriftField{integerField(1, thrift.I32, format.ByteArray), integerField(3, thrift.I32, format.Repeated)}, more...)...)
	footer := footed(listField(2, [][]byte{schemaElement("root", integerField(5, thrift.I32, 1)), column}), integerField(3, thrift.I64, rows), listField(4, [][]byte{group}))
	return append(content, footer[len(magic):]...)
}

func appendPage(dst []byte, kind format.PageType, head thriftField, data []byte) []byte {
	size := int64(len(data))
	return append(appendStruct(dst, []thriftField{integerField(1, thrift.I32, kind), integerField(2, thrift.I32, size), integerField(3, thrift.I32, size), head}), data...)
}

// run appends a run of n numbers of one bit.
func run(dst []byte, n uint64, value byte) []byte {
	return append(binary.AppendUvarint(dst, n<<1), value)
}

// longList returns a file of two rows of the repeated column "text": n empty texts, and one.
func longList(n uint64) []byte {
	rep := run(run(run(nil, 1, 0), n-1, 1), 1, 0)
	return texts(2, int64(n+1), rep, run(nil, n+1, 1), binary.AppendUvarint([]byte{0}, (n+1)<<1), make([]byte, 4))
}

// TestLongList: blanks between the texts of a list make a record too long, too, and no more of them are held.
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

// ending is a context that ends once it was asked a few times.
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

// TestEndlessRow: who reads, skips or copies a row without end stops with the context.
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
		"CopyExcept": func(ctx context.Context) error {
			_, err := Reader{}.CopyExcept(ctx, io.Discard, file, whole, []int64{0}, o)
			return err
		},
	} {
		if err := do(&ending{t.Context(), 100}); !errors.Is(err, context.Canceled) || errors.As(err, new(*reading.ContentError)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestLongRowIsNotCopied: what is held of a row that is copied is bounded.
func TestLongRowIsNotCopied(t *testing.T) {
	w := pageWriter{leaf: &leaf{maxRep: 1, maxDef: 1}, rep: make([]byte, maxEntries-1, maxEntries), def: make([]byte, maxEntries-1, maxEntries)}
	if err := w.entry(1, 1); err != nil {
		t.Errorf("the last entry: error %v", err)
	}
	if err := w.entry(1, 1); !errors.Is(err, errEntries) {
		t.Errorf("one more: error %v", err)
	}
}

// TestLongDecimals: decimals are as wide as makes sense.
func TestLongDecimals(t *testing.T) {
	for _, n := range []int{maxDecimal, maxDecimal + 1} {
		values := appendPrefixed(nil, bytes.Repeat([]byte{1}, n))
		file := readertest.Plant(t, Reader{}, "parquet", texts(1, 1, run(nil, 1, 0), run(nil, 1, 1), values, nil, integerField(6, thrift.I32, deprecated.Decimal)))
		o := reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: 1 << 16}
		_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error { return nil })
		if n == maxDecimal && err != nil || n > maxDecimal && (err == nil || !strings.Contains(err.Error(), "a value has 65 bytes; at most 64 are possible")) {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
}

// TestDictionaryLies: words that cannot be there take no memory.
func TestDictionaryLies(t *testing.T) {
	data := make([]byte, 1<<20) // empty words
	l := &leaf{element: element{kind: format.ByteArray}}
	took := allocated(func() {
		if _, err := newDictionary(data, l, int64(len(data))); !errors.Is(err, errValues) {
			t.Errorf("error %v", err)
		}
	})
	if took > uint64(len(data)) {
		t.Errorf("%d bytes of memory", took)
	}
	if d, err := newDictionary(data, l, int64(len(data)/4)); err != nil || len(d.at(d.n-1)) != 0 {
		t.Errorf("as many as there are: error %v", err)
	}
}

// TestNeed: a large dictionary takes room beside its pages, and so does where its words end.
func TestNeed(t *testing.T) {
	const page, half = largePage + 1, largePage / 2
	for name, c := range map[string]struct {
		p    pages
		want int64
	}{
		"small":         {pages{leaf: &leaf{}, header: pageHeader{stored: 10, uncompressed: largePage - 10}}, 0},
		"large":         {pages{leaf: &leaf{}, header: pageHeader{stored: 10, uncompressed: page}}, page + 10},
		"stream":        {pages{leaf: &leaf{element: element{kind: format.ByteArray}}, record: 100, chunk: chunk{codec: format.Zstd}, header: pageHeader{stored: page, uncompressed: page, values: 1 << 60}}, 0},
		"long texts":    {pages{leaf: &leaf{element: element{kind: format.ByteArray}}, record: page, chunk: chunk{codec: format.Zstd}, header: pageHeader{stored: page, uncompressed: 9 * page}}, page},
		"levels":        {pages{leaf: &leaf{element: element{kind: format.ByteArray}, maxDef: 1}, record: 100, chunk: chunk{codec: format.Zstd}, header: pageHeader{stored: page, uncompressed: 9 * page, values: page}}, 100 + entryBytes*(page+8)},
		"words":         {pages{leaf: &leaf{}, header: pageHeader{stored: 10, uncompressed: half}, wordsAt: 4, wordHead: pageHeader{stored: 20, uncompressed: half, values: 30}}, 20 + half + half + 4*30},
		"more words":    {pages{leaf: &leaf{}, header: pageHeader{}, wordsAt: 4, wordHead: pageHeader{stored: 20, uncompressed: page, values: 1 << 62}}, 20 + page + page/4*4},
		"wide words":    {pages{leaf: &leaf{width: 8}, header: pageHeader{}, wordsAt: 4, wordHead: pageHeader{stored: page, uncompressed: page, values: page / 8}}, 2 * page},
		"no dictionary": {pages{leaf: &leaf{}, header: pageHeader{}, wordHead: pageHeader{stored: page, uncompressed: page}}, 0},
	} {
		if got := c.p.need(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestPageBombs: a page that claims much, or unpacks to much, is refused before it takes memory.
func TestPageBombs(t *testing.T) {
	for name, c := range map[string]struct {
		codec format.CompressionCodec
		data  []byte
		size  int
	}{
		"zstd":   {format.Zstd, bombOf(t, format.Zstd), 100},
		"gzip":   {format.Gzip, bombOf(t, format.Gzip), 100},
		"brotli": {format.Brotli, bombOf(t, format.Brotli), 100},
		"snappy": {format.Snappy, bombOf(t, format.Snappy), 100},
		"lz4":    {format.Lz4Raw, bombOf(t, format.Lz4Raw), 100},
		"hadoop": {format.Lz4, bombOf(t, format.Lz4), 100},
		"short":  {format.Zstd, bombOf(t, format.Zstd), 1<<24 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := unpack(c.codec, nil, c.data, c.size); err == nil {
				t.Error("no error")
			}
			if data, err := unpack(c.codec, nil, c.data, 1<<24); err != nil || len(data) != 1<<24 {
				t.Errorf("%d bytes, error %v", len(data), err)
			}
		})
	}
}

// TestUnpackerGoesOn: a zstd stream that is left before its end does not hold up the next page. If it did, all
// would wait, which is a deadlock for synctest.
func TestUnpackerGoesOn(t *testing.T) {
	page := bombOf(t, format.Zstd)
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
func bombOf(t *testing.T, c format.CompressionCodec) []byte {
	t.Helper()
	data, err := pack(c, nil, make([]byte, 1<<24))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
