package bytefile

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/neardup/neardup/internal/parallel"
)

// closing counts how often it is closed.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func TestReadAhead(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcde"), readBytes/3) // its length is such that no buffer ends with it
	broken := errors.New("broken")
	for name, r := range map[string]io.Reader{
		"whole":   bytes.NewReader(content),
		"at once": iotest.DataErrReader(bytes.NewReader(content)),
		"halves":  iotest.HalfReader(bytes.NewReader(content)),
	} {
		for _, end := range []error{io.EOF, broken} {
			synctest.Test(t, func(t *testing.T) {
				from := &closing{Reader: r}
				if errors.Is(end, broken) {
					from.Reader = io.MultiReader(bytes.NewReader(content), iotest.ErrReader(end))
				}
				a := readAhead(from)
				got := make([]byte, 0, len(content))
				part := make([]byte, 1000)
				var err error
				for err == nil {
					var n int
					n, err = a.Read(part)
					got = append(got, part[:n]...)
				}
				if !errors.Is(err, end) || !bytes.Equal(got, content) {
					t.Errorf("%s: %d of %d bytes, then %v", name, len(got), len(content), err)
				}
				if n, err := a.Read(part); n != 0 || !errors.Is(err, end) {
					t.Errorf("%s: after its end %d bytes and %v", name, n, err)
				}
				if err := a.Close(); err != nil || from.closed != 1 {
					t.Errorf("%s: closed %d times: %v", name, from.closed, err)
				}
			})
		}
	}
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("a decoder") }

// A panic of a decoder reaches the goroutine that reads from it.
func TestReadAheadPanics(t *testing.T) {
	a := readAhead(io.NopCloser(panicReader{}))
	defer a.Close()
	defer func() {
		if p, ok := recover().(*parallel.Panic); !ok || p.Value != "a decoder" {
			t.Errorf("it panics with %v", p)
		}
	}()
	_, err := a.Read(make([]byte, 1))
	t.Errorf("no panic, and %v", err)
}

// It reads two buffers ahead while nobody takes what it read, and nothing after it was closed.
func TestReadAheadBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zeros := &countingReader{r: zeroReader{}}
		a := readAhead(io.NopCloser(zeros))
		synctest.Wait()
		if n := zeros.n.Load(); n != 3*readBytes {
			t.Errorf("%d bytes are read before any is asked for", n)
		}
		if _, err := io.CopyN(io.Discard, a, readBytes+1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := zeros.n.Load(); n != 4*readBytes {
			t.Errorf("%d bytes are read for %d", n, readBytes+1)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}) // it waits for the goroutine
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }
