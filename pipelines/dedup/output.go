package dedup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Files of an output, besides the tables and the corpus.
const (
	runFile      = "run.json"
	manifestFile = "manifest.json"
	successFile  = "_SUCCESS"
	lockFile     = ".lock"
	tempPrefix   = ".tmp-"
)

// separate refuses an output below an input folder, which the next run would read, and inputs
// below the output, which this run would replace.
func separate(inputs []string, output string) error {
	for _, input := range inputs {
		if input == "-" {
			continue
		}
		path, err := filepath.Abs(input)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() && below(output, path) {
			return usage("the output %s is below the input folder %s, so the next run would read it; choose another", output, input)
		}
		if below(path, output) {
			return usage("the input %s is below the output %s, which would be replaced; choose another output", input, output)
		}
	}
	return nil
}

func below(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// OutputExistsError says that an output is there already, or in use.
type OutputExistsError struct{ Reason string }

func (e *OutputExistsError) Error() string { return e.Reason }

// checkFolder refuses a folder that is not ours to fill.
func checkFolder(folder string, overwrite bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names := map[string]bool{}
	others := false
	for _, e := range entries {
		names[e.Name()] = true
		others = others || !strings.HasPrefix(e.Name(), lockFile) && !strings.HasPrefix(e.Name(), tempPrefix)
	}
	switch {
	case names[successFile] && !overwrite:
		return &OutputExistsError{folder + " holds a finished output; give --overwrite to replace it, or another --output"}
	case others && !names[runFile]:
		return &OutputExistsError{folder + " is not empty and no output of neardup; give another --output"}
	}
	return nil
}

// clean removes what earlier runs wrote, but temp: first the mark that it is whole, last the mark
// that it is ours.
func clean(output, temp string) error {
	names := append([]string{successFile, manifestFile}, outputs...)
	for _, name := range append(names, runFile) {
		if err := os.RemoveAll(filepath.Join(output, name)); err != nil {
			return err
		}
	}
	left, err := filepath.Glob(filepath.Join(output, tempPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if path == temp {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// keepOnly removes all tables and the corpus but one.
func keepOnly(output, name string) (err error) {
	for _, other := range outputs {
		if other != name {
			err = errors.Join(err, os.RemoveAll(filepath.Join(output, other)))
		}
	}
	return err
}
