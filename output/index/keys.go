package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// Key says that a document of a segment has a key of a band, of which it is the first KeyBits bits. The rows of the
// segment's files of documents are counted through: rows of any file would differ in more bits.
type Key struct {
	Key int64 `parquet:"key,delta"`
	Row int64 `parquet:"row,delta"`
}

// KeyBits is the length of a key. A false equality is only one more edge.
const KeyBits = 40

// keyGroup is how many rows a row group has: of one in which no key is sought, only the footer is read.
const keyGroup = 1 << 15

// KeysFile is the name below a segment of the keys of a shard of a band.
func KeysFile(band, shard int) string { return fmt.Sprintf("keys/%03d-%05d.parquet", band, shard) }

// WriteKeys writes keys in ascending order.
func WriteKeys(w io.Writer, keys iter.Seq[Key], metadata map[string]string) error {
	out := parquet.NewGenericWriter[Key](w, append(output.WriterOptions(metadata),
		parquet.MaxRowsPerRowGroup(keyGroup), parquet.Compression(&parquet.Uncompressed))...) // random bits
	batch := make([]Key, 0, 1024)
	for k := range keys {
		if batch = append(batch, k); len(batch) < cap(batch) {
			continue
		}
		if _, err := out.Write(batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	if _, err := out.Write(batch); err != nil {
		return err
	}
	return out.Close()
}

// Find calls found for each row of a file of keys whose key is one of those wanted, which ascend and differ.
func Find(ctx context.Context, path string, wanted []int64, found func(Key)) error {
	rest := wanted
	within := func(least, greatest int64) bool {
		first, _ := slices.BinarySearch(wanted, least)
		end, _ := slices.BinarySearch(wanted, greatest+1)
		rest = wanted[first:max(first, end)]
		return len(rest) > 0
	}
	return read(ctx, path, within, func(keys []int64, rows func() ([]int64, error)) error {
		for at := 0; len(rest) > 0; rest = rest[1:] {
			next, has := slices.BinarySearch(keys[at:], rest[0])
			for at += next; has && at < len(keys) && keys[at] == rest[0]; at++ {
				all, err := rows()
				if err != nil {
					return err
				}
				found(Key{keys[at], all[at]})
			}
		}
		return nil
	})
}

// ReadKeys calls do for each row of the row groups of a file of keys that may have one within bounds, as reported.
func ReadKeys(ctx context.Context, path string, within func(least, greatest int64) bool, do func(Key)) error {
	return read(ctx, path, within, func(keys []int64, rows func() ([]int64, error)) error {
		all, err := rows()
		if err != nil {
			return err
		}
		for i, key := range keys {
			do(Key{key, all[i]})
		}
		return nil
	})
}

// check is what to do about a file that cannot be read.
const check = "neardup index check says what is damaged"

// read calls do with the keys of row groups, and with what reads their rows.
func read(
	ctx context.Context, path string, within func(least, greatest int64) bool,
	do func(keys []int64, rows func() ([]int64, error)) error,
) error {
	content, err := storage.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer content.Close()
	err = output.Sound(check, func() error {
		file, err := parquet.OpenFile(content, content.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			return fmt.Errorf("%w; %s", err, check)
		}
		var keys, rows []int64
		for i, group := range file.RowGroups() {
			columns := group.ColumnChunks()
			if len(columns) != 2 {
				return fmt.Errorf("a file of keys has %d columns", len(columns))
			}
			least, greatest := int64(0), int64(1)<<KeyBits
			of := &file.Metadata().RowGroups[i].Columns[0].MetaData.Statistics
			if len(of.MinValue) == 8 && len(of.MaxValue) == 8 {
				least, greatest = int64(binary.LittleEndian.Uint64(of.MinValue)), int64(binary.LittleEndian.Uint64(of.MaxValue))
			}
			if !within(least, greatest) {
				continue
			}
			if keys, err = readColumn(keys[:0], columns[0]); err != nil {
				return err
			}
			rows = rows[:0]
			err := do(keys, func() ([]int64, error) {
				if len(rows) > 0 {
					return rows, nil
				}
				if rows, err = readColumn(rows, columns[1]); err == nil && len(rows) != len(keys) {
					err = fmt.Errorf("a row group has %d keys and %d rows", len(keys), len(rows))
				}
				return rows, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readColumn appends the values of a column of a row group.
func readColumn(dst []int64, chunk parquet.ColumnChunk) ([]int64, error) {
	pages := chunk.Pages()
	defer pages.Close() //nolint:errcheck // it was read
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
		n := len(dst)
		dst = slices.Grow(dst, int(page.NumValues()))[:n+int(page.NumValues())]
		reader, ok := page.Values().(parquet.Int64Reader)
		if !ok {
			return dst, fmt.Errorf("a column of keys is %v", chunk.Type())
		}
		if got, err := reader.ReadInt64s(dst[n:]); got < len(dst)-n {
			return dst, fmt.Errorf("a page has %d of %d values: %w", got, len(dst)-n, err)
		}
		parquet.Release(page)
	}
}
