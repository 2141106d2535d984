package local

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

// TestPercent checks that the heap grows as usual if nothing is held, and that held memory reduces the growth, down to
// a minimum.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		usual      int
		live, held int64
		want       int
	}{
		{100, 0, 0, 100},
		{100, 10 << 20, 0, 100},
		{100, 10 << 20, 9 << 20, 100}, // below the minimum
		{100, 400 << 20, 0, 100},
		{100, 400 << 20, 100 << 20, 50}, // to 600 MB, twice the rest of 300
		{50, 400 << 20, 100 << 20, 25},
		{100, 400 << 20, 380 << 20, 10}, // the minimum
		{100, 400 << 20, 500 << 20, 10}, // more is held than was live: it has grown since
		{400, 400 << 20, 380 << 20, 40},
		{5, 400 << 20, 380 << 20, 1}, // with 0 the collector would never rest
		{0, 400 << 20, 380 << 20, 0}, // except on request
	} {
		if got := percent(c.usual, c.live, c.held); got != c.want {
			t.Errorf("%d %% of %d bytes, %d held: %d %%, want %d", c.usual, c.live, c.held, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		live, held := rapid.Int64Range(1, 1<<40).Draw(t, "live"), rapid.Int64Range(0, 1<<40).Draw(t, "held")
		if got := percent(100, live, held); got < 0 || got > 100 || percent(100, live, held+1<<20) > got {
			t.Fatalf("%d %%", got)
		}
	})
}

// TestPace checks that jobs that run at once are paced together, based on the setting of others meanwhile, and that the
// last one to end leaves that setting.
func TestPace(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // as a program may do at its start
	one, other := shuffle.NewMemory(1<<30, 1), shuffle.NewMemory(1<<30, 1)
	held := shuffle.NewList(one, nil, 1)
	w := held.Writer()
	if err := errors.Join(w.Append(make([]byte, 128<<20)), w.Park()); err != nil {
		t.Fatal(err)
	}
	p := pacer{jobs: map[*shuffle.Memory]struct{}{}}
	first, second := p.begin(one), p.begin(other)
	runtime.GC() // only what is held is live
	p.collected(other)
	if now := p.inForce(); now > 640 {
		t.Errorf("the heap may grow by %d %% where nearly all is held", now)
	}
	debug.SetGCPercent(100)
	p.collected(other)
	if now := p.inForce(); now > 40 {
		t.Errorf("the heap may grow by %d %% where others set 100", now)
	}
	second()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	before := p.inForce()
	for range 2 { // this comes too late
		p.collected(other)
	}
	if now := p.inForce(); now != before {
		t.Errorf("a job that has ended sets %d %%", now)
	}
	first()
	if now := p.inForce(); now != 100 {
		t.Errorf("%d %% are left", now)
	}
	off := debug.SetGCPercent(0)
	p.begin(one)()
	if now := p.inForce(); now != 0 {
		t.Errorf("a job without a collection leaves %d %%, not 0", now)
	}
	debug.SetGCPercent(-1)
	stop := p.begin(one)
	p.collected(one)
	if now := p.inForce(); now != -1 {
		t.Errorf("a job sets a collector that is off to %d %%", now)
	}
	stop()
	debug.SetGCPercent(off)
}
