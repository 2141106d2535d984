package storagetest

import (
	"context"
	"sync/atomic"
)

// EndsAt returns a context that ends when it is asked the n-th time whether it has. With n from 1 on, a test cancels at
// every moment.
func EndsAt(parent context.Context, n int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	e := &ending{Context: ctx, cancel: cancel}
	e.left.Store(int64(n))
	return e, cancel
}

type ending struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (e *ending) Err() error {
	if e.left.Add(-1) == 0 {
		e.cancel()
	}
	return e.Context.Err()
}
