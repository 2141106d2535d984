package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/lossy"
	"github.com/neardup/neardup/internal/nightly"
)

// TestPowerLoss runs dedup on a file system that loses what was not synced. Whenever the power fails, an output with
// _SUCCESS is whole, and the same command then ends as if nothing had happened.
func TestPowerLoss(t *testing.T) {
	input, err := filepath.Abs("../../testdata/tldr")
	if err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	before := filepath.Join(plain, "before")
	for _, args := range [][]string{
		{"--output", filepath.Join(plain, "out")},
		{"--output", filepath.Join(before, "out"), "--threshold", "0.6"},
	} {
		if text, err := exec.Command("neardup", append([]string{"dedup", input}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(plain, "out/manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := lossy.ReadTree(before)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name    string
		holds   lossy.Tree
		flags   []string
		noFlags bool
	}{
		{name: "new, exchange"},
		{name: "new, no exchange", noFlags: true},
		{name: "overwrite, exchange", holds: old, flags: []string{"--overwrite"}},
		{name: "overwrite, no exchange", holds: old, flags: []string{"--overwrite"}, noFlags: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := powerRun{
				args: append([]string{"dedup", input}, c.flags...), manifest: string(manifest), noFlags: c.noFlags,
				overwrite: len(c.flags) > 0,
			}
			var moments []moment
			t.Run("undisturbed", func(t *testing.T) { moments = run.do(t, c.holds, 0) })
			pick := min(10, len(moments))
			if nightly.On() {
				pick = len(moments)
			}
			for i := range pick {
				m := moments[(i+1)*len(moments)/pick-1] // including the last one
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					t.Logf("after %s, with %s", m.operation, m.names)
					statuses := []int{0}
					if finished, _ := whole(m.left); finished && !run.overwrite {
						statuses = []int{0, 3} // 3 for a finished output; 0 if its run had not cleaned up
					}
					run.do(t, m.left, statuses...)
				})
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

// powerRun is a command that runs on file systems that lose what was not synced.
type powerRun struct {
	args      []string
	manifest  string // of its output
	noFlags   bool
	overwrite bool
}

// do runs the command once on a file system with the content of a tree. It checks what a loss of power would leave
// after each operation, and returns each possible state.
func (r powerRun) do(t *testing.T, holds lossy.Tree, statuses ...int) (moments []moment) {
	t.Helper()
	had, _ := whole(holds)
	adversaries := []lossy.Names{lossy.Synced, lossy.All}
	last := []lossy.Tree{holds, holds}
	wrong := []int{0, 0}
	system := lossy.New(lossy.Options{Holds: holds, NoFlags: r.noFlags, Changed: func(operation string, left func(lossy.Names) lossy.Tree) {
		for i, names := range adversaries {
			now := left(names)
			if maps.Equal(last[i], now) {
				continue
			}
			last[i] = now
			moments = append(moments, moment{operation, names, now})
			finished, err := whole(now)
			if had && !finished && !r.noFlags {
				err = errors.New("neither the old output nor the new one is there")
			}
			if err == nil {
				continue
			}
			if wrong[i]++; wrong[i] == 1 { // the others usually have the same cause
				t.Errorf("the power fails after %s, with %s: %v", operation, names, err)
			}
		}
	}})
	output := filepath.Join(lossy.Mount(t, system, time.Minute), "out")
	command := exec.Command("neardup", append(r.args, "--output", output)...)
	text, err := command.CombinedOutput()
	if got := command.ProcessState.ExitCode(); !slices.Contains(statuses, got) {
		t.Errorf("exit status %d, want one of %v: %v\n%s", got, statuses, err, text)
	}
	for i, names := range adversaries {
		left := system.Left(names)
		finished, err := whole(left)
		switch {
		case !finished:
			t.Errorf("the power fails after the end, with %s: there is no _SUCCESS", names)
		case err != nil:
			t.Errorf("the power fails after the end, with %s: %v", names, err)
		case string(left["out/manifest.json"].Bytes) != r.manifest:
			t.Errorf("the power fails after the end, with %s: the manifest is that of another output", names)
		}
		if wrong[i] > 0 {
			t.Errorf("with %s %d states were wrong", names, wrong[i])
		}
	}
	t.Logf("%d states that a loss of power could leave", len(moments))
	return moments
}

// whole reports whether out has a _SUCCESS. The error says what is wrong with such an output.
func whole(tree lossy.Tree) (finished bool, err error) {
	success, finished := tree["out/_SUCCESS"]
	if !finished {
		return false, nil
	}
	if len(success.Bytes) == 0 {
		return true, errors.New("_SUCCESS is empty")
	}
	var promised struct{ Manifest string }
	if err := json.Unmarshal(success.Bytes, &promised); err != nil {
		return true, fmt.Errorf("_SUCCESS: %w", err)
	}
	manifest := tree["out/manifest.json"]
	if manifest.Content == nil || manifest.Sum() != promised.Manifest {
		return true, errors.New("manifest.json is not that of _SUCCESS")
	}
	var listed struct {
		Files []struct {
			Path   string
			Bytes  int
			SHA256 string
		}
	}
	if err := json.Unmarshal(manifest.Bytes, &listed); err != nil {
		return true, fmt.Errorf("manifest.json: %w", err)
	}
	for _, want := range listed.Files {
		file := tree["out/"+want.Path]
		switch {
		case file.Content == nil:
			return true, fmt.Errorf("%s is missing", want.Path)
		case len(file.Bytes) != want.Bytes, file.Sum() != want.SHA256:
			return true, fmt.Errorf("%s is not that of the manifest: it has %d of %d bytes", want.Path, len(file.Bytes), want.Bytes)
		}
	}
	return true, nil
}

// TestPowerLossOfNights adds a night to an index on such a file system. Whenever the power fails, the index is the one
// before or the one after, and the same command then gives the one after.
func TestPowerLossOfNights(t *testing.T) {
	t.Parallel()
	input, err := filepath.Abs("../../testdata/tldr")
	if err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(t.TempDir(), "before")
	for _, args := range [][]string{
		{"index", "create", filepath.Join(before, "index"), "--threshold", "0.6"},
		{"dedup", filepath.Join(input, "osx.jsonl"), "--against", filepath.Join(before, "index"), "--append", "--output", filepath.Join(t.TempDir(), "first")},
	} {
		if text, err := exec.Command("neardup", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	old, err := lossy.ReadTree(before)
	if err != nil {
		t.Fatal(err)
	}
	first, err := indexIn(objectsOf(old))
	if err != nil || len(first) != 1 {
		t.Fatalf("the index has %+v, %v", first, err)
	}
	var moments []moment
	var nights []stored
	do := func(t *testing.T, holds lossy.Tree, statuses ...int) {
		t.Helper()
		adversaries := []lossy.Names{lossy.Synced, lossy.All}
		last := []lossy.Tree{holds, holds}
		check := func(operation string, names lossy.Names, left lossy.Tree) {
			_, err := whole(left)
			now, indexErr := indexIn(objectsOf(left))
			switch {
			case err != nil || indexErr != nil:
				t.Errorf("the power fails after %s, with %s: %v, %v", operation, names, err, indexErr)
			case !reflect.DeepEqual(now, first) && nights != nil && !reflect.DeepEqual(now, nights):
				t.Errorf("the power fails after %s, with %s: the index is neither that before nor that after", operation, names)
			}
		}
		system := lossy.New(lossy.Options{Holds: holds, Changed: func(operation string, left func(lossy.Names) lossy.Tree) {
			for i, names := range adversaries {
				if now := left(names); !maps.Equal(last[i], now) {
					last[i] = now
					moments = append(moments, moment{operation, names, now})
					check(operation, names, now)
				}
			}
		}})
		root := lossy.Mount(t, system, time.Minute)
		command := exec.Command("neardup", "dedup", filepath.Join(input, "linux.jsonl"), "--against", filepath.Join(root, "index"),
			"--append", "--output", filepath.Join(root, "out"))
		text, err := command.CombinedOutput()
		if got := command.ProcessState.ExitCode(); !slices.Contains(statuses, got) {
			t.Errorf("exit status %d, want one of %v: %v\n%s", got, statuses, err, text)
		}
		for _, names := range adversaries {
			left := objectsOf(system.Left(names))
			now, err := indexIn(left)
			if nights == nil {
				nights = now
			}
			if err != nil || !reflect.DeepEqual(now, nights) {
				t.Errorf("the power fails after the end, with %s: the index has %d nights, %v", names, len(now), err)
			}
			if finished, err := whole(system.Left(names)); !finished || err != nil {
				t.Errorf("the power fails after the end, with %s: the output is whole: %t, %v", names, finished, err)
			}
		}
	}
	do(t, old, 0)
	if len(nights) != 2 || nights[1].Kept == 0 || nights[1].Removed == 0 {
		t.Fatalf("the index has %+v", nights)
	}
	all := moments
	pick := min(6, len(all))
	if nightly.On() {
		pick = len(all)
	}
	for i := range pick {
		m := all[(i+1)*len(all)/pick-1]
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Logf("after %s, with %s", m.operation, m.names)
			do(t, m.left, 0, 3) // 3 if the output and the index have the night
		})
	}
	t.Logf("%d states that a loss of power could leave", len(all))
}

// objectsOf returns the files of a tree.
func objectsOf(tree lossy.Tree) map[string]string {
	objects := map[string]string{}
	for name, file := range tree {
		if file.Content != nil {
			objects[name] = string(file.Bytes)
		}
	}
	return objects
}
