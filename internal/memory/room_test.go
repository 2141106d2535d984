package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestRoomNeverDeadlocks: readers that take windows, buffers and documents at the same time, of any size, all make
// progress. The total never exceeds the room and what one of them holds. A deadlock ends the test, because all its
// goroutines wait.
func TestRoomNeverDeadlocks(t *testing.T) {
	type step struct{ bytes, pause int } // 0 bytes give all back
	rapid.Check(t, func(r *rapid.T) {
		all := rapid.Int64Range(1, 100).Draw(r, "room")
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
			return step{rapid.SampledFrom([]int{0, 0, 1, 3, 10, 40, 99, 500}).Draw(r, "bytes"), rapid.IntRange(0, 3).Draw(r, "pause")}
		}), 1, 12)
		readers := rapid.SliceOfN(steps, 1, 10).Draw(r, "readers")
		impatient := rapid.IntRange(0, len(readers)).Draw(r, "impatient") // number of readers that give up while they wait
		synctest.Test(t, func(t *testing.T) {
			var room Room
			var mu sync.Mutex
			held := make([]int64, len(readers))
			check := func() {
				sum, largest := int64(0), int64(0)
				for _, n := range held {
					sum, largest = sum+n, max(largest, n)
				}
				if sum > all+largest {
					t.Errorf("%d are held of %d, by one at most %d", sum, all, largest)
				}
			}
			var wait sync.WaitGroup
			for i, steps := range readers {
				wait.Go(func() {
					ctx := t.Context()
					if i < impatient {
						var cancel func()
						ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
						defer cancel()
					}
					claim := room.Claim(all)
					var gifts []func()
					release := func() {
						mu.Lock()
						held[i] = 0
						mu.Unlock()
						for _, giveBack := range gifts {
							giveBack()
							giveBack()
						}
						gifts = nil
					}
					defer release()
					for _, s := range steps {
						time.Sleep(time.Duration(s.pause) * time.Second)
						if s.bytes == 0 {
							release()
							continue
						}
						giveBack, err := claim.Take(ctx, int64(s.bytes))
						if err != nil {
							return
						}
						gifts = append(gifts, giveBack)
						mu.Lock()
						held[i] += int64(s.bytes)
						check()
						mu.Unlock()
					}
				})
			}
			wait.Wait()
			if room.held != 0 || room.holding != 0 || room.stuck != 0 || room.beyond != nil || len(room.waiting) != 0 {
				t.Errorf("at the end: %+v", &room)
			}
		})
	})
}

// TestRoomBound: while there is room for all, the total stays within the room; without a limit nobody waits.
func TestRoomBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var room Room
		one, other := room.Claim(10), room.Claim(10)
		giveBack, err := one.Take(t.Context(), 11) // it is alone
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		take := func(ctx context.Context) {
			back, err := other.Take(ctx, 1)
			if err == nil {
				back()
			}
			ended <- err
		}
		go take(ctx)
		if synctest.Wait(); len(ended) > 0 {
			t.Error("more is held than there is")
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		go take(t.Context())
		synctest.Wait()
		if _, err := room.Claim(0).Take(t.Context(), 1000); err != nil {
			t.Errorf("without a bound: %v", err)
		}
		giveBack()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
