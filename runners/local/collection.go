package local

import (
	"sync/atomic"

	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
	"github.com/neardup/neardup/runners/local/internal/spill"
)

// collection is the data of a planned collection: in a store if keys or windows matter, otherwise in a list.
type collection struct {
	*plan.Collection
	stored
	list  *shuffle.List
	store *shuffle.Store

	largest peak         // bytes of one element
	readers atomic.Int64 // stages that have not yet ended
}

// stored is the list or the store.
type stored interface {
	Totals() (elements, bytes int64)
	Close() error
}

// peak is the maximum of some numbers. It is safe for concurrent use.
type peak struct{ atomic.Int64 }

func (p *peak) raise(n int64) {
	for old := p.Load(); n > old && !p.CompareAndSwap(old, n); old = p.Load() {
	}
}

func newCollection(c *plan.Collection, mem *shuffle.Memory, dir *spill.Dir) *collection {
	d := &collection{Collection: c}
	d.readers.Store(int64(len(c.Readers)))
	if c.Kind == plan.Blocks {
		d.list = shuffle.NewList(mem, dir, len(c.Readers))
		d.stored = d.list
	} else {
		d.store = shuffle.NewStore(mem, dir, c.Kind != plan.Groups)
		d.stored = d.store
	}
	return d
}

// read says that one of the reading stages has ended. The last one frees the data.
func (c *collection) read() error {
	if c.readers.Add(-1) > 0 {
		return nil
	}
	return c.Close()
}
