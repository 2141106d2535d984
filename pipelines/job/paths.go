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

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// OutputExistsError says that an output already exists, or is in use.
type OutputExistsError struct{ Reason string }

func (e *OutputExistsError) Error() string { return e.Reason }

// Status returns the exit status.
func (e *OutputExistsError) Status() int { return 3 }

// IsLocal reports whether a path is on a local disk, judging by its name.
func IsLocal(path string) bool { return storage.IsLocal(path) }

// OpenObject opens an object by its URL.
func OpenObject(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := storage.OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Refused returns err as the command line reports it: an *OutputExistsError if the output may not be written.
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

// CheckPath returns a *UsageError for a path to write to, given by a flag, that no store accepts, or that a shell or
// another tool would interpret differently.
func CheckPath(flag, path string) error {
	switch {
	case path == "-" && flag == "--temp-dir":
		return Usage("--temp-dir -: temporary files need a folder; give a path (./- is a folder called -)")
	case path == "-":
		return Usage("%s -: results go to files, not to standard output; give a path (./- is a file or "+
			"folder called -)", flag)
	case path == "~" || strings.HasPrefix(path, "~/"):
		return Usage("%[1]s %[2]s: only a shell replaces ~ with your home folder; remove any quotes around the path, or "+
			"write the full path (./%[2]s is in the working folder)", flag, path)
	}
	if _, err := storage.At(path); err != nil {
		return Usage("%s %w", flag, err)
	}
	return nil
}

// CheckOutputNotInInput returns a *UsageError for an output that the next run would read as input: below an input
// folder, or where a pattern or a link leads.
func CheckOutputNotInInput(ctx context.Context, inputs []string, output string) error {
	output, err := OutputPath(output)
	if err != nil {
		return err
	}
	input, err := inputAbove(ctx, output, inputs)
	if err == nil && input != "" {
		return Usage("the output %s is inside the input %s, so the next run would read it; choose another "+
			"--output", output, input)
	}
	return err
}

// OutputPath returns the absolute path of an output. It returns a *UsageError for a path that cannot be a folder's.
func OutputPath(path string) (string, error) {
	path, err := storage.Resolve(path)
	if errors.Is(err, fs.ErrInvalid) {
		return "", Usage("%w; choose another --output", err)
	}
	return path, err
}

// CheckTempNotInInput returns a *UsageError if temporary files would be below an input folder, or where a pattern
// matches, for a job that lists its input again. temp is the folder for them, or "" for the system's.
func CheckTempNotInInput(ctx context.Context, inputs []string, temp string) error {
	temp = storage.TempParent(temp)
	input, err := inputAbove(ctx, temp, inputs)
	if err == nil && input != "" {
		return Usage("--temp-dir %s: temporary files there would be inside the input %s and be read as input; use a folder "+
			"elsewhere", temp, input)
	}
	return err
}

// inputAbove returns the input, a folder or a pattern of any depth, that path is below, or "".
func inputAbove(ctx context.Context, path string, inputs []string) (string, error) {
	path, err := storage.Resolve(path)
	if err != nil {
		return "", err
	}
	for _, input := range inputs {
		if input == "" { // would resolve to the working folder
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
			continue // reading the input reports what is wrong with it
		}
		if isBelow(folder, path) {
			if _, err := storage.Names(ctx, folder); err == nil { // it is a folder
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

// CheckInputNotInOutput returns a *UsageError for input files below the output, which this run would replace. output is
// "" if there is none; temp may contain a copy of standard input.
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
		if path == output {
			return Usage("the output %s is an input file; choose another --output", file)
		}
		if _, inTemp := storage.Rel(temp, file); inOutput && !inTemp {
			return Usage("the input %s is inside the output %s, which would be replaced; choose another --output", file, output)
		}
	}
	return nil
}

// CheckCorpusNames returns a *UsageError for an input file, such as an object of a store, with a name that no file of a
// corpus on a disk can have.
func CheckCorpusNames(in *blocks.Inputs, output string) error {
	const longest = 255 // bytes, on all usual file systems
	if !storage.IsLocal(output) {
		return nil
	}
	for i := range in.Pieces.Len() {
		for name := range strings.SplitSeq(in.PieceName(i), "/") {
			if len(name) > longest {
				return Usage("%s: corpus/ on a disk cannot have a file of this name, which has more than %d bytes; rename the "+
					"input file, or use an --output in an object store",
					in.File(in.Pieces.At(i).File).Path, longest)
			}
		}
	}
	return nil
}

// noTemp returns the error for a folder that cannot hold temporary files.
func noTemp(parent string, err error) error {
	failed := storage.Failed(err)
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	where, next := "--temp-dir "+parent, "use another folder"
	if parent == "" {
		where, next = "cannot create temporary files in "+storage.TempParent(""), "name another folder with --temp-dir"
	}
	switch {
	case failed:
		return fmt.Errorf("%s: %w; %s", where, err, next)
	case storage.NotFolder(err):
		return Usage("%s: not a folder; %s", where, next)
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid):
		return Usage("%s: no such folder; create it, or %s", where, next)
	default:
		return Usage("%s: %w; %s", where, err, next)
	}
}

// RunTemp returns the folder for a run's temporary files below parent, or below the system's if parent is "".
func RunTemp(ctx context.Context, parent, run string) (string, error) {
	folder, err := storage.Resolve(storage.TempParent(parent))
	if exists, unknown := storage.Exists(ctx, folder); err == nil && unknown == nil && storage.IsLocal(folder) && !exists {
		err = fs.ErrNotExist // do not create a folder that may be mistyped
	}
	if err != nil {
		return "", noTemp(parent, err)
	}
	return commit.TempFolder(folder, run), nil
}

// Begin locks an output for the run to fill. parent is the folder for temporary files that was requested.
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

// InTempFolder calls do with a folder for temporary files below parent, or the system's if parent is "", and removes it
// at the end, even if ctx is done or do panics.
func InTempFolder(ctx context.Context, parent string, do func(temp string) error) (err error) {
	temp, err := storage.TempFolder(ctx, parent)
	if err != nil {
		return noTemp(parent, err)
	}
	defer func() { err = errors.Join(err, storage.RemoveAll(context.WithoutCancel(ctx), temp)) }()
	return do(temp)
}
