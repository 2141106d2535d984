package bytefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// windowed compresses content to one frame with a window of the given size. The frame does not state its content's
// size.
func windowed(t *testing.T, content string, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window))
	if err != nil {
		t.Fatal(err)
	}
	half := len(content) / 2
	for _, part := range []string{content[:half], content[half:]} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file whose window is too large is rejected with an error that states its name, both sizes and what to do: for the
// first frame before anything is read, for a later one when it is reached.
func TestWindow(t *testing.T) {
	const most = 16 << 20
	o := options
	o.MaxWindow = most
	skippable := append([]byte{0x50, 0x2a, 0x4d, 0x18}, binary.LittleEndian.AppendUint32(nil, 3)...)
	skippable = append(skippable, "xyz"...)
	small, large := windowed(t, "one\ntwo\n", most), windowed(t, "three\nfour\n", 2*most)
	single := zstdFrame(t, bytes.Repeat([]byte("a line\n"), 2*most/7+1), zstd.WithSingleSegment(true))
	for name, tt := range map[string]struct {
		stored []byte
		window int64
		ok     bool
	}{
		"at the limit":      {small, most, true},
		"above":             {large, 2 * most, false},
		"behind what skips": {append(bytes.Clone(skippable), large...), 2 * most, false},
		"a single segment":  {single, 2*most/7*7 + 7, false},
		"no zstd":           {[]byte("one\ntwo\n"), 0, true},
	} {
		in := plant(t, "lines", tt.stored)
		if in.file.Window != tt.window {
			t.Errorf("%s: a window of %d bytes, want %d", name, in.file.Window, tt.window)
		}
		err := in.reader.Inspect(t.Context(), in.file, o)
		if tt.ok != (err == nil) {
			t.Errorf("%s: error %v", name, err)
		}
		says := fmt.Sprintf("%s: reading it needs a window of %d bytes, but --max-window is %d; raise the limit", in.file.Path, tt.window, most)
		if err != nil && !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: error %q, want %q", name, err, says)
		}
	}

	in := plant(t, "lines", append(bytes.Clone(small), large...))
	var lines int
	_, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, o, func(*reading.Record) error { lines++; return nil })
	says := fmt.Sprintf("%s: at byte 8 of its content: what follows needs a larger window than --max-window %d", in.file.Path, most)
	if err == nil || !strings.HasPrefix(err.Error(), says) {
		t.Errorf("a second frame: error %v, want %q", err, says)
	}
	if broken := (*reading.ContentError)(nil); !errors.As(err, &broken) {
		t.Error("a second frame: not an error of the content")
	}
	o.MaxWindow = 2 * most
	lines = 0
	if _, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, o, func(*reading.Record) error { lines++; return nil }); err != nil || lines != 4 {
		t.Errorf("with a larger limit: %d lines, error %v", lines, err)
	}
}

// Only as many files are decompressed at a time as there is memory for. Others wait for them.
func TestWindowsAtATime(t *testing.T) {
	const window = 16 << 20
	in := plant(t, "lines", windowed(t, "one\ntwo\n", window))
	for room, want := range map[int64]int64{0: 5, 10 << 20: 1, 2 * window: 2} {
		synctest.Test(t, func(t *testing.T) {
			o := options
			o.Room = room
			var inside atomic.Int64
			all, ended := make(chan struct{}), make(chan error, 5)
			for range 5 {
				go func() {
					_, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, o, func(*reading.Record) error {
						inside.Add(1)
						<-all
						return reading.ErrStop
					})
					ended <- err
				}()
			}
			synctest.Wait()
			if inside.Load() != want {
				t.Errorf("in a room of %d bytes %d files of windows of %d are read at a time, want %d", room, inside.Load(), window, want)
			}
			close(all)
			for range 5 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
	}
	if holds(t) {
		t.Error("some are held at the end")
	}
}

// TestInspectedWaitForEachOther checks that readers which have inspected a file, hold its window and wait for memory
// for a large text are counted as holding it. Otherwise two such readers would wait forever.
func TestInspectedWaitForEachOther(t *testing.T) {
	const window = 16 << 20
	in := plant(t, "lines", windowed(t, strings.Repeat("x", 2*memory.Large)+"\n", window))
	o := options
	o.Room = 2 * window
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 2)
		var inspected sync.WaitGroup
		inspected.Add(2)
		for range 2 {
			go func() {
				ctx, done := storage.Once(t.Context())
				defer done()
				file := *in.file
				err := in.reader.Inspect(ctx, &file, o)
				inspected.Done()
				inspected.Wait()
				if err == nil {
					_, err = in.reader.Read(ctx, &file, []blocks.Span{whole}, o, func(*reading.Record) error { return nil })
				}
				ended <- err
			}()
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	if holds(t) {
		t.Error("some are held at the end")
	}
}
