package storage_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func TestListPatternsOfAnyDepth(t *testing.T) {
	plant(t, "a/b.jsonl", "a/x/b.jsonl", "a/x/y/b.jsonl", "a/x/y/c.jsonl", "a/.git/b.jsonl", "a/x/.b.jsonl", "a/_tmp/b.jsonl",
		"a/__init__.py", "other/b.jsonl", "a/x/_SUCCESS", "a/d.jsonl/part")
	link(t, "../other", "a/linked")
	link(t, "../b.jsonl", "a/x/again.jsonl")
	link(t, "..", "a/x/y/circle")
	link(t, "nowhere", "a/x/y/dangling")
	all := []string{"a/b.jsonl", "a/d.jsonl/part", "a/x/again.jsonl", "a/x/b.jsonl", "a/x/y/b.jsonl", "a/x/y/c.jsonl"}
	for arg, want := range map[string][]string{
		"a/**/b.jsonl":           {"a/b.jsonl", "a/x/b.jsonl", "a/x/y/b.jsonl"},
		"**/b.jsonl":             {"a/b.jsonl", "a/x/b.jsonl", "a/x/y/b.jsonl", "other/b.jsonl"},
		"a/**/*.jsonl":           all, // the files of a folder are included, and so is a link to a file
		"a/**/**/*.jsonl":        all,
		"a/*/**/b.jsonl":         {"a/linked/b.jsonl", "a/x/b.jsonl", "a/x/y/b.jsonl"}, // the star is one level
		"a/*/b.jsonl":            {"a/linked/b.jsonl", "a/x/b.jsonl"},
		"a/**/y/*":               {"a/x/y/b.jsonl", "a/x/y/c.jsonl", "a/x/y/dangling"}, // an entry with an error
		"a/**/y/[bc].jsonl":      {"a/x/y/b.jsonl", "a/x/y/c.jsonl"},
		"a/**/y":                 {"a/x/y/b.jsonl", "a/x/y/c.jsonl", "a/x/y/dangling"}, // an entry with an error
		"a/.git/**/b.jsonl":      {"a/.git/b.jsonl"},
		"a/.*/b.jsonl":           {"a/.git/b.jsonl"},
		"a/**/.b.jsonl":          {"a/x/.b.jsonl"},
		"a/**/_SUCCESS":          {"a/x/_SUCCESS"},
		"a/{x,linked}/b.jsonl":   {"a/linked/b.jsonl", "a/x/b.jsonl"},
		"a/x/y/{b,c}.jsonl":      {"a/x/y/b.jsonl", "a/x/y/c.jsonl"},
		"a/x**/b.jsonl":          {"a/x/b.jsonl"}, // within a name ** means *
		"./a//**/../a/*.jsonl":   nil,
		"a/x/[!y]*.jsonl":        {"a/x/again.jsonl", "a/x/b.jsonl"},
		"a/x/\\[!y]*.jsonl":      nil,
		"a/**/part":              {"a/d.jsonl/part"},
		"a/d.jsonl/**":           {"a/d.jsonl/part"},
		"other/**":               {"other/b.jsonl"},
		"other/**/b.jsonl/**":    {"other/b.jsonl"},
		"a/**/x/**/y/**/b.json*": {"a/x/y/b.jsonl"},
	} {
		entries, err := storage.List(t.Context(), arg)
		var got []string
		for _, e := range entries {
			got = append(got, e.Path)
		}
		if want == nil {
			if err == nil {
				t.Errorf("List(%q) = %q, want an error", arg, got)
			}
			continue
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("List(%q) = %v\n got %q\nwant %q", arg, err, got, want)
		}
	}
}

// TestListBracketsInNames checks that a name is not treated as a pattern, in any folder.
func TestListBracketsInNames(t *testing.T) {
	plant(t, "out[1]/a", "out[1]/sub/b*", "out1/no", "{x,y}/c", "x/no")
	for arg, want := range map[string][]string{
		"out[1]":        {"out[1]/a", "out[1]/sub/b*"},
		"out[1]/a":      {"out[1]/a"},
		"out[1]/sub/b*": {"out[1]/sub/b*"},
		`out\[1]/*`:     {"out[1]/a", "out[1]/sub/b*"},
		"out[1]/*":      {"out1/no"},
		"{x,y}":         {"{x,y}/c"},
		`\{x,y}/*`:      {"{x,y}/c"},
	} {
		if got := list(t, arg); !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, want %q", arg, got, want)
		}
	}
}

// TestListFoldersOnly checks that a slash at the end of a pattern excludes files, in any store.
func TestListFoldersOnly(t *testing.T) {
	names := []string{"l1.jsonl", "l2.jsonl/x", "l3.jsonl/y/l4.jsonl", "l3.jsonl/y/l5.jsonl/z"}
	plant(t, names...)
	storage.Register("folders://", &storagetest.Memory{})
	for _, name := range names {
		if _, err := storage.WriteFile(t.Context(), "folders://b/"+name, nothing); err != nil {
			t.Fatal(err)
		}
	}
	for _, bucket := range []string{"", "folders://b/"} {
		for arg, want := range map[string][]string{
			"l*.jsonl/":      {"l2.jsonl/x", "l3.jsonl/y/l4.jsonl", "l3.jsonl/y/l5.jsonl/z"},
			"l2*//":          {"l2.jsonl/x"},
			"l3*/*/":         {"l3.jsonl/y/l4.jsonl", "l3.jsonl/y/l5.jsonl/z"},
			"l3*/**/l*/":     {"l3.jsonl/y/l5.jsonl/z"},
			"l3*/**/l5*/":    {"l3.jsonl/y/l5.jsonl/z"},
			"l3.jsonl/y/**/": {"l3.jsonl/y/l4.jsonl", "l3.jsonl/y/l5.jsonl/z"},
		} {
			got := list(t, bucket+arg)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], bucket)
			}
			if !slices.Equal(got, want) {
				t.Errorf("List(%q) = %q, want %q", bucket+arg, got, want)
			}
		}
		if _, err := storage.List(t.Context(), bucket+"l1*/"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("only a file: error %v, want fs.ErrNotExist", err)
		}
	}
	link(t, "l3.jsonl", "m1")
	link(t, "l1.jsonl", "m2")
	link(t, "nowhere", "m3")
	if got, want := list(t, "m*/"), []string{"m1/y/l4.jsonl", "m1/y/l5.jsonl/z"}; !slices.Equal(got, want) {
		t.Errorf("links: %q, want %q", got, want)
	}
}

// TestListEmptyNames: keys of a store may have empty names of folders, which are not hidden.
func TestListEmptyNames(t *testing.T) {
	storage.Register("empty://", &storagetest.Memory{})
	keys := []string{"empty://b/in//x", "empty://b/in/./x", "empty://b/in/y//x", "empty://b/in/z"}
	for _, key := range append(keys, "empty://b/in/.z/x") {
		if _, err := storage.WriteFile(t.Context(), key, nothing); err != nil {
			t.Fatal(err)
		}
	}
	for _, arg := range []string{"empty://b/in", "empty://b/in/**"} {
		if got := list(t, arg); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(keys))) {
			t.Errorf("List(%q) = %q, want %q", arg, got, keys)
		}
	}
}

// asked is a store that records which folders were entered.
type asked struct {
	storage.Store
	entered []string
}

func (a *asked) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	if !strings.Contains(folder, "*") { // it may be a name
		a.entered = append(a.entered, folder)
	}
	return a.Store.List(ctx, folder, func(rel string) bool {
		in := enter(rel)
		if in {
			a.entered = append(a.entered, folder+"/"+rel)
		}
		return in
	})
}

// TestListEntersLittle checks that, in any store, no folder is entered that cannot contain a match.
func TestListEntersLittle(t *testing.T) {
	store := &asked{Store: &storagetest.Memory{}}
	storage.Register("asked://", store)
	for _, name := range []string{"data/a.jsonl", "data/sub/b.jsonl", "data/sub/deep/c.jsonl", "data/tub/d.jsonl", "data/.git/e.jsonl", "other/f.jsonl"} {
		if _, err := storage.WriteFile(t.Context(), "asked://b/"+name, nothing); err != nil {
			t.Fatal(err)
		}
	}
	for arg, want := range map[string]struct{ files, entered string }{
		"data/*.jsonl":        {"data/a.jsonl", "data"},
		"data/s*/*.jsonl":     {"data/sub/b.jsonl", "data data/sub"},
		"data/**/d.jsonl":     {"data/tub/d.jsonl", "data data/sub data/sub/deep data/tub"},
		"data/sub/**/*.jsonl": {"data/sub/b.jsonl data/sub/deep/c.jsonl", "data/sub data/sub/deep"},
		"data/*/deep/**":      {"data/sub/deep/c.jsonl", "data data/sub data/sub/deep data/tub"},
		"data/s*":             {"data/sub/b.jsonl data/sub/deep/c.jsonl", "data data/sub data/sub/deep"},
		"data":                {"data/a.jsonl data/sub/b.jsonl data/sub/deep/c.jsonl data/tub/d.jsonl", "data data/sub data/sub/deep data/tub"},
		"other/f.jsonl":       {"other/f.jsonl", ""},
	} {
		store.entered = nil
		entries, err := storage.List(t.Context(), "asked://b/"+arg)
		if err != nil {
			t.Errorf("List(%q): %v", arg, err)
		}
		var files []string
		for _, e := range entries {
			files = append(files, strings.TrimPrefix(e.Path, "asked://b/"))
		}
		slices.Sort(store.entered)
		entered := strings.ReplaceAll(strings.Join(slices.Compact(store.entered), " "), "asked://b/", "")
		if got := strings.Join(files, " "); got != want.files || entered != want.entered {
			t.Errorf("List(%q) = %s, entered %q, want %s, entered %q", arg, got, entered, want.files, want.entered)
		}
	}
	for _, arg := range []string{"missing", "missing/*", "data/*.tsv", "data/x**"} {
		if _, err := storage.List(t.Context(), "asked://b/"+arg); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("List(%q): error %v, want fs.ErrNotExist", arg, err)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/*", "a/b", true}, {"a/*", "a/b/c", false}, {"a/**", "a/b/c", true}, {"a/**", "a", true}, {"**", "a/b", true},
		{"**/c", "a/b/c", true}, {"**/c", "c", true}, {"a/**/c", "a/c", true}, {"a/**/c", "b/c", false}, {"a*/**/c", "ab/x/c", true},
		{"*", ".hidden", true}, {"[ab].{x,y}", "b.y", true}, {"[^ab]", "c", true}, {"[!ab]", "a", false}, {`\*`, "*", true}, {`\*`, "a", false},
		{"/a/*", "/a/b", true}, {"?", "文", true}, {"", "", true}, {"a", "a/b", false},
	} {
		if got, err := storage.Match(tt.pattern, tt.name); got != tt.want || err != nil {
			t.Errorf("Match(%q, %q) = %v, %v", tt.pattern, tt.name, got, err)
		}
		if !strings.ContainsAny(tt.pattern, "{!") && !strings.Contains(tt.pattern, "**") {
			if got, _ := path.Match(tt.pattern, tt.name); got != tt.want {
				t.Errorf("path.Match(%q, %q) = %v", tt.pattern, tt.name, got)
			}
		}
	}
	for bad, why := range map[string]string{
		"[": `unmatched [; write \[ to match a literal [`, "a/[b": "unmatched [", "[a/b]": "unmatched [", `[a\]`: "unmatched [",
		"[]": "[] is empty", "x[!]]": "[!] is empty",
		`a\`: `nothing follows a \`, `a\/b`: `nothing follows a \`,
		"{a/b,c}": "braces cannot contain a slash; use two patterns", "x{a,{b}/}": "braces cannot contain a slash",
	} {
		_, err := storage.Match(bad, "elsewhere")
		if want := "pattern " + bad + ": " + why; !errors.Is(err, path.ErrBadPattern) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Match(%q): error %v, want %s", bad, err, want)
		}
	}
}

// TestBraces checks that one brace without the other has no meaning.
func TestBraces(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{`y\{z}*`, "y{z}1", true}, {`y\{z\}*`, "y{z}1", true}, {"y}*", "y}1", true}, {"y{*", "y{1", true}, {"y{z", "y{z", true},
		{"{{a,b}", "{b", true}, {"{a,b}}", "b}", true}, {"a{b,{c,d}", "a{b,d", true}, {"{a,{b,c}d}", "cd", true}, {"{z}", "z", true},
		{"}{", "}{", true}, {"a{/b}", "a{/b}", false}, {"[{]x", "{x", true}, {"{[}],a}", "}", true}, {"{[,],a}b", ",b", true}, {"{[,],a}b", "ab", true},
		{"[a-}]", "b", true}, {"[,-9]", "5", true}, {"[^{]", "{", false}, {`[\]}]`, "}", true}, {`{a\,b,c}`, "a,b", true}, {`{a\}`, "{a}", true},
	} {
		got, err := storage.Match(tt.pattern, tt.name)
		if strings.Contains(tt.pattern, "/") { // names cannot have braces on both sides of a slash
			if err == nil {
				t.Errorf("Match(%q): no error", tt.pattern)
			}
			continue
		}
		if got != tt.want || err != nil {
			t.Errorf("Match(%q, %q) = %v, %v", tt.pattern, tt.name, got, err)
		}
	}
	plant(t, "y{z}1", "y{z}2/x", "yz", "y}3", "{a/b}", "c{")
	for arg, want := range map[string][]string{
		`y\{z}*`: {"y{z}1", "y{z}2/x"}, `y\{z}1`: {"y{z}1"}, `y\{z}2`: {"y{z}2/x"}, `y\{z}2/*`: {"y{z}2/x"}, `\y{z}`: {"yz"}, "y}*": {"y}3"}, "y{z}": {"yz"},
		`\{a/b}`: {"{a/b}"}, "{a/b*": {"{a/b}"}, "*{": {"c{"}, `c\{`: {"c{"},
	} {
		if got := list(t, arg); !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, want %q", arg, got, want)
		}
	}
	for _, missing := range []string{"x{", "x{y", "x}", `x\{`} {
		if _, err := storage.List(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("List(%q): error %v, want fs.ErrNotExist", missing, err)
		}
	}
}

func TestSplitPatterns(t *testing.T) {
	for patterns, want := range map[string][]string{
		"a": {"a"}, "a,b": {"a", "b"}, "": {""}, "a,": {"a", ""}, "{a,b}": {"{a,b}"}, "x/{a,{b,c}},d": {"x/{a,{b,c}}", "d"},
		"y{z,b": {"y{z", "b"}, "y},b": {"y}", "b"}, "{y,{a,b},c": {"{y", "{a,b}", "c"}, "[,x],y": {"[,x]", "y"}, `a\,b,c`: {`a\,b`, "c"}, `\{a,b\}`: {`\{a`, `b\}`},
	} {
		if got, err := storage.SplitPatterns(patterns); err != nil || !slices.Equal(got, want) {
			t.Errorf("SplitPatterns(%q) = %q, %v, want %q", patterns, got, err, want)
		}
	}
	for _, bad := range []string{"a,[b", "{a/b,c}", `a,\`} {
		if got, err := storage.SplitPatterns(bad); !errors.Is(err, path.ErrBadPattern) || !strings.Contains(err.Error(), bad) {
			t.Errorf("SplitPatterns(%q) = %q, %v", bad, got, err)
		}
	}
}

// TestListDeeply checks that patterns with many "**" take hardly any time.
func TestListDeeply(t *testing.T) {
	deep := strings.Repeat("a/", 60) + "b"
	if got, err := storage.Match(strings.Repeat("**/a/", 6)+"c", deep); got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	plant(t, "x")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.List(t.Context(), "**/a/**/a/**/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// disk is the local file system under a scheme. In it, a folder called "closed" may not be read, and reading one called
// "half" fails at the end.
type disk struct {
	storage.Store
	listed []string
}

func openDisk(t *testing.T, scheme string) *disk {
	t.Helper()
	local, err := storage.At(".")
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{Store: local}
	storage.Register(scheme, d)
	return d
}

// rest returns the local path of a path with a scheme.
func rest(name string) string { _, name, _ = strings.Cut(name, "://"); return name }

func (d *disk) Stat(ctx context.Context, name string) (storage.Info, error) {
	info, err := d.Store.Stat(ctx, rest(name))
	info.Path = name
	return info, err
}

func (d *disk) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		d.listed = append(d.listed, folder)
		if d.list(ctx, folder, "", enter, yield) && path.Base(folder) == "half" {
			yield(storage.Info{}, &fs.PathError{Op: "list", Path: folder, Err: fs.ErrPermission})
		}
	}
}

// list walks folders by itself, as the local store does, and fails at closed ones.
func (d *disk) list(ctx context.Context, folder, rel string, enter func(string) bool, yield func(storage.Info, error) bool) bool {
	at := strings.TrimSuffix(folder+"/"+rel, "/")
	if real, err := filepath.EvalSymlinks(rest(at)); err == nil && path.Base(real) == "closed" {
		return yield(storage.Info{}, &fs.PathError{Op: "open", Path: at, Err: fs.ErrPermission})
	}
	var folders []string
	for info, err := range d.Store.List(ctx, rest(at), func(name string) bool { folders = append(folders, name); return false }) {
		if info.Path = at + strings.TrimPrefix(info.Path, rest(at)); !yield(info, err) {
			return false
		}
	}
	for _, name := range folders {
		if name = path.Join(rel, name); (enter == nil || enter(name)) && !d.list(ctx, folder, name, enter, yield) {
			return false
		}
	}
	return true
}

// TestListLinksUnread checks that the target of a link to a folder is not read just to learn that it is a folder.
func TestListLinksUnread(t *testing.T) {
	plant(t, "in/a", "closed/", "large/b")
	link(t, "../closed", "in/to-closed")
	link(t, "../large", "in/to-large")
	d := openDisk(t, "links://")
	for arg, want := range map[string]string{"in": "links://in", "in/?": "links://in", "in/**": "links://in", "in/**/a": "links://in"} {
		d.listed = nil
		entries, err := storage.List(t.Context(), "links://"+arg)
		if err != nil || len(entries) != 1 {
			t.Errorf("List(%q): %d entries, error %v", arg, len(entries), err)
		}
		for _, folder := range d.listed {
			if folder != want && !strings.Contains(folder, "*") && !strings.Contains(folder, "?") {
				t.Errorf("List(%q) reads %s", arg, folder)
			}
		}
	}
	if _, err := storage.List(t.Context(), "links://in/to-closed"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the link itself: error %v, want fs.ErrPermission", err)
	}
}

// TestListPassesClosed checks that a folder that may not be read, but does not match, hides nothing else.
func TestListPassesClosed(t *testing.T) {
	plant(t, "in/a/x", "in/closed/x", "in/d/x", "only/closed/x", "linked/a/x", "closed/x", "half/x")
	link(t, "../closed", "linked/b")
	openDisk(t, "closed://")
	for arg, want := range map[string][]string{
		"in/*/x":     {"in/a/x", "in/d/x"},
		"in/**/x":    {"in/a/x", "in/d/x"},
		"linked/*/x": {"linked/a/x"},
		"in/*":       nil, // it matches
		"in/*d":      nil,
		"in/*/**":    nil,
		"in/**":      {"in/a/x", "in/closed", "in/d/x"}, // an entry with an error
		"in":         {"in/a/x", "in/closed", "in/d/x"},
		"linked/*":   nil,
		"closed/*":   nil, // it was given by name
		"half/*":     nil,
		"only/*/x":   nil, // nothing else matches
	} {
		entries, err := storage.List(t.Context(), "closed://"+arg)
		if want == nil {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("List(%q): error %v, want fs.ErrPermission", arg, err)
			}
			continue
		}
		var got []string
		for _, e := range entries {
			got = append(got, rest(e.Path))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, %v, want %q", arg, got, err, want)
		}
	}
}
