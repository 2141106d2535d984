package parquetfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	core "github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// compared orders two values of a column by its type. It returns 0 if one has no order, such as NaN.
func compared(l *core.Leaf, a, b string) int {
	switch {
	case len(a) == 0 && l.Width > 0, len(b) == 0 && l.Width > 0:
		return 0
	case l.Kind == format.Float:
		return compareFloats(float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(a)))), float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(b)))))
	case l.Kind == format.Double:
		return compareFloats(math.Float64frombits(binary.LittleEndian.Uint64([]byte(a))), math.Float64frombits(binary.LittleEndian.Uint64([]byte(b))))
	case l.Kind == format.Int32 || l.Kind == format.Int64:
		if l.Unsigned || l.Converted >= deprecated.Uint8 && l.Converted <= deprecated.Uint64 {
			return cmp.Compare(uint64(integerOf([]byte(a))), uint64(integerOf([]byte(b))))
		}
		return cmp.Compare(integerOf([]byte(a)), integerOf([]byte(b)))
	case l.Logical == logicalFloat16:
		return compareFloats(halfFloat(binary.LittleEndian.Uint16([]byte(a))), halfFloat(binary.LittleEndian.Uint16([]byte(b))))
	case l.Logical == logicalDecimal:
		return signed(a).Cmp(signed(b))
	case l.Kind == format.Int96:
		return 0
	default:
		return strings.Compare(a, b)
	}
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

func signed(v string) *big.Int {
	n := new(big.Int).SetBytes([]byte(v))
	if len(v) > 0 && v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	return n
}

// told counts what files state about their columns.
type told struct{ nulls, bounds, inexact, pages, pageBounds int }

// truth fails the test if a file states something false about a column: its nulls, its bounds, or the locations and
// bounds of its pages.
func truth(t *testing.T, what string, content []byte) (all told) {
	t.Helper()
	f := opened(t, content)
	table := ours(t, content)
	for i := range f.Groups {
		g := &f.Groups[i]
		err := f.Chunks(g, func(i int, c *core.Chunk) error {
			l := &f.Leaves[i]
			name := what + ": column " + l.Path()
			rows := table[l.Path()][g.First : g.First+g.Rows]
			column, pages := f.Column(l, g, c), f.Column(l, g, c)
			all.chunk(t, name, c, l, rows)
			locations, err := column.Index()
			if err != nil || locations == nil {
				if c.Indexed {
					t.Errorf("%s: its page index makes no sense; error %v", name, err)
				}
				return err
			}
			bounds, _, err := column.Bounds()
			if err != nil {
				return err
			}
			end := locations[0].Offset
			for i, location := range locations {
				if location.Offset != end {
					t.Errorf("%s: page %d begins at %d, and the one before ends at %d", name, i, location.Offset, end)
				}
				end = location.Offset + location.Stored
				last := g.Rows
				if i+1 < len(locations) {
					last = locations[i+1].Row
				}
				all.pages++
				if err := column.SeekRow(location.Row); err != nil {
					return err
				}
				entries := 0
				for _, row := range rows[location.Row:last] {
					entries += len(row)
				}
				_, err := pages.Peek(false)
				h := &pages.Header
				if err != nil || pages.Offset != location.Offset || h.Values != int64(entries) || location.Stored != h.Size() {
					t.Errorf("%s: page %d: %d entries and %d bytes, by the index %d and %d; error %v", name, i, h.Values, h.Size(), entries, location.Stored, err)
				}
				pages.Omit(0)
				if bounds != nil {
					b := bounds[i]
					nulls := bounded(t, name+", page", l, rows[location.Row:last], string(b.Least), string(b.Most), !b.Null)
					if b.Nulls != none && b.Nulls != nulls || b.Null != (nulls == int64(entries)) {
						t.Errorf("%s: page %d of %d entries has %d nulls, by the index %d, all: %v", name, i, entries, nulls, b.Nulls, b.Null)
					}
					all.pageBounds++
				}
			}
			if end != c.Start()+c.Compressed {
				t.Errorf("%s: pages end at %d, the column at %d", name, end, c.Start()+c.Compressed)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// chunk checks the statistics of a column of a row group.
func (all *told) chunk(t *testing.T, name string, c *core.Chunk, l *core.Leaf, rows [][]cell) {
	t.Helper()
	if c.Statistics == nil {
		return
	}
	var least, most string
	has := false
	core.Fields(c.Statistics, func(id int16, kind thrift.Type, value []byte) {
		_, n := binary.Uvarint(value) // its length precedes it

		switch id {
		case 4:
			t.Errorf("%s: a number of distinct values", name)
		case mostID:
			most, has = string(value[n:]), true
			all.bounds++
		case leastID:
			least = string(value[n:])
		case mostExactID:
			if kind == thrift.FALSE {
				all.inexact++
			}
		}
	})
	nulls := bounded(t, name, l, rows, least, most, has)
	if c.Nulls != none {
		all.nulls++
		if c.Nulls != nulls {
			t.Errorf("%s: %d nulls, %d by its statistics", name, nulls, c.Nulls)
		}
	}
}

// bounded fails the test if a value is not between least and most, and returns the number of nulls.
func bounded(t *testing.T, name string, l *core.Leaf, rows [][]cell, least, most string, has bool) (nulls int64) {
	t.Helper()
	for _, row := range rows {
		for _, e := range row {
			switch {
			case int(e.def) < l.MaxDef:
				nulls++
			case has && (compared(l, e.value, least) < 0 || compared(l, e.value, most) > 0):
				t.Errorf("%s: %q is not between %q and %q", name, e.value, least, most)
				return nulls
			}
		}
	}
	return nulls
}

// TestTruth: what copies of every writer's files state about their columns is true, and nothing that can be stated is
// missing.
func TestTruth(t *testing.T) {
	matrix(t, func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before := groupsOf(t, content)
		rows := int64(0)
		for _, g := range before {
			rows += g.rows
		}
		for what, drop := range map[string]func(row int64) bool{
			"without few":  func(row int64) bool { return row%29 == 20 },
			"without half": func(row int64) bool { return row%2 == 1 },
			"without most": func(row int64) bool { return row%11 != 5 },
		} {
			for _, largest := range []int64{maxGroup, before[0].stored / 3} {
				var dropped []int64
				for row := range rows {
					if drop(row) {
						dropped = append(dropped, row)
					}
				}
				copied := copyIn(t, content, dropped, largest)
				got := truth(t, what, copied)
				if strings.HasPrefix(path, "../../../testdata/parquet/pyarrow-zstd") {
					if got.nulls == 0 || got.bounds == 0 || got.inexact == 0 || got.pages == 0 || got.pageBounds == 0 {
						t.Errorf("%s: it is not told: %+v", what, got)
					}
				}
			}
		}
	})
}

// TestStretches: reading some rows of a group in order fetches the pages that hold them, and no others.
func TestStretches(t *testing.T) {
	type row struct {
		Text string `parquet:"text"`
	}
	texts := make([]row, 5000)
	for i := range texts {
		texts[i].Text = strings.Repeat("x", 1+i%400)
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, texts, parquet.PageBufferSize(4<<10), parquet.Compression(&parquet.Uncompressed)); err != nil {
		t.Fatal(err)
	}
	theirs, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := theirs.RowGroups()[0].ColumnChunks()[0].OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	n := pages.NumPages()
	if n < 50 || len(theirs.RowGroups()) != 1 {
		t.Fatalf("%d pages in %d groups, want many in one", n, len(theirs.RowGroups()))
	}
	file := readertest.Plant(t, Reader{}, "parquet", b.Bytes())
	o := reading.Options{Fields: readertest.Fields}
	err = read(t.Context(), file, o, nil, func(r *rows) error {
		rapid.Check(t, func(t *rapid.T) {
			from := rapid.Int64Range(0, int64(len(texts)-1)).Draw(t, "from")
			to := rapid.Int64Range(from+1, int64(len(texts))).Draw(t, "to")
			want := stretch{}
			for i := range n {
				end := int64(len(texts))
				if i+1 < n {
					end = pages.FirstRowIndex(i + 1)
				}
				if pages.FirstRowIndex(i) < to && end > from {
					if want.to == 0 {
						want.from = pages.Offset(i)
					}
					want.to = pages.Offset(i) + pages.CompressedPageSize(i)
				}
			}
			got, err := r.stretches(&r.Groups[0], from, to)
			if err != nil || len(got) != 1 || got[0] != want {
				t.Fatalf("rows from %d to before %d: %v, error %v, want %v", from, to, got, err, want)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
