package parquetfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// footerOf returns the fields of a file's FileMetaData as they stand.
func footerOf(t *testing.T, content []byte) (fields []thriftField) {
	t.Helper()
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	r := thriftReader{data: content[len(content)-8-length : len(content)-8]}
	r.fields(func(id int16, kind byte) {
		begin := r.pos
		r.skip(kind, 0)
		fields = append(fields, thriftField{id, kind, bytes.Clone(r.data[begin:r.pos])})
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	return fields
}

// withFooter returns content with another FileMetaData.
func withFooter(content []byte, fields []thriftField) []byte {
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	footer := appendStruct(nil, fields)
	out := append(bytes.Clone(content[:len(content)-8-length]), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), magic...)
}

func sameField(a, b thriftField) bool {
	return a.id == b.id && a.kind == b.kind && bytes.Equal(a.value, b.value)
}

// TestMetadata: but for rows and row groups, the metadata of a copy is the source's, byte for byte, with a field that
// nobody knows yet; and statistics stay only where all rows do.
func TestMetadata(t *testing.T) {
	content, err := os.ReadFile("../../../testdata/parquet/pyarrow-zstd-1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	want := append(footerOf(t, content), thriftField{30, thriftBinary, []byte("\x03new")})
	content = withFooter(content, want)
	file := readertest.Plant(t, Reader{}, "parquet", content)
	copied := copyOf(t, file, blocks.Span{End: blocks.End}, []int64{50})
	got := footerOf(t, copied)
	gone := func(f thriftField) bool { return f.id == 3 || f.id == 4 }
	if !slices.EqualFunc(slices.DeleteFunc(slices.Clone(got), gone), slices.DeleteFunc(slices.Clone(want), gone), sameField) {
		t.Errorf("the metadata are\n%v, want\n%v", got, want)
	}
	before, after := statistics(t, content), statistics(t, copied)
	for i := range before {
		whole := i < 2 // row groups have 24 rows
		if !whole {
			before[i] = make([]bool, len(before[i]))
		}
		if !slices.Equal(after[i], before[i]) {
			t.Errorf("row group %d: statistics %v, want %v", i, after[i], before[i])
		}
	}
}

// statistics says of each row group which columns have them.
func statistics(t *testing.T, content []byte) (all [][]bool) {
	t.Helper()
	file := &blocks.File{Path: "file", Size: int64(len(content))}
	ft, err := readFooter(bytes.NewReader(content), file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ft.groups {
		var columns []bool
		err := ft.chunks(file, &ft.groups[i], func(column int, c *chunk) error {
			r := thriftReader{data: c.meta}
			columns = append(columns, false)
			r.fields(func(id int16, _ byte) { columns[column] = columns[column] || id == 12 })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, columns)
	}
	return all
}

// TestShare: a copy is at most 5 % larger than the source's share.
func TestShare(t *testing.T) {
	rows := documents(20_000)
	file := readertest.Plant(t, Reader{}, "parquet", encoded(t, [][]document{rows[:10_000], rows[10_000:]}))
	for _, every := range []int64{2, 7, 30, 1000} {
		var dropped []int64
		for row := int64(0); row < file.Positions; row += every {
			dropped = append(dropped, row)
		}
		copied := int64(len(copyOf(t, file, blocks.Span{End: blocks.End}, dropped)))
		share := file.Size * (file.Positions - int64(len(dropped))) / file.Positions
		if copied > share*105/100 {
			t.Errorf("without each %d: %d bytes, the share is %d of %d", every, copied, share, file.Size)
		}
	}
}

// TestGroupsFit: a row group whose first rows are much longer than the others is cut into some that are small enough.
func TestGroupsFit(t *testing.T) {
	rows := documents(20_000)
	long := strings.Repeat("text ", 120_000)
	for i := range 130 {
		rows[i].Text = &long
	}
	content := encoded(t, [][]document{rows})
	file := readertest.Plant(t, Reader{}, "parquet", content)
	copied := copyOf(t, file, blocks.Span{End: blocks.End}, []int64{19_000})
	ft, err := readFooter(bytes.NewReader(copied), &blocks.File{Path: "file", Size: int64(len(copied))})
	if err != nil {
		t.Fatal(err)
	}
	for i := range ft.groups {
		stored := int64(0)
		err := ft.chunks(file, &ft.groups[i], func(_ int, c *chunk) error {
			stored += c.compressed
			return nil
		})
		if err != nil || stored > maxGroup {
			t.Errorf("row group %d of %d has %d bytes; error %v", i, len(ft.groups), stored, err)
		}
	}
	want := ours(t, content)
	for name := range want {
		want[name] = slices.Delete(want[name], 19_000, 19_001)
	}
	sameTables(t, "cut", ours(t, copied), want)
}

// readAll reads the texts of a file.
func readAll(t *testing.T, content []byte) error {
	t.Helper()
	file := readertest.Plant(t, Reader{}, "parquet", content)
	o := reading.Options{Fields: codec.Fields{Text: []string{"text"}}, MaxRecord: 1 << 20}
	_, err := Reader{}.Read(t.Context(), file, []blocks.Span{{End: blocks.End}}, o, func(*reading.Record) error { return nil })
	return err
}

// TestChecksum: a byte of a page that is another is noticed, where the page has a checksum.
func TestChecksum(t *testing.T) {
	content, err := os.ReadFile("../../../testdata/parquet/pyarrow-snappy-1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if err := readAll(t, content); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte("Größe")) // of a text, uncompressed since it is its first occurrence
	for ; at > 0 && at < len(content); at++ {
		damaged := bytes.Clone(content)
		damaged[at] ^= 1
		if err := readAll(t, damaged); err != nil {
			if !strings.Contains(err.Error(), `its checksum does not match its bytes`) {
				t.Errorf("byte %d: error %v", at, err)
			}
			return
		}
	}
	t.Error("no byte of a page matters")
}

// TestMoreRows: a row group that has more rows than its footer says is not read as if it had fewer.
func TestMoreRows(t *testing.T) {
	content := encoded(t, [][]document{documents(9)})
	fields := footerOf(t, content)
	for i, f := range fields {
		switch f.id {
		case 3:
			fields[i] = integerField(3, thriftI64, 8)
		case 4:
			r := thriftReader{data: f.value}
			var groups [][]byte
			r.list(thriftList, thriftStruct, func() {
				groups = append(groups, edit(r.structure(thriftStruct), func(id int16) bool { return id != 3 }, integerField(3, thriftI64, 8)))
			})
			fields[i] = listField(4, groups)
		}
	}
	file := &blocks.File{Path: "file", Size: int64(len(content))}
	lying := withFooter(content, fields)
	file.Size = int64(len(lying))
	f := bytes.NewReader(lying)
	ft, err := readFooter(f, file)
	if err != nil {
		t.Fatal(err)
	}
	errs := map[string]error{}
	g := &ft.groups[0]
	g.rows = 9 // so that flat columns, whose values are counted, pass
	err = ft.chunks(file, g, func(i int, c *chunk) error {
		g := &rowGroup{first: 0, rows: 8}
		column := newColumn(f, file, ft, &ft.schema.leaves[i], g, c, maxPage)
		for range 8 {
			if err := column.skip(); err != nil {
				return err
			}
		}
		errs[column.leaf.name()] = column.done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "more rows than the footer says") {
			t.Errorf("column %s: error %v", name, err)
		}
	}
	if err := tried(t, lying, hostile); err == nil {
		t.Error("no error of a whole file")
	}
}
