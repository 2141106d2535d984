package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	groups "github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// spread returns a function that collects blocks of values by key.
func spread(to map[int64][][]byte) func(int64, []byte) {
	return func(key int64, block []byte) { to[key] = append(to[key], block) }
}

// TestNamesOfCuts checks that files of rows have a name of their own for each cut of the rows, since a repeated step
// may write them while the first attempt still reads; and that equal cuts have one name, whatever order their blocks
// came in.
func TestNamesOfCuts(t *testing.T) {
	temp := storagetest.RunFolder(t)
	row := func(first, second blocks.Key, left int) []byte {
		part := blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: first, B: second}, Left: left}, Fields: []byte("x")}
		return part.Append(nil)
	}
	named := func(rows ...[]byte) string {
		size := 0
		for _, r := range rows {
			size += len(r)
		}
		file, err := sortToFile(t.Context(), temp, "table", rows, size)
		if err != nil {
			t.Fatal(err)
		}
		return string(file)
	}
	a, b, c, d := row(1, 1, 0), row(1, 2, 0), row(2, 1, 0), row(2, 1, 1)
	seen := map[string]int{}
	for i, cut := range [][][]byte{{a}, {b}, {c}, {d}, {a, b}, {a, c}, {b, c}, {a, d}, {a, b, c}, {a, b, c, d}} {
		name := named(cut...)
		if at, is := seen[name]; is {
			t.Errorf("cuts %d and %d are one file, %s", at, i, name)
		}
		seen[name] = i
		slices.Reverse(cut)
		if again := named(cut...); again != name {
			t.Errorf("cut %d is %s, and in another order %s", i, name, again)
		}
	}
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
			n = shardRows*9/8/len(text) + 1
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
				sliced, sorted := map[int64][][]byte{}, map[int64][][]byte{}
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
					f := &runFn{Temp: temp, Name: "rows", Slices: slices, Few: 512 << 10, Held: shardRows, Packed: compress}
					if err := f.ProcessElement(t.Context(), slice, iterate(packed...), spread(sorted)); err != nil {
						t.Fatal(err)
					}
				}
				if files, err := filepath.Glob(filepath.Join(temp, "rows", "rows", "*")); err != nil || (len(files) > 0) != (name != "few") {
					t.Errorf("%s in %d slices: %d files, error %v", name, slices, len(files), err)
				}
				if len(sorted) != 1 {
					t.Errorf("%s: rows of %d shards", name, len(sorted))
				}
				rows = sorted[shard]
			}
			f := &tableFn[records.Clustered]{Table: output.Clusters, Params: Params{
				Temp: temp, Inputs: share(t, shards(4)), Output: output.Folder{Dir: storagetest.RunFolder(t)}, Write: []output.Part{output.Clusters},
			}}
			emit, fact := oneFact(t)
			if err := f.ProcessElement(t.Context(), shard, iterate(rows...), emit); err != nil {
				t.Fatal(err)
			}
			if files, err := filepath.Glob(filepath.Join(temp, "rows", "clusters", "*")); err != nil || (len(files) > 0) != (name == "too large" && slices == 1) {
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

// Rows are in order however documents are distributed: evenly, in few places, all in one, or at both ends of the range
// of keys.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(
			rapid.Int64Range(0, 5), rapid.Int64Range(0, 1<<20),
			rapid.Map(rapid.Int64Range(0, 5), func(file int64) int64 { return file<<40 | file }),
			rapid.SampledFrom([]int64{math.MinInt64, -1, math.MaxInt64}),
		)
		refs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ref {
			place := blocks.RowPlace{Order: blocks.Edge{A: blocks.Key(key.Draw(t, "a")), B: blocks.Key(key.Draw(t, "b"))}, Left: rapid.IntRange(0, 3).Draw(t, "left")}
			return ref{RowPlace: place, block: uint32(place.Left), at: uint32(place.Order.B)}
		}), 0, 200).Draw(t, "refs")
		want := slices.Clone(refs)
		slices.SortFunc(want, func(a, b ref) int { return a.Compare(b.RowPlace) })
		order(refs)
		if !slices.Equal(refs, want) {
			t.Fatalf("got %v, want %v", refs, want)
		}
	})
}

// A file of sorted rows that differs from what was written causes an error, whatever is wrong with it.
func TestBrokenRun(t *testing.T) {
	temp := storagetest.RunFolder(t)
	var rows []blocks.RowPart
	for i := range 100 {
		rows = append(rows, blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: blocks.Key(i)}}, Fields: []byte("fields")})
	}
	path := filepath.Join(temp, "run")
	if err := writeRun(t.Context(), temp, path, nextOf(rows)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(parts int, data []byte) (n int, err error) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		next, file, err := openRun(t.Context(), fmt.Appendf(nil, "%d %s", parts, path))
		if err != nil {
			return 0, err
		}
		defer file.Close()
		for ; ; n++ {
			part, err := next()
			if errors.Is(err, io.EOF) {
				return n, nil
			}
			if err != nil {
				return n, err
			}
			if part.Compare(rows[n].RowPlace) != 0 {
				t.Fatalf("part %d is %v", n, part)
			}
		}
	}
	if n, err := read(len(rows), whole); n != len(rows) || err != nil {
		t.Fatalf("%d of %d parts, error %v", n, len(rows), err)
	}
	row := len(whole) / len(rows)
	for name, data := range map[string][]byte{
		"empty": nil, "cut behind a row": whole[:50*row], "cut in a row": whole[:50*row+3], "longer": append(bytes.Clone(whole), whole[:row]...),
		"huge length":                append(bytes.Clone(whole[:row]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"a part with more behind it": append([]byte{byte(row)}, append(bytes.Clone(whole[1:row]), 0)...),
	} {
		if n, err := read(len(rows), data); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %d parts, error %v", name, n, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := writeRun(t.Context(), filepath.Join(temp, "gone"), filepath.Join(temp, "gone", "run"), nextOf(rows)); err == nil {
		t.Error("rows are written below a folder that is gone")
	}
}

// nextOf returns parts one after another.
func nextOf(rows []blocks.RowPart) func() (blocks.RowPart, error) {
	return func() (part blocks.RowPart, err error) {
		if len(rows) == 0 {
			return part, io.EOF
		}
		part, rows = rows[0], rows[1:]
		return part, nil
	}
}

// TestBrokenRunAmongOthers checks that an error in one run ends the reading of all, wherever in the run it is.
func TestBrokenRunAmongOthers(t *testing.T) {
	oops := errors.New("oops")
	run := func(fails bool, places ...blocks.Key) func() (blocks.RowPart, error) {
		var rows []blocks.RowPart
		for _, at := range places {
			rows = append(rows, blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: at}}})
		}
		next := nextOf(rows)
		return func() (blocks.RowPart, error) {
			part, err := next()
			if errors.Is(err, io.EOF) && fails {
				err = oops
			}
			return part, err
		}
	}
	for _, broken := range [][]blocks.Key{nil, {1}, {1, 5}, {9}} {
		var failed error
		runs := []func() (blocks.RowPart, error){run(false, 2, 4, 6), run(true, broken...), run(false, 3)}
		groups.Merge(runs, byPlace, func(_ blocks.RowPart, err error) bool {
			failed = err
			return err == nil
		})
		if !errors.Is(failed, oops) {
			t.Errorf("a run that fails behind %v: error %v", broken, failed)
		}
	}
}

// Broken packed rows must not look like the end of the group.
func TestBrokenPacked(t *testing.T) {
	emit := func(int64, []byte) { t.Error("rows go on") }
	err := (&runFn{Temp: storagetest.RunFolder(t), Name: "rows", Slices: 2, Packed: true}).ProcessElement(t.Context(), 1, iterate([]byte("not packed")), emit)
	if !errors.Is(err, s2.ErrCorrupt) {
		t.Errorf("broken rows: error %v, want %v", err, s2.ErrCorrupt)
	}
}

// TestHeldRows checks that no more rows of a group are held than there is memory for.
func TestHeldRows(t *testing.T) {
	const block, all = 10_000, 100
	for _, held := range []int{block, 10 * block, all * block} {
		left := all
		_, kept, size, err := collect(t.Context(), storagetest.RunFolder(t), "rows", Params{HeldRows: held}.held(), func(b *[]byte) bool {
			if left--; left < 0 {
				return false
			}
			row := blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: blocks.Key(left)}}, Fields: make([]byte, block-100)}
			*b = row.Append(nil)
			return true
		})
		if err != nil || size > held || len(kept)*block > held {
			t.Errorf("%d bytes in %d blocks are held of %d, error %v", size, len(kept), held, err)
		}
	}
}
