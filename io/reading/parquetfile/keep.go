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

// keptPage locates the unpacked bytes of the source's page at Offset in the file that keeps them.
type keptPage struct{ Offset, At, Size int64 }

const keptPageBytes = 24

// keeper writes the unpacked pages of a column for later readers, followed by their locations.
type keeper struct {
	w       io.Writer // its Write never fails
	at      int64     // where the next page begins
	written int64
	pages   []keptPage
}

// begin starts the page at an offset, and returns the writer for its size bytes.
func (k *keeper) begin(offset, size int64) io.Writer {
	k.pages = append(k.pages, keptPage{offset, k.at, size})
	k.at += size
	return k
}

// finish writes the locations of the pages. It fails if a page was not written to its end.
func (k *keeper) finish() error {
	if k.written != k.at {
		return io.ErrShortWrite
	}
	tail, _ := binary.Append(nil, binary.LittleEndian, k.pages) // the type has a fixed size
	_, err := k.w.Write(binary.LittleEndian.AppendUint64(tail, uint64(len(k.pages))))
	return err
}

// Write writes a part of the page that begin started last.
func (k *keeper) Write(p []byte) (int, error) {
	k.written += int64(len(p))
	return k.w.Write(p)
}

// kept gives access to the pages that a keeper wrote.
type kept struct {
	f     *storage.File
	pages []keptPage // sorted by Offset
}

// openKept opens the file that a keeper left at path. It returns nil if there is none.
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

// page returns the page at an offset of the source, or nil if it was not kept.
func (k *kept) page(offset int64) *io.SectionReader {
	i, ok := slices.BinarySearchFunc(k.pages, offset,
		func(p keptPage, offset int64) int { return cmp.Compare(p.Offset, offset) })
	if !ok {
		return nil
	}
	return io.NewSectionReader(k.f, k.pages[i].At, k.pages[i].Size)
}

// keptAt returns the path for the kept pages of a column in a span.
func keptAt(file *blocks.File, span blocks.Span, leaf *parquet.Leaf) string {
	return fmt.Sprintf("%s-%d-%d", file.Spool, span.Start, leaf.Leaf)
}

// openKept opens the kept pages of a span's text columns.
func (r *rows) openKept(span blocks.Span) (err error) {
	for i, field := range r.fields.text {
		if field.leaf != nil && r.file.Spool != "" && err == nil {
			r.kept[i], err = openKept(r.ctx, keptAt(r.file, span, field.leaf))
		}
	}
	return err
}

// keeping calls do. Meanwhile it keeps the pages of the text columns from number i on, if that is worthwhile and they
// are not kept yet.
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
			return err // also for ErrStop: the kept pages are incomplete
		}
		return r.keep[i].finish()
	})
	return err
}

// worthKeeping reports whether to keep the pages of a column, judging by the span's first row group: yes if they are
// compressed, since unpacking takes longer than writing and reading, with Snappy three times as long.
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
