package shuffle

import (
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// List holds encoded elements in blocks, in no particular order. Once all writers are parked, it is read.
type List struct {
	mem     *Memory
	dir     *spill.Dir
	readers int

	mu       sync.Mutex
	blocks   []*block
	file     *spill.File
	elements int64
	bytes    int64
	inMemory atomic.Int64
	closed   bool
}

type block struct {
	data     []byte // nil: on disk, or read by all readers
	elements int
	ref      spill.Ref
	size     int64
	readers  int // readers that have not yet read it
}

// NewList returns an empty list. This many readers will read each block once.
func NewList(m *Memory, dir *spill.Dir, readers int) *List {
	return &List{mem: m, dir: dir, readers: readers}
}

// ListWriter adds elements to a list. It must be used by one goroutine only.
type ListWriter struct {
	list     *List
	data     []byte
	elements int
	most     int // maximum elements of this block
}

// Writer returns a writer.
func (l *List) Writer() *ListWriter { return &ListWriter{list: l} }

// Append adds an element.
func (w *ListWriter) Append(element []byte) error {
	if w.elements > 0 && (w.elements >= w.most || len(w.data)+len(element) > cap(w.data)) {
		if err := w.Park(); err != nil {
			return err
		}
	}
	if w.elements == 0 {
		if len(element) > cap(w.data) {
			w.data = w.list.mem.get(len(element))
		}
		w.most = w.list.granularity()
	}
	w.data = append(w.data, element...)
	w.elements++
	return nil
}

// spread is how many blocks there are of each size. Blocks begin with one element and double in size, because few
// elements may stand for much work that must reach all workers.
const spread = 64

func (l *List) granularity() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return 1 << min(len(l.blocks)/spread, 30)
}

// Park ends the current block.
func (w *ListWriter) Park() error {
	if w.elements == 0 {
		return nil
	}
	data := w.data
	if 2*len(data) < cap(data) {
		data = append(make([]byte, 0, len(data)), data...)
		w.data = w.data[:0]
	} else {
		w.data = nil
	}
	n := w.elements
	w.elements = 0
	return w.list.add(data, n)
}

func (l *List) add(data []byte, elements int) error {
	size := int64(cap(data))
	over := l.mem.charge(size)
	l.mu.Lock()
	l.blocks = append(l.blocks, &block{data: data, elements: elements, size: size, readers: l.readers})
	l.elements += int64(elements)
	l.bytes += int64(len(data))
	l.inMemory.Add(size)
	l.mu.Unlock()
	l.mem.register(l)
	if over {
		return l.mem.relieve(nil)
	}
	return nil
}

func (l *List) held() int64 { return l.inMemory.Load() }

// evict writes all blocks in memory to disk.
func (l *List) evict() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inMemory.Load() == 0 || l.closed {
		return nil
	}
	if l.file == nil {
		f, err := l.dir.Create()
		if err != nil {
			return err
		}
		l.file = f
	}
	return l.mem.spilling(l.inMemory.Load(), func() error {
		var written []*block
		for _, b := range l.blocks {
			if b.data == nil {
				continue
			}
			ref, err := l.file.Write(b.data)
			if err != nil {
				return err
			}
			b.ref = ref
			written = append(written, b)
		}
		if err := l.file.Flush(); err != nil {
			return err
		}
		for _, b := range written {
			b.data = nil
			l.forget(b)
		}
		return nil
	})
}

// forget accounts for a block that is no longer in memory.
func (l *List) forget(b *block) {
	l.mem.release(b.size)
	l.inMemory.Add(-b.size)
}

// Totals returns the number of elements written, and their bytes.
func (l *List) Totals() (elements, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.elements, l.bytes
}

// Len returns the number of blocks.
func (l *List) Len() int { return len(l.blocks) }

// Read returns the elements of a block, and their number. They are valid until Done.
func (l *List) Read(i int) (data []byte, elements int, err error) {
	l.mu.Lock()
	b := l.blocks[i]
	data, ref, file := b.data, b.ref, l.file
	l.mu.Unlock()
	if data == nil {
		var scratch []byte
		data, err = file.Read(ref, nil, &scratch)
	}
	return data, b.elements, err
}

// Done says that a reader has read a block.
func (l *List) Done(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.blocks[i]
	if b.readers--; b.readers == 0 && b.data != nil {
		b.data = nil
		l.forget(b)
	}
}

// Close frees all memory and removes the file. All reading must have ended.
func (l *List) Close() error {
	l.mem.unregister(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, b := range l.blocks {
		if b.data != nil {
			b.data = nil
			l.forget(b)
		}
	}
	l.blocks = nil
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
