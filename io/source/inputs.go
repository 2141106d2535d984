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

// Inputs are blocks.Inputs whose files can be opened. The launcher holds the details of all files; who loads shared
// inputs gets those of a file when it opens that, from a file beside them that has 4096 (blocks.DetailsFiles).
type Inputs struct {
	*blocks.Inputs
	// LargeCompressed: a file of more than a split is compressed. Only the launcher knows.
	LargeCompressed bool

	details []*blocks.Details // of all files; nil: in the files beside path
	path    string            // of the shared inputs
}

// Share writes the inputs to the folder of a run that lasts, for Shared, and for storage.Shared of what is at path.
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

// Forget drops what this process has loaded of what Share wrote to path.
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

// Spool has the plain bytes of a file kept by the first to read all of it, beside path, where the inputs are to be.
func (in *Inputs) Spool(path string, file int) {
	in.path = path
	in.Inputs.Spool(file)
}

// spoolPath is where the first to read a file leaves its plain bytes, beside the shared inputs at path.
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

// Listed returns what is known of a file, and whether it was inspected. It does not open it.
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

// unpacks reports whether an inspected file is compressed, or may have pages that are.
func unpacks(f *blocks.File) bool { return f.Compression != "" || f.Positions > 0 }

// MayUnpack reports whether a file is compressed, or pages of it may be, as its inspection or else its name tells.
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

// open returns a file as its reader needs it, and the options by which it is read: this is where files are inspected
// that the planner has not. What is found is kept for who reads it again in this process.
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

// inOrder calls begin with the numbers below n, about width at a time, and end with what it returns, in ascending
// order, until one fails. Begin is told when nobody waits for it any more.
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
			return nil // never: wait panics as begin did
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

// InspectError says that a file cannot be read as was asked: it is not of its format, or lacks a column.
type InspectError struct{ Err error }

func (e *InspectError) Error() string { return e.Err.Error() }

func (e *InspectError) Unwrap() error { return e.Err }

// flights is how many requests to a store are on their way at a time, where their latency counts.
const flights = 32

func inFlight(path string) int {
	if storage.IsLocal(path) {
		return runtime.GOMAXPROCS(0)
	}
	return flights
}

// each calls do with the numbers below n in ascending order, so many
// at a time, until one fails. The error is that of the lowest number.
func each(ctx context.Context, n, width int, do func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	var wait parallel.Group
	for range min(width, n) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !failed.Load(); i = next.Add(1) - 1 {
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = do(int(i))
				}
				if errs[i] != nil {
					failed.Store(true) // those below i are on their way
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
