package bytefile

import (
	"bytes"
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// holds reports whether any reader holds memory.
func holds(t *testing.T) bool {
	t.Helper()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	o := options
	o.Room = 8
	giveBack, err := reading.Claim(o).Take(done, 1)
	if err == nil {
		giveBack()
	}
	return err != nil
}

// With little memory, large documents are seen one at a time, and so are records that need a large buffer.
func TestLargeRecordsAtATime(t *testing.T) {
	line := func(n int) []byte { return append(bytes.Repeat([]byte{'x'}, n), '\n') }
	large, huge := plant(t, "lines", line(memory.Large)), plant(t, "lines", line(16*memory.Large))
	small := plant(t, "lines", line(100))
	for name, tt := range map[string]struct {
		in   input
		room int64
		want int64
	}{
		"large, no bound":    {large, 0, 5},
		"large, little":      {large, 2*largeCost*(memory.Large+1) + 5*2*memory.Large, 2},
		"large, very little": {large, 2, 1},
		"huge, little":       {huge, 50 << 20, 1},
		"small, little":      {small, 2, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := options
			o.MaxRecord, o.Room = 32*memory.Large, tt.room
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
						<-all // a second read is bounded by the same limit
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
	if holds(t) {
		t.Error("some is held at the end")
	}
}

// The buffer of a large record is released while the rest of the file is read.
func TestLargeBufferShrinks(t *testing.T) {
	content := append(bytes.Repeat([]byte{'x'}, 32*memory.Large), '\n')
	content = append(content, bytes.Repeat([]byte("a line\n"), 96*memory.Large/7)...)
	in := plant(t, "lines", content)
	o := options
	o.Room = 2
	var lines, looked, held int
	_, err := in.reader.Read(t.Context(), in.file, []blocks.Span{whole}, o, func(r *reading.Record) error {
		if lines++; lines%1000 > 1 { // the first is the large one
			return nil
		}
		if looked++; holds(t) {
			held++
		}
		return nil
	})
	if err != nil || lines != 1+96*memory.Large/7 || held == 0 || held == looked {
		t.Errorf("%d lines, %d of %d beside a large buffer, error %v", lines, held, looked, err)
	}
}

// A file that is inspected once more before its spool is read holds no memory for unpacking meanwhile: the reader would
// wait for itself.
func TestInspectedAndSpooled(t *testing.T) {
	in := plant(t, "lines", readertest.Pack(t, random(2*memory.Large), "zstd"))
	in.file.Spool = filepath.Join(storagetest.RunFolder(t), "0")
	spool(t, in)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ctx, done := storage.Once(ctx)
		defer done()
		o := options
		o.MaxRecord, o.Room = 4*memory.Large, 1
		if err := in.reader.Inspect(ctx, in.file, o); err != nil {
			t.Fatal(err)
		}
		if _, err := in.reader.Read(ctx, in.file, []blocks.Span{whole}, o, func(*reading.Record) error { return nil }); err != nil {
			t.Error(err)
		}
	})
	if holds(t) {
		t.Error("some is held at the end")
	}
}
