package main

import (
	"io"
	"runtime"
	"testing"

	"github.com/neardup/neardup/pipelines/job"
)

// With --workers 1 no step uses a second core.
func TestWorkersBoundCores(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(before)
	for _, workers := range []int{0, 9, 3, 1} {
		locally(job.Running{Workers: workers}, newDisplay(io.Discard))
		want := 4
		if workers > 0 {
			want = min(4, workers)
		}
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("--workers %d: %d cores, want %d", workers, got, want)
		}
	}
}
