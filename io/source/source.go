// Package source reads documents: it plans what is read (Plan), samples it (Sample), reads all
// of it (Read) and reads again the documents that are needed (Fetch). Formats are codecs of
// their own packages; this one knows files, splits, compression and blocks.
package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[splitsFn]())
	beam.RegisterDoFn(reflect.TypeFor[readFn]())
	beam.RegisterFunction(asTheyAre)
	register.Emitter1[int64]()
	register.Emitter1[[]byte]()
	register.Emitter2[int64, []byte]()
}

var (
	recordsRead = beam.NewCounter("read", "records")
	unreadable  = beam.NewCounter("read", "unreadable")
	bytesRead   = beam.NewCounter("read", "bytes")
)

// Params tell the workers what to read.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs  string
	Options Options
	// Workers is about how many bundles are worked on at a time.
	Workers int
}

// Documents is what Read reads.
type Documents struct {
	Blocks   flow.Documents // each block valid until the call that takes it returns
	Rejected flow.Rows[records.Rejected]
	Dropped  flow.Dropped // unreadable records
	Facts    flow.Facts   // one for each split
}

// Read reads all documents.
//
//	Impulse → Documents
//
// Records that are unreadable and documents that have no text or too much of it become rejected
// rows. The blocks of a file that cannot be split go through a Reshuffle if there are more workers
// than such files keep busy, so that what follows is done on all cores; the others stay where they
// were read.
func Read(s beam.Scope, p Params) Documents {
	s = s.Scope("source.Read")
	splits := beam.Reshuffle(s, beam.ParDo(s, &splitsFn{Inputs: p.Inputs}, beam.Impulse(s)))
	near, far, rejected, dropped, facts := beam.ParDo5(s, &readFn{Params: p}, splits)
	return Documents{
		Blocks:   flow.Documents(beam.Flatten(s, near, beam.ParDo(s, asTheyAre, beam.Reshuffle(s, far)))),
		Rejected: flow.Rows[records.Rejected](rejected), Dropped: flow.Dropped(dropped), Facts: flow.Facts(facts),
	}
}

// asTheyAre stands between a Reshuffle and a Flatten. Flink's runner refuses a Flatten of what a step
// wrote and what the cluster itself did ("consumed but never produced").
func asTheyAre(block []byte) []byte { return block }

// splitsFn lists the splits' numbers.
type splitsFn struct{ Inputs string }

func (f *splitsFn) ProcessElement(ctx context.Context, _ []byte, emit func(int64)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	for i := range in.Splits {
		emit(int64(i))
	}
	return nil
}

// readFn decodes the records of a split.
type readFn struct {
	Params Params

	out blockWriter
}

// A compressed file larger than this is worth spreading its blocks.
const farBytes = 1 << 20

// spread reports whether a file's blocks are to be spread. A file that is not has two cores: one
// unpacks ahead of the one that works on the blocks, and nothing is moved.
func (f *readFn) spread(in *blocks.Inputs, file *blocks.File) bool {
	return file.Compression != "" && file.Size > max(farBytes, 2*in.Bytes()/int64(max(1, f.Params.Workers)))
}

func (f *readFn) ProcessElement(ctx context.Context, number int64, near, far func([]byte), rejected, dropped func(int64, []byte), facts func([]byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	split := in.Splits[number]
	file := &in.Files[split.File]
	read := func(spool io.Writer) error {
		return f.readSplit(ctx, in, number, spool, near, far, rejected, dropped, facts)
	}
	if _, ok := spooled(ctx, *file); file.Spool == "" || ok {
		return read(nil)
	}
	// Without its plain bytes a file is decompressed again: what prevents the writing does no harm.
	begun := false
	_, failed := storage.WriteFile(ctx, file.Spool, func(w io.Writer) error {
		spool := &spooler{w: w}
		begun = true
		err = read(spool)
		return cmp.Or(err, spool.err)
	})
	if !begun && failed != nil {
		return read(nil)
	}
	return err
}

// spooler writes until that fails.
type spooler struct {
	w   io.Writer
	err error
}

func (s *spooler) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}

func (f *readFn) readSplit(ctx context.Context, in *blocks.Inputs, number int64, spool io.Writer, near, far func([]byte), rejected, dropped func(int64, []byte), facts func([]byte)) error {
	split := in.Splits[number]
	file := &in.Files[split.File]
	if !f.spread(in, file) {
		far = nil
	}
	f.out.begin(near, far)
	rows := rejecter{in: in, emit: rejected, buffers: blocks.NewBuffers()}
	drops := blocks.NewBuffers()
	fact := blocks.Fact{Kind: blocks.FactRead, Name: strconv.FormatInt(number, 10), Counts: map[string]int64{}}

	r, err := openSpan(ctx, in, split, f.Params.Options.Fields, f.Params.Options.MaxRecord(), spool)
	if err != nil {
		return err
	}
	var doc codec.Document
	for {
		if err := ctx.Err(); err != nil { // a large file is one element, and a job may be interrupted
			return errors.Join(err, r.Close())
		}
		piece, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
		fact.Bytes += int64(len(piece.Raw))
		if piece.Filler || piece.Continued {
			continue
		}
		fact.Counts[records.CountRecords]++
		if !f.read(r, piece, &doc, &rows) {
			fact.Counts[records.CountUnreadable]++
			if fact.Note == "" {
				fact.Note = rows.last
			}
			key := blocks.NewKey(split.File, piece.Position)
			drops.Add(int64(in.Piece(key)), func(block []byte) []byte { return blocks.AppendKey(block, key) }, dropped)
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	f.out.flush()
	rows.flush()
	drops.Flush(dropped)
	recordsRead.Inc(ctx, fact.Counts[records.CountRecords])
	unreadable.Inc(ctx, fact.Counts[records.CountUnreadable])
	bytesRead.Inc(ctx, fact.Bytes)
	line, err := json.Marshal(fact)
	if err != nil {
		return err
	}
	facts(line)
	return nil
}

// read puts one record into a block or among the rejected, and reports whether it is readable.
func (f *readFn) read(r *Reader, piece Piece, doc *codec.Document, rows *rejecter) bool {
	key := blocks.NewKey(r.ordinal, piece.Position)
	limit := f.Params.Options.MaxDocument
	if piece.Long {
		rows.add(key, records.Rejected{
			Reason: records.ReasonTooLarge,
			Detail: fmt.Sprintf("the record is larger than %d bytes; raise --max-doc-bytes to compare it", f.Params.Options.MaxRecord()),
		})
		return true
	}
	if err := r.Decode(piece, doc); err != nil {
		reason, detail := "unreadable", err.Error()
		if e := (*codec.Error)(nil); errors.As(err, &e) {
			reason, detail = e.Reason, e.Detail
		}
		row := records.Rejected{
			Reason: reason,
			Detail: fmt.Sprintf("%s (%d bytes)", detail, len(piece.Raw)),
			Raw:    piece.Raw[:min(len(piece.Raw), records.MaxRaw)],
		}
		if doc.HasID {
			row.ID = rows.id(key, doc)
		}
		rows.last = fmt.Sprintf("%s at byte %d, %s: %s", rows.in.Source(key), piece.Position, reason, detail)
		rows.add(key, row)
		return false
	}
	switch {
	case doc.NoText:
		rows.add(key, records.Rejected{ID: rows.id(key, doc), Reason: records.ReasonNoText})
	case int64(len(doc.Text)) > limit:
		rows.add(key, records.Rejected{
			ID: rows.id(key, doc), Reason: records.ReasonTooLarge,
			Detail: fmt.Sprintf("%d bytes of text, --max-doc-bytes is %d", len(doc.Text), limit),
		})
	default:
		f.out.add(&blocks.Document{Key: key, ID: doc.ID, HasID: doc.HasID, Text: doc.Text})
	}
	return true
}

// blockWriter packs documents into blocks. Those that stay near are used again.
type blockWriter struct {
	// far takes full blocks, near those that are too large to travel; or near takes all, if far is nil.
	near, far func([]byte)
	block     []byte
}

func (w *blockWriter) begin(near, far func([]byte)) {
	w.near, w.far, w.block = near, far, w.block[:0]
}

func (w *blockWriter) add(doc *blocks.Document) {
	if len(doc.Text) > blocks.BlockBytes {
		w.near(blocks.AppendDocument(nil, doc))
		return
	}
	if w.block == nil {
		w.block = make([]byte, 0, blocks.BlockBytes+blocks.BlockBytes/4)
	}
	w.block = blocks.AppendDocument(w.block, doc)
	if len(w.block) >= blocks.BlockBytes {
		w.flush()
	}
}

func (w *blockWriter) flush() {
	switch {
	case len(w.block) == 0:
	case w.far != nil:
		w.far(w.block)
		w.block = nil // a Reshuffle may hold it
	default:
		w.near(w.block)
		w.block = w.block[:0]
	}
}

// rejecter packs rejected rows by table shard.
type rejecter struct {
	last    string // the last unreadable record, and why it is
	in      *blocks.Inputs
	emit    func(int64, []byte)
	buffers *blocks.Buffers
}

func (r *rejecter) add(key blocks.Key, row records.Rejected) {
	row.Source, row.Position = r.in.Source(key), key.Position()
	blocks.AddRow(r.buffers, int64(r.in.Shard(key)), key, key, &row, r.emit)
}

func (r *rejecter) id(key blocks.Key, doc *codec.Document) *string {
	id := r.in.ID(key, doc.ID, doc.HasID)
	return &id
}

func (r *rejecter) flush() { r.buffers.Flush(r.emit) }
