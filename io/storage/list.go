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

// Entry is a file as listed.
type Entry struct {
	Info
	Folder string // the folder it was found below; "": it was named itself
	Table  *Table // that it lies in; nil: none is known, or the argument names the file itself
}

// List returns the files that arg names, by path: a file itself, the files below a folder, or
// the matches of a pattern (see Match), which may be folders too, and only those if it ends in a
// slash. Folders that match but may not be read are an error; others on the way to matches are
// passed over. Names that begin with a dot, or with an underscore and have no ending, are left out
// unless they are given, as data lakes use them for what is not data. Below a folder, links to a folder are
// followed once, unless that is read anyway or leads back to the folder; below "**" they are left out.
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

// FoldersRead returns the local folders, without links, that List finds the files below for arg: that itself, those
// that match it, and those that links below them lead to.
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

// find finds the files that arg names, in a store.
func find(ctx context.Context, store Store, arg string) (w *walker, err error) {
	w = &walker{ctx: ctx, store: store, tables: map[string]*Table{}}
	info, missing := store.Stat(ctx, arg)
	switch {
	case missing == nil: // a name, not a pattern, even if it has a star in it
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

// hidden names are what users, systems and data lakes keep beside their data: those that begin with a dot,
// or with an underscore and have no ending (_SUCCESS, _temporary, but not __init__.py), and those of Windows.
func hidden(name string) bool {
	switch strings.ToLower(name) {
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
	read  []string // the folders, without links, that all files were sought below
	past  error    // why a folder was passed over

	listed []string          // the folders that all files were found below, links among them
	tables map[string]*Table // by a folder, absolute, that only has files of it

	foldersOnly bool // match
}

func (w *walker) add(info Info, folder string) error {
	if err := regular(info); err != nil {
		return err
	}
	w.found = append(w.found, Entry{Info: info, Folder: folder})
	return nil
}

// folder finds all files below folder.
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
		link := slices.Min(links) // a store lists them in any order
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

// isBelow reports whether what is at path is read with folder, or is that.
func isBelow(folder, path string) bool {
	rel, below := Rel(folder, path)
	return below && (rel == "." || !slices.ContainsFunc(strings.Split(rel, "/"), hidden))
}

// below finds the files below dir, which is folder or below it, and returns the links to folders there.
func (w *walker) below(dir, folder string) (links []string, err error) {
	enter := func(rel string) bool {
		w.see(Join(dir, rel))
		return !hidden(path.Base(rel))
	}
	for info, err := range w.store.List(w.ctx, dir, enter) {
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
			return nil, err
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

// follow returns what a link leads to, and anything else as it is. It does not look into folders,
// which may be large, or closed.
func (w *walker) follow(info Info) (target Info, toFolder bool, err error) {
	if info.Type&fs.ModeSymlink == 0 {
		return info, false, nil
	}
	target, err = w.store.Stat(w.ctx, info.Path)
	switch {
	case errors.Is(err, folderError{}):
		return Info{}, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return Info{}, false, fmt.Errorf("%s: the link leads nowhere; fix or remove it", info.Path)
	}
	return target, false, err
}

// pattern finds the files that match a pattern, and those below the folders that do.
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

// matches finds what matches p among the names below folder, which itself has the names above, and
// returns how many names do.
func (w *walker) matches(folder string, above []string, p pattern) (matched int, err error) {
	var folders []string // that match
	enter := func(rel string) bool {
		w.see(Join(folder, rel))
		whole, below := p.match(slices.Concat(above, strings.Split(rel, "/")), given)
		if whole {
			folders = append(folders, clean(Join(folder, rel)))
			return false // what is below it is found by that
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
			return 0, err
		case err != nil:
			// A link that leads nowhere has nothing below it that could match.
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

// passes reports whether a listing's error is of a folder between a pattern's first and its matches,
// which may not be read, as users have such folders beside theirs (lost+found).
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

// Names returns the names of the files and folders in a folder, in order. The error is fs.ErrNotExist if
// there is no such folder.
func Names(ctx context.Context, folder string) (names []string, err error) {
	store, err := At(folder)
	if err != nil {
		return nil, err
	}
	if _, ok := store.(local); ok { // whose List would ask for each file's size
		entries, err := readFolder(folder, "")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names, nil
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

// NamesIn is Names of a folder that may be missing, and has none then.
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
