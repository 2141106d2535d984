package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/notroot"
)

// A run that cannot leave a record ends with its own exit status, and does not say where the record is.
func TestNoRecordLeft(t *testing.T) {
	p := prepare(t, "sh", "-c", "neardup dedup in.jsonl -o out && exec neardup dedup bad.jsonl -o out --overwrite")
	write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
	write(t, filepath.Join(p.Dir, "bad.jsonl"), "{")
	if err := os.Mkdir(filepath.Join(p.Dir, "out.failed"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.Dir, "out.failed", "mine"), "mine")
	stderr, status := p.start().ended()
	if status.ExitStatus() != 4 || strings.Contains(stderr, "to list them") || !strings.Contains(stderr, "could not log this run: ") {
		t.Errorf("exit status %d: %s", status.ExitStatus(), stderr)
	}
}

// If the output cannot be created, the error says where and what to do.
func TestUnfitOutput(t *testing.T) {
	for out, want := range map[string]string{
		strings.Repeat("x", 255): ".failed: file name too long; choose another --output",
		strings.Repeat("x", 256): ": file name too long; choose another --output",
		"in.jsonl/out":           "in.jsonl/out is not a folder; choose another --output",
		"link":                   "link is a link to nowhere, which does not exist; create that folder, or remove the link",
	} {
		p := prepare(t, "neardup", "dedup", "in.jsonl", "-o", out)
		write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
		if err := os.Symlink("nowhere", filepath.Join(p.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		if stderr, status := p.start().ended(); status.ExitStatus() != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d: %s", out, status.ExitStatus(), stderr)
		}
	}
	for _, command := range []string{"dedup", "passages", "compare", "study"} {
		p := prepare(t, "neardup", command, "in.jsonl", "-o", "in.jsonl/out")
		write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
		if stderr, status := p.start().ended(); status.ExitStatus() != 2 || !strings.Contains(stderr, "choose another --output") {
			t.Errorf("%s: exit status %d: %s", command, status.ExitStatus(), stderr)
		}
	}
}

// TestDenied: the error says which file may not be written or read, and what to do about a folder.
func TestDenied(t *testing.T) {
	if notroot.Ran(t) { // root may write and read any file
		return
	}
	for args, want := range map[string]string{
		"dedup in.jsonl -o closed/x":                            "cannot write closed/x/.lock: permission denied; use another folder\n",
		"report out -o closed/x":                                "cannot write closed/x: permission denied; use another folder\n",
		"export out --format sql -o closed/x":                   "cannot write closed/x/views.sql: permission denied; use another folder\n",
		"query in.jsonl --of in.jsonl@0 -o closed/x":            "cannot write closed/x: permission denied; use another folder\n",
		"index create closed/x":                                 "cannot write closed/x/generations/000001.json: permission denied; use another folder\n",
		"config init -o closed/x":                               "--output closed/x: permission denied; choose another path\n",
		"curve --bands 2 --rows 2 --svg closed/x.svg":           "--svg closed/x.svg: permission denied; choose another path\n",
		"compare in.jsonl --methods minhash --truth unreadable": "--truth unreadable: permission denied\n",
	} {
		p := prepare(t, "sh", "-c", "neardup dedup in.jsonl -o out && exec neardup "+args)
		write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
		write(t, filepath.Join(p.Dir, "unreadable"), "")
		if err := errors.Join(os.Chmod(filepath.Join(p.Dir, "unreadable"), 0), os.Mkdir(filepath.Join(p.Dir, "closed"), 0o500)); err != nil {
			t.Fatal(err)
		}
		if stderr, status := p.start().ended(); status.ExitStatus() != 2 || !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: exit status %d: %s", args, status.ExitStatus(), stderr)
		}
	}
}

// If temporary files cannot be created, the error says so, and nothing is left.
func TestUnfitTemp(t *testing.T) {
	for temp, want := range map[string]string{
		"new/x":      "--temp-dir new/x: no such folder; create it, or use another",
		"in.jsonl":   "--temp-dir in.jsonl: not a folder; use another folder",
		"in.jsonl/x": "in.jsonl/x is not a folder; use another folder",
		"loop":       "--temp-dir loop: loop: a link in it leads back to itself; use another folder",
	} {
		p := prepare(t, "neardup", "dedup", "in.jsonl", "-o", "out", "--temp-dir", temp)
		write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
		if err := os.Symlink("loop", filepath.Join(p.Dir, "loop")); err != nil {
			t.Fatal(err)
		}
		stderr, status := p.start().ended()
		if left := p.left(); status.ExitStatus() != 2 || !strings.Contains(stderr, want) || len(left) > 0 {
			t.Errorf("%s: exit status %d, leaves %q: %s", temp, status.ExitStatus(), left, stderr)
		}
	}
	for _, args := range [][]string{{"plan", "in.jsonl"}, {"study", "in.jsonl", "-o", "out"}} {
		p := prepare(t, "neardup", args...)
		p.Env = append(p.Env, "TMPDIR=new")
		write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
		const want = "cannot create temporary files in new: no such folder; create it, or name another folder with --temp-dir"
		if stderr, status := p.start().ended(); status.ExitStatus() != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d: %s", args[0], status.ExitStatus(), stderr)
		}
	}
}

// A run that lacks file descriptors fails, and still cleans up.
func TestFewDescriptors(t *testing.T) {
	for most := 10; most < 14; most++ {
		p := prepare(t, "sh", "-c", fmt.Sprintf("ulimit -n %d; exec neardup dedup in -o out", most))
		if err := os.Mkdir(filepath.Join(p.Dir, "in"), 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			write(t, filepath.Join(p.Dir, "in", fmt.Sprint(i)+".jsonl"), similar)
		}
		stderr, status := p.start().ended()
		if left := p.left(); status.ExitStatus() > 1 || status.ExitStatus() == 1 && len(left) > 0 {
			t.Errorf("%d descriptors: exit status %d, leaves %q: %s", most, status.ExitStatus(), left, stderr)
		}
	}
}
