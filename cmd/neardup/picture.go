package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/pipelines/job"
)

// picture is the path of an SVG file to write; "" means none.
type picture string

// check returns an error if a new picture cannot be written to the path of a subcommand's flag.
func (p picture) check(flag, subcommand string) error {
	if p == "" {
		return nil
	}
	if !strings.EqualFold(filepath.Ext(string(p)), ".svg") {
		return withHelp(job.Usage("%s %s: plots are written as SVG; use a name that ends in .svg", flag, p), subcommand)
	}
	if err := checkNew(string(p), flag, subcommand); err != nil {
		return err
	}
	return checkFolder(flag, string(p))
}

// checkFolder returns an error if the folder of a file to write does not exist; "" means no file.
func checkFolder(flag, path string) error {
	if info, err := os.Stat(filepath.Dir(path)); path != "" && (err != nil || !info.IsDir()) {
		return job.Usage("%s %s: folder %s does not exist; create it", flag, path, filepath.Dir(path))
	}
	return nil
}

// checkNew returns an error if nothing new can be created at the path of a subcommand's flag; "" means none.
func checkNew(path, flag, subcommand string) error {
	if err := job.CheckPath(flag, path); err != nil {
		return withHelp(err, subcommand)
	}
	_, err := os.Lstat(path)
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &job.UsageError{Reason: unwritten(flag, path, err)}
	default:
		return &job.OutputExistsError{Reason: fmt.Sprintf("%s already exists; choose another %s", path, flag)}
	}
}

// unwritten returns the error of writing the file path of a flag.
func unwritten(flag, path string, err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return fmt.Errorf("%s %s: %w; choose another path", flag, path, err)
}

// draws writes the picture of v, if one is requested.
func draws[T any](p picture, flag string, v T, svg func(io.Writer, T) error) error {
	if p == "" {
		return nil
	}
	var drawn bytes.Buffer
	if err := svg(&drawn, v); err != nil {
		return err
	}
	if err := os.WriteFile(string(p), drawn.Bytes(), 0o666); err != nil {
		return unwritten(flag, string(p), err)
	}
	return nil
}
