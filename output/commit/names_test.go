package commit_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/records"
)

// folder returns the path of an output on a disk, which does not exist yet. way is swap, or fill.
func folder(t *testing.T, way string) string {
	t.Helper()
	root, err := storage.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "out")
	if way == "fill" {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
	}
	return dir
}

func plant(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// tree returns everything below a folder, by name; folders end in a slash.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			all[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: there are now\n%v, and were\n%v", when, got, want)
	}
}

// refuses runs an edition that must be refused, and changes nothing below root. The error names the obstacle.
func refuses(t *testing.T, root, dir, name string, overwrite bool) {
	t.Helper()
	before := tree(t, root)
	err := second.run(t.Context(), commit.Options{Dir: dir, Overwrite: overwrite})
	if refused := (*commit.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v, want a RefusedError that names %s", err, name)
	}
	same(t, name, tree(t, root), before)
}

// TestForeign: what is not neardup's is neither replaced nor removed, whatever its name.
func TestForeign(t *testing.T) {
	const run = "20260102-030405-0a1b2c3d"
	done := `{"job": "` + run + `", "status": "done", "formats": {"tables": "neardup-tables-1"}}`
	const none = `{"version": 1, "files": []}`
	hash := sha256.Sum256([]byte(none))
	sum := hex.EncodeToString(hash[:])
	for name, files := range map[string]map[string]string{
		"mine.txt":            {"mine.txt": "x"},
		"run.json":            {"run.json": "{}"},
		"corpus":              {"run.json": "{}", "corpus/mine": "x"},
		"sub":                 {"sub/": ""},
		".tmp-mine":           {"run.json": done, ".tmp-mine/x": "x"},
		"corpus/mine":         {"run.json": done, "manifest.json": `{"version": 1, "files": [{"path": "corpus/a"}]}`, "corpus/a": "a", "corpus/mine": "x"},
		"_SUCCESS":            {"_SUCCESS": ""},
		"manifest.json":       {"manifest.json": `{"version": 1, "files": []}`},
		".lock":               {".lock": "mine"},
		".neardup/mine":       {".neardup/mine": "x"},
		".neardup-mine":       {".neardup-mine": "x"},
		"pairs":               {"pairs/part-00000-of-00001.parquet": "x"},
		"of another manifest": {"run.json": done, "manifest.json": none, "_SUCCESS": `{"run": "` + run + `", "manifest": "ab"}`},
		"of another run":      {"run.json": done, "manifest.json": none, "_SUCCESS": `{"run": "20260102-030405-00000000", "manifest": "SUM"}`},
		"rejected":            {"run.json": strings.Replace(done, "done", "failed", 1), "rejected/part-mine": "x"},
		"clusters":            {"run.json": strings.Replace(done, "done", "running", 1), "clusters/part-00000.txt": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, "swap")
			for file, content := range files {
				content = strings.Replace(content, "SUM", sum, 1)
				if path, isFolder := strings.CutSuffix(file, "/"); isFolder {
					plant(t, filepath.Join(dir, path, "x"), "")
					if err := os.Remove(filepath.Join(dir, path, "x")); err != nil {
						t.Fatal(err)
					}
					continue
				}
				plant(t, filepath.Join(dir, file), content)
			}
			if strings.HasPrefix(name, "of another") {
				name = "_SUCCESS"
			}
			refuses(t, filepath.Dir(dir), dir, name, true)
		})
	}
}

// TestForeignBesideOurs: the same holds for whatever others put beside an output.
func TestForeignBesideOurs(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		for name, put := range map[string]func(path string) error{
			"mine":            func(path string) error { return os.WriteFile(path, nil, 0o666) },
			"corpus/mine":     func(path string) error { return os.WriteFile(path, nil, 0o666) },
			"empty":           func(path string) error { return os.Mkdir(path, 0o777) },
			"corpus/sub/deep": func(path string) error { return os.Mkdir(path, 0o777) },
			"link":            func(path string) error { return os.Symlink("run.json", path) },
			"pipe":            func(path string) error { return syscall.Mkfifo(path, 0o666) },
			"corpus/a.jsonl": func(path string) error {
				return errors.Join(os.Remove(path), os.Symlink("/dev/null", path))
			},
			"run.json": func(path string) error { return errors.Join(os.Rename(path, path+"2"), os.Symlink("run.json2", path)) },
		} {
			dir := folder(t, way)
			if err := first.run(t.Context(), commit.Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			err := second.run(t.Context(), commit.Options{Dir: dir, Overwrite: true})
			if refused := (*commit.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: error %v", way, name, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(filepath.Join(dir, ".lock")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the lock: %v", err)
			}
		}
	}
}

// TestForeignMeanwhile: the same holds for what others put there, or removed, while the run worked.
func TestForeignMeanwhile(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		for what, change := range map[string]func(dir string) error{
			"a file more": func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "corpus", "mine"), []byte("mine"), 0o666)
			},
			"another file": func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "corpus", "a.jsonl"), []byte("mine"), 0o666)
			},
			"a file less": func(dir string) error { return os.Remove(filepath.Join(dir, "corpus", "a.jsonl")) },
		} {
			dir := folder(t, way)
			if err := first.run(t.Context(), commit.Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			c := begin(t, dir)
			stage(t, c, second)
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			if refused := (*commit.RefusedError)(nil); !errors.As(publish(t, c, second), &refused) {
				t.Errorf("%s, %s: published", way, what)
			}
			if err := c.Close(t.Context(), nil); err != nil {
				t.Error(err)
			}
			delete(before, ".lock")
			now := tree(t, dir)
			for name := range before {
				if strings.HasPrefix(name, ".neardup") {
					delete(before, name)
				}
			}
			same(t, way+", "+what, now, before)
		}
	}
}

func begin(t *testing.T, dir string) *commit.Commit {
	t.Helper()
	c, err := commit.Begin(t.Context(), commit.Options{Dir: dir, Run: "20260102-030405-0a1b2c3d", Overwrite: true, Warn: t.Logf, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func stage(t *testing.T, c *commit.Commit, e edition) {
	t.Helper()
	staged := c.Staged()
	for name, content := range e {
		if _, err := storage.WriteBelow(t.Context(), staged.Dir, staged.Path(name), text(content)); err != nil {
			t.Fatal(err)
		}
	}
}

func publish(t *testing.T, c *commit.Commit, e edition) error {
	t.Helper()
	return c.Publish(t.Context(), e.fingerprint(), e.manifest(), &records.Run{
		Status: "done", Job: "20260102-030405-0a1b2c3d", Formats: records.Formats{Tables: records.Tables},
	})
}

// TestStagedFilesAreChecked: staged files that are missing or changed are not published, nor are those of a late
// worker.
func TestStagedFilesAreChecked(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		for what, change := range map[string]func(staged output.Folder) error{
			"all are gone":   func(staged output.Folder) error { return os.RemoveAll(staged.Dir) },
			"a file is gone": func(staged output.Folder) error { return os.Remove(staged.Path("corpus/a.jsonl")) },
			"a file is shorter": func(staged output.Folder) error {
				return os.Truncate(staged.Path("corpus/a.jsonl"), 1)
			},
			"a file too many": func(staged output.Folder) error {
				return os.WriteFile(filepath.Join(staged.Dir, "mine"), nil, 0o666)
			},
		} {
			dir := folder(t, way)
			if err := first.run(t.Context(), commit.Options{Dir: dir}); err != nil {
				t.Fatal(err)
			}
			c := begin(t, dir)
			stage(t, c, second)
			if err := change(c.Staged()); err != nil {
				t.Fatal(err)
			}
			if err := publish(t, c, second); err == nil {
				t.Errorf("%s, %s: published", way, what)
			}
			if err := c.Close(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if err := check(t.Context(), dir, first); err != nil {
				t.Errorf("%s, %s: %v", way, what, err)
			}
		}
	}
}

// TestLateWorker: a worker that writes after its run has published, or has lost the output, leaves nothing.
func TestLateWorker(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		dir := folder(t, way)
		c := begin(t, dir)
		stage(t, c, second)
		staged := c.Staged()
		plant(t, filepath.Join(staged.Dir, ".neardup-ABCDEFGHIJKLMNOPQRSTUVWXY2"), "half")
		write := func() error {
			_, err := storage.WriteBelow(t.Context(), staged.Dir, staged.Path("corpus/late"), text("late"))
			return err
		}
		if err := publish(t, c, second); err != nil {
			t.Fatal(err)
		}
		if err := write(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", way, err)
		}
		if err := c.Close(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := write(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", way, err)
		}
		want := []string{"./", "_SUCCESS", "corpus/", "corpus/a.jsonl", "corpus/sub/", "corpus/sub/c.jsonl", "manifest.json", "pairs/", "pairs/part-00000-of-00001.parquet", "run.json"}
		var names []string
		for name := range tree(t, dir) {
			names = append(names, name)
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%s: %v", way, names)
		}
	}
}

// TestFail: the record of a failed run is in the output if none is finished there, else beside it, and only until the
// next run.
func TestFail(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		dir := folder(t, way)
		fails := func(into string) {
			t.Helper()
			if err := failing.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); !errors.Is(err, errFailed) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			got := tree(t, into)
			if r := record(t, into); r.Status != "failed" || !slices.Equal(r.Files, []string{"rejected/part-00000-of-00001.parquet"}) || len(got) != 4 || got[r.Files[0]] != "rejected" {
				t.Errorf("%s: %+v in %v", way, r, got)
			}
		}
		fails(dir)
		fails(dir)
		if err := first.run(t.Context(), commit.Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		fails(commit.FailedDir(dir))
		fails(commit.FailedDir(dir))
		if err := check(t.Context(), dir, first); err != nil {
			t.Error(err)
		}
		// Files of others there are not removed.
		plant(t, filepath.Join(commit.FailedDir(dir), "mine"), "x")
		before := tree(t, commit.FailedDir(dir))
		if err := failing.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err == nil || !strings.Contains(err.Error(), "mine") {
			t.Errorf("error %v", err)
		}
		if err := second.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		same(t, "what others put there", tree(t, commit.FailedDir(dir)), before)
		if err := os.Remove(filepath.Join(commit.FailedDir(dir), "mine")); err != nil {
			t.Fatal(err)
		}
		if err := first.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(commit.FailedDir(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the record of a run that failed: %v", err)
		}
	}
}

// TestKeptInTheOldFolder: a file that appears in the old output at the last moment is kept, and reported.
func TestKeptInTheOldFolder(t *testing.T) {
	dir := folder(t, "swap")
	const job = "20260102-030405-0a1b2c3d"
	left := filepath.Join(filepath.Dir(dir), ".out.neardup-"+job)
	if err := first.run(t.Context(), commit.Options{Dir: filepath.Join(left, "out")}); err != nil {
		t.Fatal(err)
	}
	plant(t, filepath.Join(left, "run"), `{"run": "`+job+`"}`)
	plant(t, filepath.Join(left, "w", "x"), "x")
	plant(t, filepath.Join(left, "out", "corpus", "mine"), "precious")
	for range 2 {
		var warnings []string
		warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
		if err := second.run(t.Context(), commit.Options{Dir: dir, Overwrite: true, Warn: warn}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(left+"~", "out", "corpus", "mine")); err != nil || string(data) != "precious" {
			t.Errorf("%q, %v", data, err)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "out/corpus") {
			t.Errorf("warnings %q", warnings)
		}
	}
	if _, err := os.Stat(filepath.Join(left+"~", "out", "corpus", "a.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old output: %v", err)
	}
}

// TestFoldersOfOthers: folders whose names resemble that of a staging folder are not touched.
func TestFoldersOfOthers(t *testing.T) {
	dir := folder(t, "swap")
	parent := filepath.Dir(dir)
	for _, name := range []string{
		".out.neardup-mine/x", ".out.neardup-20260102-030405-0a1b2c3d/x", ".out.neardup-20260102-030405-0a1b2c3d/sub/y",
		".output.neardup-20260102-030405-0a1b2c3d/run", "out.neardup-20260102-030405-0a1b2c3d/run", "neardup-20260102-030405-0a1b2c3d/x",
		".out.neardup-20260102-030405-0a1b2c3e/run", "temp/x",
	} {
		plant(t, filepath.Join(parent, name), "x")
	}
	// A note that names another temporary folder than that of its run.
	plant(t, filepath.Join(parent, ".out.neardup-20260102-030405-0a1b2c3f", "run"), `{"run": "20260102-030405-0a1b2c3f", "temp": "`+filepath.Join(parent, "temp")+`"}`)
	// A copy of a staging folder, with its note.
	plant(t, filepath.Join(parent, ".out.neardup-20260102-030405-0a1b2c40", "run"), `{"run": "20260102-030405-0a1b2c3f"}`)
	plant(t, filepath.Join(parent, ".out.neardup-20260102-030405-0a1b2c40", "x"), "x")
	// Without a note: more empty files than there would be, and an empty folder.
	for _, name := range []string{"41/a", "41/b", "41/c", "42/sub/a"} {
		plant(t, filepath.Join(parent, ".out.neardup-20260102-030405-0a1b2c"+name), "")
	}
	ok(t, os.Remove(filepath.Join(parent, ".out.neardup-20260102-030405-0a1b2c42", "sub", "a")))
	before := tree(t, parent)
	if err := second.run(t.Context(), commit.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	now := tree(t, parent)
	for name := range before {
		if strings.HasPrefix(name, ".out.neardup-20260102-030405-0a1b2c3f") {
			delete(before, name)
		}
	}
	for name := range now {
		if name == "out/" || strings.HasPrefix(name, "out/") {
			delete(now, name)
		}
	}
	same(t, "beside the output", now, before)
}

// TestTempIsRemoved: the next run removes the temporary folder of a killed run, wherever it is.
func TestTempIsRemoved(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		dir := folder(t, way)
		root := t.TempDir()
		temp := commit.TempFolder(root, "20260102-030405-0a1b2c3d")
		c, err := commit.Begin(t.Context(), commit.Options{Dir: dir, Run: "20260102-030405-0a1b2c3d", Temp: temp, Warn: t.Logf, Private: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []string{c.Temporary(), filepath.Dir(c.Staged().Dir)} {
			if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", private, info.Mode(), err)
			}
		}
		stage(t, c, second)
		// The second takes over from the first, as if that had been killed.
		o := commit.Options{Dir: dir}
		o.Lock.Force = true
		if err := second.run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		same(t, "where temporary files were", tree(t, root), map[string]string{"./": ""})
		fenced := (*storage.FencedError)(nil)
		err = publish(t, c, first)
		if err == nil {
			t.Errorf("%s: a run published that had lost the output", way)
		}
		if err := c.Fail(t.Context(), &records.Run{}, nil); !errors.As(err, &fenced) {
			t.Errorf("%s: %v", way, err)
		}
		if err := c.Close(t.Context(), err); !errors.As(err, &fenced) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", way, err)
		}
		if err := check(t.Context(), dir, second); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// TestModes: published files have the mode of any file that the user creates, and the folder keeps its mode.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := folder(t, "swap")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o2775)); err != nil {
		t.Fatal(err)
	}
	for _, e := range []edition{first, second} {
		if err := e.run(t.Context(), commit.Options{Dir: dir, Overwrite: true, Private: true}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{"": 0o775, "corpus": 0o750, "corpus/a.jsonl": 0o640, "_SUCCESS": 0o640, "run.json": 0o640} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
}

// TestUnfitStores: a store that ignores conditions is refused, and one without conditional DELETE is only used for a
// new output.
func TestUnfitStores(t *testing.T) {
	l := newLake(t)
	l.NoConditionalRemove = true
	options := l.process("one", lives)
	if err := failing.run(t.Context(), options); !errors.Is(err, errFailed) {
		t.Fatal(err)
	}
	if _, err := storage.Stat(t.Context(), "lake://lake/out.failed/run.json"); err != nil {
		t.Error(err)
	}
	if err := first.run(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	l.whole("a new output", first)
	if err := second.run(t.Context(), options); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	l.whole("an output that cannot be replaced", first)
}

// TestRecovered: a run that was ready to publish is published by the next, which has nothing else to do if its
// fingerprint is the same.
func TestRecovered(t *testing.T) {
	for asked, want := range map[string]edition{"the same": second, "other": third, "the same, versions that follow from the content": second} {
		l := sealed(t, beforeReplacing)
		if strings.HasSuffix(asked, "content") {
			// a.jsonl, which the first edition also has, is in its place.
			l = newLake(t)
			l.ETags = true
			l.prepare([]edition{first})
			if err := second.run(t.Context(), l.killedBefore(amidstReplacing)); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if same := l.staged("corpus/a.jsonl"); same != "" { // files are moved in any order
				if err := l.Move(t.Context(), same, "lake://"+l.dir+"/corpus/a.jsonl"); err != nil {
					t.Fatal(err)
				}
			}
			l.later()
		}
		built := 0
		options := l.process("two", func(request string) error {
			if strings.Contains(request, "create") && strings.Contains(request, "/w/") && !strings.Contains(request, ".running") {
				built++
			}
			return nil
		})
		if err := want.run(context.Background(), options); err != nil {
			t.Fatal(err)
		}
		if (built == 0) != strings.HasPrefix(asked, "the same") {
			t.Errorf("asked %s, it wrote %d files", asked, built)
		}
		l.whole(asked, want)
		l.clean(asked)
	}
}
