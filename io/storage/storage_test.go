package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// plant makes files below a new folder, or a folder for a name that ends in a slash, and changes to that folder.
func plant(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(name, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// list returns the paths that List returns.
func list(t *testing.T, arg string) (paths []string) {
	t.Helper()
	entries, err := storage.List(t.Context(), arg)
	if err != nil {
		t.Fatalf("List(%q): %v", arg, err)
	}
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	return paths
}

// TestFolderLinks checks that a link to a folder is followed once, under the first of its names, and never in circles.
func TestFolderLinks(t *testing.T) {
	plant(t, "up/in/b", "up/in/sub/c", "up/in/.versions/2/d", "up/beside", "far/e", "far/sub/f", "far/.hidden/g")
	for name, target := range map[string]string{
		"up/in/a-sub": "sub", "up/in/back": "..", "up/in/self": ".", "up/in/latest": ".versions/2",
		"up/in/y-far": "../../far", "up/in/x-far": "../../far", "far/circle": "../up/in", "far/far": ".", "far/sub/x": "../../up/in/y-far/sub",
	} {
		link(t, target, name)
	}
	want := []string{"b", "latest/d", "sub/c", "x-far/e", "x-far/sub/f"}
	for i, name := range want {
		want[i] = "up/in/" + name
	}
	if got := list(t, "up/in"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	entries, err := storage.List(t.Context(), "up/in")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Folder != "up/in" {
			t.Errorf("%s was found below %s", e.Path, e.Folder)
		}
	}
}

func TestList(t *testing.T) {
	plant(t, "in/b", "in/a/x", "in/a-1", "in/a/sub/y", "in/.hidden", "in/_SUCCESS", "in/_tmp/z", "in/.git/c",
		"in/empty/", "other/in", "star*.txt", "starry.txt", "[odd]")
	link(t, "in", "alias")
	link(t, "../other", "in/folder-link")
	link(t, "b", "in/file-link")
	for _, tt := range []struct {
		arg  string
		want []string
	}{
		// By path: "-" sorts before "/", whatever order folders are walked in.
		{"in", []string{"in/a-1", "in/a/sub/y", "in/a/x", "in/b", "in/file-link", "in/folder-link/in"}},
		{"in/", []string{"in/a-1", "in/a/sub/y", "in/a/x", "in/b", "in/file-link", "in/folder-link/in"}},
		{"in/b", []string{"in/b"}},
		{"./in/b", []string{"./in/b"}},
		{"in/empty", nil},
		{"in/.hidden", []string{"in/.hidden"}}, // it was given by name
		{"in/_tmp", []string{"in/_tmp/z"}},
		{"alias", []string{"alias/a-1", "alias/a/sub/y", "alias/a/x", "alias/b", "alias/file-link", "alias/folder-link/in"}},
		{"star*.txt", []string{"star*.txt"}}, // a name takes precedence over a pattern
		{"st*.txt", []string{"star*.txt", "starry.txt"}},
		{"[odd]", []string{"[odd]"}},
		{"in/*", []string{"in/a-1", "in/a/sub/y", "in/a/x", "in/b", "in/file-link", "in/folder-link/in"}},
		{"./in/[bc]", []string{"in/b"}},
		{"in/.h*", []string{"in/.hidden"}},
		{"in/_*", []string{"in/_SUCCESS", "in/_tmp/z"}},
		{"i?/a/*", []string{"in/a/sub/y", "in/a/x"}},
		{"*/in", []string{"other/in"}},
	} {
		if got := list(t, tt.arg); !slices.Equal(got, tt.want) {
			t.Errorf("List(%q)\n got %q\nwant %q", tt.arg, got, tt.want)
		}
	}
}

func TestListEntries(t *testing.T) {
	plant(t, "in/sub/x", "y")
	for arg, want := range map[string]storage.Entry{
		"in": {Info: storage.Info{Path: "in/sub/x", Size: 8}, Folder: "in"},
		"i*": {Info: storage.Info{Path: "in/sub/x", Size: 8}, Folder: "in"},
		"y":  {Info: storage.Info{Path: "y", Size: 1}},
		"?":  {Info: storage.Info{Path: "y", Size: 1}},
	} {
		got, err := storage.List(t.Context(), arg)
		if err != nil || len(got) != 1 {
			t.Fatalf("List(%q): %d entries, %v", arg, len(got), err)
		}
		if got[0].Version == "" || got[0].Identity == "" || got[0].Modified.IsZero() {
			t.Errorf("List(%q): %+v", arg, got[0])
		}
		if got[0].Version, got[0].Identity, got[0].Modified = "", "", (time.Time{}); got[0] != want {
			t.Errorf("List(%q): got %+v, want %+v", arg, got[0], want)
		}
	}
}

func TestListErrors(t *testing.T) {
	plant(t, "file", "in/x")
	for arg, want := range map[string]string{
		"missing":         "missing",
		"missing/*.jsonl": "pattern missing/*.jsonl",
		"in/_*":           "pattern in/_*",
		"in/[":            "pattern in/[: unmatched [",
		"file/x":          "not a folder",
		"gs://bucket/*":   "gs://bucket/*: paths that begin with gs:// are not supported; use a local path",
		"s3://bucket/key": "paths that begin with s3://",
	} {
		if _, err := storage.List(t.Context(), arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("List(%q): error %v, want %q in it", arg, err, want)
		}
	}
	if names, err := storage.Names(t.Context(), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Names of nothing: %q, error %v", names, err)
	}
	for _, arg := range []string{"", "missing", "missing/*"} {
		if _, err := storage.List(t.Context(), arg); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("List(%q): error %v, want one that is fs.ErrNotExist", arg, err)
		}
	}
	link(t, "nowhere", "in/dangling")
	got, err := storage.List(t.Context(), "in")
	if err != nil || len(got) != 2 || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), "in/dangling") {
		t.Errorf("a folder with a dangling link: %+v, error %v; want an entry whose error names it", got, err)
	}
}

func TestUnchanged(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("more")
				f.Close()
			}
			return err
		},
		"rewritten with as many bytes": func(path string) error { return os.WriteFile(path, []byte("FILE"), 0) },
		"touched":                      func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
		"replaced": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return errors.Join(os.Rename(path, "old"), os.WriteFile(path, []byte("file"), 0o666),
				os.Chtimes(path, time.Time{}, info.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			plant(t, "file")
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes("file", past, past); err != nil {
				t.Fatal(err)
			}
			entries, err := storage.List(t.Context(), "file")
			if err != nil {
				t.Fatal(err)
			}
			f, err := storage.Open(t.Context(), "file", entries[0].Version)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Unchanged(); err != nil {
				t.Errorf("before: %v", err)
			}
			if err := change("file"); err != nil {
				t.Fatal(err)
			}
			// An open file that was replaced is still the complete old file.
			if err := f.Unchanged(); (err == nil) != (name == "replaced") {
				t.Errorf("while it is open: error %v", err)
			}
			f, err = storage.Open(t.Context(), "file", entries[0].Version)
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.HasPrefix(err.Error(), "file changed since it was listed; run again") {
				t.Errorf("opened again: error %v", err)
			}
		})
	}
}

func TestWriteFile(t *testing.T) {
	plant(t)
	content := strings.Repeat("a line\n", 100_000)
	written, err := storage.WriteFile(t.Context(), "new/folder/file", func(w io.Writer) error {
		for line := range strings.Lines(content) { // many small writes
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if there, err := storage.Stat(t.Context(), "new/folder/file"); err != nil || written.Size != int64(len(content)) || written != there {
		t.Errorf("got %+v, and there is %+v, %v", written, there, err)
	}
	if got, err := os.ReadFile("new/folder/file"); err != nil || string(got) != content {
		t.Errorf("%d bytes were written, %v, want %d", len(got), err, len(content))
	}
	nothingElse(t, "new/folder", "file")
}

// nothingElse checks that a folder contains just these names, and nothing hidden.
func nothingElse(t *testing.T, folder string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("%s holds %q, want %q", folder, got, names)
	}
}

func TestWriteFileNames(t *testing.T) {
	plant(t)
	longest := strings.Repeat("n", 255)
	for _, path := range []string{"bare", "./dotted", "a*b", longest, filepath.Join("folder", longest)} {
		if _, err := storage.WriteFile(t.Context(), path, func(io.Writer) error { return nil }); err != nil {
			t.Errorf("WriteFile(%.20q): %v", path, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := storage.WriteFile(t.Context(), "gs://bucket/file", nil); err == nil || !strings.Contains(err.Error(), "gs://") {
		t.Errorf("WriteFile to gs://: error %v", err)
	}
}

func TestWriteFileFails(t *testing.T) {
	plant(t, "out/kept", "out/folder/x")
	broken := errors.New("broken")
	_, err := storage.WriteFile(t.Context(), "out/kept", func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "out/kept") {
		t.Errorf("error %v, want one that is the writer's and names the file", err)
	}
	if got, err := os.ReadFile("out/kept"); err != nil || string(got) != "out/kept" {
		t.Errorf("the file is now %q, %v", got, err)
	}
	if _, err := storage.WriteFile(t.Context(), "out/folder", func(io.Writer) error { return nil }); err == nil {
		t.Error("a folder was replaced")
	}
	nothingElse(t, "out", "folder", "kept")
}

// TestWriteFileConcurrently checks that, whoever finishes last, the file is a complete one of those written.
func TestWriteFileConcurrently(t *testing.T) {
	plant(t)
	var workers sync.WaitGroup
	for i := range 8 {
		workers.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + i)}, 1<<19)
			if _, err := storage.WriteFile(t.Context(), "file", func(w io.Writer) error {
				_, err := w.Write(content)
				return err
			}); err != nil {
				t.Error(err)
			}
			got, err := os.ReadFile("file")
			if err != nil || len(got) != len(content) || len(bytes.Trim(got, string(got[:1]))) != 0 {
				t.Errorf("read %d bytes of one kind or more, %v", len(got), err)
			}
		})
	}
	workers.Wait()
	nothingElse(t, ".", "file")
}

func TestShared(t *testing.T) {
	plant(t)
	if err := storage.Begin(t.Context(), ".", false); err != nil {
		t.Fatal(err)
	}
	type value struct{ N int }
	if err := storage.WriteShared(t.Context(), "value", value{N: 7}); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	got := make([]*value, 8)
	for i := range got {
		workers.Go(func() {
			var err error
			if got[i], err = storage.Shared[value](t.Context(), "value"); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	for _, v := range got {
		if v == nil || v.N != 7 || v != got[0] {
			t.Errorf("got %v at %p, want one value of 7", v, v)
		}
	}
	if err := storage.WriteShared(t.Context(), "value", value{N: 8}); err != nil {
		t.Fatal(err)
	}
	if v, err := storage.Shared[value](t.Context(), "value"); err != nil || v.N != 7 {
		t.Errorf("loaded again: %v, %v, want what was loaded first", v, err)
	}
	storage.Forget("value")
	if v, err := storage.Shared[value](t.Context(), "value"); err != nil || v.N != 8 {
		t.Errorf("forgotten and loaded: %v, %v, want 8", v, err)
	}
	storage.Forget("value")
	if _, err := storage.Shared[value](t.Context(), "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: error %v", err)
	}
	if err := os.WriteFile("broken", []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Shared[value](t.Context(), "broken"); err == nil || !strings.Contains(err.Error(), "broken:") {
		t.Errorf("broken: error %v, want one that names the file", err)
	}
}

// TestRetried checks that the log names a store that accepts no connection, but not for each attempt, and logs no other
// failure.
func TestRetried(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	broken := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Minute)
		tries := storage.Retries()
		for range 50 {
			storage.Retried(nil)
			storage.Retried(fmt.Errorf("a request: %w", broken))
			storage.Retried(fmt.Errorf("a request: %w", refused))
			time.Sleep(time.Second)
		}
		if got := storage.Retries() - tries; got != 150 {
			t.Errorf("%d tries are counted, want 150", got)
		}
	})
	if lines := strings.Count(log.String(), "\n"); lines != 2 || strings.Count(log.String(), "connection refused; trying again") != 2 {
		t.Errorf("50 seconds without a connection:\n%swant two lines that name the cause", log.String())
	}
}
