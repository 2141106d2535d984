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

// What exceeds the memory limit is in files: if these are damaged or gone, reading fails.
func TestFilesAreRead(t *testing.T) {
	records := make([][]byte, 100)
	for i := range records {
		records[i] = fmt.Append(nil, i)
	}
	for name, damage := range map[string]func(file string) error{
		"gone": os.Remove,
		"cut":  func(file string) error { return os.Truncate(file, 3) },
		"long": func(file string) error { return os.WriteFile(file, []byte{0xff, 0xff, 0xff, 0x7f}, 0o666) },
	} {
		dir := temp(t)
		var read sorted.Records
		err := read.Read(t.Context(), sorted.Params{Temp: dir, Name: "test", Held: 100}, group(rand.New(rand.NewPCG(1, 2)), records))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "sorted", "test", "*"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		if err := damage(files[0]); err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, err := range read.All() {
			failed = errors.Join(failed, err)
		}
		if failed == nil {
			t.Errorf("%s: no error", name)
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
