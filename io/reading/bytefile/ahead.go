package bytefile

import (
	"io"
	"sync"

	"github.com/neardup/neardup/internal/parallel"
)

// aheadReader reads ahead on another core, by up to two buffers.
type aheadReader struct {
	r     io.ReadCloser
	fills parallel.Group
	free  chan []byte // to be filled; closed when reading has ended
	full  chan []byte // closed when nothing more will be read
	err   error       // the reason, once full is closed
	given []byte      // from full; rest is the unread part of it
	rest  []byte
}

var aheadBuffers = sync.Pool{New: func() any { return new([readBytes]byte) }}

// readAhead starts to read r, which Close closes.
func readAhead(r io.ReadCloser) *aheadReader {
	const buffers = 3 // including the one being read
	a := &aheadReader{r: r, free: make(chan []byte, buffers), full: make(chan []byte, buffers)}
	for range buffers {
		a.free <- aheadBuffers.Get().(*[readBytes]byte)[:]
	}
	a.fills.Go(a.fill)
	return a
}

func (a *aheadReader) fill() {
	defer close(a.full)
	for buffer := range a.free {
		n := 0
		for n < len(buffer) && a.err == nil {
			var m int
			m, a.err = a.r.Read(buffer[n:])
			n += m
		}
		a.full <- buffer[:n]
		if a.err != nil {
			return
		}
	}
}

func (a *aheadReader) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.given != nil {
			a.free <- a.given[:readBytes]
		}
		var more bool
		if a.given, more = <-a.full; !more {
			a.fills.Wait() // panics if a decoder did
			return 0, a.err
		}
		a.rest = a.given
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close waits until reading has stopped.
func (a *aheadReader) Close() error {
	close(a.free)
	for buffer := range a.full {
		aheadBuffers.Put((*[readBytes]byte)(buffer[:readBytes]))
	}
	if a.given != nil {
		aheadBuffers.Put((*[readBytes]byte)(a.given[:readBytes]))
	}
	for buffer := range a.free {
		aheadBuffers.Put((*[readBytes]byte)(buffer))
	}
	return a.r.Close()
}
