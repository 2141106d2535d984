package local

import (
	"sync"
	"syscall"
	"time"
)

// meter divides the resources that the process uses among the stages whose bundles run, so that the shares add up and
// include the work of the garbage collector and of goroutines started by DoFns. It is safe for concurrent use.
type meter struct {
	mu      sync.Mutex
	active  map[*stage]int
	bundles int
	cpu     time.Duration // at the last change
	spilled int64
	written func() int64
	shares  map[*stage]share
}

type share struct {
	cpu     float64
	spilled float64
}

func newMeter(written func() int64) *meter {
	return &meter{active: map[*stage]int{}, cpu: processCPU(), written: written, shares: map[*stage]share{}}
}

// enter and leave say that a bundle of a stage begins and has ended.
func (m *meter) enter(s *stage) { m.change(s, 1) }
func (m *meter) leave(s *stage) { m.change(s, -1) }

func (m *meter) change(s *stage, by int) {
	cpu, spilled := processCPU(), m.written()
	m.mu.Lock()
	defer m.mu.Unlock()
	for a, n := range m.active {
		part := float64(n) / float64(m.bundles)
		sh := m.shares[a]
		sh.cpu += part * (cpu - m.cpu).Seconds()
		sh.spilled += part * float64(spilled-m.spilled)
		m.shares[a] = sh
	}
	m.cpu, m.spilled = cpu, spilled
	m.bundles += by
	if m.active[s] += by; m.active[s] == 0 {
		delete(m.active, s)
	}
}

// of returns the CPU seconds and spilled bytes of a stage.
func (m *meter) of(s *stage) (cpu float64, spilled int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shares[s].cpu, int64(m.shares[s].spilled)
}

// processCPU returns the CPU time of the process so far; 0 if the system does not tell.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
