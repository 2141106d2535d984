package sorted_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
)

// group returns an iterator over the records, packed into blocks of random lengths.
func group(random *rand.Rand, records [][]byte) func(*[]byte) bool {
	var packed [][]byte
	for i, record := range records {
		if i == 0 || random.IntN(5) == 0 {
			packed = append(packed, nil)
		}
		last := &packed[len(packed)-1]
		*last = blocks.AppendBytes(*last, record)
	}
	return func(block *[]byte) bool {
		if len(packed) == 0 {
			return false
		}
		*block, packed = packed[0], packed[1:]
		return true
	}
}

func temp(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := storage.Begin(t.Context(), dir, true); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The order is that of the bytes, in two passes, whatever the memory limit.
func TestOrderIsThatOfTheBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var read sorted.Records
	for round := range 60 {
		var records [][]byte
		common := make([]byte, random.IntN(12)*random.IntN(2))
		for range random.IntN(200) {
			record := bytes.Clone(common)
			for range random.IntN(20) {
				record = append(record, byte(random.IntN(1+random.IntN(256))))
			}
			if n := len(records); n > 0 && random.IntN(4) == 0 { // it begins like another one
				record = append(bytes.Clone(records[random.IntN(n)]), record...)
			}
			records = append(records, record)
		}
		want := slices.Clone(records)
		slices.SortFunc(want, bytes.Compare)
		for _, held := range []int{0, 1, 300} {
			err := read.Read(t.Context(), sorted.Params{Temp: temp(t), Name: "test", Held: held}, group(random, records))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				var got [][]byte
				for record, err := range read.All() {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, bytes.Clone(record))
				}
				if !slices.EqualFunc(got, want, bytes.Equal) {
					t.Fatalf("round %d, %d held: %q, want %q", round, held, got, want)
				}
			}
			for _, prefix := range []int{0, 1, 8, 9} {
				var got [][]byte
				for record, err := range read.Repeated(prefix) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, bytes.Clone(record))
				}
				if want := repeated(want, prefix); !slices.EqualFunc(got, want, bytes.Equal) {
					t.Fatalf("round %d, %d held, prefix %d: %q, want %q", round, held, prefix, got, want)
				}
			}
		}
	}
}

// repeated returns the records whose first bytes another record has, too.
func repeated(records [][]byte, prefix int) (all [][]byte) {
	for i, r := range records {
		for j, other := range records {
			if i != j && len(r) >= prefix && len(other) >= prefix && bytes.Equal(r[:prefix], other[:prefix]) {
				all = append(all, r)
				break
			}
		}
	}
	return all
}

// spilled returns files of all records of a group, and adds those of the files before.
func spilled(t *testing.T, dir string, held int, records [][]byte) []sorted.File {
	t.Helper()
	var group sorted.Records
	group.Begin(t.Context(), sorted.Params{Temp: dir, Name: "test", Held: held})
	for _, record := range records {
		if err := group.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	files, err := group.Spill(0)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// merged returns the records of files and of a group, and how many were read before an error.
func merged(t *testing.T, files []sorted.File, held ...[]byte) (all [][]byte, failed error) {
	t.Helper()
	var group sorted.Records
	group.Begin(t.Context(), sorted.Params{})
	for _, f := range files {
		group.AddFile(f)
	}
	for _, record := range held {
		if err := group.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := group.End(); err != nil {
		t.Fatal(err)
	}
	for record, err := range group.All() {
		if err != nil {
			return all, err
		}
		all = append(all, bytes.Clone(record))
	}
	return all, nil
}

// A group is spilled if it takes more than allowed, and other groups read its files.
func TestSpilledRecords(t *testing.T) {
	var want, spill, held [][]byte
	for i := range 1000 {
		record := fmt.Appendf(nil, "%04d", i)
		if want = append(want, record); i%3 == 0 {
			held = append(held, record)
		} else {
			spill = append(spill, record)
		}
	}
	for _, limit := range []int{0, 2000} {
		files := spilled(t, temp(t), limit, spill)
		if (len(files) > 1) != (limit > 0) {
			t.Errorf("%d held: %d files", limit, len(files))
		}
		if got, err := merged(t, files, held...); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d held: %q, error %v", limit, got, err)
		}
	}
	var few sorted.Records
	few.Begin(t.Context(), sorted.Params{})
	for _, record := range spill {
		if err := few.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	files, err := few.Spill(1 << 20)
	n := 0
	for range few.All() {
		n++
	}
	if len(files) > 0 || n != len(spill) || err != nil {
		t.Errorf("%d files and %d records, error %v", len(files), n, err)
	}
	few.Begin(t.Context(), sorted.Params{Temp: filepath.Join(t.TempDir(), "gone")})
	if err := few.Add([]byte("record")); err != nil {
		t.Fatal(err)
	}
	if _, err := few.Spill(0); err == nil {
		t.Error("records are spilled below a folder that is gone")
	}
}

// TestNamesOfFiles checks that files have a name of their own for each cut of the records, since a repeated step may
// write them while the first attempt still reads; and that equal cuts have one name, whatever their order was.
func TestNamesOfFiles(t *testing.T) {
	dir := temp(t)
	a, b, c, d := []byte("1 1"), []byte("1 2"), []byte("2 1"), []byte("2 1 ")
	seen := map[string]int{}
	for i, cut := range [][][]byte{{a}, {b}, {c}, {d}, {a, b}, {a, c}, {b, c}, {a, d}, {a, b, c}, {a, b, c, d}} {
		file := spilled(t, dir, 0, cut)[0]
		if at, is := seen[file.Path]; is {
			t.Errorf("cuts %d and %d are one file, %s", at, i, file.Path)
		}
		seen[file.Path] = i
		slices.Reverse(cut)
		if again := spilled(t, dir, 0, cut)[0]; again != file {
			t.Errorf("cut %d is %v, and in another order %v", i, file, again)
		}
	}
}

// A file that differs from what was written causes an error, whatever is wrong with it and whatever records of others
// are read with it.
func TestBrokenFiles(t *testing.T) {
	var records [][]byte
	for i := range 100 {
		records = append(records, fmt.Appendf(nil, "%03d", i))
	}
	dir := temp(t)
	file := spilled(t, dir, 0, records)[0]
	whole, err := os.ReadFile(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := merged(t, []sorted.File{file}); err != nil || len(got) != len(records) {
		t.Fatalf("%d of %d records, error %v", len(got), len(records), err)
	}
	size := len(whole) / len(records)
	for name, data := range map[string][]byte{
		"empty": {}, "cut behind a record": whole[:50*size], "cut in a record": whole[:50*size+3],
		"longer":      append(bytes.Clone(whole), whole[:size]...),
		"huge length": append(bytes.Clone(whole[:size]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"gone":        nil,
	} {
		if err := os.WriteFile(file.Path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if data == nil {
			if err := os.Remove(file.Path); err != nil {
				t.Fatal(err)
			}
		}
		for _, others := range [][][]byte{nil, {[]byte("0")}, {[]byte("0305"), []byte("9")}} {
			if got, err := merged(t, []sorted.File{file}, others...); err == nil || !strings.Contains(err.Error(), file.Path) {
				t.Errorf("%s: %d records, error %v", name, len(got), err)
			}
		}
	}
}

// Records of one length are stored without it.
func TestRecordsOfOneWidth(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{1, 3, 8, 16, 20} {
		for _, alike := range []int{0, 8} {
			var want [][]byte
			var packed []byte
			for range 500 {
				record := make([]byte, width)
				for i := min(alike, width-1); i < width; i++ {
					record[i] = byte(random.IntN(4))
				}
				packed, want = append(packed, record...), append(want, record)
			}
			slices.SortFunc(want, bytes.Compare)
			for _, held := range []int{0, 100} {
				given := 0
				var read sorted.Records
				err := read.Read(t.Context(), sorted.Params{Temp: temp(t), Name: "test", Width: width, Held: held}, func(block *[]byte) bool {
					if given == len(packed) {
						return false
					}
					n := min(10*width, len(packed)-given)
					*block, given = packed[given:given+n], given+n
					return true
				})
				if err != nil {
					t.Fatal(err)
				}
				var got [][]byte
				for record, err := range read.All() {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, bytes.Clone(record))
				}
				if !slices.EqualFunc(got, want, bytes.Equal) {
					t.Fatalf("width %d, %d alike, %d held: another order", width, alike, held)
				}
			}
		}
	}
	given := false
	err := new(sorted.Records).Read(t.Context(), sorted.Params{Width: 2}, func(block *[]byte) bool {
		*block = []byte{5, 1, 2}
		given = !given
		return given
	})
	if !errors.Is(err, blocks.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

func TestBadBlock(t *testing.T) {
	given := false
	err := new(sorted.Records).Read(context.Background(), sorted.Params{Temp: t.TempDir()}, func(block *[]byte) bool {
		*block = []byte{5, 1}
		given = !given
		return given
	})
	if !errors.Is(err, blocks.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}
