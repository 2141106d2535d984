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

// pacer keeps the heap small while a job holds much data between stages. By default the collector lets the heap double,
// because the work of a collection is proportional to the live heap. Data between stages has no pointers and costs no
// such work, so it does not count: the heap grows to twice the rest. It always grows by at least a tenth, so that a
// growing heap is not collected all the time.
type pacer struct {
	mu    sync.Mutex
	jobs  map[*shuffle.Memory]struct{} // running jobs
	usual int                          // percent set by others
	set   int                          // percent last set here
	held  int64                        // bytes held by all jobs at the last collection
}

// heap paces the heap of this process.
var heap = pacer{jobs: map[*shuffle.Memory]struct{}{}}

// begin adapts the collector to the data that a job holds, until stop is called.
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

// watch calls collected after the next collection, which frees an unreferenced object.
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
	if p.usual < 0 { // the collector is off
		return
	}
	var held int64
	for m := range p.jobs {
		held += m.Held()
	}
	most := max(held, p.held) // data held at the collection may have been freed since
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
	usual int64 // limit set by others
}

// limits is the limiter of this process.
var limits limiter

// begin lowers the limit until stop is called and all concurrent jobs have stopped, too.
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

// inForce returns the percent in force, whoever has set it.
func (p *pacer) inForce() int {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	return int(gogc[0].Value.Uint64())
}

// percent returns by how much the heap may grow if held of the live bytes are data between stages. It is 0 only if
// usual is: at 0, the collector would run without a pause.
func percent(usual int, live, held int64) int {
	if live == 0 {
		return usual
	}
	growth := min(live, max(2*(live-held)-live, live/10, leastGrowth))
	return min(usual, max(1, int(int64(usual)*growth/live)))
}
