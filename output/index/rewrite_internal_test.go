package index

import (
	"math/rand/v2"
	"testing"
)

// Rows that stay are numbered in order from each file's first number, and the others have none.
func TestNewRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var files []renumbered
	var want []int64 // by row, -1 if it is left out
	for k, rows := range []int{1, 64, 65, 1000, 2} {
		f := renumbered{start: int64(len(want)), to: int64(10_000 * (5 - k))}
		for next := f.to; f.rows < rows; {
			stays := rng.IntN(3) > 0
			f.add(stays)
			want = append(want, -1)
			if stays {
				want[len(want)-1] = next
				next++
			}
		}
		files = append(files, f)
	}
	for row, want := range want {
		if got, stays := newRow(files, int64(row)); stays != (want >= 0) || stays && got != want {
			t.Errorf("row %d is now %d, %t, want %d", row, got, stays, want)
		}
	}
}
