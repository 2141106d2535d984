package shuffle

import "testing"

// Chunks are used again, but of the budget only an eighth is kept for that: the rest is for steps.
func TestFreeChunks(t *testing.T) {
	m := NewMemory(32<<20, 2)
	chunks := make([][]byte, 128) // all of the budget
	for i := range chunks {
		chunks[i] = m.get(1)
	}
	first := &chunks[0][:1][0]
	m.recycle(chunks[:1])
	if again := m.get(1); &again[:1][0] != first {
		t.Error("a free chunk was not used again")
	}
	m.recycle(chunks)
	if kept := len(m.free) * m.chunk; kept != 4<<20 {
		t.Errorf("%d bytes of free chunks are kept", kept)
	}
	m.charge(30 << 20)
	m.recycle(nil)
	if kept := len(m.free) * m.chunk; kept != 2<<20 {
		t.Errorf("%d bytes of free chunks are kept where 2 MiB are left", kept)
	}
}
