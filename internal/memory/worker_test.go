package memory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestHold: what the steps of a worker add is taken, except for a small amount, until they free it.
func TestHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var room Room
		worker := Worker(context.Background(), room.Claim(100*Large))
		holds, added := [2]*Hold{NewHold(worker), NewHold(worker)}, [2]int64{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "hold")
			if rapid.IntRange(0, 4).Draw(t, "free") == 0 {
				holds[i].Free()
				added[i] = 0
			} else {
				n := rapid.Int64Range(0, 3*Large).Draw(t, "bytes")
				if err := holds[i].Add(worker, n); err != nil {
					t.Fatal(err)
				}
				added[i] += n
			}
			if all := added[0] + added[1]; room.held > all || room.held < all-2*Large {
				t.Fatalf("%d are held of %d", room.held, all)
			}
		}
		holds[0].Free()
		holds[1].Free()
		if room.held != 0 || room.holding != 0 {
			t.Fatalf("%d are held at the end, by %d", room.held, room.holding)
		}
	})
}

// TestHoldWaits: a worker waits until another has freed what it holds, or the job ends. On a cluster none waits.
func TestHoldWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var room Room
		job, end := context.WithCancel(t.Context())
		one, two := Worker(job, room.Claim(10*Large)), Worker(job, room.Claim(10*Large))
		first, second := NewHold(one), NewHold(two)
		added := make(chan error, 1)
		add := func(hold *Hold, n int64) { go func() { added <- hold.Add(job, n) }() }
		add(first, 8*Large)
		synctest.Wait()
		add(second, 8*Large)
		if synctest.Wait(); len(added) != 1 {
			t.Fatal("two workers have more than there is")
		}
		<-added
		first.Free()
		if err := <-added; err != nil {
			t.Fatal(err)
		}
		add(second, 8*Large) // more than the room, but it is alone
		if err := <-added; err != nil {
			t.Fatal(err)
		}
		add(first, 2*Large)
		synctest.Wait()
		end()
		if err := <-added; !errors.Is(err, context.Canceled) {
			t.Errorf("the job has ended: %v", err)
		}
		if second.Free(); room.held != 0 {
			t.Errorf("%d are held at the end", room.held)
		}
		if err := NewHold(t.Context()).Add(t.Context(), 1<<60); err != nil {
			t.Error(err)
		}
	})
}
