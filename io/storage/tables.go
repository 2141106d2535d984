package storage

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Table is a folder whose log tells which of its files make up the table. Others hold rows that it no longer has.
type Table struct {
	Folder string
	Format string // Delta, Hudi or Iceberg
}

// Names in a table's folder besides those of data.
const (
	deltaLog        = "_delta_log"
	hudiLog         = ".hoodie"
	icebergMetadata = "metadata" // if one of its files has the ending below
	icebergEnding   = ".metadata.json"
)

// tableOf returns the table whose folder must contain a file or folder of this name, or nil if there is none.
func tableOf(name string) *Table {
	base := path.Base(name)
	iceberg := strings.HasSuffix(strings.TrimSuffix(base, ".gz"), icebergEnding)
	if base != deltaLog && base != hudiLog && !iceberg {
		return nil
	}
	folder, err := Abs(Dir(name))
	switch {
	case err != nil:
		return nil // List reports the same error for the files found
	case base == deltaLog:
		return &Table{folder, "Delta"}
	case base == hudiLog:
		return &Table{folder, "Hudi"}
	case path.Base(folder) == icebergMetadata:
		return &Table{Dir(folder), "Iceberg"}
	}
	return nil
}

// see notes the table to which a file or folder of this name belongs.
func (w *walker) see(name string) {
	if t := tableOf(name); t != nil {
		w.tables[t.Folder] = t
	}
}

// inTables sets the tables of the files found. If they may be data of a table, which is Parquet in all formats, it also
// looks at the folders above those listed.
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
	for i := range w.found {
		at, err := Abs(w.found[i].Path)
		if err != nil {
			return err
		}
		for up := Dir(at); up != at && w.found[i].Table == nil; at, up = up, Dir(up) {
			w.found[i].Table = w.tables[up]
		}
	}
	return nil
}

// above returns the table that contains a folder, judging by the names in its path and, if look is set, by the names
// beside those, as far as they can be listed.
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

// tableAt returns the table in a folder, or nil if there is none or the folder cannot be listed. On a store it sends
// three concurrent requests.
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
