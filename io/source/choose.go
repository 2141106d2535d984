package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/io/storage"
)

// besides are the formats of files that often accompany other data, such as notes and lists.
var besides = []string{"csv", "html", "txt", "xml"}

// besidesShare says that these files count as data only above 1/besidesShare of a folder's bytes.
const besidesShare = 20

// kind is the data of one format in an input folder.
type kind struct {
	name  string // of a format, or a file name ending without its dot
	read  bool   // name is that of a format
	files int
	bytes int64
	first string // path of the first file
}

func (k kind) String() string {
	if k.files == 1 {
		return fmt.Sprintf("%s (%s)", k.name, k.first)
	}
	return fmt.Sprintf("%s (%d files, such as %s)", k.name, k.files, k.first)
}

// pick returns the entries that pass Include and Exclude. What cannot be read may contain anything, so only Exclude can
// leave it out.
func (o Options) pick(entries []storage.Entry) (picked []storage.Entry, err error) {
	for _, e := range entries {
		included, err := matchesAny(o.Include, e)
		if err != nil {
			return nil, err
		}
		excluded, err := matchesAny(o.Exclude, e)
		if err != nil {
			return nil, err
		}
		if e.Err != nil && !excluded {
			return nil, e.Err
		}
		if (included || len(o.Include) == 0) && !excluded {
			picked = append(picked, e)
		}
	}
	return picked, nil
}

// matchesAny reports whether one of patterns matches e, or a folder below the input folder that contains e.
func matchesAny(patterns []string, e storage.Entry) (bool, error) {
	name := e.Path
	if e.Folder != "" {
		name, _ = storage.Rel(e.Folder, e.Path)
	}
	for _, p := range patterns {
		for at := name; at != "." && at != "/"; at = path.Dir(at) {
			part := at
			if !strings.Contains(p, "/") {
				part = path.Base(at)
			}
			if ok, err := storage.Match(p, part); ok || err != nil {
				return ok, err
			}
			if part != at && e.Folder == "" {
				break // of a file argument, only the name is matched
			}
		}
	}
	return false, nil
}

// choose sorts entries by path and returns the format of each; "" for those it skips. Below a folder it chooses the
// files of one format: the one asked for, or else the only one. If no file is named for the format asked for, it
// ignores the names and takes all files. Data of another format is an error; files that are not data are skipped.
func (o Options) choose(
	ctx context.Context, arg string, entries []storage.Entry,
) (names, skipped []string, err error) {
	slices.SortFunc(entries, func(a, b storage.Entry) int { return cmp.Compare(a.Path, b.Path) })
	var asked format
	if o.Format != "" {
		if asked, err = formatNamed(o.Format); err != nil {
			return nil, nil, err
		}
	}
	inSaved := func(e storage.Entry) bool { return e.Folder != "" && saved.MatchString(path.Base(e.Path)) }
	if i := slices.IndexFunc(entries, inSaved); i >= 0 && o.Format == "" { // its JSON files hold no records
		return nil, nil, fmt.Errorf("%s: %s", arg, foreignOf(entries[i].Path).advice(entries[i].Path))
	}
	inLines, err := o.inLines(ctx, entries, asked)
	if err != nil {
		return nil, nil, err
	}
	names = make([]string, len(entries)) // first of their kinds, in the end of their formats
	found := map[string]*kind{}
	for i, e := range entries {
		name, read := o.kindOf(e, asked)
		if inLines[i] {
			name = "jsonl"
		}
		if names[i] = name; e.Folder == "" || name == "" {
			continue
		}
		if found[name] == nil {
			found[name] = &kind{name: name, read: read, first: e.Path}
		}
		found[name].files++
		found[name].bytes += e.Size
	}
	main, err := o.mainKind(arg, entries, found)
	if err != nil {
		return nil, nil, err
	}
	for i, e := range entries {
		name := o.Format
		switch {
		case e.Folder != "" && main != "" && names[i] != main:
			skipped, names[i] = append(skipped, e.Path), ""
			continue
		case name == "":
			name = names[i]
		}
		f, err := formatNamed(name)
		names[i] = f.name
		if err != nil && e.Folder != "" {
			skipped = append(skipped, e.Path)
			continue
		}
		if err != nil {
			return nil, nil, unread(e.Path, e.Path)
		}
	}
	return names, skipped, nil
}

// kindOf returns the format that a file's name implies, or the ending of a foreign kind, or "" if it knows neither. A
// file that is JSON by its name may hold JSON Lines.
func (o Options) kindOf(e storage.Entry, asked format) (name string, read bool) {
	if asked.named(e.Path) {
		return asked.name, true
	}
	f, ok := formatOf(e.Path)
	if !ok {
		return foreignOf(e.Path).ending, false
	}
	return f.name, true
}

// mostAlike is the maximum number of files that inLines opens to tell JSON Lines from JSON, as long as they agree.
const mostAlike = 1000

// inLines reports for each entry whether it is JSON by its name but holds JSON Lines; none does if a format is asked
// for. It first opens up to mostAlike, at even distances; if those agree, it assumes the same of the others, and
// inspect checks those taken for JSON Lines.
func (o Options) inLines(ctx context.Context, entries []storage.Entry, asked format) ([]bool, error) {
	found := make([]bool, len(entries))
	var unsure []int
	for i, e := range entries {
		if name, _ := o.kindOf(e, asked); name == "json" && o.Format == "" {
			unsure = append(unsure, i)
		}
	}
	if len(unsure) == 0 {
		return found, nil
	}
	look := func(some []int) error {
		return each(ctx, len(some), inFlight(entries[unsure[0]].Path), func(i int) error {
			e := entries[some[i]]
			head, err := o.head(ctx, &blocks.File{Path: e.Path, Size: e.Size, Version: e.Version})
			found[some[i]] = err == nil && jsonl.InLines(head)
			return err
		})
	}
	var some, others []int
	for i, at := range unsure {
		if n := min(len(unsure), mostAlike); i*n/len(unsure) != (i-1)*n/len(unsure) || i == 0 {
			some = append(some, at)
		} else {
			others = append(others, at)
		}
	}
	if err := look(some); err != nil {
		return nil, err
	}
	first := found[some[0]]
	if slices.ContainsFunc(some, func(at int) bool { return found[at] != first }) {
		return found, look(others)
	}
	for _, at := range others {
		found[at] = first
	}
	return found, nil
}

// head returns the beginning of a listed file's content.
func (o Options) head(ctx context.Context, file *blocks.File) ([]byte, error) {
	ctx, done := storage.Once(ctx)
	defer done()
	return bytefile.Head(ctx, file, o.reading())
}

// inspect inspects a file. It refuses a JSON file that was taken for JSON Lines because others with its ending are: the
// lines of JSON are not records.
func (o Options) inspect(ctx context.Context, r reading.RecordReader, file *blocks.File) error {
	if f, _ := formatOf(file.Source); f.name == "json" && file.Format == "jsonl" && o.Format == "" {
		head, err := bytefile.Head(ctx, file, o.reading())
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(head)) > 0 && !jsonl.InLines(head) {
			return fmt.Errorf("%s is JSON, but other files that end in .json are JSON Lines; leave one kind out with "+
				"--include or --exclude, or use --format", file.Path)
		}
	}
	ranked, _ := o.ranked(file)
	err := r.Inspect(ctx, file, ranked)
	if missing := (*codec.NoColumnError)(nil); errors.As(err, &missing) && file.Standing.There() {
		missing.Reference = true
		err = fmt.Errorf("--against %w", err)
	}
	if errors.As(err, new(*bytefile.UnsupportedError)) {
		if kind := foreignOf(file.Path); kind.name != "" && kind.converted() {
			err = fmt.Errorf("%s: %s; or leave it out with --exclude '*.%s'", file.Path, kind.advice(file.Path), kind.ending)
		}
	}
	return err
}

// mainKind returns the name of the kind of data to read from a folder; "" to read every file that has a format.
func (o Options) mainKind(arg string, entries []storage.Entry, found map[string]*kind) (name string, err error) {
	total := int64(0)
	for _, e := range entries {
		if e.Folder != "" {
			total += e.Size
		}
	}
	kinds := slices.SortedFunc(maps.Values(found), func(a, b *kind) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name))
	})
	asked := found[o.Format]
	counting := slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool {
		return k != asked && slices.Contains(besides, k.name) && k.bytes*besidesShare <= total
	})
	main := asked
	for _, k := range slices.Concat(counting, kinds) {
		if main == nil && (k.read || o.Format != "") {
			main = k
		}
	}
	several := slices.ContainsFunc(counting, func(k *kind) bool { return k != main })
	switch {
	case main == nil || o.Format == "files":
		return "", nil
	case several:
		var all []string
		for _, k := range kinds {
			if k == main || slices.Contains(counting, k) {
				all = append(all, k.String())
			}
		}
		plain := bytefile.TrimEnding(main.first)
		advice, ending := "choose with --include or --exclude, as in --include '*%s'", path.Ext(plain)+main.first[len(plain):]
		if o.ofReferences {
			advice = "give a pattern that matches files of one format only, as in '" + strings.TrimSuffix(arg, "/") + "/**/*%s'"
		}
		return "", fmt.Errorf("%s holds several formats: %s; "+advice, arg, strings.Join(all, ", "), ending)
	case asked == nil && o.Format != "" && len(counting) <= 1:
		return "", nil // the names do not tell the format
	}
	return main.name, nil
}
