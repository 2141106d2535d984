package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// OutputExistsError says that an output is there already, or in use.
type OutputExistsError struct{ Reason string }

func (e *OutputExistsError) Error() string { return e.Reason }

// Status is the exit status.
func (e *OutputExistsError) Status() int { return 3 }

// IsLocal reports whether a path is on a disk, as far as its name tells.
func IsLocal(path string) bool { return storage.IsLocal(path) }

// OpenObject opens an object by its URL.
func OpenObject(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := storage.OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Refused is err as the command line tells of it, where the output is not to be filled.
func Refused(err error) error {
	var (
		foreign *commit.RefusedError
		locked  *storage.LockedError
		fenced  *storage.FencedError
	)
	if errors.As(err, &foreign) || errors.As(err, &locked) || errors.As(err, &fenced) {
		return &OutputExistsError{Reason: err.Error()}
	}
	return err
}

// CheckPath returns a *UsageError for a path to write to, given by a flag, that no store has, or that a shell or another tool would
// take for something else.
func CheckPath(flag, path string) error {
	switch {
	case path == "-":
		return Usage("%s -: results go to files, not to standard output; give a path (./- is a file or folder called -)", flag)
	case path == "~" || strings.HasPrefix(path, "~/"):
		return Usage("%[1]s %[2]s: only a shell replaces ~ with your home folder; leave out the quotes, or write the whole path (./%[2]s is below the working folder)", flag, path)
	}
	if _, err := storage.At(path); err != nil {
		return Usage("%s %w", flag, err)
	}
	return nil
}

// CheckOutputNotInInput refuses an output below an input folder, or where a pattern looks or a link leads, which the next run would read.
func CheckOutputNotInInput(ctx context.Context, inputs []string, output string) error {
	output, err := OutputPath(output)
	if err != nil {
		return err
	}
	input, err := inputAbove(ctx, output, inputs)
	if err == nil && input != "" {
		return Usage("the output %s is below the input %s, so the next run would read it; choose another", output, input)
	}
	return err
}

// OutputPath is the absolute path of an output. It returns a *UsageError for one that cannot be a folder's.
func OutputPath(path string) (string, error) {
	path, err := storage.Resolve(path)
	if errors.Is(err, fs.ErrInvalid) {
		return "", Usage("%w; give another --output", err)
	}
	return path, err
}

// CheckTempNotInInput refuses temporary files below an input folder, or where a pattern looks, of a
// job that lists its input again. Temp is the folder for them, "" the system's.
func CheckTempNotInInput(ctx context.Context, inputs []string, temp string) error {
	temp = storage.TempParent(temp)
	input, err := inputAbove(ctx, temp, inputs)
	if err == nil && input != "" {
		return Usage("--temp-dir %s: temporary files there would be below the input %s and be read as input; give a folder elsewhere", temp, input)
	}
	return err
}

// inputAbove returns the input that a path is below, a folder or a pattern of any depth, or "".
func inputAbove(ctx context.Context, path string, inputs []string) (string, error) {
	path, err := storage.Resolve(path)
	if err != nil {
		return "", err
	}
	for _, input := range inputs {
		if input == "" { // not the working folder
			continue
		}
		reached, err := storage.Reaches(ctx, input, path)
		if err != nil {
			return "", err
		}
		if reached {
			return "pattern " + input, nil
		}
		folder, err := storage.Resolve(input)
		if err != nil {
			continue // what is wrong with the input says who reads it
		}
		if isBelow(folder, path) {
			if _, err := storage.Names(ctx, folder); err == nil { // a folder
				return "folder " + input, nil
			}
		}
		read, err := storage.FoldersRead(ctx, input)
		if err != nil {
			continue
		}
		if i := slices.IndexFunc(read, func(folder string) bool { return isBelow(folder, path) }); i >= 0 {
			return fmt.Sprintf("folder %s, which is read for %s", read[i], input), nil
		}
	}
	return "", nil
}

func isBelow(folder, path string) bool {
	_, below := storage.Rel(folder, path)
	return below
}

// CheckInputNotInOutput refuses input files below the output, if there is one, which this run would replace. Temp is where
// standard input may have been copied to.
func CheckInputNotInOutput(paths iter.Seq[string], output, temp string) error {
	if output == "" {
		return nil
	}
	output, err := storage.Resolve(output)
	if err != nil {
		return err
	}
	resolve := storage.Resolver()
	for file := range paths {
		path, err := resolve(file)
		if err != nil {
			return err
		}
		_, inOutput := storage.Rel(output, path)
		if _, inTemp := storage.Rel(temp, file); inOutput && !inTemp {
			return Usage("the input %s is below the output %s, which would be replaced; choose another output", file, output)
		}
	}
	return nil
}

// noTemp says which folder cannot hold temporary files, and why.
func noTemp(parent string, err error) error {
	failed := storage.Failed(err)
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	if parent == "" {
		return fmt.Errorf("temporary files in %s: %w; give a folder with --temp-dir", storage.TempParent(""), err)
	}
	switch {
	case failed:
		return fmt.Errorf("--temp-dir %s: %w; give another folder", parent, err)
	case errors.Is(err, fs.ErrNotExist):
		return Usage("--temp-dir %s: no such folder; make it, or give another", parent)
	default:
		return Usage("--temp-dir %s: %w; give another folder", parent, err)
	}
}

// RunTemp is the folder for the temporary files of a run below parent, "" for the system's.
func RunTemp(ctx context.Context, parent, run string) (string, error) {
	folder, err := storage.Resolve(storage.TempParent(parent))
	if exists, unknown := storage.Exists(ctx, folder); err == nil && unknown == nil && storage.IsLocal(folder) && !exists {
		err = fs.ErrNotExist // a mistyped one is not made
	}
	if err != nil {
		return "", noTemp(parent, err)
	}
	return commit.TempFolder(folder, run), nil
}

// Begin makes an output the run's to commit. Parent is the folder that was asked for as that of temporary files.
func Begin(ctx context.Context, parent string, o commit.Options) (*commit.Commit, error) {
	c, err := commit.Begin(ctx, o)
	if err == nil {
		return c, nil
	}
	if temp := (*commit.TempError)(nil); errors.As(err, &temp) {
		return nil, noTemp(parent, err)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &UsageError{Reason: err}
	}
	return nil, Refused(err)
}

// InTempFolder calls do with a folder for temporary files below parent, "" for the system's, and removes
// it at the end, interrupted or not.
func InTempFolder(ctx context.Context, parent string, do func(temp string) error) error {
	temp, err := storage.TempFolder(ctx, parent)
	if err != nil {
		return noTemp(parent, err)
	}
	return errors.Join(do(temp), storage.RemoveAll(context.WithoutCancel(ctx), temp))
}
