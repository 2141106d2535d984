package commit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/lossy"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
)

// deep is the path of the output on a file system that loses what was not synced.
const deep = "new/sub/out"

// TestPowerLoss: whenever the power fails, an output that looks finished is whole, and the same command then completes.
// Once a run has ended, its output survives, with all folders that it made above it. The test of the same name in
// cmd/neardup runs the program.
func TestPowerLoss(t *testing.T) {
	plain := t.TempDir()
	dir := filepath.Join(plain, deep)
	ends(t, dir, "old", "few")
	old, err := lossy.ReadTree(plain)
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]lossy.Options{
		"parts, new, exchange": {}, "parts, overwrite, no exchange": {Holds: old, NoFlags: true},
		"new, exchange": {}, "new, no exchange": {NoFlags: true}, "new, the exchange fails": {Busy: true},
		"overwrite, exchange": {Holds: old}, "overwrite, no exchange": {Holds: old, NoFlags: true}, "overwrite, the exchange fails": {Holds: old, Busy: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := "few"
			if strings.HasPrefix(name, "parts") {
				flags = "few parts"
			}
			moments := lose(t, options, flags)
			every := max(1, len(moments)/6)
			if nightly.On() {
				every = 1
			}
			for i, m := range moments {
				arrives := strings.HasSuffix(m.operation, " to "+deep+"/"+output.ManifestFile) // the first file
				if (len(moments)-1-i)%every > 0 && !arrives {
					continue
				}
				options.Holds = m.left
				if lose(t, options, flags); t.Failed() {
					t.Fatalf("so it is if the power has failed before after %s, with %s", m.operation, m.names)
				}
			}
		})
	}
}

// moment is an operation of a run, and what a loss of power after it would leave.
type moment struct {
	operation string
	names     lossy.Names
	left      lossy.Tree
}

// lose runs an edition once on such a file system, and returns each state that a loss of power could leave.
func lose(t *testing.T, options lossy.Options, flags string) (moments []moment) {
	t.Helper()
	had, _ := finished(options.Holds)
	last := map[lossy.Names]lossy.Tree{lossy.Synced: options.Holds, lossy.All: options.Holds}
	options.Changed = func(operation string, left func(lossy.Names) lossy.Tree) {
		for _, names := range []lossy.Names{lossy.Synced, lossy.All} {
			now := left(names)
			if maps.Equal(last[names], now) {
				continue
			}
			last[names] = now
			moments = append(moments, moment{operation, names, now})
			there, err := finished(now)
			if had != "" && there == "" && !options.NoFlags && !options.Busy {
				err = errors.Join(err, errors.New("neither the old output nor the new one is there"))
			}
			if err != nil && !t.Failed() { // the others usually have the same cause
				t.Errorf("the power fails after %s, with %s: %v", operation, names, err)
			}
		}
	}
	system := lossy.New(options)
	if got := status(start(t, filepath.Join(lossy.Mount(t, system, time.Minute), deep), "new", flags)); got != exitCommitted {
		t.Errorf("it ended with %d", got)
	}
	for _, names := range []lossy.Names{lossy.Synced, lossy.All} {
		if there, err := finished(system.Left(names)); there != "new" || err != nil {
			t.Errorf("the power fails after the end, with %s: there is %q, %v", names, there, err)
		}
	}
	return moments
}

// finished returns the name of the edition that looks finished in a tree, or "". The error says what is wrong with it.
func finished(tree lossy.Tree) (name string, err error) {
	content := func(name string) string {
		if file, ok := tree[deep+"/"+name]; ok && file.Content != nil {
			return string(file.Bytes)
		}
		return "nothing"
	}
	if _, ok := tree[deep+"/"+output.SuccessFile]; !ok {
		return "", nil
	}
	name = "old"
	if strings.Contains(content(output.ManifestFile), "removed/new") {
		name = "new"
	}
	var mark output.Success
	if err := json.Unmarshal([]byte(content(output.SuccessFile)), &mark); err != nil {
		return name, err
	}
	if manifest := tree[deep+"/"+output.ManifestFile]; manifest.Content == nil || manifest.Sum() != mark.Manifest {
		return name, errors.New("the manifest is not that of the mark of success")
	}
	if !strings.Contains(content(output.RunFile), mark.Run) {
		return name, errors.New("the record is not that of the mark of success")
	}
	for file, want := range few(name) {
		if got := content(file); got != want {
			return name, fmt.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	return name, nil
}
