package reading

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/io/storage/storagetest"
)

// TestSpoolIsBounded checks that content which is too large or incomplete is not kept, but is still read in full.
func TestSpoolIsBounded(t *testing.T) {
	oops := errors.New("oops")
	for _, tt := range []struct {
		bytes int
		err   error
		left  bool
	}{{3 * SpoolTimes, nil, true}, {3*SpoolTimes + 1, nil, false}, {2, oops, false}} {
		path := filepath.Join(storagetest.RunFolder(t), "spool")
		calls := 0
		FillSpool(t.Context(), path, 3, func(w io.Writer) error {
			calls++
			for range tt.bytes {
				if n, err := w.Write([]byte("x")); n != 1 || err != nil {
					t.Errorf("%+v: %d bytes written, error %v", tt, n, err)
				}
			}
			return tt.err
		})
		info, err := os.Stat(path)
		if left := err == nil; left != tt.left || left && info.Size() != int64(tt.bytes) || calls != 1 {
			t.Errorf("%+v: left %t, read %d times", tt, left, calls)
		}
		if _, ok := Spooled(t.Context(), path); ok != tt.left {
			t.Errorf("%+v: spooled %t", tt, ok)
		}
	}
}
