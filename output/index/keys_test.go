package index_test

import (
	"bytes"
	"cmp"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/records"
)

// TestKeys: Find finds what a scan of the file finds, across row groups, with equal keys and missing keys.
func TestKeys(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		space := int64(1) << (10 + 10*seed) // few or most keys are equal
		all := make([]index.Key, r.IntN(100_000))
		for i := range all {
			all[i] = index.Key{Key: r.Int64N(space), Row: r.Int64N(1 << 30)}
		}
		slices.SortFunc(all, func(a, b index.Key) int { return cmp.Compare(a.Key, b.Key) })
		path := filepath.Join(t.TempDir(), "keys.parquet")
		_, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error {
			return index.WriteKeys(w, slices.Values(all), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		wanted := []int64{0, space - 1}
		for range 1000 {
			wanted = append(wanted, r.Int64N(space))
		}
		for _, k := range all[:min(len(all), 500)] {
			wanted = append(wanted, k.Key)
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		var want, got, read []index.Key
		for _, k := range all {
			if _, ok := slices.BinarySearch(wanted, k.Key); ok {
				want = append(want, k)
			}
		}
		if err := index.Find(t.Context(), path, wanted, func(k index.Key) { got = append(got, k) }); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d, %d of %d keys: found are not all:\n%s", seed, len(want), len(all), diff)
		}
		within := func(int64, int64) bool { return true }
		if err := index.ReadKeys(t.Context(), path, within, func(k index.Key) { read = append(read, k) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(all, read) {
			t.Errorf("seed %d: %d keys were written, and others were read, %d", seed, len(all), len(read))
		}
	}
}

// TestKeysClaimed: a file with a damaged footer takes about as much memory as it has bytes, whatever it claims.
func TestKeysClaimed(t *testing.T) {
	var file bytes.Buffer
	err := index.WriteKeys(&file, func(yield func(index.Key) bool) {
		for i := range int64(5000) {
			if !yield(index.Key{Key: 1000 * i, Row: i * i % 5000}) {
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys.parquet")
	var before, after runtime.MemStats
	for at := max(0, file.Len()-1000); at < file.Len(); at++ {
		for _, bits := range []byte{0x80, 0x7F, 0x08} {
			damaged := bytes.Clone(file.Bytes())
			damaged[at] ^= bits
			if err := os.WriteFile(path, damaged, 0o666); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&before)
			_ = index.Find(t.Context(), path, []int64{0, 77_000, 4_999_000}, func(index.Key) {}) // it may find nothing wrong
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
				t.Errorf("byte %d of %d, %#x: %d MB were taken", at, file.Len(), bits, (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		}
	}
}

// TestLookup: keys lead to rows of files, which are numbered over all segments.
func TestLookup(t *testing.T) {
	x := &index.Index{Dir: t.TempDir()}
	for _, name := range []string{"monday", "tuesday"} {
		of := index.Segment{Name: name}
		rows := int64(0)
		for i, table := range []string{"kept/a.parquet", "kept/b.parquet", "removed/a.parquet"} {
			of.Files = append(of.Files, records.ManifestFile{Path: index.FileOf(name, table), Rows: int64(i) + 2})
			rows += int64(i) + 2
		}
		keys := index.FileOf(name, index.KeysFile(0, 0))
		_, err := storage.WriteFile(t.Context(), filepath.Join(x.Dir, keys), func(w io.Writer) error {
			return index.WriteKeys(w, func(yield func(index.Key) bool) {
				for row := range rows {
					if !yield(index.Key{Key: 7, Row: row}) {
						return
					}
				}
			}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		of.Files = append(of.Files, records.ManifestFile{Path: keys, Rows: rows})
		x.Segments = append(x.Segments, of)
	}
	var want, got [][2]int64
	for file, rows := range []int64{2, 3, 4, 2, 3, 4} {
		for row := range rows {
			want = append(want, [2]int64{int64(file), row})
		}
	}
	err := x.Lookup().Find(t.Context(), 0, 0, 0, []int64{7}, func(_ int64, file int, row int64) {
		got = append(got, [2]int64{int64(file), row})
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
