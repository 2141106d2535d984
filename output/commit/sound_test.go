package commit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// TestUnsoundSeal: a seal that names something that is not in an output has no effect: the run says what to delete.
func TestUnsoundSeal(t *testing.T) {
	const run, good = "20260102-030405-0a1b2c3d", `{"name":"corpus/a.jsonl"},{"name":"_SUCCESS"}`
	for name, s := range map[string]struct{ from, files, old string }{
		"above":            {"w", `{"name":"../a"},{"name":"_SUCCESS"}`, ""},
		"absolute":         {"w", `{"name":"/a"},{"name":"_SUCCESS"}`, ""},
		"the folder":       {"w", `{"name":"."},{"name":"_SUCCESS"}`, ""},
		"the lock":         {"w", `{"name":".lock"},{"name":"_SUCCESS"}`, ""},
		"another run's":    {"w", `{"name":".neardup/20260102-030405-0a1b2c3e/sealed"},{"name":"_SUCCESS"}`, ""},
		"old, above":       {"w", good, `{"name":"a/../../b"}`},
		"old, another's":   {"w", good, `{"name":".neardup/20260102-030405-0a1b2c3e/sealed"}`},
		"without the mark": {"w", `{"name":"_SUCCESS"},{"name":"corpus/a.jsonl"}`, ""},
		"empty":            {"w", "", ""},
		"from elsewhere":   {"../..", good, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			staging := filepath.Join(dir, ".neardup", run)
			if err := os.MkdirAll(filepath.Join(staging, "w"), 0o777); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"run":    fmt.Sprintf(`{"run":%q}`, run),
				"sealed": fmt.Sprintf(`{"run":%q,"from":%q,"files":[%s],"old":[%s]}`, run, s.from, s.files, s.old),
			} {
				if err := os.WriteFile(filepath.Join(staging, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan error, 1)
			go func() {
				options := commit.Options{Dir: dir, Overwrite: true, Run: commit.NewRun(), Warn: func(string, ...any) {}}
				_, err := commit.Begin(t.Context(), options)
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "sealed was not written by neardup; delete "+staging) {
					t.Errorf("error %v", err)
				}
			case <-time.After(20 * time.Second): // the loop over folders above an absolute name would not end
				t.Error("it does not end")
			}
		})
	}
}

// TestSealOfRemoved: the seal of a folder that is being removed is not carried out, even if all of its files still
// exist.
func TestSealOfRemoved(t *testing.T) {
	const run = "20260102-030405-0a1b2c3e"
	dir := folder(t, "swap")
	removing := filepath.Join(filepath.Dir(dir), ".out.neardup-"+run+storage.Removing)
	plant(t, filepath.Join(removing, "run"), fmt.Sprintf(`{"run":%q}`, run))
	plant(t, filepath.Join(removing, "sealed"), fmt.Sprintf(`{"run":%q,"from":"ready","files":[{"name":"a","bytes":3},{"name":"_SUCCESS","bytes":3}]}`, run))
	plant(t, filepath.Join(removing, "ready", "a"), "old")
	plant(t, filepath.Join(removing, "ready", "_SUCCESS"), "old")
	c := begin(t, dir)
	if _, err := os.Lstat(filepath.Join(dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was published: %v", err)
	}
	ok(t, c.Close(t.Context(), nil))
	only(t, filepath.Dir(dir))
}
