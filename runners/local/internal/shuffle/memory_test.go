package shuffle

import "testing"

// Chunks are reused, but only an eighth of the budget is kept for that: the rest is for steps.
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

// A chunk for an unusually large element is not kept: it would count as one of the usual size.
func TestLargeChunk(t *testing.T) {
	m := NewMemory(32<<20, 2)
	m.recycle([][]byte{m.get(8 * m.chunk), make([]byte, 0, m.chunk/2)})
	if len(m.free) > 0 || m.Held() != 0 {
		t.Errorf("%d chunks are kept, %d bytes", len(m.free), m.Held())
	}
}

// However large the budget is, what is kept is small compared to what steps need.
func TestFewFreeChunks(t *testing.T) {
	m := NewMemory(8<<30, 2)
	chunks := make([][]byte, 2*mostFree/m.chunk)
	for i := range chunks {
		chunks[i] = m.get(1)
	}
	m.charge(1 << 20)
	if held := m.Held(); held != 1<<20 {
		t.Errorf("%d bytes are held of 1 MiB", held)
	}
	m.recycle(chunks)
	if held := m.Held(); held != 65<<20 {
		t.Errorf("%d bytes are held, or kept for reuse, instead of 65 MiB", held)
	}
}
