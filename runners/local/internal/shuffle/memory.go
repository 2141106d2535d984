// Package shuffle keeps the data between stages: in memory while there is room, otherwise on disk. Stores are
// partitioned by a hash of the key and sorted by key; lists keep blocks of elements in the order of arrival.
package shuffle

import (
	"sync"
	"sync/atomic"
)

// Memory is the budget that all stores and lists of a job share. It is safe for concurrent use.
type Memory struct {
	limit int64
	chunk int
	used  atomic.Int64 // bytes held
	going atomic.Int64 // of these, bytes being written to disk

	writers atomic.Int64 // of stores

	mu    sync.Mutex
	eased sync.Cond // signalled when a spill has ended
	idle  map[holder]struct{}
	free  [][]byte
}

// holder is data to which nobody adds, and which can go to disk at any time.
type holder interface {
	held() int64
	// evict moves the data to disk, unless it is gone or already being moved.
	evict() error
}

const (
	smallestChunk = 4 << 10
	largestChunk  = 256 << 10

	mostFree = 64 << 20 // bytes of free chunks to keep
)

// NewMemory returns a budget of limit bytes for a number of workers.
func NewMemory(limit int64, workers int) *Memory {
	chunk := largestChunk
	for chunk > smallestChunk && int64(chunk*workers)*32 > limit {
		chunk /= 2
	}
	m := &Memory{limit: limit, chunk: chunk, idle: map[holder]struct{}{}}
	m.eased.L = &m.mu
	return m
}

// Held returns how many bytes are held or kept for reuse. They contain no pointers.
func (m *Memory) Held() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used.Load() + int64(len(m.free)*m.chunk)
}

// charge takes n bytes from the budget and reports whether data must therefore go to disk.
func (m *Memory) charge(n int64) bool { return m.used.Add(n)-m.going.Load() > m.limit }

func (m *Memory) release(n int64) { m.used.Add(-n) }

func (m *Memory) over() bool { return m.used.Load()-m.going.Load() > m.limit }

// get returns an empty chunk with room for n bytes. The caller must charge for it.
func (m *Memory) get(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.chunk {
		m.shrink()
		return make([]byte, 0, n)
	}
	if last := len(m.free) - 1; last >= 0 {
		c := m.free[last]
		m.free = m.free[:last]
		return c
	}
	return make([]byte, 0, m.chunk)
}

// recycle takes back chunks that nobody reads any longer.
func (m *Memory) recycle(chunks [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range chunks {
		if cap(c) == m.chunk {
			m.free = append(m.free, c[:0])
		}
	}
	m.shrink()
}

// shrink frees unused chunks: they count against the budget, and steps may need most of their memory.
func (m *Memory) shrink() {
	keep := max(0, min(m.limit-m.used.Load(), m.limit/8, mostFree)) / int64(m.chunk)
	if n := int(min(keep, int64(len(m.free)))); n < len(m.free) {
		clear(m.free[n:])
		m.free = m.free[:n]
	}
}

func (m *Memory) register(h holder) {
	m.mu.Lock()
	m.idle[h] = struct{}{}
	m.mu.Unlock()
}

func (m *Memory) unregister(h holder) {
	m.mu.Lock()
	delete(m.idle, h)
	m.mu.Unlock()
}

// relieve brings the budget back below its limit. self is the writer that needs more, or nil if the caller has nothing
// to spill.
func (m *Memory) relieve(self *Writer) error {
	for m.over() {
		var own int64
		if self != nil {
			own = self.run.held()
		}
		h := m.largest(own)
		switch {
		case h != nil:
			if err := h.evict(); err != nil {
				return err
			}
		case own > m.limit/max(64, 2*m.writers.Load()):
			if err := self.spill(); err != nil {
				return err
			}
		default:
			return nil // small runs of all writers take at most half the limit, so grant this chunk beyond it
		}
	}
	m.wait()
	return nil
}

// spilling runs a spill of n bytes, and accounts for it.
func (m *Memory) spilling(n int64, spill func() error) error {
	m.going.Add(n)
	err := spill()
	m.going.Add(-n)
	m.mu.Lock()
	m.eased.Broadcast()
	m.mu.Unlock()
	return err
}

// wait slows down a fast producer while others write to a slow disk for it.
func (m *Memory) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.going.Load() > 0 && m.used.Load() > m.limit+m.limit/4 {
		m.eased.Wait()
	}
}

// largest removes and returns the idle holder with the most bytes, if it holds more than least.
func (m *Memory) largest(least int64) holder {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found holder
	for h := range m.idle {
		if n := h.held(); n > least {
			found, least = h, n
		}
	}
	if found != nil {
		delete(m.idle, found)
	}
	return found
}
