package main

import (
	"bytes"
	"cmp"
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
	return cmp.Or(checkNew(string(p), flag, subcommand), checkFolder(string(p), flag, subcommand))
}

// checkFolder returns an error if the folder of a new file does not exist.
func checkFolder(path, flag, subcommand string) error {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return withHelp(job.Usage("%s %s: no such folder; create it, or use another folder", flag, path), subcommand)
	}
	return nil
}

// checkNew returns an error if nothing new can be created at the path of a subcommand's flag; "" means none.
func checkNew(path, flag, subcommand string) error {
	if err := job.CheckPath(flag, path); err != nil {
		return withHelp(err, subcommand)
	}
	if _, err := os.Lstat(path); path != "" && !errors.Is(err, fs.ErrNotExist) {
		return &job.OutputExistsError{Reason: fmt.Sprintf("%s already exists; choose another %s", path, flag)}
	}
	return nil
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
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
