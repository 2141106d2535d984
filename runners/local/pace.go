package local

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

// leastGrowth is the minimum growth of the heap between two collections.
const leastGrowth = 40 << 20

// pacer keeps the heap small while a job holds much data between stages. The collector usually
// lets the heap double, since the work of a collection is in proportion to what lives. Data
// between stages costs it no work, as it has no pointers, so it earns no room: the heap grows
// to twice the rest. It always grows by a tenth, lest a growing heap is collected all the time.
type pacer struct {
	mu    sync.Mutex
	jobs  map[*shuffle.Memory]struct{} // that run
	usual int                          // percent, as others set it
	set   int                          // percent, as set here last
	held  int64                        // by all jobs, at the collection before
}

// heap paces the heap of this process.
var heap = pacer{jobs: map[*shuffle.Memory]struct{}{}}

// begin paces the collector for what a job holds until stop is called.
func (p *pacer) begin(m *shuffle.Memory) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs[m] = struct{}{}
	p.watch(m)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.jobs, m)
		if len(p.jobs) > 0 {
			return
		}
		if p.inForce() == p.set {
			debug.SetGCPercent(p.usual)
		}
		p.usual, p.set, p.held = 0, 0, 0
	}
}

// watch calls collected after the next collection, which frees an object that nothing refers to.
func (p *pacer) watch(m *shuffle.Memory) {
	runtime.AddCleanup(new([64]byte), p.collected, m)
}

// collected sets how far the heap may grow until the next collection.
func (p *pacer) collected(m *shuffle.Memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, runs := p.jobs[m]; !runs {
		return
	}
	if now := p.inForce(); now != p.set {
		p.usual = now
	}
	if p.usual < 0 { // off
		return
	}
	var held int64
	for m := range p.jobs {
		held += m.Held()
	}
	most := max(held, p.held) // what was held at the collection may be gone
	p.held = held
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	p.set = percent(p.usual, int64(live[0].Value.Uint64()), most)
	debug.SetGCPercent(p.set)
	p.watch(m)
}

// limiter lowers the memory limit while jobs run.
type limiter struct {
	mu    sync.Mutex
	jobs  int
	usual int64 // as others set it
}

// limits are those of this process.
var limits limiter

// begin lowers the limit until stop is called, and all others of the same time have stopped.
func (l *limiter) begin(limit int64) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs++; l.jobs == 1 {
		l.usual = debug.SetMemoryLimit(-1)
	}
	debug.SetMemoryLimit(min(limit, debug.SetMemoryLimit(-1)))
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.jobs--; l.jobs == 0 {
			debug.SetMemoryLimit(l.usual)
		}
	}
}

// inForce is the percent in force, whoever set it.
func (p *pacer) inForce() int {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	return int(gogc[0].Value.Uint64())
}

// percent is by how much the heap may grow if held bytes of those that live lie between stages. It is 0 only if that is
// usual: the collector would run without a pause.
func percent(usual int, live, held int64) int {
	if live == 0 {
		return usual
	}
	growth := min(live, max(2*(live-held)-live, live/10, leastGrowth))
	return min(usual, max(1, int(int64(usual)*growth/live)))
}
