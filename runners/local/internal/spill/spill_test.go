package spill

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// file is a Storage in memory that tests can damage.
type file struct {
	mu   sync.Mutex
	data []byte
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if missing := int(at) + len(b) - len(f.data); missing > 0 {
		f.data = append(f.data, make([]byte, missing)...)
	}
	return copy(f.data[at:], b), nil
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Close() error { return nil }

// create returns a function that creates files whose bytes are in memory. Their names are in a folder of t.
func create(t *testing.T) func() (*File, *file) {
	var last *file
	dir, err := NewDir(t.TempDir(), func(s Storage) Storage {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		last = &file{}
		return last
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() (*File, *file) {
		f, err := dir.Create()
		if err != nil {
			t.Fatal(err)
		}
		return f, last
	}
}

// blocks draws blocks that compress well, badly and not at all, and whose total sometimes exceeds the size at which a
// file flushes by itself.
func blocks() *rapid.Generator[[][]byte] {
	block := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 300),
		rapid.Map(rapid.IntRange(0, 2*flushSize), func(n int) []byte { return make([]byte, n) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 32), func(seed []byte) []byte {
			b := make([]byte, 100_000) // nothing repeats soon enough to be compressed
			x := uint32(len(seed))
			for i := range b {
				x = x*1664525 + 1013904223 + uint32(seed[i%len(seed)])
				b[i] = byte(x >> 24)
			}
			return b
		}),
	)
	return rapid.SliceOfN(block, 1, 8)
}

func write(t rapid.TB, f *File, blocks [][]byte) (refs []Ref) {
	for _, b := range blocks {
		ref, err := f.Write(b)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	return refs
}

// TestRoundTrip reads blocks in another order than they were written in, and reuses the memory of earlier ones.
func TestRoundTrip(t *testing.T) {
	open := create(t)
	rapid.Check(t, func(t *rapid.T) {
		f, stored := open()
		first, second := blocks().Draw(t, "first"), blocks().Draw(t, "second")
		refs := append(write(t, f, first), write(t, f, second)...)
		want := append(first, second...)
		var room, scratch []byte
		for _, i := range rapid.Permutation(indices(want)).Draw(t, "order") {
			got, err := f.Read(refs[i], room, &scratch)
			if err != nil || !bytes.Equal(got, want[i]) {
				t.Fatalf("block %d: %d bytes, want %d, or other ones; %v", i, len(got), len(want[i]), err)
			}
			room = got
		}
		if f.end != int64(len(stored.data)) {
			t.Fatalf("the file is said to have %d bytes and has %d", f.end, len(stored.data))
		}
	})
}

func indices(b [][]byte) (all []int) {
	for i := range b {
		all = append(all, i)
	}
	return all
}

// TestDamageIsFound changes any byte of a block in any way, and checks that this is found and that no other block is
// affected.
func TestDamageIsFound(t *testing.T) {
	open := create(t)
	rapid.Check(t, func(t *rapid.T) {
		f, stored := open()
		all := blocks().Draw(t, "blocks")
		refs := write(t, f, all)
		hit := rapid.IntRange(0, len(all)-1).Draw(t, "hit")
		at := refs[hit].at + int64(rapid.IntRange(0, int(refs[hit].size)-1).Draw(t, "byte"))
		stored.data[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		var scratch []byte
		for i, ref := range refs {
			got, err := f.Read(ref, nil, &scratch)
			if i == hit && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %d bytes and %v, want %v", len(got), err, ErrCorrupt)
			}
			if i != hit && (err != nil || !bytes.Equal(got, all[i])) {
				t.Fatalf("block %d suffers from damage to %d: %v", i, hit, err)
			}
		}
	})
}

// TestEveryByteCounts does the same for every byte of one block.
func TestEveryByteCounts(t *testing.T) {
	f, stored := create(t)()
	ref := write(t, f, [][]byte{[]byte("many a mickle makes a muckle, many a mickle makes a muckle")})[0]
	var scratch []byte
	for at := range stored.data {
		stored.data[at] ^= 1
		if _, err := f.Read(ref, nil, &scratch); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d: got %v, want %v", at, err, ErrCorrupt)
		}
		stored.data[at] ^= 1
	}
	if _, err := f.Read(ref, nil, &scratch); err != nil {
		t.Error(err)
	}
}

func TestBlockInAWrongPlaceIsFound(t *testing.T) {
	f, stored := create(t)()
	refs := write(t, f, [][]byte{[]byte("one of them"), []byte("another one")})
	if refs[0].size != refs[1].size {
		t.Fatal("the blocks must be of one size here")
	}
	copy(stored.data[refs[1].at:], stored.data[:refs[0].size])
	var scratch []byte
	if _, err := f.Read(refs[1], nil, &scratch); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v, want %v", err, ErrCorrupt)
	}
}

func TestShortFileIsFound(t *testing.T) {
	f, stored := create(t)()
	ref := write(t, f, [][]byte{make([]byte, 1000)})[0]
	var scratch []byte
	for n := len(stored.data) - 1; n >= 0; n-- {
		stored.data = stored.data[:n]
		if _, err := f.Read(ref, nil, &scratch); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes: got %v, want %v", n, err, io.ErrUnexpectedEOF)
		}
	}
}

// TestFilesHaveNoName checks that files have no name, so that they disappear with the process.
func TestFilesHaveNoName(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "made", "here")
	dir, err := NewDir(parent, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := dir.Create()
	if err != nil {
		t.Fatal(err)
	}
	ref := write(t, f, [][]byte{[]byte("kept")})[0]
	if names, err := filepath.Glob(filepath.Join(dir.path, "*")); err != nil || len(names) > 0 {
		t.Errorf("the folder has %v; %v", names, err)
	}
	var scratch []byte
	if got, err := f.Read(ref, nil, &scratch); err != nil || string(got) != "kept" {
		t.Errorf("got %q, %v", got, err)
	}
	if dir.Written() != int64(ref.size) {
		t.Errorf("%d bytes written, want %d", dir.Written(), ref.size)
	}
	if err := errors.Join(f.Close(), dir.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
