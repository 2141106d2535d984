package memory

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Room limits what all readers of this process, or all steps of a job, hold at a time. The zero value is ready for use.
//
// A reader may take more while it holds some: a window, then a buffer for a large record, then memory for its text. So
// readers may come to wait for each other. Then one of them gets what it waits for, and does so again until it has
// given all back. The total is at most the limit and what one reader holds, and all make progress.
type Room struct {
	mu      sync.Mutex
	held    int64
	holding int      // number of claims that hold something
	stuck   int      // number of these that wait for more
	beyond  *Claim   // has more than the limit allows, until it has given all back
	waiting []*taker // in order of arrival
}

// Claim is what one reader or worker holds of a room. It is for one goroutine.
type Claim struct {
	room *Room
	all  int64
	held int64
}

// taker is a claim that waits for n more.
type taker struct {
	claim *Claim
	n     int64
	taken chan struct{} // closed when the n are taken
}

// Claim returns an empty claim on a room of the given size; 0 means no limit.
func (r *Room) Claim(all int64) *Claim { return &Claim{room: r, all: all} }

// Take waits until there is room for n more, or the claim is alone. It returns a function that gives them back, which
// may be called more than once.
func (c *Claim) Take(ctx context.Context, n int64) (giveBack func(), err error) {
	if err := c.take(ctx, n); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { c.giveBack(n) }), nil
}

func (c *Claim) take(ctx context.Context, n int64) error {
	if c.all == 0 || n == 0 {
		return nil
	}
	r := c.room
	t := &taker{claim: c, n: n, taken: make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, t)
	r.count(c, 1)
	r.grant()
	r.mu.Unlock()
	select {
	case <-t.taken:
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if i := slices.Index(r.waiting, t); i >= 0 { // else the n have been taken
			r.waiting = slices.Delete(r.waiting, i, i+1)
			r.count(c, -1)
			r.grant()
			return ctx.Err()
		}
	}
	return nil
}

func (c *Claim) giveBack(n int64) {
	if c.all == 0 || n == 0 {
		return
	}
	c.Collect(n)
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change(c, -n)
	r.grant()
}

// Collect runs the garbage collector if n bytes, which are no longer used, are a large part of the room: otherwise the
// next bytes may be allocated before these are freed.
func (c *Claim) Collect(n int64) {
	if c.all > 0 && n >= c.all/4 {
		runtime.GC()
	}
}

// grant serves the waiting claims for which there is room. If there is room for none, and all holders wait for more, it
// serves one of them.
func (r *Room) grant() {
	r.waiting = slices.DeleteFunc(r.waiting, func(t *taker) bool {
		return (r.held+t.n <= t.claim.all || r.held == t.claim.held) && r.take(t)
	})
	if r.stuck == 0 || r.stuck < r.holding {
		return
	}
	i := slices.IndexFunc(r.waiting, func(t *taker) bool {
		return t.claim == r.beyond || r.beyond == nil && t.claim.held > 0
	})
	if i >= 0 {
		r.beyond = r.waiting[i].claim
		r.take(r.waiting[i])
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

func (r *Room) take(t *taker) bool {
	r.count(t.claim, -1)
	r.change(t.claim, t.n)
	close(t.taken)
	return true
}

// count adds n to the number of waiting claims if the claim holds something.
func (r *Room) count(c *Claim, n int) {
	if c.held > 0 {
		r.stuck += n
	}
}

// change adds n to what a claim, which is not waiting, holds.
func (r *Room) change(c *Claim, n int64) {
	if c.held > 0 {
		r.holding--
	}
	r.held += n
	if c.held += n; c.held > 0 {
		r.holding++
	} else if r.beyond == c {
		r.beyond = nil
	}
}
