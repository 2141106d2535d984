package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// footed returns a file that consists of a footer only.
func footed(t *testing.T, footer format.FileMetaData) []byte {
	t.Helper()
	data, err := thrift.Marshal(new(thrift.CompactProtocol), footer)
	if err != nil {
		t.Fatal(err)
	}
	content := binary.LittleEndian.AppendUint32(append([]byte(Magic), data...), uint32(len(data)))
	return append(content, Magic...)
}

func group(name string, children int) format.SchemaElement {
	return format.SchemaElement{Name: name, NumChildren: thrift.New(int32(children))}
}

func numbers(name string) format.SchemaElement {
	return format.SchemaElement{Name: name, Type: thrift.New(format.Int32)}
}

// allocated returns the bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLargeFooters: a file of a million columns is refused by name, and takes little more memory than its footer. The
// same holds for columns deep in the schema, and for empty row groups.
func TestLargeFooters(t *testing.T) {
	wide := []format.SchemaElement{group("root", 1_000_000)}
	for i := range 1_000_000 {
		wide = append(wide, numbers(fmt.Sprint("column", i)))
	}
	deep := []format.SchemaElement{group("root", 1)}
	for range maxDepth - 2 {
		deep = append(deep, group("a", 1))
	}
	const columns = maxColumns - maxDepth
	deep = append(deep, group("b", columns))
	deep = append(deep, slices.Repeat([]format.SchemaElement{numbers("c")}, columns)...)
	narrow := []format.SchemaElement{group("root", 1), numbers("c")}
	for name, c := range map[string]struct {
		footer format.FileMetaData
		says   string
		most   uint64 // bytes of memory, including what append copies
	}{
		"columns":      {format.FileMetaData{Schema: wide}, "f: more than 100000 columns; copy the necessary columns to a separate file", 64 << 20},
		"deep columns": {format.FileMetaData{Schema: deep}, "", 96 << 20},
		"row groups":   {format.FileMetaData{Schema: narrow, RowGroups: make([]format.RowGroup, 4*maxGroups)}, "f: more than 1048576 row groups", 256 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			content := footed(t, c.footer)
			took := allocated(func() {
				_, err := Open(t.Context(), bytes.NewReader(content), "f", int64(len(content)))
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
			})
			if took > uint64(len(content))+c.most {
				t.Errorf("%d bytes of memory for a footer of %d", took, len(content))
			}
		})
	}
}

// TestCountRows: a row that continues in the next page counts for both pages, and as begun for the second.
func TestCountRows(t *testing.T) {
	protocol := new(thrift.CompactProtocol)
	content := []byte(Magic)
	for _, rep := range []byte{0b010, 0b101} { // each page has three entries, the first in the lowest bit
		body := []byte{2, 0, 0, 0, 1<<1 | 1, rep, 2, 0, 0, 0, 3 << 1, 1}
		body = append(body, make([]byte, 3*4)...)
		head, err := thrift.Marshal(protocol, format.PageHeader{
			UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
			DataPageHeader: thrift.New(format.DataPageHeader{
				NumValues: 3, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		content = append(append(content, head...), body...)
	}
	list := numbers("list")
	list.RepetitionType = thrift.New(format.Repeated)
	meta := format.ColumnMetaData{
		Type: format.Int32, NumValues: 6, DataPageOffset: int64(len(Magic)), TotalCompressedSize: int64(len(content) - len(Magic)),
	}
	footer := footed(t, format.FileMetaData{NumRows: 3, Schema: []format.SchemaElement{group("root", 1), list},
		RowGroups: []format.RowGroup{{NumRows: 3, Columns: []format.ColumnChunk{{MetaData: meta}}}}})
	f := opened(t, append(content, footer[len(Magic):]...))
	err := f.Chunks(&f.Groups[0], func(_ int, chunk *Chunk) error {
		c := f.Column(&f.Leaves[0], &f.Groups[0], chunk)
		for i, want := range [][2]int64{{2, 0}, {2, 1}} {
			if ok, err := c.Peek(false); err != nil || !ok {
				t.Fatalf("page %d: %v, error %v", i, ok, err)
			}
			if _, ok := c.Rows(); ok {
				t.Errorf("page %d tells its rows", i)
			}
			if rows, begun, err := c.CountRows(); err != nil || [2]int64{rows, begun} != want {
				t.Errorf("page %d: %d rows, %d begun, error %v, want %v", i, rows, begun, err, want)
			}
		}
		ok, err := c.Peek(false)
		if ok {
			t.Error("a third page")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
