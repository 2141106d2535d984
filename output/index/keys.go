package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// Key says that a document of a segment has a band key whose first KeyBits bits are Key. Row counts throughout the
// segment's files of documents, which needs fewer bits than a file and a row in it.
type Key struct {
	Key int64 `parquet:"key,delta"`
	Row int64 `parquet:"row,delta"`
}

// KeyBits is the length of a key. A chance match only adds an edge.
const KeyBits = 40

const (
	// keyGroup is the number of rows per row group. A group without a wanted key is skipped by its bounds in the footer.
	keyGroup = 1 << 15

	// keyPage is the number of rows per page. It is small, so that finding few keys reads few pages of rows.
	keyPage = 1 << 11
)

// KeysFile returns the name, below a segment, of the file of keys of a shard of a band.
func KeysFile(band, shard int) string { return fmt.Sprintf("keys/%03d-%05d.parquet", band, shard) }

// WriteKeys writes keys in ascending order.
func WriteKeys(w io.Writer, keys iter.Seq[Key], metadata map[string]string) error {
	out := parquet.NewGenericWriter[Key](w, append(output.WriterOptions(metadata),
		parquet.MaxRowsPerRowGroup(keyGroup), parquet.PageBufferSize(keyPage*8), parquet.DataPageStatistics(false),
		parquet.Compression(&parquet.Uncompressed))...) // random bits do not compress
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

// Find calls found for each row of a file of keys whose key is wanted. The wanted keys are distinct and ascend.
func Find(ctx context.Context, path string, wanted []int64, found func(Key)) error {
	rest := wanted
	within := func(least, greatest int64) bool {
		first, _ := slices.BinarySearch(wanted, least)
		end, _ := slices.BinarySearch(wanted, greatest+1)
		rest = wanted[first:max(first, end)]
		return len(rest) > 0
	}
	return read(ctx, path, within, func(keys []int64, rows *rows) error {
		for at := 0; len(rest) > 0; rest = rest[1:] {
			next, has := slices.BinarySearch(keys[at:], rest[0])
			for at += next; has && at < len(keys) && keys[at] == rest[0]; at++ {
				row, err := rows.at(at)
				if err != nil {
					return err
				}
				found(Key{keys[at], row})
			}
		}
		return nil
	})
}

// ReadKeys calls do for each row of the row groups of a file of keys whose range of keys within accepts.
func ReadKeys(ctx context.Context, path string, within func(least, greatest int64) bool, do func(Key)) error {
	return read(ctx, path, within, func(keys []int64, rows *rows) error {
		all, err := rows.all(len(keys))
		if err != nil {
			return err
		}
		for i, key := range keys {
			do(Key{key, all[i]})
		}
		return nil
	})
}

// check says what to do about a file that cannot be read.
const check = "neardup index check says what is damaged"

// read calls do with the keys and the rows of each row group that within accepts.
func read(
	ctx context.Context, path string, within func(least, greatest int64) bool, do func(keys []int64, rows *rows) error,
) error {
	content, err := storage.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer content.Close()
	err = output.Sound(check, func() error { return readGroups(content, within, do) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readGroups(
	content *storage.Content, within func(least, greatest int64) bool, do func(keys []int64, rows *rows) error,
) error {
	ahead := &ahead{file: content}
	if err := output.FooterFits(content); err != nil {
		return err
	}
	file, err := parquet.OpenFile(ahead, content.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	var keys, pages []int64
	for i, group := range file.RowGroups() {
		columns := group.ColumnChunks()
		if len(columns) != 2 {
			return fmt.Errorf("a file of keys has %d columns", len(columns))
		}
		least, greatest := int64(0), int64(1)<<KeyBits
		of := &file.Metadata().RowGroups[i].Columns[0].MetaData
		if s := of.Statistics; len(s.MinValue) == 8 && len(s.MaxValue) == 8 {
			least, greatest = int64(binary.LittleEndian.Uint64(s.MinValue)), int64(binary.LittleEndian.Uint64(s.MaxValue))
		}
		if !within(least, greatest) {
			continue
		}
		if err := ahead.read(of.DataPageOffset, of.TotalCompressedSize); err != nil {
			return err
		}
		if keys, err = readColumn(keys[:0], columns[0]); err != nil {
			return err
		}
		rows := rows{chunk: columns[1], whole: content.Fetches(), page: pages[:0]}
		err := do(keys, &rows)
		pages = rows.page
		if closing := rows.close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ahead reads a file, from memory where read has read it in advance.
type ahead struct {
	file *storage.Content
	from int64
	data []byte
}

// read reads n bytes from an offset in advance. A damaged file may claim more than it has.
func (a *ahead) read(from, n int64) error {
	if from < 0 || n < 0 || from > a.file.Size()-n {
		return io.ErrUnexpectedEOF
	}
	a.from, a.data = from, slices.Grow(a.data[:0], int(n))[:n]
	_, err := io.ReadFull(io.NewSectionReader(a.file, from, n), a.data)
	return err
}

func (a *ahead) ReadAt(p []byte, at int64) (int, error) {
	if from := at - a.from; from >= 0 && from+int64(len(p)) <= int64(len(a.data)) {
		return copy(p, a.data[from:]), nil
	}
	return a.file.ReadAt(p, at)
}

// rows reads the rows of the keys of a row group: only the pages needed or, if each read is a request to a store, all
// pages.
type rows struct {
	chunk parquet.ColumnChunk
	whole bool
	pages parquet.Pages
	first int64 // number of the first value in page
	page  []int64
}

// all returns all n rows.
func (r *rows) all(n int) (all []int64, err error) {
	if r.page, err = readColumn(r.page[:0], r.chunk); err == nil && len(r.page) != n {
		err = fmt.Errorf("a row group has %d keys and %d rows", n, len(r.page))
	}
	return r.page, err
}

// at returns the row of key number i. Calls must have ascending numbers.
func (r *rows) at(i int) (row int64, err error) {
	at := int64(i)
	switch {
	case at-r.first < int64(len(r.page)):
	case r.whole:
		if r.page, err = readColumn(r.page, r.chunk); err != nil {
			return 0, err
		}
	default:
		if r.pages == nil {
			r.pages = r.chunk.Pages()
		}
		index, err := r.chunk.OffsetIndex()
		if err != nil {
			return 0, err
		}
		page := sort.Search(index.NumPages(), func(p int) bool { return index.FirstRowIndex(p) > at }) - 1
		r.first = index.FirstRowIndex(max(0, page))
		if err := r.pages.SeekToRow(r.first); err != nil {
			return 0, err
		}
		if r.page, err = readPage(r.page[:0], r.pages); err != nil {
			return 0, err
		}
	}
	if at -= r.first; at < 0 || at >= int64(len(r.page)) {
		return 0, fmt.Errorf("a page of %d rows has no row %d", len(r.page), at)
	}
	return r.page[at], nil
}

func (r *rows) close() error {
	if r.pages == nil {
		return nil
	}
	return r.pages.Close()
}

// readColumn appends the values of a column of a row group.
func readColumn(dst []int64, chunk parquet.ColumnChunk) (_ []int64, err error) {
	pages := chunk.Pages()
	defer pages.Close() //nolint:errcheck // it was read
	for {
		if dst, err = readPage(dst, pages); errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// readPage appends the values of the next page.
func readPage(dst []int64, pages parquet.Pages) ([]int64, error) {
	page, err := pages.ReadPage()
	if err != nil {
		return dst, err
	}
	defer parquet.Release(page)
	n := len(dst)
	dst = slices.Grow(dst, int(page.NumValues()))[:n+int(page.NumValues())]
	reader, ok := page.Values().(parquet.Int64Reader)
	if !ok {
		return dst, fmt.Errorf("a column of keys is %v", page.Type())
	}
	if got, err := reader.ReadInt64s(dst[n:]); got < len(dst)-n {
		return dst, fmt.Errorf("a page has %d of %d values: %w", got, len(dst)-n, err)
	}
	return dst, nil
}
