package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Entry is a listed file.
type Entry struct {
	Info
	Folder string // the folder below which it was found; "": the argument names the file
	Table  *Table // the table that contains it; nil: none is known, or the argument names the file
	Err    error  // why a link, or a folder below Folder, cannot be read; nil: none is known
}

// List returns the files that arg names, sorted by path: a file itself, the files below a folder, or the matches of
// a pattern (see Match). Matches may be folders, too, and must be if the pattern ends in a slash. A folder that
// matches but cannot be read is an error; other unreadable folders on the way to matches are ignored. Links that
// cannot be read, and such folders below a folder, have entries, because the caller may leave them out. Names that
// begin with a dot, or with an underscore and have no ending, are left out unless they are given, because data lakes
// use them for files that are not data. Below a folder, List follows each link to a folder once, unless that folder
// is read anyway or contains the first; below "**" it ignores such links.
func List(ctx context.Context, arg string) (entries []Entry, err error) {
	store, err := At(arg)
	if err != nil {
		return nil, err
	}
	w, err := find(ctx, store, arg)
	if err != nil {
		return nil, err
	}
	if err := w.inTables(); err != nil {
		return nil, err
	}
	slices.SortFunc(w.found, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return w.found, nil
}

// FoldersRead returns the local folders, with links resolved, below which List finds the files of arg: arg itself, the
// folders that match it, and those to which links below them lead.
func FoldersRead(ctx context.Context, arg string) ([]string, error) {
	if !IsLocal(arg) {
		return nil, nil
	}
	w, err := find(ctx, localTypes{}, arg)
	if err != nil {
		return nil, err
	}
	return w.read, nil
}

// find finds the files that arg names in a store.
func find(ctx context.Context, store Store, arg string) (w *walker, err error) {
	w = &walker{ctx: ctx, store: store, tables: map[string]*Table{}}
	info, missing := store.Stat(ctx, arg)
	switch {
	case missing == nil: // a name, not a pattern, even if it contains a star
		err = w.add(info, "")
	case !errors.Is(missing, fs.ErrNotExist):
		return nil, missing
	default:
		w.listed = []string{arg}
		err = w.folder(arg)
		if errors.Is(err, fs.ErrNotExist) {
			err = missing
			if IsPattern(arg) {
				err = w.pattern(arg)
			}
		}
	}
	return w, err
}

// hidden reports whether a name is one that users, systems and data lakes give to files other than data: it begins with
// a dot, or with an underscore and has no ending (_SUCCESS, _temporary, but not __init__.py), or is one of Windows'.
// Keys of a store may have empty names, of which path.Base makes a single dot.
func hidden(name string) bool {
	switch strings.ToLower(name) {
	case ".":
		return false
	case "desktop.ini", "ehthumbs.db", "thumbs.db":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") && path.Ext(name) == ""
}

// walker finds the files that one argument names.
type walker struct {
	ctx   context.Context
	store Store
	found []Entry
	read  []string // folders, with links resolved, below which files were sought
	past  error    // why a folder was ignored

	listed []string          // folders below which all files were found, including links to folders
	tables map[string]*Table // by absolute folder, which has only files of the table

	foldersOnly bool // only folders may match
}

func (w *walker) add(info Info, folder string) error {
	if err := regular(info); err != nil {
		return err
	}
	w.found = append(w.found, Entry{Info: info, Folder: folder})
	return nil
}

// folder finds all files below folder and behind the links there.
func (w *walker) folder(folder string) error {
	links, err := w.below(folder, folder)
	if err != nil {
		return err
	}
	here, err := Resolve(folder)
	if err != nil {
		return err
	}
	read := []string{here}
	defer func() { w.read = append(w.read, read...) }()
	for err == nil && len(links) > 0 {
		link := slices.Min(links) // stores list links in any order
		links = slices.DeleteFunc(links, func(l string) bool { return l == link })
		target, failed := Resolve(link)
		if failed != nil {
			return failed
		}
		_, back := Rel(target, read[0])
		if back || slices.ContainsFunc(read, func(folder string) bool { return isBelow(folder, target) }) {
			continue
		}
		read = append(read, target)
		w.listed = append(w.listed, link)
		var more []string
		more, err = w.below(link, folder)
		links = append(links, more...)
	}
	return err
}

// isBelow reports whether path is folder, or is read when folder is read.
func isBelow(folder, path string) bool {
	rel, below := Rel(folder, path)
	return below && (rel == "." || !slices.ContainsFunc(strings.Split(rel, "/"), hidden))
}

// below finds the files below dir, which is folder or a folder below it, and returns the links to folders there.
func (w *walker) below(dir, folder string) (links []string, err error) {
	enter := func(rel string) bool {
		w.see(Join(dir, rel))
		return !hidden(path.Base(rel))
	}
	for info, err := range w.store.List(w.ctx, dir, enter) {
		if at := (*fs.PathError)(nil); errors.Is(err, fs.ErrPermission) && errors.As(err, &at) {
			if rel, below := Rel(dir, at.Path); below && rel != "." {
				w.found = append(w.found, Entry{Info: Info{Path: clean(at.Path)}, Folder: folder, Err: err})
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		w.see(info.Path)
		if hidden(path.Base(info.Path)) {
			continue
		}
		info.Path = clean(info.Path)
		target, toFolder, err := w.follow(info)
		if err != nil {
			w.found = append(w.found, Entry{Info: info, Folder: folder, Err: err})
			continue
		}
		if toFolder {
			links = append(links, info.Path)
		}
		if toFolder || regular(target) != nil {
			continue // pipes and sockets hold no documents
		}
		if err := w.add(target, folder); err != nil {
			return nil, err
		}
	}
	return links, nil
}

// follow returns the target of a link, and other files unchanged. It does not open folders, which may be large, or
// unreadable.
func (w *walker) follow(info Info) (target Info, toFolder bool, err error) {
	if info.Type&fs.ModeSymlink == 0 {
		return info, false, nil
	}
	target, err = w.store.Stat(w.ctx, info.Path)
	switch {
	case errors.Is(err, isFolder):
		return Info{}, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return Info{}, false, fmt.Errorf("%s: the symbolic link's target does not exist; fix or remove the link", info.Path)
	}
	return target, false, err
}

// pattern finds the files that match a pattern, and the files below the folders that match.
func (w *walker) pattern(arg string) error {
	bare := strings.TrimRight(arg, "/")
	w.foldersOnly = bare != arg
	base, p, err := splitPattern(bare)
	if err != nil {
		return err
	}
	w.listed = []string{base}
	if whole, _ := p.match(nil, given); whole {
		return w.folder(base) // base/**
	}
	matched, err := w.matches(base, nil, p)
	if err != nil {
		return err
	}
	if matched == 0 && w.past != nil {
		return w.past
	}
	if matched == 0 {
		return fmt.Errorf("pattern %s: %w", arg, fs.ErrNotExist)
	}
	return nil
}

// matches finds the files and folders below folder that match p, and returns their number. above are the names that
// lead from the pattern's base to folder.
func (w *walker) matches(folder string, above []string, p pattern) (matched int, err error) {
	var folders []string // folders that match
	enter := func(rel string) bool {
		w.see(Join(folder, rel))
		whole, below := p.match(slices.Concat(above, strings.Split(rel, "/")), given)
		if whole {
			folders = append(folders, clean(Join(folder, rel)))
			return false // w.folder finds what is below
		}
		return below || path.Base(rel) == icebergMetadata
	}
	for info, err := range w.store.List(w.ctx, folder, enter) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if w.passes(folder, above, p, err) {
			w.past = err
			continue
		}
		if err != nil {
			return 0, err
		}
		w.see(info.Path)
		names := slices.Concat(above, strings.Split(relative(folder, info.Path), "/"))
		info.Path = clean(info.Path)
		whole, below := p.match(names, given)
		linked := info.Type&fs.ModeSymlink != 0
		if !whole && (!linked || !below || p.levels() < len(names)) {
			continue
		}
		target, toFolder, err := w.follow(info)
		switch {
		case err != nil && whole && !w.foldersOnly:
			matched++
			w.found = append(w.found, Entry{Info: info, Err: err})
		case err != nil:
			// A dangling link has nothing below it that could match.
		case !whole && toFolder:
			w.listed = append(w.listed, info.Path)
			n, err := w.matches(info.Path, names, p)
			if err != nil {
				return 0, err
			}
			matched += n
		case whole && toFolder && p.levels() >= len(names):
			w.listed = append(w.listed, info.Path)
			folders = append(folders, info.Path)
		case whole && !toFolder && !w.foldersOnly:
			matched++
			if err := w.add(target, ""); err != nil {
				return 0, err
			}
		}
	}
	for _, f := range folders {
		if err := w.folder(f); err != nil {
			return 0, err
		}
	}
	return matched + len(folders), nil
}

// passes reports whether err concerns an unreadable folder on the way from a pattern's base to its matches: users have
// such folders beside their own (lost+found).
func (w *walker) passes(folder string, above []string, p pattern, err error) bool {
	var at *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return false
	}
	names := above
	if rel, below := strings.CutPrefix(at.Path, strings.TrimSuffix(folder, "/")+"/"); below && rel != "" {
		names = slices.Concat(above, strings.Split(rel, "/"))
	}
	whole, _ := p.match(names, given)
	return len(names) > 0 && !whole
}

// Names returns the names of the files and folders in a folder, in order. The error is fs.ErrNotExist if there is no
// such folder.
func Names(ctx context.Context, folder string) (names []string, err error) {
	store, err := At(folder)
	if err != nil {
		return nil, err
	}
	if IsLocal(folder) {
		store = localTypes{}
	}
	for info, err := range store.List(ctx, folder, func(rel string) bool { names = append(names, rel); return false }) {
		if err != nil {
			return nil, err
		}
		names = append(names, relative(folder, info.Path))
	}
	slices.Sort(names)
	return names, nil
}

// NamesIn is like Names, but a missing folder has no names.
func NamesIn(ctx context.Context, folder string) ([]string, error) {
	names, err := Names(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// Exists reports whether there is a file or a folder at path.
func Exists(ctx context.Context, path string) (bool, error) {
	_, err := Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = Names(ctx, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
