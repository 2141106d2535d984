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
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// keptPage is where the unpacked bytes of the page at an offset of the source are in the file that keeps them.
type keptPage struct{ offset, at, size int64 }

const keptPageBytes = 24

// keeper writes the pages of a column that are unpacked for who reads them again, and behind them where they are.
type keeper struct {
	w       io.Writer // without an error
	at      int64     // where the next page begins
	written int64
	pages   []keptPage
}

// begin begins the page at an offset, of so many bytes, which are to be written.
func (k *keeper) begin(offset, size int64) {
	k.pages = append(k.pages, keptPage{offset, k.at, size})
	k.at += size
}

// page keeps a page, in parts; k may be nil.
func (k *keeper) page(offset int64, parts ...[]byte) {
	if k == nil {
		return
	}
	size := int64(0)
	for _, part := range parts {
		size += int64(len(part))
	}
	k.begin(offset, size)
	for _, part := range parts {
		_, _ = k.Write(part)
	}
}

// finish writes where pages are. It fails if one was not read to its end.
func (k *keeper) finish() error {
	if k.written != k.at {
		return errValues
	}
	var tail []byte
	for _, p := range k.pages {
		for _, n := range []int64{p.offset, p.at, p.size} {
			tail = binary.LittleEndian.AppendUint64(tail, uint64(n))
		}
	}
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
	k := &kept{f: f}
	var n [8]byte
	err = readFull(f, n[:], info.Size-8)
	tail := make([]byte, keptPageBytes*int64(binary.LittleEndian.Uint64(n[:])))
	if err == nil {
		err = readFull(f, tail, info.Size-8-int64(len(tail)))
	}
	for ; err == nil && len(tail) > 0; tail = tail[keptPageBytes:] {
		at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(tail[8*i:])) }
		k.pages = append(k.pages, keptPage{at(0), at(1), at(2)})
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// page returns where the page at an offset of the source is; nil if it was not kept, or k is nil.
func (k *kept) page(offset int64) *keptPage {
	if k == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(k.pages, offset,
		func(p keptPage, offset int64) int { return cmp.Compare(p.offset, offset) })
	if !ok {
		return nil
	}
	return &k.pages[i]
}

// read reads a page to dst, if that has the room.
func (k *kept) read(p *keptPage, dst []byte) ([]byte, error) {
	dst = grown(dst, int(p.size))
	if err := readFull(k.f, dst, p.at); err != nil {
		return nil, &storeError{err}
	}
	return dst, nil
}

// worthKeeping reports whether pages of a codec take longer to unpack than to write and to read: Snappy three times.
func worthKeeping(c format.CompressionCodec) bool {
	return c != format.Uncompressed
}

// keptAt is where the pages of a column that a span has are kept.
func keptAt(file *blocks.File, span blocks.Span, leaf int) string {
	if file.Spool == "" {
		return ""
	}
	return fmt.Sprintf("%s-%d-%d", file.Spool, span.Start, leaf)
}

// openKept opens what is kept of a span's text columns.
func (r *rows) openKept(span blocks.Span) (err error) {
	for i, field := range r.fields.text {
		if field.leaf != none && r.file.Spool != "" && err == nil {
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

// worthKeeping reports whether the pages of a column are, as those of the span's first row group tell.
func (r *rows) worthKeeping(span blocks.Span, leaf int) (worth bool, err error) {
	g := r.footer.group(span.Start)
	if r.file.Spool == "" || leaf == none || g == nil {
		return false, nil
	}
	err = r.footer.chunks(r.file, g, func(column int, c *chunk) error {
		worth = worth || column == leaf && worthKeeping(c.codec)
		return nil
	})
	return worth, err
}
