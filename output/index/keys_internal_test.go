package index

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/io/storage"
)

// TestAheadOfTheEnd: no memory is allocated for bytes that a file does not have.
func TestAheadOfTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.parquet")
	if err := os.WriteFile(path, make([]byte, 100), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := storage.OpenFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, n := range []int64{101, 1 << 20, -1} {
		a := &ahead{file: file}
		if err := a.read(0, n); err == nil || cap(a.data) > 0 {
			t.Errorf("%d bytes of 100: error %v, and %d bytes are held", n, err, cap(a.data))
		}
	}
	if a := (&ahead{file: file}); a.read(40, 60) != nil || len(a.data) != 60 {
		t.Errorf("%d bytes to the end are read", len(a.data))
	}
}
