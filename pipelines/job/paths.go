package job

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/blocks"
)

// OutputExistsError says that an output is there already, or in use: exit status 3.
type OutputExistsError struct{ Reason string }

func (e *OutputExistsError) Error() string { return e.Reason }

// CheckOutputNotInInput refuses an output below an input folder, which the next run would read.
func CheckOutputNotInInput(inputs []string, output string) error {
	input, err := folderAbove(output, inputs)
	if err == nil && input != "" {
		return Usage("the output %s is below the input folder %s, so the next run would read it; choose another", output, input)
	}
	return err
}

// CheckTempNotInInput refuses temporary files below an input folder, of a job that lists its input
// again.
func CheckTempNotInInput(inputs []string, temp string) error {
	input, err := folderAbove(temp, inputs)
	if err == nil && input != "" {
		return Usage("--temp-dir %s: temporary files there would be below the input folder %s and be read as input; give a folder elsewhere", temp, input)
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

// CheckInputNotInOutput refuses input files below the output, which this run would replace. temp is where
// standard input may have been copied to.
func CheckInputNotInOutput(files []blocks.File, output, temp string) error {
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
			return Usage("the input %s is below the output %s, which would be replaced; choose another output", file.Path, output)
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
