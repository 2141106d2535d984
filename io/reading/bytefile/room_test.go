package bytefile

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// No more is held than there is, but by one alone, and all get on.
func TestRoom(t *testing.T) {
	var r room
	var held, most atomic.Int64
	var readers sync.WaitGroup
	for i := range 200 {
		readers.Go(func() {
			n := int64(i%7 + 1)
			giveBack, err := r.take(t.Context(), n, 10)
			if err != nil {
				t.Error(err)
				return
			}
			now := held.Add(n)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			held.Add(-n)
			giveBack()
			giveBack()
		})
	}
	readers.Wait()
	if most.Load() > 10 || r.held != 0 {
		t.Errorf("%d were held at a time, and %d are at the end", most.Load(), r.held)
	}
	giveBack, err := r.take(t.Context(), 11, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.take(t.Context(), 1000, 0); err != nil {
		t.Errorf("without a bound: %v", err)
	}
	giveBack()
}

// Who waits stops waiting when there is room, or when the context is done.
func TestRoomWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r room
		giveBack, err := r.take(t.Context(), 11, 10)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() {
			_, err := r.take(ctx, 1, 10)
			ended <- err
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("more is held than there is")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		go func() {
			_, err := r.take(t.Context(), 1, 10)
			ended <- err
		}()
		synctest.Wait()
		giveBack()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
