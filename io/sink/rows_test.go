package sink

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// heldRows is how many bytes of a group's rows are held by default.
const heldRows = 16 << 20

// spread returns a function that collects blocks of values by key.
func spread(to map[int64][][]byte) func(int64, []byte) {
	return func(key int64, block []byte) { to[key] = append(to[key], block) }
}

// The file of a shard has the same bytes however many slices its rows come in, and whether or not they are sorted in
// files; rows may come in parts. Of a group that is too large to be held in memory, some rows are sorted into files
// however few slices there are.
func TestSlices(t *testing.T) {
	const shard = 2
	for name, text := range map[string]string{"few": "x", "many": strings.Repeat("many bytes ", 200), "large": strings.Repeat("a large row", 100_000), "too large": strings.Repeat("a large row", 100_000)} {
		n := 3000
		switch name {
		case "large":
			n = 5
		case "too large":
			n = heldRows*9/8/len(text) + 1
		}
		var buffers blocks.Buffers
		whole := map[int64][][]byte{}
		for i := range n {
			// Most rows have the same first document.
			own, second := blocks.Key(max(0, i*7%n-n/2)), blocks.Key(i*11%n)
			row := &records.Clustered{Cluster: int64(own), ID: fmt.Sprint(text, i), Source: "s"}
			blocks.AddRow(&buffers, shard, own, second, row, spread(whole))
		}
		buffers.Flush(spread(whole))
		for key, packed := range whole {
			for _, block := range packed {
				if key != shard || len(block) > 1<<20 {
					t.Errorf("%s: a block of %d bytes for shard %d", name, len(block), key)
				}
			}
		}
		var want []byte
		for _, slices := range []int64{1, 2, 7} {
			temp, rows := storagetest.RunFolder(t), whole[shard]
			if slices > 1 {
				sliced, after := map[int64][][]byte{}, map[int64][][]byte{}
				f := &sliceFn{Slices: slices}
				for _, block := range rows {
					if err := f.ProcessElement(shard, block, spread(sliced)); err != nil {
						t.Fatal(err)
					}
				}
				f.FinishBundle(spread(sliced))
				total, most := 0, 0
				for _, packed := range sliced {
					size := len(bytes.Join(packed, nil))
					total, most = total+size, max(most, size)
				}
				// Keys are the same in each run, so this does not depend on chance.
				if mean := float64(n) / float64(slices); float64(most) > float64(total)/float64(n)*(mean+4*math.Sqrt(mean)+1) {
					t.Errorf("%s: rows of %d bytes in %d slices of %d, %d in one", name, total, len(sliced), slices, most)
				}
				compress := slices == 7
				if compress {
					plain := sliced
					sliced = map[int64][][]byte{}
					for slice, blocks := range plain {
						for _, block := range blocks {
							packFn(slice, block, spread(sliced))
						}
					}
				}
				for slice, packed := range sliced {
					f := &runFn{Files: sorted.Params{Temp: temp, Name: "rows"}, Slices: slices, Few: 512 << 10, Packed: compress}
					if err := f.ProcessElement(t.Context(), slice, iterate(packed...), spread(after)); err != nil {
						t.Fatal(err)
					}
				}
				if files, err := filepath.Glob(filepath.Join(temp, "sorted", "rows", "*")); err != nil || (len(files) > 0) != (name != "few") {
					t.Errorf("%s in %d slices: %d files, error %v", name, slices, len(files), err)
				}
				if len(after) != 1 {
					t.Errorf("%s: rows of %d shards", name, len(after))
				}
				rows = after[shard]
			}
			f := &tableFn[records.Clustered]{Table: output.Clusters, Params: Params{
				Temp: temp, Inputs: share(t, shards(4)), Output: output.Folder{Dir: storagetest.RunFolder(t)}, Write: []output.Part{output.Clusters},
			}}
			emit, fact := oneFact(t)
			if err := f.ProcessElement(t.Context(), shard, iterate(rows...), emit); err != nil {
				t.Fatal(err)
			}
			if files, err := filepath.Glob(filepath.Join(temp, "sorted", "clusters", "*")); err != nil || (len(files) > 0) != (name == "too large" && slices == 1) {
				t.Errorf("%s in %d slices: %d files of the shard, error %v", name, slices, len(files), err)
			}
			if fact.Counts[blocks.CountRows] != int64(n) {
				t.Errorf("%s in %d slices: %d rows, want %d", name, slices, fact.Counts[blocks.CountRows], n)
			}
			file, err := os.ReadFile(filepath.Join(f.Params.Output.Dir, "clusters", "part-00002-of-00004.parquet"))
			if err != nil {
				t.Fatal(err)
			}
			read, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			if groups := len(read.RowGroups()); (groups > 1) != (name == "too large") {
				t.Errorf("%s in %d slices: %d row groups", name, slices, groups)
			}
			if want == nil {
				want = file
			} else if !bytes.Equal(file, want) {
				t.Errorf("%s in %d slices: other bytes", name, slices)
			}
		}
	}
}

// The bytes of records are in the order of their parts, and each record has its whole part.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, math.MaxInt64))
		draw := func(name string) (p blocks.RowPart) {
			p.Order = blocks.Edge{A: blocks.Key(key.Draw(t, name)), B: blocks.Key(key.Draw(t, name))}
			p.Left = rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 1<<40)).Draw(t, name)
			p.Continues, p.Fields = rapid.Bool().Draw(t, name), rapid.SliceOf(rapid.Byte()).Draw(t, name)
			return p
		}
		a, b := draw("a"), draw("b")
		first, second := appendPart(nil, a), appendPart(nil, b)
		if order := a.Compare(b.RowPlace); order != 0 && bytes.Compare(first, second) != order {
			t.Fatalf("%v and %v: records %x and %x", a, b, first, second)
		}
		read, err := partOf(first)
		if err != nil || read.RowPlace != a.RowPlace || read.Continues != a.Continues || !bytes.Equal(read.Fields, a.Fields) {
			t.Fatalf("%v is read as %v, error %v", a, read, err)
		}
	})
	if _, err := partOf(make([]byte, 23)); !errors.Is(err, blocks.ErrCorrupt) {
		t.Errorf("a record without a place: error %v", err)
	}
}

// Broken packed rows must not look like the end of the group.
func TestBrokenPacked(t *testing.T) {
	emit := func(int64, []byte) { t.Error("rows go on") }
	err := (&runFn{Files: sorted.Params{Temp: storagetest.RunFolder(t)}, Slices: 2, Packed: true}).ProcessElement(t.Context(), 1, iterate([]byte("not packed")), emit)
	if !errors.Is(err, s2.ErrCorrupt) {
		t.Errorf("broken rows: error %v, want %v", err, s2.ErrCorrupt)
	}
}
