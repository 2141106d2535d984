package fence_test

import (
	"bytes"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/neardup/neardup/internal/fence"
)

// TestFences reads the bytes before and after the memory.
func TestFences(t *testing.T) {
	memory := fence.New(t, 10)
	for _, b := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("b"), len(memory))} {
		if start := memory.AtStart(b); !bytes.Equal(start, b) {
			t.Errorf("at the start: %q is %q", b, start)
		}
		if end := memory.AtEnd(b); !bytes.Equal(end, b) {
			t.Errorf("at the end: %q is %q", b, end)
		}
		if len(b) == 0 {
			continue
		}
		if !faults(unsafe.Add(unsafe.Pointer(&memory.AtStart(b)[0]), -1)) {
			t.Errorf("the byte before %d can be read", len(b))
		}
		if !faults(unsafe.Add(unsafe.Pointer(&memory.AtEnd(b)[0]), len(b))) {
			t.Errorf("the byte behind %d can be read", len(b))
		}
	}
}

func faults(at unsafe.Pointer) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	read = *(*byte)(at)
	return false
}

var read byte
