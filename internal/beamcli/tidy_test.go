package beamcli

import (
	"os"
	"path/filepath"
	"testing"
)

// Files made meanwhile are removed afterwards, and the folder for temporary files is as before.
func TestTidy(t *testing.T) {
	for _, before := range []string{"", t.TempDir()} {
		if t.Setenv("TMPDIR", before); before == "" {
			os.Unsetenv("TMPDIR")
		}
		usual := os.TempDir()
		tidy, err := Tidy()
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.CreateTemp("", "beamloopbackworker-*")
		if err != nil || filepath.Dir(f.Name()) == usual {
			t.Fatal(f.Name(), err)
		}
		f.Close()
		err = tidy()
		if _, there := os.Stat(f.Name()); err != nil || there == nil || os.TempDir() != usual {
			t.Errorf("error %v, %v, temporary files are in %s", err, there, os.TempDir())
		}
	}
}
