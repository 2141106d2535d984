package source

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/io/storage"
)

// Inputs are blocks.Inputs whose files can be opened. The launcher holds the details of all files. A process that loads
// shared inputs reads a file's details when it opens it, from a file of 4096 of them (blocks.DetailsFiles).
type Inputs struct {
	*blocks.Inputs
	// LargeCompressed says that a compressed file is larger than a split. Only the launcher knows.
	LargeCompressed bool

	details []*blocks.Details // of all files; nil: stored beside path
	path    string            // of the shared inputs
}

// Share writes the inputs to path, in a folder that lasts for the run, where Shared and storage.Shared load them.
func (in *Inputs) Share(ctx context.Context, path string) error {
	in.path = path
	err := each(ctx, len(in.details), inFlight(path), func(i int) error {
		return storage.WriteShared(ctx, detailsPath(path, i), in.details[i])
	})
	if err != nil {
		return err
	}
	return storage.WriteShared(ctx, path, in.Inputs)
}

// Forget drops what this process has loaded of the inputs that Share wrote to path.
func (in *Inputs) Forget(path string) {
	storage.Forget(path)
	for i := range in.details {
		storage.Forget(detailsPath(path, i))
	}
}

// Shared returns the inputs that the launcher shared at path, loaded once per process.
func Shared(ctx context.Context, path string) (*Inputs, error) {
	in, err := storage.Shared[blocks.Inputs](ctx, path)
	if err != nil {
		return nil, err
	}
	return &Inputs{Inputs: in, path: path}, nil
}

func detailsPath(path string, i int) string { return fmt.Sprintf("%s-%04d", path, i) }

// Spool makes the first read of a whole file keep its unpacked bytes beside path, where the inputs will be shared.
func (in *Inputs) Spool(path string, file int) {
	in.path = path
	in.Inputs.Spool(file)
}

// spoolPath returns the path, beside the shared inputs, at which the first read of a file keeps its unpacked bytes.
func spoolPath(path string, file int) string {
	return storage.Join(storage.Dir(path), "plain-"+strconv.Itoa(file))
}

func (in *Inputs) detailsOf(ctx context.Context, file int) (*blocks.Details, error) {
	i := file / blocks.DetailsFiles
	if i < len(in.details) {
		return in.details[i], nil
	}
	return storage.SharedBeside[blocks.Details](ctx, detailsPath(in.path, i))
}

// Listed returns what is known of a file without opening it, and whether the file was inspected.
func (in *Inputs) Listed(ctx context.Context, file int) (f *blocks.File, inspected bool, err error) {
	details, err := in.detailsOf(ctx, file)
	if err != nil {
		return nil, false, err
	}
	listed := in.File(file)
	inspected, err = details.Complete(file, &listed)
	if in.Spooled(file) && (!inspected || unpacks(&listed)) {
		listed.Spool = spoolPath(in.path, file)
	}
	return &listed, inspected, err
}

// unpacks reports whether an inspected file is compressed, or may have compressed pages.
func unpacks(f *blocks.File) bool { return f.Compression != "" || f.Positions > 0 }

// MayUnpack reports whether a file is compressed, or may have compressed pages, by its inspection or else by its name.
func (in *Inputs) MayUnpack(ctx context.Context, file int) (bool, error) {
	f, inspected, err := in.Listed(ctx, file)
	if err != nil || inspected {
		return err == nil && unpacks(f), err
	}
	if format, err := formatNamed(f.Format); err != nil || format.rows {
		return err == nil, err
	}
	name := strings.ToLower(f.Source)
	return bytefile.TrimEnding(name) != name || path.Ext(name) == ".tgz", nil
}

// open returns a file as its reader needs it, with the options to read it. It inspects a file that the planner has not,
// and keeps the result for later reads in this process.
func (in *Inputs) open(
	ctx context.Context, file int, of Options,
) (f *blocks.File, r reading.RecordReader, o Options, err error) {
	o = of.of(in.Standing(file))
	f, inspected, err := in.Listed(ctx, file)
	if err != nil {
		return nil, nil, o, err
	}
	r, err = readerOf(f)
	if err != nil || inspected {
		return f, r, o, err
	}
	if err := o.inspect(ctx, r, f); err != nil {
		return nil, nil, o, &InspectError{err}
	}
	if !unpacks(f) {
		f.Spool = ""
	}
	details, err := in.detailsOf(ctx, file)
	if err != nil {
		return nil, nil, o, err
	}
	details.Keep(file, f)
	return f, r, o, nil
}

// inOrder calls begin with the numbers below n, about width at a time, and end with the results in ascending order,
// until one fails. It cancels begin's context once the results are no longer needed.
func inOrder[T any](
	ctx context.Context, n, width int, begin func(ctx context.Context, i int) (T, error), end func(T) error,
) error {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	begun := make(chan chan result, width-1)
	var wait parallel.Group
	defer wait.Wait()
	defer cancel()
	wait.Go(func() {
		defer close(begun)
		for i := range n {
			found := make(chan result, 1)
			select {
			case begun <- found:
			case <-ctx.Done():
				return
			}
			wait.Go(func() {
				defer close(found)
				value, err := begin(ctx, i)
				found <- result{value, err}
			})
		}
	})
	for found := range begun {
		r, ok := <-found
		if !ok {
			return nil // begin has panicked, and wait will
		}
		if r.err == nil {
			r.err = end(r.value)
		}
		if r.err != nil {
			return r.err
		}
	}
	return ctx.Err()
}

// InspectError says that a file cannot be read as asked: it does not have the format, or lacks a column.
type InspectError struct{ Err error }

func (e *InspectError) Error() string { return e.Err.Error() }

func (e *InspectError) Unwrap() error { return e.Err }

// flights is the number of concurrent requests to a store, where latency counts.
const flights = 32

func inFlight(path string) int {
	if storage.IsLocal(path) {
		return runtime.GOMAXPROCS(0)
	}
	return flights
}

// each calls do with the numbers below n in ascending order, up to width at a time, until one fails. It returns the
// error of the lowest number.
func each(ctx context.Context, n, width int, do func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	var wait parallel.Group
	for range min(width, n) {
		wait.Go(func() {
			for !failed.Load() {
				i := next.Add(1) - 1 // is done whatever fails now, as lower numbers than a failed one must be
				if i >= int64(n) {
					return
				}
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = do(int(i))
				}
				if errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
