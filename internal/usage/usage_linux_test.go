//go:build !race

// The race detector takes memory, too.

package usage

import (
	"runtime"
	"testing"
	"time"
)

// A meter measures what was held since its start, and nothing held before.
func TestMeter(t *testing.T) {
	const large = 256 << 20
	hold := func(bytes int) {
		held := make([]byte, bytes)
		for i := 0; i < bytes; i += 4 << 10 {
			held[i] = 1
		}
		runtime.KeepAlive(held)
	}
	hold(large)
	m := Start()
	for started := time.Now(); time.Since(started) < 20*time.Millisecond; {
	}
	seconds, cpu, before := m.Stop()
	if seconds < .02 || cpu <= 0 || cpu > 60 {
		t.Errorf("%v seconds, %v CPU seconds", seconds, cpu)
	}
	if before == 0 {
		t.Skip("the system does not forget the peak")
	}
	if before > large/2 {
		t.Errorf("%d bytes at the peak, some of them from before the start", before)
	}
	m = Start()
	hold(large)
	if _, _, peak := m.Stop(); peak < large || peak > 2*large {
		t.Errorf("%d bytes at the peak, want %d and some more", peak, large)
	}
}
