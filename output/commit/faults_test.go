package commit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/neardup/neardup/output/commit"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestKilledWhileTidying: what a kill leaves of a former output that was being removed is no file of others, and the next
// run removes it.
func TestKilledWhileTidying(t *testing.T) {
	dir := folder(t, "swap")
	large := edition{}
	for i := range 2000 {
		large[fmt.Sprintf("%d/%d", i%20, i)] = "x"
	}
	for range 2 {
		ok(t, large.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}))
		killed := start(t, dir, "killed", "")
		for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
			going, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".out.neardup-*~"))
			if len(going) == 0 {
				continue
			}
			if _, err := os.Stat(filepath.Join(going[0], "out", "manifest.json")); err != nil {
				break
			}
		}
		_ = killed.Process.Kill()
		status(killed)
		ends(t, dir, "next", "")
	}
}
