package memory

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestBuffer: a buffer keeps its content, and takes its size from the room, with the old one while both exist. A small
// one takes nothing.
func TestBuffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var room Room
		buffer := Buffer{Claim: room.Claim(10 * Large)}
		var buf, want []byte
		for _, n := range rapid.SliceOf(rapid.IntRange(0, 3*Large)).Draw(t, "sizes") {
			if rapid.IntRange(0, 9).Draw(t, "free") == 0 {
				buf, want = nil, nil
				buffer.Freed()
			}
			if err := buffer.Grow(context.Background(), &buf, n); err != nil {
				t.Fatal(err)
			}
			if cap(buf) < n || !bytes.Equal(buf, want) {
				t.Fatalf("%d bytes of %d, of which there were %d", len(buf), cap(buf), len(want))
			}
			buf = append(buf, make([]byte, min(n, 1000, cap(buf)-len(buf)))...)
			want = bytes.Clone(buf)
			held := int64(0)
			if cap(buf) > Large {
				held = int64(cap(buf))
			}
			if room.held > held || room.held < held*9/10 || buffer.Taken() != (room.held > 0) {
				t.Fatalf("%d are held of a buffer of %d", room.held, cap(buf))
			}
		}
		buffer.Freed()
		if room.held != 0 {
			t.Fatalf("%d are held at the end", room.held)
		}
	})
}

// TestBufferWaits: there must be room for a buffer and the one that it replaces.
func TestBufferWaits(t *testing.T) {
	var room Room
	other := room.Claim(10 * Large)
	if _, err := other.Take(t.Context(), 3*Large); err != nil {
		t.Fatal(err)
	}
	buffer, buf := Buffer{Claim: room.Claim(10 * Large)}, []byte(nil)
	if err := buffer.Grow(t.Context(), &buf, 3*Large); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := buffer.Grow(done, &buf, 5*Large); !errors.Is(err, context.Canceled) || cap(buf) != 3*Large || room.held != 6*Large {
		t.Errorf("error %v, a buffer of %d, %d are held", err, cap(buf), room.held)
	}
	if err := buffer.Grow(done, &buf, 4*Large); err != nil || room.held != 7*Large {
		t.Errorf("error %v, %d are held", err, room.held)
	}
}
