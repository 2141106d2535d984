package output

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
)

// rowsAtOnce is the maximum number of rows that are read in a batch.
const rowsAtOnce = 256

// fileRows yields the rows of a file, and reports whether to continue.
func fileRows[T any](ctx context.Context, file string, yield func(T, error) bool) bool {
	var none T
	content, err := storage.OpenFile(ctx, file)
	if err != nil {
		return yield(none, err)
	}
	defer content.Close()
	var rows *parquet.GenericReader[T]
	var left int64
	err = Sound(again, func() error {
		if err := FooterFits(content); err != nil {
			return err
		}
		opened, err := parquet.OpenFile(content, content.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err == nil {
			err = fits(opened.Schema(), parquet.SchemaOf(none))
		}
		if err == nil {
			rows, left = parquet.NewGenericReader[T](opened), opened.NumRows()
		}
		return err
	})
	if err != nil {
		return yield(none, fmt.Errorf("%s: %w", file, err))
	}
	defer rows.Close()                               //nolint:errcheck // it was read
	some := make([]T, max(0, min(left, rowsAtOnce))) // a damaged file may claim a negative number
	for left > 0 {
		n := 0
		err := Sound(again, func() (err error) {
			clear(some)
			n, err = rows.Read(some[:min(left, rowsAtOnce)])
			switch left -= int64(n); {
			case left == 0:
				return nil
			case n == 0 && err == nil: // avoids an endless loop
				return errDamaged
			default:
				return err // an io.EOF comes too early
			}
		})
		for i := range n {
			if !yield(some[i], nil) {
				return false
			}
		}
		if err != nil {
			return yield(none, fmt.Errorf("%s: %w", file, err))
		}
	}
	return true
}

// fits returns an error unless columns that file and rows share have the same type. Either may have columns that the
// other lacks.
func fits(file, rows *parquet.Schema) error {
	for _, path := range rows.Columns() {
		want, _ := rows.Lookup(path...)
		has, ok := file.Lookup(path...)
		if ok && (has.Node.Type().Kind() != want.Node.Type().Kind() || has.MaxRepetitionLevel != want.MaxRepetitionLevel) {
			return fmt.Errorf("column %s: it holds %v, not %v", path[0], has.Node.Type(), want.Node.Type())
		}
	}
	return nil
}

// again says what to do about a damaged file of an output.
const again = "run dedup again with --overwrite"

var errDamaged = errors.New("the file is damaged")

// Sound returns an error of read that a store or the end of a context has caused. If read fails otherwise, or panics,
// as the Parquet package does on some damaged files, the error says that the file is damaged, with the hint next.
func Sound(next string, read func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil && (err == nil || storage.Failed(err) || slices.ContainsFunc([]error{
			fs.ErrNotExist, context.Canceled, context.DeadlineExceeded,
		}, func(cause error) bool { return errors.Is(err, cause) })) {
			return
		}
		slog.Debug("file damaged", "error", err, "panic", p)
		err = fmt.Errorf("%w; %s", errDamaged, next)
	}()
	return read()
}

// FooterFits returns an error if the footer of a Parquet file claims to be larger than the file: the Parquet package
// allocates that much memory before it reads.
func FooterFits(content *storage.Content) error {
	var tail [8]byte // length of the footer, and a magic number
	if _, err := content.ReadAt(tail[:], content.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n := binary.LittleEndian.Uint32(tail[:4]); int64(n) > content.Size() {
		return errDamaged
	}
	return nil
}
