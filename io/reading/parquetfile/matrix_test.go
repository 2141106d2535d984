package parquetfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	arrow "github.com/apache/arrow-go/v18/parquet"
	arrowfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	core "github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
)

// matrix yields the files of testdata/parquet, and those of the folder NEARDUP_PARQUET_MATRIX, which
// .ci/parquet_matrix.py writes.
func matrix(t *testing.T, see func(t *testing.T, path string)) {
	t.Helper()
	paths, err := filepath.Glob("../../../testdata/parquet/*.parquet")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	if dir := os.Getenv("NEARDUP_PARQUET_MATRIX"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
		if err != nil || len(more) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		paths = append(paths, more...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			see(t, path)
		})
	}
}

// cell is an entry of a column: its levels, and the bytes of its value, or nil if it has none.
type cell struct {
	rep, def int16
	value    string
}

// table is the content of a file: the rows of each column.
type table map[string][][]cell

// opened returns a file after Open.
func opened(t rapid.TB, content []byte) *input {
	t.Helper()
	f, err := core.Open(context.Background(), bytes.NewReader(content), "file", int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return &input{File: f, ctx: context.Background(), file: &blocks.File{Path: "file", Size: int64(len(content))}}
}

// ours reads a file with our own code.
func ours(t rapid.TB, content []byte) table {
	t.Helper()
	f := opened(t, content)
	all := table{}
	for i := range f.Groups {
		g := &f.Groups[i]
		err := f.Chunks(g, func(i int, c *core.Chunk) error {
			l := &f.Leaves[i]
			column := f.Column(l, g, c)
			for range g.Rows {
				var row []cell
				err := column.Entries(func(rep, def int) error {
					e := cell{rep: int16(rep), def: int16(def)}
					if def == l.MaxDef {
						v, err := column.Value()
						if err != nil {
							return err
						}
						e.value = string(v)
					}
					row = append(row, e)
					return nil
				})
				if err != nil {
					return err
				}
				all[l.Path()] = append(all[l.Path()], row)
			}
			return column.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// theirs reads a file with the Go library of Apache Arrow.
func theirs(t testing.TB, content []byte) table {
	t.Helper()
	r, err := arrowfile.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	all := table{}
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		for i := range group.NumColumns() {
			reader, err := group.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			all.add(t, reader)
		}
	}
	return all
}

func (all table) add(t testing.TB, r arrowfile.ColumnChunkReader) {
	t.Helper()
	d := r.Descriptor()
	number := func(n int, v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)[:n]) }
	var err error
	switch r := r.(type) {
	case *arrowfile.BooleanColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v bool) string {
			if v {
				return "\x01"
			}
			return "\x00"
		})
	case *arrowfile.Int32ColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v int32) string { return number(4, uint64(uint32(v))) })
	case *arrowfile.Int64ColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v int64) string { return number(8, uint64(v)) })
	case *arrowfile.Int96ColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v arrow.Int96) string { return string(v[:]) })
	case *arrowfile.Float32ColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v float32) string { return number(4, uint64(math.Float32bits(v))) })
	case *arrowfile.Float64ColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v float64) string { return number(8, math.Float64bits(v)) })
	case *arrowfile.ByteArrayColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v arrow.ByteArray) string { return string(v) })
	case *arrowfile.FixedLenByteArrayColumnChunkReader:
		err = addValues(all, d.Path(), d.MaxDefinitionLevel(), r.ReadBatch, func(v arrow.FixedLenByteArray) string { return string(v) })
	default:
		err = fmt.Errorf("a reader %T", r)
	}
	if err = errors.Join(err, r.Err()); err != nil {
		t.Fatalf("%s: %v", d.Path(), err)
	}
}

func addValues[T any](all table, name string, maxDef int16, read func(int64, []T, []int16, []int16) (int64, int, error), bytes func(T) string) error {
	const batch = 512
	values, def, rep := make([]T, batch), make([]int16, batch), make([]int16, batch)
	for {
		clear(def)
		clear(rep)
		n, _, err := read(batch, values, def, rep)
		if n == 0 || err != nil {
			return err
		}
		next := 0
		for i := range n {
			e := cell{rep: rep[i], def: def[i]}
			if maxDef == 0 || def[i] == maxDef {
				e.value = bytes(values[next])
				next++
			}
			if rep[i] == 0 {
				all[name] = append(all[name], nil)
			}
			last := len(all[name]) - 1
			all[name][last] = append(all[name][last], e)
		}
	}
}

// sameTables fails the test if two tables differ.
func sameTables(t rapid.TB, what string, got, want table) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d columns, want %d", what, len(got), len(want))
	}
	for name, rows := range want {
		if len(got[name]) != len(rows) {
			t.Errorf("%s: column %s: %d rows, want %d", what, name, len(got[name]), len(rows))
			continue
		}
		for i := range rows {
			if !slices.Equal(got[name][i], rows[i]) {
				t.Errorf("%s: column %s, row %d: %v, want %v", what, name, i, got[name][i], rows[i])
				break
			}
		}
	}
}

// TestMatrix: our reader and another one read the same values from the files of other writers, and from copies of these
// files without some rows.
func TestMatrix(t *testing.T) {
	matrix(t, func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := theirs(t, content)
		sameTables(t, "read", ours(t, content), want)

		file := readertest.Listed(t, path)
		file.Format = "parquet"
		o := reading.Options{MaxRecord: 1 << 30}
		if err := (Reader{}).Inspect(t.Context(), file, o); err != nil {
			t.Fatal(err)
		}
		for what, drop := range map[string]func(row int64) bool{
			"without every third": func(row int64) bool { return row%3 == 0 },
			"without few":         func(row int64) bool { return row%97 == 50 },
			"without most":        func(row int64) bool { return row%41 != 0 },
			"without all":         func(int64) bool { return true },
			"without the first":   func(row int64) bool { return row < 900 },
		} {
			var dropped []int64
			for row := range file.Positions {
				if drop(row) {
					dropped = append(dropped, row)
				}
			}
			copied := copyOf(t, file, blocks.Span{End: blocks.End}, dropped)
			left := table{}
			for name, rows := range want {
				left[name] = nil
				for i, row := range rows {
					if !drop(int64(i)) {
						left[name] = append(left[name], row)
					}
				}
				if left[name] == nil {
					delete(left, name)
				}
			}
			sameTables(t, what, ours(t, copied), left)
			sameTables(t, what+", by another reader", theirs(t, copied), left)
			if dir := os.Getenv("NEARDUP_PARQUET_COPIES"); dir != "" && what == "without every third" {
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), copied, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func copyOf(t testing.TB, file *blocks.File, span blocks.Span, dropped []int64) []byte {
	t.Helper()
	var b bytes.Buffer
	kept, _, err := Reader{}.Copy(context.Background(), &b, file, span, reading.Changes{Dropped: dropped}, reading.Options{})
	if want := min(span.End, file.Positions) - span.Start - int64(len(dropped)); err != nil || kept != want {
		t.Fatalf("%d rows are kept, want %d; error %v", kept, want, err)
	}
	return b.Bytes()
}

// TestLibrary: our reader and another one read the same values from a file of the library that writes our tables.
func TestLibrary(t *testing.T) {
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			content := encoded(t, [][]document{documents(300), documents(7)},
				parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(1000))
			sameTables(t, fmt.Sprint(codec, " version ", version), ours(t, content), theirs(t, content))
		}
	}
}

// TestEdits: after some texts are edited and some rows dropped, both readers find everything else unchanged.
func TestEdits(t *testing.T) {
	matrix(t, func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := theirs(t, content)
		file := readertest.Listed(t, path)
		file.Format = "parquet"
		o := reading.Options{MaxRecord: 1 << 30}
		o.Fields.Text = []string{"text"}
		if err := (Reader{}).Inspect(t.Context(), file, o); err != nil {
			t.Fatal(err)
		}
		for _, every := range []int64{1, 3, 97, 900} {
			var dropped, edited []int64
			for row := range file.Positions {
				switch {
				case row%5 == 4:
					dropped = append(dropped, row)
				case row%every == 0:
					edited = append(edited, row)
				}
			}
			var b bytes.Buffer
			cut := func(position int64, begin int, text []byte) []byte {
				if _, ok := slices.BinarySearch(edited, position); !ok || begin != 0 {
					t.Errorf("row %d at %d", position, begin)
				}
				return text[len(text)/2:]
			}
			kept, unedited, err := Reader{}.Copy(t.Context(), &b, file, blocks.Span{End: blocks.End}, reading.Changes{Dropped: dropped, Edited: edited, Edit: cut}, o)
			if err != nil || kept != file.Positions-int64(len(dropped)) || unedited != 0 {
				t.Fatalf("%d rows, %d unedited, error %v", kept, unedited, err)
			}
			left := table{}
			for name, rows := range want {
				for i, row := range rows {
					if i%5 == 4 {
						continue
					}
					if _, ok := slices.BinarySearch(edited, int64(i)); ok && name == "text" {
						row = slices.Clone(row)
						row[0].value = row[0].value[len(row[0].value)/2:]
					}
					left[name] = append(left[name], row)
				}
			}
			sameTables(t, "edited", ours(t, b.Bytes()), left)
			sameTables(t, "edited, by another reader", theirs(t, b.Bytes()), left)
		}
	})
}

// TestEditedIsNotSorted: a row group with an edited text is not declared to be sorted.
func TestEditedIsNotSorted(t *testing.T) {
	order := parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("text")))
	file := readertest.Plant(t, Reader{}, "parquet", encoded(t, [][]document{documents(5), documents(5)}, order))
	var o reading.Options
	o.Fields.Text = []string{"text"}
	for edited, want := range map[int64][]bool{-1: {true, true}, 1: {false, true}, 8: {true, false}} {
		var rows []int64
		if edited >= 0 {
			rows = []int64{edited}
		}
		var b bytes.Buffer
		_, _, err := Reader{}.Copy(t.Context(), &b, file, blocks.Span{End: blocks.End}, reading.Changes{
			Dropped: []int64{3, 7}, Edited: rows, Edit: func(int64, int, []byte) []byte { return nil },
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var sorted []bool
		for _, g := range copied.Metadata().RowGroups {
			sorted = append(sorted, len(g.SortingColumns) > 0)
		}
		if !slices.Equal(sorted, want) {
			t.Errorf("edited row %d: sorted %v, want %v", edited, sorted, want)
		}
	}
}
