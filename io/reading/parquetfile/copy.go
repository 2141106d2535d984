package parquetfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
)

// maxGroup is the approximate size in bytes above which a row group is split.
const maxGroup = 64 << 20

// Copy writes the kept rows in the row groups of the file, of which the large ones are split. It copies pages without
// dropped rows as they are, and likewise a file without any. Values, schema, and metadata stay the same. Statistics and
// page indexes keep what is still true; Bloom filters are left out.
//
// An edited column gets no bounds. If a text column is not one of plain strings, no row is edited, and unedited is the
// number of those rows.
func (r Reader) Copy(
	ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, changes reading.Changes, o reading.Options,
) (kept, unedited int64, err error) {
	dropped, edited := changes.Dropped, changes.Edited
	begins, err := r.beginnings(ctx, file, span, edited, o)
	if err != nil {
		return 0, 0, err
	}
	err = with(ctx, file, o, func(in *input) error {
		end := min(span.End, in.Rows)
		for _, rows := range [][]int64{dropped, edited} {
			for i, row := range rows {
				if row < span.Start || row >= end || i > 0 && row <= rows[i-1] {
					return fmt.Errorf("%s at row %d, where one was removed or edited: %w", file.Path, row, reading.ErrAbsent)
				}
			}
		}
		texts := editor{edit: changes.Edit, begins: begins}
		if len(edited) > 0 {
			if texts.columns, err = in.editable(o.Fields); err != nil {
				return err
			}
			if texts.columns == nil {
				unedited, edited = int64(len(edited)), nil
			}
			texts.rows = edited
		}
		kept = max(end-span.Start, 0) - int64(len(dropped))
		if kept == in.Rows && len(edited) == 0 {
			_, err := io.Copy(w, io.NewSectionReader(in.f, 0, file.Size))
			return err
		}
		c := &copier{input: in, w: w, dropped: dropped, texts: texts, largest: maxGroup, room: room{claim: reading.Claim(o)}}
		defer func() {
			if c.last != nil {
				c.last.End()
			}
			c.gathered, c.block = nil, nil
			c.room.free()
		}()
		return c.copy(span.Start, end, kept)
	})
	return kept, unedited, err
}

// copier writes a file without some of its rows.
type copier struct {
	*input
	w       io.Writer
	dropped []int64 // rows, ascending
	texts   editor
	largest int64 // approximate maximum bytes of a row group

	stop int64 // Write fails beyond it; 0: no limit
	// Bytes of the re-encoded pages, and about what they would take if the source's writer had packed them.
	packed, foreign float64

	at     int64 // bytes written
	groups []writtenGroup
	room   room
	last   *parquet.Column // the last column read, whose buffers the next one takes over
	// Buffers that columns pass on: for the page being gathered, and for its compressed form.
	gathered, block []byte
}

func (c *copier) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if c.stop > 0 && c.at+int64(len(p)) > c.stop {
		return 0, errLarge
	}
	n, err := c.w.Write(p)
	c.at += int64(n)
	return n, err
}

var errLarge = errors.New("the row group is too large")

// copy writes the rows from start to before end, of which the given number are kept.
func (c *copier) copy(start, end, kept int64) error {
	if _, err := c.Write([]byte(parquet.Magic)); err != nil {
		return err
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		from, to := max(start, g.First), min(end, g.First+g.Rows)
		if from >= to {
			continue
		}
		if err := c.group(g, from, to); err != nil {
			return err
		}
	}
	groups, err := c.indexes()
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, g := range c.groups {
		rows += g.rows
	}
	if rows != kept {
		return fmt.Errorf("%s: %d of %d kept rows were written", c.file.Path, rows, kept)
	}
	footer := edit(c.Footer, func(id int16) bool { return id != 3 && id != 4 },
		integerField(3, thrift.I64, kept), listField(4, groups))
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	_, err = c.Write(append(footer, parquet.Magic...))
	return err
}

// drops returns the number of dropped rows in [from, to).
func (c *copier) drops(from, to int64) int64 { return int64(len(among(c.dropped, from, to))) }

// among returns the part of rows, which ascend, in [from, to).
func among(rows []int64, from, to int64) []int64 {
	at := func(row int64) int {
		return sort.Search(len(rows), func(i int) bool { return rows[i] >= row })
	}
	return rows[at(from):at(to)]
}

// group writes the rows [from, to) of a row group, split where they would take more than c.largest.
func (c *copier) group(g *parquet.Group, from, to int64) error {
	stored := int64(0)
	var chunks []parquet.Chunk
	err := c.Chunks(g, func(_ int, chunk *parquet.Chunk) error {
		stored += chunk.Compressed
		chunks = append(chunks, *chunk)
		return nil
	})
	if err != nil {
		return err
	}
	if kept := to - from - c.drops(from, to); kept == g.Rows && stored <= c.largest || c.grown(stored) <= c.largest {
		return c.part(g, chunks, from, to)
	}
	extents, err := c.extents(g, chunks)
	if err != nil {
		return err
	}
	for from < to {
		remaining := sharesOf(extents, from, to)
		even := remaining / (c.grown(remaining)/(c.largest-c.largest/8) + 1)
		end, err := c.fitting(g, chunks, extents, from, to, even+even/8)
		if err != nil {
			return err
		}
		if err := c.part(g, chunks, from, end); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// grown estimates the size of stored bytes of the source once they are packed again, by the growth of those before.
func (c *copier) grown(stored int64) int64 {
	if c.foreign == 0 {
		return stored + stored/2 // more than what the strongest compression level of a codec saves
	}
	const most = 1 << 62 // the unpacked size that a column claims may be a lie
	return int64(min(float64(stored)*max(c.packed/c.foreign, 1)*17/16, most))
}

// fitting returns where the row group that begins at row from should end: at most at to, after about the given number
// of bytes and, unless it has one row, before it takes more than c.largest.
func (c *copier) fitting(
	g *parquet.Group, chunks []parquet.Chunk, extents []extent, from, to, bytes int64,
) (end int64, err error) {
	until := func(beyond func(end int64) bool) int64 {
		return from + 1 + int64(sort.Search(int(to-from-1), func(i int) bool { return beyond(from + 2 + int64(i)) }))
	}
	safe := until(func(end int64) bool { return c.grown(wholesOf(extents, from, end)) > c.largest })
	for ; ; bytes /= 2 {
		end = until(func(end int64) bool { return sharesOf(extents, from, end) > bytes })
		if end <= safe || sharesOf(extents, from, safe) > bytes/2 {
			return min(end, safe), nil
		}
		// Large pages are split, and only writing them shows where their bytes are.
		fits, err := c.fits(g, chunks, from, end)
		if err != nil || fits {
			return end, err
		}
	}
}

// fits reports whether a row group of the rows [from, to) takes at most c.largest.
func (c *copier) fits(g *parquet.Group, chunks []parquet.Chunk, from, to int64) (bool, error) {
	w, at, groups := c.w, c.at, len(c.groups)
	c.w, c.stop = io.Discard, at+c.largest
	defer func() { c.w, c.at, c.groups, c.stop = w, at, c.groups[:groups], 0 }()
	err := c.part(g, chunks, from, to)
	if errors.Is(err, errLarge) {
		return false, nil
	}
	return err == nil, err
}

// extent is a page and the rows that have entries in it, or a dictionary, or a column whose pages do not tell their
// rows.
type extent struct{ first, rows, stored int64 }

// sharesOf returns the size of the rows [from, to), assuming that the rows of an extent have equal sizes.
func sharesOf(extents []extent, from, to int64) (bytes int64) {
	for _, e := range extents {
		if rows := min(to, e.first+e.rows) - max(from, e.first); rows > 0 {
			bytes += share(e.stored, rows, e.rows)
		}
	}
	return bytes
}

// wholesOf returns the maximum size of these rows.
func wholesOf(extents []extent, from, to int64) (bytes int64) {
	for _, e := range extents {
		if e.first < to && from < e.first+e.rows {
			bytes += e.stored
		}
	}
	return bytes
}

// extents returns the extents of a row group.
func (c *copier) extents(g *parquet.Group, chunks []parquet.Chunk) (all []extent, err error) {
	for i := range chunks {
		column := c.Column(&c.Leaves[i], g, &chunks[i])
		pages, err := pagesOf(column)
		if err != nil {
			return nil, err
		}
		all = append(all, pages...)
		if column.WordsAt > 0 {
			all = append(all, extent{g.First, g.Rows, column.WordsHeader.Size()})
		}
	}
	return all, nil
}

// pagesOf returns the extents of a column's data pages. It unpacks pages that do not tell their rows or, if one of them
// is large, returns one extent for the column.
func pagesOf(c *parquet.Column) (all []extent, err error) {
	for first := c.Group.First; ; {
		ok, err := c.Peek(false)
		if err != nil || !ok {
			return all, err
		}
		e := extent{first: first, stored: c.Header.Size()}
		switch e.rows, ok = c.Rows(); {
		case ok:
			c.Omit(e.rows)
		case c.Header.Large():
			return []extent{{c.Group.First, c.Group.Rows, c.Chunk.Compressed}}, nil
		default:
			var begun int64
			if e.rows, begun, err = c.CountRows(); err != nil {
				return nil, err
			}
			e.first -= begun
		}
		all = append(all, e)
		first = e.first + e.rows
	}
}

// part writes the kept rows of [from, to) as one row group.
func (c *copier) part(g *parquet.Group, chunks []parquet.Chunk, from, to int64) error {
	kept := to - from - c.drops(from, to)
	if kept == 0 {
		return nil
	}
	begin := c.at
	var columns []writtenColumn
	loose := int64(0)
	for i := range chunks {
		column, err := c.column(g, &chunks[i], &c.Leaves[i], from, to, kept)
		if err != nil {
			return err
		}
		columns = append(columns, column)
		loose += column.loose
	}
	edits := []thriftField{
		integerField(totalID, thrift.I64, loose), integerField(rowsID, thrift.I64, kept),
		integerField(offsetID, thrift.I64, begin), integerField(storedID, thrift.I64, c.at-begin),
	}
	if n := len(c.groups); n < 1<<15 {
		edits = append(edits, integerField(ordinalID, thrift.I16, n))
	}
	inOrder := len(among(c.texts.rows, from, to)) == 0 // edited texts may not be in the order of the others
	raw := edit(g.Raw, func(id int16) bool { return id > ordinalID || id == sortedID && inOrder }, edits...)
	c.groups = append(c.groups, writtenGroup{raw, kept, columns})
	return nil
}

// Field ids of RowGroup, and of ColumnChunk.
const (
	columnsID, totalID, rowsID, sortedID, offsetID, storedID, ordinalID = 1, 2, 3, 4, 5, 6, 7
	locationsID, boundsID                                               = 4, 6 // offsets; each length has the next id
)

// writtenGroup is a row group that was written.
type writtenGroup struct {
	raw     []byte // the RowGroup without its columns
	rows    int64
	columns []writtenColumn
}

// writtenColumn is a column of a writtenGroup.
type writtenColumn struct {
	raw               []byte // the ColumnChunk without its page index
	loose             int64  // its unpacked size
	locations, bounds []byte // an OffsetIndex and a ColumnIndex; nil: none
}

// indexes writes the page index of everything written and returns the RowGroups. All ColumnIndexes precede all
// OffsetIndexes, since some readers read each kind as one range.
func (c *copier) indexes() (groups [][]byte, err error) {
	whole := func(int16) bool { return true }
	write := func(half int16, indexOf func(*writtenColumn) []byte) {
		for _, g := range c.groups {
			for i := range g.columns {
				column := &g.columns[i]
				index := indexOf(column)
				if index == nil || err != nil {
					continue
				}
				column.raw = edit(column.raw, whole, integerField(half, thrift.I64, c.at),
					integerField(half+1, thrift.I32, len(index)))
				_, err = c.Write(index)
			}
		}
	}
	write(boundsID, func(w *writtenColumn) []byte { return w.bounds })
	write(locationsID, func(w *writtenColumn) []byte { return w.locations })
	for _, g := range c.groups {
		var columns [][]byte
		for i := range g.columns {
			columns = append(columns, g.columns[i].raw)
		}
		groups = append(groups, edit(g.raw, whole, listField(columnsID, columns)))
	}
	return groups, err
}

// column writes the kept rows of one column.
func (c *copier) column(
	g *parquet.Group, chunk *parquet.Chunk, l *parquet.Leaf, from, to, kept int64,
) (column writtenColumn, err error) {
	begin := c.at
	w := &pageWriter{w: c, leaf: l, codec: chunk.Codec, block: c.block, begin: begin, texts: c.texts.of(l, from, to)}
	source := c.Column(l, g, chunk)
	source.Reuse(c.last)
	c.last, w.data, c.gathered = source, c.gathered[:0], nil
	defer func() { c.gathered, c.block = w.data, w.block }()
	if _, err := source.Peek(false); err != nil {
		return column, err
	}
	need := 2 * source.Need() // for the page read, and for the page gathered
	if need > c.room.held {
		source.Drop()
		w.data = nil
	}
	if err := c.room.take(c.ctx, need); err != nil {
		return column, err
	}
	// Do this before the window, which the dictionary is read through, holds a page.
	numbers, err := c.words(w, source, from, to, kept)
	if err != nil {
		return column, err
	}
	if err := source.SeekRow(from - g.First); err != nil {
		return column, err
	}
	if w.index, err = newIndexer(source); err != nil {
		return column, err
	}
	edited := len(w.texts.rows) > 0
	if edited {
		w.index.bounds = nil
	}
	dictionary, data := begin, c.at
	values, err := c.pages(w, source, numbers, to)
	if err != nil {
		return column, err
	}
	if chunk.Uncompressed > 0 {
		c.packed += float64(w.packed)
		c.foreign += float64(w.gathered) * float64(chunk.Compressed) / float64(chunk.Uncompressed)
	}
	const ( // fields of ColumnMetaData; 1 to 4 and 8 are type, encodings, path, codec and key-value pairs
		encodingsID, valuesID, looseID, storedID, dataID, dictionaryID, statisticsID = 2, 5, 6, 7, 9, 11, 12
	)
	edits := []thriftField{
		integerField(valuesID, thrift.I64, values), integerField(looseID, thrift.I64, w.loose),
		integerField(storedID, thrift.I64, c.at-begin),
		integerField(dataID, thrift.I64, data),
	}
	if data > dictionary {
		edits = append(edits, integerField(dictionaryID, thrift.I64, dictionary))
	}
	whole := kept == g.Rows && !edited // then its statistics are still true
	if !whole && chunk.Statistics != nil {
		statistics := stillTrue(chunk.Statistics, values, w.nullsWritten, !edited && len(chunk.Statistics) <= mostStatistics)
		edits = append(edits, thriftField{statisticsID, thrift.STRUCT, statistics})
	}
	if edited {
		edits = append(edits, thriftField{encodingsID, thrift.LIST, withPlain(chunk.Meta, encodingsID)})
	}
	meta := edit(chunk.Meta, func(id int16) bool {
		return id <= 4 && (id != encodingsID || !edited) || id == 8 || whole && (id == statisticsID || id >= 16)
	}, edits...)
	column.raw = edit(chunk.Raw, func(id int16) bool { return id > 7 }, integerField(2, thrift.I64, 0),
		thriftField{3, thrift.STRUCT, meta})
	column.loose = w.loose
	column.locations, column.bounds = w.index.encoded()
	return column, nil
}

// words writes the dictionary, if there is one. If many of its words may be unused now, it writes only the used ones,
// and returns their new numbers.
func (c *copier) words(w *pageWriter, source *parquet.Column, from, to, kept int64) (numbers []uint32, err error) {
	words, err := source.Dictionary()
	if err != nil || words == nil {
		return nil, err
	}
	head := &source.WordsHeader
	// If at least 24 of 25 rows are written, a whole dictionary is at most about 5 % too large.
	if 25*kept >= 24*source.Group.Rows {
		w.wordBits = wordBits(words.N)
		return nil, w.verbatim(source, head, source.WordsAt)
	}
	used := make([]bool, words.N)
	other := source.Again()
	if err := other.SeekRow(from - source.Group.First); err != nil {
		return nil, err
	}
	err = c.kept(to, other, func(_, def int) error {
		if def < other.Leaf.MaxDef {
			return nil
		}
		if !other.Header.Words() {
			_, err := other.Value()
			return err
		}
		n, err := other.Word()
		if err == nil {
			used[n] = true
		}
		return err
	}, func() error { return nil })
	if err != nil {
		return nil, err
	}
	return w.dictionary(words, head, used)
}

// kept calls see with each entry of the kept rows before to, and after once for each of these rows.
func (c *copier) kept(to int64, source *parquet.Column, see func(rep, def int) error, after func() error) error {
	g := source.Group
	dropped := among(c.dropped, g.First+source.Row, to)
	for row := g.First + source.Row; row < to; row = g.First + source.Row {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if len(dropped) > 0 && dropped[0] == row {
			dropped = dropped[1:]
			if err := source.Skip(); err != nil {
				return err
			}
			continue
		}
		if err := source.Entries(see); err != nil {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
	if to == g.First+g.Rows {
		return source.Done()
	}
	return nil
}

// pages writes the data pages of the kept rows, and returns the number of their values, including nulls.
func (c *copier) pages(w *pageWriter, source *parquet.Column, numbers []uint32, to int64) (values int64, err error) {
	g := source.Group
	all := source.Row == 0 && to == g.First+g.Rows && c.drops(g.First, to) == 0 && len(w.texts.rows) == 0
	wholes := func() error {
		n, err := c.whole(w, source, all, numbers != nil, to)
		values += n
		return err
	}
	if err := wholes(); err != nil || all {
		return values, err
	}
	var like parquet.PageHeader
	at := int64(none) // the offset of the page that like is for
	err = c.kept(to, source, func(rep, def int) error {
		row := g.First + source.Row - 1
		if at != source.Offset {
			at, like = source.Offset, w.texts.page(source.Header, row)
		}
		if !w.fits(&like, at) {
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.like, w.from = like, at
		values++
		if err := w.entry(rep, def); err != nil {
			return source.Broken(err)
		}
		if def < source.Leaf.MaxDef {
			return nil
		}
		if like.Words() {
			n, err := source.Word()
			if err != nil {
				return err
			}
			if numbers != nil {
				n = int(numbers[n])
			}
			w.words = append(w.words, uint32(n))
			return nil
		}
		v, err := source.Value()
		if err != nil {
			return err
		}
		w.value(w.texts.replaced(row, v))
		return nil
	}, func() error {
		if w.full() {
			if err := w.flush(); err != nil {
				return err
			}
		}
		return wholes()
	})
	if err != nil {
		return 0, err
	}
	return values, w.flush()
}

// whole copies pages unchanged, all of them or until one must be re-encoded, and returns the number of their values.
func (c *copier) whole(
	w *pageWriter, source *parquet.Column, all, renumbered bool, to int64,
) (values int64, err error) {
	g := source.Group
	for all || source.Between() && g.First+source.Row < to {
		ok, err := source.Peek(true)
		if err != nil || !ok {
			return values, err
		}
		h := &source.Header
		rows, ok := source.Rows()
		row := g.First + source.Row
		if all {
			rows = w.index.rowsOf(source.Offset, g)
		} else if !ok || rows > to-row || c.drops(row, row+rows) > 0 || len(among(w.texts.rows, row, row+rows)) > 0 ||
			renumbered && h.Words() {
			return values, nil
		}
		if err := w.flush(); err != nil {
			return values, err
		}
		if err := w.copy(source, rows); err != nil {
			return values, err
		}
		values += h.Values
		source.Omit(rows)
	}
	return values, nil
}

// copy writes the page whose header was read, and which has the given number of rows, unchanged.
func (w *pageWriter) copy(source *parquet.Column, rows int64) error {
	offset := w.begin + w.stored
	h := &source.Header
	if err := w.verbatim(source, h, source.Offset); err != nil {
		return err
	}
	nulls := h.Nulls
	switch {
	case source.Leaf.MaxDef == 0 || source.Chunk.Nulls == 0:
		nulls = 0
	case nulls == none:
		nulls = w.index.nullsOf(source.Offset)
	}
	if nulls > h.Values {
		nulls = none
	}
	w.count(offset, source.Offset, rows, h.Values, max(nulls, none))
	return nil
}

// verbatim writes the source's page with header h at offset unchanged.
func (w *pageWriter) verbatim(source *parquet.Column, h *parquet.PageHeader, offset int64) error {
	data, err := source.Stored(h, offset)
	if err != nil {
		return err
	}
	if err := w.raw(h.Bytes, int64(len(h.Bytes))); err != nil {
		return err
	}
	return w.raw(data, h.Uncompressed)
}
