package parquetfile

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// keptPage is where the unpacked bytes of the page at an offset of the source are in the file that keeps them.
type keptPage struct{ Offset, At, Size int64 }

const keptPageBytes = 24

// keeper writes the pages of a column that are unpacked for who reads them again, and behind them where they are.
type keeper struct {
	w       io.Writer // without an error
	at      int64     // where the next page begins
	written int64
	pages   []keptPage
}

// begin begins the page at an offset, of so many bytes, which are to be written.
func (k *keeper) begin(offset, size int64) io.Writer {
	k.pages = append(k.pages, keptPage{offset, k.at, size})
	k.at += size
	return k
}

// finish writes where pages are. It fails if one was not read to its end.
func (k *keeper) finish() error {
	if k.written != k.at {
		return io.ErrShortWrite
	}
	tail, _ := binary.Append(nil, binary.LittleEndian, k.pages) // they have a size
	_, err := k.w.Write(binary.LittleEndian.AppendUint64(tail, uint64(len(k.pages))))
	return err
}

// Write writes a part of the page that was begun last.
func (k *keeper) Write(p []byte) (int, error) {
	k.written += int64(len(p))
	return k.w.Write(p)
}

// kept are pages that a keeper wrote.
type kept struct {
	f     *storage.File
	pages []keptPage // by offset
}

// openKept opens what a keeper left at path; nil: there is nothing.
func openKept(ctx context.Context, path string) (*kept, error) {
	info, ok := reading.Spooled(ctx, path)
	if !ok {
		return nil, nil
	}
	f, err := storage.Open(ctx, path, info.Version)
	if err != nil {
		return nil, err
	}
	var n int64
	err = binary.Read(io.NewSectionReader(f, info.Size-8, 8), binary.LittleEndian, &n)
	k := &kept{f, make([]keptPage, n)}
	if size := keptPageBytes * n; err == nil {
		err = binary.Read(io.NewSectionReader(f, info.Size-8-size, size), binary.LittleEndian, k.pages)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// page returns the page at an offset of the source; nil if it was not kept.
func (k *kept) page(offset int64) *io.SectionReader {
	i, ok := slices.BinarySearchFunc(k.pages, offset,
		func(p keptPage, offset int64) int { return cmp.Compare(p.Offset, offset) })
	if !ok {
		return nil
	}
	return io.NewSectionReader(k.f, k.pages[i].At, k.pages[i].Size)
}

// keptAt is where the pages of a column that a span has are kept.
func keptAt(file *blocks.File, span blocks.Span, leaf *parquet.Leaf) string {
	return fmt.Sprintf("%s-%d-%d", file.Spool, span.Start, leaf.Leaf)
}

// openKept opens what is kept of a span's text columns.
func (r *rows) openKept(span blocks.Span) (err error) {
	for i, field := range r.fields.text {
		if field.leaf != nil && r.file.Spool != "" && err == nil {
			r.kept[i], err = openKept(r.ctx, keptAt(r.file, span, field.leaf))
		}
	}
	return err
}

// keeping calls do, with the pages of the text columns from number i on kept that are worth it and are not yet.
func (r *rows) keeping(span blocks.Span, i int, do func() error) error {
	if i == len(r.fields.text) {
		return do()
	}
	leaf := r.fields.text[i].leaf
	worth, err := r.worthKeeping(span, leaf)
	if err != nil {
		return err
	}
	if !worth || r.kept[i] != nil {
		return r.keeping(span, i+1, do)
	}
	packed := r.file.OffsetAt(span.End) - r.file.OffsetAt(span.Start)
	reading.FillSpool(r.ctx, keptAt(r.file, span, leaf), packed, func(w io.Writer) error {
		r.keep[i] = &keeper{w: w}
		if err = r.keeping(span, i+1, do); err != nil {
			return err // ErrStop, too: what is kept is not whole
		}
		return r.keep[i].finish()
	})
	return err
}

// worthKeeping reports whether the pages of a column are, as those of the span's first row group tell: to unpack them
// takes longer than to write and to read them, of Snappy three times.
func (r *rows) worthKeeping(span blocks.Span, leaf *parquet.Leaf) (worth bool, err error) {
	g := r.group(span.Start)
	if r.file.Spool == "" || leaf == nil || g == nil {
		return false, nil
	}
	err = r.Chunks(g, func(column int, c *parquet.Chunk) error {
		worth = worth || column == leaf.Leaf && c.Codec != format.Uncompressed
		return nil
	})
	return worth, err
}
