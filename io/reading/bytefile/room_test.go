package bytefile

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
)

// holds reports whether something is held of a room.
func holds(r *reading.Room) bool {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	giveBack, err := r.Take(done, 1, 1)
	if err == nil {
		giveBack()
	}
	return err != nil
}

// No more is held than there is, but by one alone, and all get on.
func TestRoom(t *testing.T) {
	var r reading.Room
	var held, most atomic.Int64
	var readers sync.WaitGroup
	for i := range 200 {
		readers.Go(func() {
			n := int64(i%7 + 1)
			giveBack, err := r.Take(t.Context(), n, 10)
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
	if most.Load() > 10 || holds(&r) {
		t.Errorf("%d were held at a time, and held at the end: %v", most.Load(), holds(&r))
	}
	giveBack, err := r.Take(t.Context(), 11, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Take(t.Context(), 1000, 0); err != nil {
		t.Errorf("without a bound: %v", err)
	}
	giveBack()
}

// Who waits stops waiting when there is room, or when the context is done.
func TestRoomWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reading.Room
		giveBack, err := r.Take(t.Context(), 11, 10)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() {
			_, err := r.Take(ctx, 1, 10)
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
			_, err := r.Take(t.Context(), 1, 10)
			ended <- err
		}()
		synctest.Wait()
		giveBack()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// With little memory large documents are seen one at a time, and records whose buffer is large are read so.
func TestLargeRecordsAtATime(t *testing.T) {
	line := func(n int) []byte { return append(bytes.Repeat([]byte{'x'}, n), '\n') }
	large, huge := plant(t, "lines", line(largeDocument)), plant(t, "lines", line(LargeRecord))
	small := plant(t, "lines", line(100))
	for name, tt := range map[string]struct {
		in     input
		memory int64
		want   int64
	}{
		"large, no bound":    {large, 0, 5},
		"large, little":      {large, 4 * largeCost * (largeDocument + 1), 2},
		"large, very little": {large, 2, 1},
		"huge, little":       {huge, 100 << 20, 1},
		"small, little":      {small, 2, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := options
			o.MaxRecord, o.Memory = 2*LargeRecord, tt.memory
			var inside atomic.Int64
			all, ended := make(chan struct{}), make(chan error, 10)
			for i := range 10 {
				go func() {
					see := func(*reading.Record) error {
						inside.Add(1)
						<-all
						return nil
					}
					var err error
					if i%2 == 0 {
						_, err = tt.in.reader.Read(t.Context(), tt.in.file, []blocks.Span{whole}, o, see)
					} else {
						<-all // reading again is bounded by the same
						err = tt.in.reader.ReadSome(t.Context(), tt.in.file, whole, []int64{0}, o, see)
					}
					ended <- err
				}()
			}
			synctest.Wait()
			if inside.Load() != tt.want {
				t.Errorf("%s: %d documents are seen at a time, want %d", name, inside.Load(), tt.want)
			}
			close(all)
			for range 10 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
	}
	if holds(&buffered) || holds(&seen) {
		t.Errorf("at the end buffers are held: %v, documents: %v", holds(&buffered), holds(&seen))
	}
}

// The buffer of a large record is given back while the file is read on.
func TestLargeBufferShrinks(t *testing.T) {
	content := append(bytes.Repeat([]byte{'x'}, 2*LargeRecord), '\n')
	content = append(content, bytes.Repeat([]byte("a line\n"), 6*LargeRecord/7)...)
	in := plant(t, "lines", content)
	o := options
	o.Memory = 2
	var lines, held int
	_, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, o, func(r *reading.Record) error {
		if lines++; holds(&buffered) {
			held++
		}
		return nil
	})
	if err != nil || lines != 1+6*LargeRecord/7 || held == 0 || held == lines {
		t.Errorf("%d lines, %d of them beside a large buffer, error %v", lines, held, err)
	}
}
