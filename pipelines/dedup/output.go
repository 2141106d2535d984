package dedup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/records"
)

// Names in an output that only a running job has.
const (
	lockFile   = ".lock"
	tempPrefix = ".tmp-"
)

// outside refuses an output below an input folder, which the next run would read.
func outside(inputs []string, output string) error {
	input, err := folderAbove(output, inputs)
	if err == nil && input != "" {
		return usage("the output %s is below the input folder %s, so the next run would read it; choose another", output, input)
	}
	return err
}

// TempOutside refuses temporary files below an input folder, of a job that lists its input again.
func TempOutside(inputs []string, temp string) error {
	input, err := folderAbove(temp, inputs)
	if err == nil && input != "" {
		return usage("--temp-dir %s: temporary files there would be below the input folder %s and be read as input; give a folder elsewhere", temp, input)
	}
	return err
}

// folderAbove returns the input folder that a path is below, or "".
func folderAbove(path string, inputs []string) (string, error) {
	path, err := resolved(path)
	if err != nil {
		return "", err
	}
	for _, input := range inputs {
		folder, err := resolved(input)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(folder); err == nil && info.IsDir() && below(path, folder) {
			return input, nil
		}
	}
	return "", nil
}

// apart refuses input files below the output, which this run would replace. temp is where
// standard input may have been copied to.
func apart(files []blocks.File, output, temp string) error {
	output, err := resolved(output)
	if err != nil {
		return err
	}
	for _, file := range files {
		path, err := resolved(file.Path)
		if err != nil {
			return err
		}
		if below(path, output) && !below(file.Path, temp) {
			return usage("the input %s is below the output %s, which would be replaced; choose another output", file.Path, output)
		}
	}
	return nil
}

// resolved is the absolute path without links, as far as it exists.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
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
	case names[records.SuccessFile] && !overwrite:
		return &OutputExistsError{folder + " holds a finished output; give --overwrite to replace it, or another --output"}
	case others && !names[records.RunFile]:
		return &OutputExistsError{folder + " is not empty and no output of neardup; give another --output"}
	}
	return nil
}

// clean removes what earlier runs wrote, but the folder work: first the mark that it is whole, last
// the mark that it is ours.
func clean(output, work string) error {
	names := append([]string{records.SuccessFile, records.ManifestName}, outputs...)
	for _, name := range append(names, records.RunFile) {
		if err := os.RemoveAll(filepath.Join(output, name)); err != nil {
			return err
		}
	}
	left, err := os.ReadDir(output)
	if err != nil {
		return err
	}
	for _, e := range left {
		path := filepath.Join(output, e.Name())
		if !strings.HasPrefix(e.Name(), tempPrefix) || path == work {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// publish moves tables and corpus from the folder made, where workers wrote them, to the output.
func publish(made, output string, names ...string) error {
	for _, name := range names {
		err := os.Rename(filepath.Join(made, name), filepath.Join(output, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
