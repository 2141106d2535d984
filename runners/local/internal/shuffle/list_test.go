package shuffle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

// emptyList returns a list. At the end of the test nothing of it may be left.
func emptyList(t *testing.T, budget int64, readers int) *List {
	t.Helper()
	dir, err := spill.NewDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := NewList(NewMemory(budget, 4), dir, readers)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
		if used := l.mem.used.Load(); used != 0 {
			t.Errorf("%d bytes of the budget are still taken", used)
		}
		if found := l.mem.largest(0); found != nil {
			t.Error("the budget still knows of the list")
		}
	})
	return l
}

// writeList lets several goroutines write elements: numbers, each followed by as many bytes of padding as its last
// digits say.
func writeList(t *testing.T, l *List, writers, each int) {
	t.Helper()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			writer := l.Writer()
			for i := range each {
				if err := writer.Append(listElement(w*each + i)); err != nil {
					t.Error(err)
				}
				if i%500 == 499 { // as at the end of a bundle
					if err := writer.Park(); err != nil {
						t.Error(err)
					}
				}
			}
			if err := writer.Park(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func listElement(n int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n%1000)...)
}

// readList takes all blocks, in several goroutines, and counts each element.
func readList(t *testing.T, l *List, workers int, after func()) map[int]int {
	t.Helper()
	got := map[int]int{}
	var mu sync.Mutex
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < l.Len(); i = int(next.Add(1)) - 1 {
				data, elements, err := l.Read(i)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for ; len(data) > 0; elements-- {
					n := int(binary.BigEndian.Uint32(data))
					size := len(listElement(n))
					if !bytes.Equal(data[:size], listElement(n)) {
						t.Errorf("element %d is not as it was written", n)
					}
					got[n]++
					data = data[size:]
				}
				mu.Unlock()
				if elements != 0 {
					t.Errorf("block %d has %d elements more than it should", i, elements)
				}
				l.Done(i)
				after()
			}
		})
	}
	all.Wait()
	return got
}

func once(t *testing.T, got map[int]int, want int) {
	t.Helper()
	if len(got) != want {
		t.Errorf("%d elements, want %d", len(got), want)
	}
	for n, times := range got {
		if times != 1 {
			t.Errorf("element %d came %d times", n, times)
		}
	}
}

// TestListHandsOutEachBlockOnce checks that each reader gets each block once, even if some blocks go to disk while they
// are written, or between two readers.
func TestListHandsOutEachBlockOnce(t *testing.T) {
	eachBudget(t, func(t *testing.T, budget int64) {
		const writers, each, readers = 4, 2000, 3
		l := emptyList(t, budget, readers)
		writeList(t, l, writers, each)
		var bytes int64
		for n := range writers * each {
			bytes += int64(len(listElement(n)))
		}
		if n, size := l.Totals(); n != writers*each || size != bytes {
			t.Errorf("%d elements of %d bytes, want %d of %d", n, size, writers*each, bytes)
		}
		var all sync.WaitGroup
		for i := range readers {
			var evict sync.Once
			all.Go(func() {
				got := readList(t, l, 2, func() {
					if i == 1 && budget == 100<<10 {
						evict.Do(func() {
							if err := l.evict(); err != nil {
								t.Error(err)
							}
						})
					}
				})
				once(t, got, writers*each)
			})
		}
		all.Wait()
		if held := l.held(); held != 0 {
			t.Errorf("%d bytes are held after all have read", held)
		}
	})
}

// TestListBlocksGrow checks that each of the first elements is a block of its own, so that all workers get some.
func TestListBlocksGrow(t *testing.T) {
	l := emptyList(t, 1<<30, 1)
	w := l.Writer()
	for range 100_000 {
		if err := w.Append([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Park(); err != nil {
		t.Fatal(err)
	}
	for i, b := range l.blocks[:spread] {
		if b.elements != 1 {
			t.Fatalf("block %d has %d elements, want 1", i, b.elements)
		}
	}
	if n := l.Len(); n > 20*spread {
		t.Errorf("%d blocks of 100,000 elements of a byte", n)
	}
}

// TestListClosesAtAnyTime checks that closing releases memory and the file, which emptyList verifies.
func TestListClosesAtAnyTime(t *testing.T) {
	for _, at := range []string{"empty", "written", "half read"} {
		for _, budget := range []int64{1, 1 << 30} {
			t.Run(fmt.Sprint(at, " ", budget), func(t *testing.T) {
				l := emptyList(t, budget, 2)
				if at == "empty" {
					return
				}
				writeList(t, l, 2, 1000)
				if at == "written" {
					return
				}
				once(t, readList(t, l, 2, func() {}), 2000)
				for i := range l.Len() / 2 {
					if _, _, err := l.Read(i); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}
