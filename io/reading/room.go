package reading

import (
	"context"
	"sync"
)

// Room bounds what the readers of this process hold of something at a time. The zero value is ready.
type Room struct {
	mu   sync.Mutex
	held int64
	less chan struct{} // closed when some of it is given back
}

// Take waits until n more make no more than all, or nothing is held: one reader always gets on. It
// returns what gives them back, which may be called again. An all of 0 is no bound.
func (r *Room) Take(ctx context.Context, n, all int64) (giveBack func(), err error) {
	if all == 0 || n == 0 {
		return func() {}, nil
	}
	r.mu.Lock()
	for r.held > 0 && r.held+n > all {
		if r.less == nil {
			r.less = make(chan struct{})
		}
		less := r.less
		r.mu.Unlock()
		select {
		case <-less:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		r.mu.Lock()
	}
	r.held += n
	r.mu.Unlock()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.held -= n
		if r.less != nil {
			close(r.less)
			r.less = nil
		}
	}), nil
}
