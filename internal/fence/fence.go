// Package fence provides memory between two inaccessible pages, so that a test that reads or writes beyond its slice
// crashes.
package fence

import (
	"os"
	"syscall"
	"testing"
)

// Memory is memory between two fences.
type Memory []byte

// New returns memory for size bytes, which is freed at the end of the test.
func New(t testing.TB, size int) Memory {
	t.Helper()
	page := os.Getpagesize()
	inside := (size + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, page+inside+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{all[:page], all[page+inside:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return all[page : page+inside]
}

// AtStart returns a copy of b that begins after the first fence.
func (m Memory) AtStart(b []byte) []byte { return m[:copy(m, b):len(b)] }

// AtEnd returns a copy of b that ends before the second fence.
func (m Memory) AtEnd(b []byte) []byte {
	end := m[len(m)-len(b):]
	copy(end, b)
	return end
}
