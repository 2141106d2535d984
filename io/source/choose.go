package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/io/storage"
)

// dataEndings are those of data in formats that are not read, or whose names tell no format.
var dataEndings = []string{
	".7z", ".arrow", ".avro", ".db", ".doc", ".docx", ".feather", ".orc", ".pdf", ".txt", ".xlsx", ".xml", ".zip",
}

// besides are kinds of data that also stand beside others, as notes and lists do.
var besides = []string{"csv", "txt", "xml"}

// besidesShare: such data counts if it is more than one part in so many of a folder's bytes.
const besidesShare = 20

// kind is the data of one format in an input folder.
type kind struct {
	name  string // of a format, or an ending without its dot
	read  bool   // it is a format's
	files int
	bytes int64
	first string // path
}

func (k kind) String() string {
	if k.files == 1 {
		return fmt.Sprintf("%s (%s)", k.name, k.first)
	}
	return fmt.Sprintf("%s (%d files, such as %s)", k.name, k.files, k.first)
}

// pick returns the entries that Include, Exclude and Before leave.
func (o Options) pick(entries []storage.Entry) (picked []storage.Entry, err error) {
	if len(o.Include)+len(o.Exclude) == 0 && o.Before.IsZero() {
		return entries, nil
	}
	for _, e := range entries {
		included, err := matchesAny(o.Include, e)
		if err != nil {
			return nil, err
		}
		excluded, err := matchesAny(o.Exclude, e)
		if err != nil {
			return nil, err
		}
		late := !o.Before.IsZero() && !e.Modified.Before(o.Before)
		if (included || len(o.Include) == 0) && !excluded && !late {
			picked = append(picked, e)
		}
	}
	return picked, nil
}

// matchesAny reports whether one of patterns matches e or a folder that it is in, below the input folder.
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
				break // the folders of a file that is named itself are not asked for
			}
		}
	}
	return false, nil
}

// choose sorts the files that arg names by path and gives each its format, "" to those that are skipped. Below a folder the files of one format are
// read, the asked one or else the only one. If none is of the one asked for, the names say nothing and all are taken.
// Data of another format is an error, or skipped if o says so; what is no data is skipped. Only is the format that was preferred
// to others for its bytes, if one was.
func (o Options) choose(ctx context.Context, arg string, entries []storage.Entry) (names, skipped []string, only string, err error) {
	slices.SortFunc(entries, func(a, b storage.Entry) int { return cmp.Compare(a.Path, b.Path) })
	var asked format
	if o.Format != "" {
		if asked, err = formatNamed(o.Format); err != nil {
			return nil, nil, "", err
		}
	}
	names = make([]string, len(entries)) // of their kinds, first
	found := map[string]*kind{}
	for i, e := range entries {
		name, read, err := o.kindOf(ctx, e, asked)
		if err != nil {
			return nil, nil, "", err
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
	main, preferred, err := o.mainKind(arg, entries, found)
	if err != nil {
		return nil, nil, "", err
	}
	if preferred {
		only = main
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
			return nil, nil, "", fmt.Errorf("%s: the name tells no format; give --format (%s)", e.Path, strings.Join(Formats(), ", "))
		}
	}
	return names, skipped, only, nil
}

// kindOf tells the format of a file, or the ending of other data, by its name; "" if that is no data's. A name
// that may be JSON Lines is told by the content.
func (o Options) kindOf(ctx context.Context, e storage.Entry, asked format) (name string, read bool, err error) {
	if asked.named(e.Path) {
		return asked.name, true, nil
	}
	f, known := formatOf(e.Path)
	switch {
	case !known:
		ending := path.Ext(bytefile.TrimEnding(strings.ToLower(e.Path)))
		if slices.Contains(dataEndings, ending) {
			name = ending[1:]
		}
		return name, false, nil
	case f.name == "json" && o.Format == "":
		head, err := bytefile.Head(ctx, &blocks.File{Path: e.Path, Size: e.Size, Version: e.Version}, o.reading())
		if err == nil && jsonl.InLines(head) {
			return "jsonl", true, nil
		}
		return f.name, true, err
	}
	return f.name, true, nil
}

// mainKind returns the kind of data that is read of a folder; "": all that has a format is. It is preferred if there is data of other
// kinds, and none was asked for.
func (o Options) mainKind(arg string, entries []storage.Entry, found map[string]*kind) (name string, preferred bool, err error) {
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
	// The one that is read.
	main := asked
	for _, k := range slices.Concat(counting, kinds) {
		if main == nil && (k.read || o.Format != "") {
			main = k
		}
	}
	several := slices.ContainsFunc(counting, func(k *kind) bool { return k != main })
	switch {
	case main == nil || o.Format == "files":
		return "", false, nil
	case several && !o.SkipUnknown:
		var all []string
		for _, k := range kinds {
			if k == main || slices.Contains(counting, k) {
				all = append(all, k.String())
			}
		}
		return "", false, fmt.Errorf("%s: data of several formats: %s; choose with --include or --exclude, or read only %s with --skip-unknown",
			arg, strings.Join(all, ", "), main.name)
	case asked == nil && o.Format != "" && len(counting) <= 1:
		return "", false, nil // its name says nothing
	}
	return main.name, several && main != asked, nil
}
