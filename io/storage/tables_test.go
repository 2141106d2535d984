package storage_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// inTable reports whether a file lies in a table, given all names there are.
func inTable(names []string, file string) bool {
	for folder := path.Dir(file); ; folder = path.Dir(folder) {
		for _, name := range names {
			rel, below := strings.CutPrefix("/"+name, strings.TrimSuffix("/"+strings.TrimPrefix(folder, "."), "/")+"/")
			log, _, _ := strings.Cut(rel, "/")
			iceberg, _ := path.Match("metadata/*.metadata.json", rel)
			if below && (log == "_delta_log" || log == ".hoodie" || iceberg) {
				return true
			}
		}
		if folder == "." {
			return false
		}
	}
}

// TestTables checks that, of the files found by any folder or pattern, those that lie in a table at any depth are
// recognized as such, whatever part of the table is given. A file given by its own name never is.
func TestTables(t *testing.T) {
	file := rapid.SampledFrom([]string{"x.parquet", "y.parquet", "_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json",
		"metadata/0-1.gz.metadata.json", "metadata/x.parquet", "metadata/metadata.json.parquet", "v2.metadata.json.parquet", "deep/metadata/sub/x.metadata.json.parquet"})
	folder := rapid.SampledFrom([]string{"", "a/", "b/", "a/b/", "b/b/", "a/c/a/"})
	arg := rapid.SampledFrom([]string{"", "a", "b", "a/b", "b/b", "a/c/a", "a/metadata", "a/_delta_log", "*", "?", "*/", "a/*", "*/*", "*/*/*", "**", "**/x*", "a/*.parquet",
		"*/*.parquet", "*/b/*.parquet", "a/c/*/x.parquet", "**/metadata/*.parquet", "{a,b}/?/", "_delta_log/*", "a/x.parquet", "x.parquet"})
	tables := 0
	for _, scheme := range []string{"", "tables://"} {
		t.Run(scheme, rapid.MakeCheck(func(rt *rapid.T) {
			names := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return folder.Draw(t, "folder") + file.Draw(t, "file") }), 1, 8, rapid.ID).Draw(rt, "names")
			at := t.TempDir()
			if scheme != "" {
				storage.Register(scheme, &storagetest.Memory{})
				at = scheme + "b/lake"
			}
			for _, name := range names {
				if _, err := storage.WriteFile(t.Context(), storage.Join(at, name), nothing); err != nil {
					rt.Fatal(err)
				}
			}
			arg := arg.Draw(rt, "arg")
			entries, err := storage.List(t.Context(), strings.TrimSuffix(at+"/"+arg, "/"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				rt.Fatal(err)
			}
			for _, e := range entries {
				rel, _ := storage.Rel(at, e.Path)
				want := inTable(names, rel) && !slices.Contains(names, arg)
				if got := e.Table != nil; got != want {
					rt.Errorf("List(%q): %s is in the table %v, want %t", arg, rel, e.Table, want)
				}
				if want {
					tables++
				}
			}
		}))
	}
	if tables < 100 {
		t.Errorf("%d files of tables were found, too few to tell", tables)
	}
}

// TestTablesOfLinks checks that a link to a part of a table counts as part of it.
func TestTablesOfLinks(t *testing.T) {
	plant(t, "lake/t/_delta_log/0.json", "lake/t/day=1/x.parquet", "in/own.parquet", "alone/", "lake/t/linked/")
	link(t, "../lake/t/day=1", "in/link")
	link(t, "../../../in", "lake/t/linked/in")
	link(t, "lake/t/day=1", "day")
	for arg, want := range map[string]string{
		"in": "in/link/x.parquet", "day": "day/x.parquet", "d*": "day/x.parquet", "d*/*": "day/x.parquet", "in/*": "in/link/x.parquet",
		"lake/t/linked/in": "lake/t/linked/in/link/x.parquet lake/t/linked/in/own.parquet",
	} {
		entries, err := storage.List(t.Context(), arg)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			if e.Table != nil {
				got = append(got, e.Path)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("List(%q): %q are in tables, want %q", arg, got, want)
		}
	}
}

// closed is a store in which only names below a prefix may be listed.
type closed struct {
	storagetest.Memory
	open string
}

func (c *closed) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	if strings.HasPrefix(folder, c.open) {
		return c.Memory.List(ctx, folder, enter)
	}
	return func(yield func(storage.Info, error) bool) {
		yield(storage.Info{}, &fs.PathError{Op: "list", Path: folder, Err: fs.ErrPermission})
	}
}

// TestTablesClosed checks that a user who may list only their own folder can read it.
func TestTablesClosed(t *testing.T) {
	store := &closed{open: "closed://b/mine"}
	storage.Register("closed://", store)
	for _, name := range []string{"closed://b/_delta_log/0.json", "closed://b/mine/in/x.parquet"} {
		if _, err := storage.WriteFile(t.Context(), name, nothing); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := storage.List(t.Context(), "closed://b/mine/in")
	if err != nil || len(entries) != 1 || entries[0].Table != nil {
		t.Errorf("%v, %v", entries, err)
	}
	store.open = "closed://b"
	if entries, err = storage.List(t.Context(), "closed://b/mine/in"); err != nil || entries[0].Table == nil {
		t.Errorf("once it may be seen: %v, %v", entries, err)
	}
}
