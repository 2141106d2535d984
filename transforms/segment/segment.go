// Package segment makes the rows that a run adds to an index: the documents that it kept, and those that it removed as
// near-duplicates.
package segment

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[rowsFn]()
}

// Params locate the result of the run.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Output is the folder with the table removed.
	Output output.Folder
}

// Rows makes the rows of documents.
//
//	blocks of documents → KV<table shard, rows of kept>, KV<table shard, rows of removed>
//
// The rows of the table removed are streamed, since documents and rows are both in input order. A document that has the
// same set as the one kept in its place is in neither table, since documents compared with the kept one need not be
// compared with it. Copies of a document removed as near were removed as near themselves, and so have rows.
func Rows(s beam.Scope, docs flow.Documents, p Params) (kept, removed flow.Rows[records.Stored]) {
	s = s.Scope("segment.Rows")
	k, r := beam.ParDo2(s, &rowsFn{Params: p}, beam.PCollection(docs))
	return flow.Rows[records.Stored](k), flow.Rows[records.Stored](r)
}

// rowsFn makes the rows of documents; see Rows for the shapes.
type rowsFn struct {
	Params Params

	in            *blocks.Inputs
	files         func(source string) (int, bool)
	removedRows   cursor
	kept, removed blocks.Buffers
	row           records.Stored
}

func (f *rowsFn) Setup(ctx context.Context) (err error) {
	if f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err == nil {
		f.files = f.in.Finder()
	}
	return err
}

func (f *rowsFn) ProcessElement(ctx context.Context, block []byte, toKept, toRemoved func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		row, err := f.removedRow(ctx, doc.Key)
		if err != nil {
			return err
		}
		name := blocks.StoredName{
			ID: f.id(doc.Key, string(doc.ID), doc.HasID), Source: f.path(doc.Key), Position: doc.Key.Position(), Ends: doc.Ends,
		}
		buffers, emit := &f.kept, toKept
		if row != nil {
			if row.Reason != records.ReasonNear {
				continue
			}
			buffers, emit = &f.removed, toRemoved
			if name.Fell, err = f.fell(row); err != nil {
				return err
			}
		}
		text, err := json.Marshal(&name)
		if err != nil {
			return err
		}
		f.row = records.Stored{Name: string(text), Text: doc.Text}
		blocks.AddRow(buffers, int64(f.in.Shard(doc.Key)), doc.Key, doc.Key, &f.row, emit)
	}
	return d.Err()
}

func (f *rowsFn) FinishBundle(toKept, toRemoved func(int64, []byte)) {
	f.removedRows.close()
	f.kept.Flush(toKept)
	f.removed.Flush(toRemoved)
}

// path returns the path of a document's file.
func (f *rowsFn) path(doc blocks.Key) string {
	file := f.in.File(doc.File())
	return file.Path
}

// id returns a document's own id as tables have it, or one made from its path.
func (f *rowsFn) id(doc blocks.Key, own string, has bool) string {
	switch {
	case has:
		return blocks.ValidText(own)
	case f.in.OneDocument(doc.File()):
		return f.path(doc)
	default:
		return fmt.Sprintf("%s@%d", f.path(doc), doc.Position())
	}
}

// fell returns the document that a row names as kept.
func (f *rowsFn) fell(row *records.Removed) (*blocks.Fell, error) {
	fell := blocks.Fell{ID: row.KeptID, Source: row.KeptSource, Position: row.KeptPosition}
	if row.Similarity != nil {
		fell.Similarity = *row.Similarity
	}
	if row.KeptIn != nil && *row.KeptIn == records.InIndex {
		return &fell, nil
	}
	file, ok := f.files(row.KeptSource)
	if !ok {
		return nil, fmt.Errorf("removed: %s is not an input of the run", row.KeptSource)
	}
	kept := blocks.NewKey(file, row.KeptPosition)
	fell.ID = f.id(kept, row.KeptID, row.KeptID != f.in.ID(kept, nil, false))
	fell.Source = f.path(kept)
	return &fell, nil
}

// removedRow returns a document's row in the table removed, or nil if it has none.
func (f *rowsFn) removedRow(ctx context.Context, doc blocks.Key) (*records.Removed, error) {
	c := &f.removedRows
	if shard := int64(f.in.Shard(doc)); c.next == nil || c.shard != shard || doc < c.last {
		c.open(ctx, f.Params.Output.Path(output.TableFile(output.Removed, shard, f.in.Shards)), shard)
	}
	c.last = doc
	for !c.ended {
		if !c.has {
			row, err, ok := c.next()
			if err != nil {
				return nil, err
			}
			if c.ended = !ok; c.ended {
				break
			}
			file, ok := f.files(row.Source)
			if !ok {
				return nil, fmt.Errorf("removed: %s is not an input of the run", row.Source)
			}
			c.row, c.key, c.has = row, blocks.NewKey(file, row.Position), true
		}
		switch {
		case c.key > doc:
			return nil, nil
		case c.key == doc:
			return &c.row, nil
		}
		c.has = false
	}
	return nil, nil
}

// cursor reads a file of the table removed in order.
type cursor struct {
	shard int64
	last  blocks.Key // the last document asked for
	next  func() (records.Removed, error, bool)
	stop  func()
	ended bool

	row records.Removed // valid if has
	key blocks.Key
	has bool
}

func (c *cursor) open(ctx context.Context, file string, shard int64) {
	c.close()
	next, stop := iter.Pull2(output.FileRows[records.Removed](ctx, file))
	*c = cursor{shard: shard, next: next, stop: stop}
}

func (c *cursor) close() {
	if c.stop != nil {
		c.stop()
	}
	*c = cursor{}
}
