package index_test

import (
	"cmp"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/index"
)

// TestKeys: what is found in a file of keys is what going through all of them finds, over row groups, equal keys and
// keys that are not there.
func TestKeys(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		space := int64(1) << (10 + 10*seed) // few keys are equal, or most
		all := make([]index.Key, r.IntN(100_000))
		for i := range all {
			all[i] = index.Key{Key: r.Int64N(space), File: r.IntN(3), Row: r.Int64N(1 << 30)}
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
