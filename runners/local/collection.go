package local

import (
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
	"github.com/neardup/neardup/runners/local/internal/spill"
)

// collection is the data of a planned collection: in a store if keys or windows matter, otherwise in a list.
type collection struct {
	*plan.Collection
	list  *shuffle.List
	store *shuffle.Store

	largest peak // bytes of one element
	mu      sync.Mutex
	writers int // stages that have not yet ended
	readers int
	closed  bool
}

// peak is the maximum of some numbers. It is safe for concurrent use.
type peak struct{ atomic.Int64 }

func (p *peak) raise(n int64) {
	for old := p.Load(); n > old && !p.CompareAndSwap(old, n); old = p.Load() {
	}
}

func newCollection(c *plan.Collection, mem *shuffle.Memory, dir *spill.Dir) *collection {
	d := &collection{Collection: c, writers: len(c.Writers), readers: len(c.Readers)}
	if c.Kind == plan.Blocks {
		d.list = shuffle.NewList(mem, dir)
	} else {
		d.store = shuffle.NewStore(mem, dir, c.Kind != plan.Groups)
	}
	return d
}

// written says that one of the writing stages has ended.
func (c *collection) written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writers--; c.writers > 0 {
		return
	}
	if c.list != nil {
		c.list.Finish(len(c.Readers))
	} else {
		c.store.Finish()
	}
}

// read says that one of the reading stages has ended. The last one frees the data.
func (c *collection) read() error {
	c.mu.Lock()
	c.readers--
	last := c.readers == 0
	c.mu.Unlock()
	if last {
		return c.close()
	}
	return nil
}

func (c *collection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.list != nil {
		return c.list.Close()
	}
	return c.store.Close()
}

// totals returns the number of elements written, and their bytes.
func (c *collection) totals() (elements, bytes int64) {
	if c.list != nil {
		return c.list.Totals()
	}
	return c.store.Totals()
}
