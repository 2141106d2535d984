package storage

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Table is a folder whose log tells which of the files in it are the table. The others have rows that it no longer has.
type Table struct {
	Folder string
	Format string // Delta, Hudi or Iceberg
}

// What a table's folder has besides data.
const (
	deltaLog        = "_delta_log"
	hudiLog         = ".hoodie"
	icebergMetadata = "metadata" // if one of its files ends as below
	icebergEnding   = ".metadata.json"
)

// tableOf returns the table that there is if a file or folder has this name, nil if it says nothing of one.
func tableOf(name string) *Table {
	base := path.Base(name)
	iceberg := strings.HasSuffix(strings.TrimSuffix(base, ".gz"), icebergEnding)
	if base != deltaLog && base != hudiLog && !iceberg {
		return nil
	}
	folder, err := Abs(Dir(name))
	switch {
	case err != nil:
		return nil // the files found have no absolute paths either, which is an error
	case base == deltaLog:
		return &Table{folder, "Delta"}
	case base == hudiLog:
		return &Table{folder, "Hudi"}
	case path.Base(folder) == icebergMetadata:
		return &Table{Dir(folder), "Iceberg"}
	}
	return nil
}

// see notes the table that there is if a file or folder has this name.
func (w *walker) see(name string) {
	if t := tableOf(name); t != nil {
		w.tables[t.Folder] = t
	}
}

// inTables gives the files found their tables. If there may be data of one, which is Parquet in all formats, the
// folders above those that were listed are looked at, too.
func (w *walker) inTables() error {
	parquet := false
	for i := range w.found {
		parquet = parquet || strings.HasSuffix(w.found[i].Path, ".parquet")
	}
	looked := map[string]*Table{}
	for _, folder := range w.listed {
		named, err := Abs(folder)
		if err != nil {
			return err
		}
		real, err := Resolve(folder)
		if err != nil {
			return err
		}
		for _, folder := range []string{named, real} {
			t, err := w.above(folder, parquet, looked)
			if err != nil {
				return err
			}
			if t != nil {
				w.tables[named] = t
			}
		}
	}
	if len(w.tables) == 0 {
		return nil
	}
	abs := Absolute()
	for i := range w.found {
		at, err := abs(w.found[i].Path)
		if err != nil {
			return err
		}
		for up := Dir(at); up != at && w.found[i].Table == nil; at, up = up, Dir(up) {
			w.found[i].Table = w.tables[up]
		}
	}
	return nil
}

// above returns the table that a folder is in, by the names in its path and,
// if look is set, by what lies beside those, as far as that may be listed.
func (w *walker) above(folder string, look bool, looked map[string]*Table) (*Table, error) {
	for at := folder; ; {
		if t := tableOf(at); t != nil {
			return t, nil
		}
		up := Dir(at)
		if up == at || up == schemeOf(up) {
			return nil, nil
		}
		if look {
			t, ok := looked[up]
			if !ok {
				var err error
				if t, err = w.tableAt(up); err != nil {
					return nil, err
				}
				looked[up] = t
			}
			if t != nil {
				return t, nil
			}
		}
		at = up
	}
}

// tableAt returns the table that a folder is, nil if it is none or may
// not be listed. On a store that is three requests at once.
func (w *walker) tableAt(folder string) (*Table, error) {
	logs := []string{deltaLog, hudiLog, icebergMetadata}
	found, errs := make([]*Table, len(logs)), make([]error, len(logs))
	var wait sync.WaitGroup
	for i, log := range logs {
		wait.Go(func() {
			log := Join(folder, log)
			for info, err := range w.store.List(w.ctx, log, func(string) bool { return false }) {
				if err != nil && Failed(err) && !errors.Is(err, fs.ErrPermission) {
					errs[i] = err
				}
				if err != nil {
					continue
				}
				if found[i] = tableOf(log); found[i] == nil {
					found[i] = tableOf(info.Path)
				}
				if found[i] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	for _, t := range found {
		if t != nil {
			return t, nil
		}
	}
	return nil, errors.Join(errs...)
}
