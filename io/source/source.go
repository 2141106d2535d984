// Package source reads documents: it plans what to read (Plan), samples the input (Sample), reads all of it (Read),
// reads some documents again (Fetch, Lookup), and copies the input without some documents (Copy). A
// reading.RecordReader knows how a file holds records; this package knows files, splits and blocks.
package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[splitsFn]()
	flow.Register[readFn]()
	flow.Register[spreadFn]()
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
	// Workers is about how many bundles run at a time.
	Workers int
	// Splits is the range of the splits that Read reads.
	Splits blocks.Range
	// Spread says that there may be a file whose blocks must be spread over the workers.
	Spread bool
	// List asks for a listing of all records.
	List bool
}

// Documents is the output of Read.
type Documents struct {
	Blocks   flow.Documents // each block is valid until the call that receives it returns
	Rejected flow.Rows[records.Rejected]
	Dropped  flow.Dropped // unreadable records
	Facts    flow.Facts   // one per split
	Listed   flow.Listed  // empty unless Params.List
}

// Read reads all documents of the splits.
//
//	Impulse → Documents
//
// Unreadable records and documents that are not compared become rejected rows. The blocks of a large file that can only
// be read from its start go through a Reshuffle if there are more workers than such files keep busy, so that the next
// steps run on all cores; other blocks stay where they were read.
func Read(s beam.Scope, p Params) Documents {
	s = s.Scope("source.Read")
	splits := beam.Reshuffle(s, beam.ParDo(s, &splitsFn{Inputs: p.Inputs, Splits: p.Splits}, beam.Impulse(s)))
	local, spread, rejected, dropped, facts, listed := beam.ParDo6(s, &readFn{Params: p}, splits)
	if p.Spread {
		local = beam.Flatten(s, local, beam.ParDo(s, &spreadFn{Room: p.Options.Room}, beam.Reshuffle(s, spread)))
	}
	return Documents{
		Blocks:   flow.Documents(local),
		Rejected: flow.Rows[records.Rejected](rejected), Dropped: flow.Dropped(dropped), Facts: flow.Facts(facts),
		Listed: flow.Listed(listed),
	}
}

// spreadFn stands between a Reshuffle and a Flatten, because Flink's runner refuses to flatten the output of a step
// with the output of a Reshuffle ("consumed but never produced"). Large blocks count against Room as they did when they
// were read.
type spreadFn struct {
	Room int64

	claim *memory.Claim
}

func (f *spreadFn) Setup() { f.claim = reading.Claim(reading.Options{Room: f.Room}) }

func (f *spreadFn) ProcessElement(ctx context.Context, block []byte, emit func([]byte)) error {
	return reading.Show(ctx, len(block), f.claim, func() error {
		emit(block)
		return nil
	})
}

// splitsFn emits the numbers of the splits.
type splitsFn struct {
	Inputs string
	Splits blocks.Range
}

func (f *splitsFn) ProcessElement(ctx context.Context, _ []byte, emit func(int64)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	for i := f.Splits.First; i < min(cmp.Or(f.Splits.End, blocks.End), int64(in.Splits.Len())); i++ {
		emit(i)
	}
	return nil
}

// readFn decodes the records of a split.
type readFn struct {
	Params Params

	out blockWriter
}

// spreadBytes is the minimum size of a sequential file whose blocks are worth spreading.
const spreadBytes = 1 << 20

// spreads reports whether the blocks of a sequential file of this size are reshuffled. If not, the file keeps at most
// two cores busy, for the decompressor and the consumer, and no data moves.
func spreads(in *blocks.Inputs, size int64, workers int) bool {
	return size > max(spreadBytes, 2*in.Bytes()/int64(max(1, workers)))
}

// MaySpread reports whether there may be a file whose blocks must be spread if this many bundles run at a time. Only
// the launcher may call it.
func (in *Inputs) MaySpread(workers int) bool {
	for i := range in.Len() {
		if !spreads(in.Inputs, in.Size(i), workers) {
			continue
		}
		file := in.File(i)
		inspected, err := in.details[i/blocks.DetailsFiles].Complete(i, &file)
		if err != nil || !inspected || file.Sequential {
			return true
		}
	}
	return false
}

func (f *readFn) ProcessElement(
	ctx context.Context, number int64, local, spread func([]byte), rejected,
	dropped func(int64, []byte), facts func([]byte), listed func(int64, []byte),
) error {
	in, err := Shared(ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	split := in.Splits.At(int(number))
	ctx, done := storage.Once(ctx)
	defer done()
	file, r, options, err := in.open(ctx, split.File, f.Params.Options)
	if err != nil {
		return err
	}
	if !file.Sequential || !spreads(in.Inputs, file.Size, f.Params.Workers) {
		spread = nil
	}
	f.out.begin(local, spread)
	rows := rejecter{in: in.Inputs, options: options, emit: rejected}
	var drops blocks.Buffers
	reference := file.Standing.There()
	fact := blocks.Fact{Kind: blocks.FactRead, Name: strconv.FormatInt(number, 10), Counts: map[string]int64{}}

	if reference {
		fact.Kind = blocks.FactReference
	}
	if split.Start == 0 {
		if decoded(file) {
			fact.Counts[blocks.CountDecoded] = 1
		}
		fact.Encodings = addEncoding(nil, file)
	}
	m, counted := meter{counter: storedRead}, int64(0)
	list := lister{source: file.Source, options: options}
	read, lists := options.reading(), f.Params.List && !reference
	if lists {
		read, list.partition = options.ranked(file)
	}
	progress, err := r.Read(m.begin(ctx, file, split), file, []blocks.Span{split}, read, options.readable(file,
		func(record *reading.Record) error {
			if records := fact.Counts[blocks.CountRecords]; m.atRecord(ctx, record.Position) {
				recordsRead.Inc(ctx, records-counted)
				counted = records
			}
			fact.Counts[blocks.CountRecords]++
			if options.lacks(record) {
				if fact.Counts[blocks.CountNoColumn]++; fact.Columns == "" {
					fact.Columns = shown(file, record)
				}
			}
			key := blocks.NewKey(split.File, record.Position)
			if lists {
				list.add(key, record, listed)
			}
			if !f.read(key, record, &rows) {
				fact.Counts[blocks.CountUnreadable]++
				if fact.Note == "" {
					fact.Note = note(file, record)
				}
				if reference { // references are in no corpus
					return nil
				}
				drops.Add(in.Batch(key), func(block []byte) []byte { return blocks.AppendKey(block, key) }, dropped)
			}
			return nil
		}))
	if err != nil {
		return err
	}
	fact.Bytes = progress.Content
	if reference {
		fact.Counts[blocks.CountNotCompared] = rows.skipped - fact.Counts[blocks.CountUnreadable]
	}
	f.out.flush()
	rows.flush()
	drops.Flush(dropped)
	list.buffers.Flush(listed)
	m.end(ctx)
	recordsRead.Inc(ctx, fact.Counts[blocks.CountRecords]-counted)
	unreadable.Inc(ctx, fact.Counts[blocks.CountUnreadable])
	bytesRead.Inc(ctx, fact.Bytes)
	line, err := json.Marshal(fact)
	if err != nil {
		return err
	}
	facts(line)
	return nil
}

// read adds a record to a block or to the rejected rows, and reports whether it is readable.
func (f *readFn) read(key blocks.Key, record *reading.Record, rows *rejecter) bool {
	limit := rows.options.MaxDocument
	doc := record.Doc
	switch {
	case record.Long:
		rows.add(key, records.Rejected{
			Reason: records.ReasonTooLarge,
			Detail: fmt.Sprintf("the record is larger than %d bytes; raise --max-doc-bytes to compare it",
				rows.options.MaxRecord()),
		})
	case record.Err != nil:
		reason, detail := why(record)
		row := records.Rejected{
			Reason: reason,
			Detail: fmt.Sprintf("%s; the record has %d bytes", detail, len(record.Raw)),
			Raw:    new(record.Raw[:min(len(record.Raw), records.MaxRaw)]),
		}
		if doc.HasID {
			row.ID = rows.id(key, doc)
		}
		rows.add(key, row)
		return false
	case rows.options.lacks(record):
		rows.add(key, records.Rejected{ID: rows.id(key, doc), Reason: records.ReasonNoColumn})
	case longID(doc) && !rows.in.Stores(key):
		rows.add(key, records.Rejected{
			ID: rows.id(key, doc), Reason: records.ReasonLongID,
			Detail: fmt.Sprintf("the id has %d bytes (maximum: %d)", len(doc.ID), MaxID),
		})
	case doc.NoText:
		rows.add(key, records.Rejected{ID: rows.id(key, doc), Reason: records.ReasonNoText})
	case int64(len(doc.Text)) > limit:
		rows.add(key, records.Rejected{
			ID: rows.id(key, doc), Reason: records.ReasonTooLarge,
			Detail: fmt.Sprintf("%d bytes of text; --max-doc-bytes is %d", len(doc.Text), limit),
		})
	default:
		f.out.add(&blocks.Document{
			Key: key, ID: doc.ID, HasID: doc.HasID, Text: doc.Text, Ends: rows.in.Ends(key, doc.ID, doc.Ends),
			Values: doc.Values,
		})
	}
	return true
}

// lister packs listings of records.
type lister struct {
	options   Options
	source    string
	partition *codec.Value // value to rank by, the same for all records; or nil
	rank      []byte
	listing   []byte
	buffers   blocks.Buffers
}

func (l *lister) add(key blocks.Key, record *reading.Record, emit func(int64, []byte)) {
	var listed blocks.Listing
	if doc := record.Doc; !record.Long {
		listed.ID, listed.HasID = doc.ID, doc.HasID && !longID(doc)
		if l.partition != nil {
			doc.Value = *l.partition
		}
		if record.Err == nil && !doc.NoText {
			l.rank = l.options.Rank.append(l.rank[:0], l.source, doc)
			listed.Rank = l.rank
		}
	}
	l.listing = blocks.AppendListing(l.listing[:0], listed)
	part := blocks.RowPart{RowPlace: blocks.RowPlace{Order: blocks.Edge{A: key}}, Fields: l.listing}
	l.buffers.Add(int64(key.File()), part.Append, emit)
}

// why returns the reason why a record is unreadable, and details.
func why(record *reading.Record) (reason, detail string) {
	if e := (*codec.Error)(nil); errors.As(record.Err, &e) {
		return e.Reason, e.Detail
	}
	return "unreadable", record.Err.Error()
}

// note says which record is unreadable, why, and what to do about it.
func note(file *blocks.File, record *reading.Record) string {
	return fmt.Sprintf("%s: %v%s", file.Place(record.Position), record.Err, advice(file, record))
}

// blockWriter packs documents into blocks. It reuses the memory of those that stay local.
type blockWriter struct {
	// spread takes full blocks, and local those that are too large to travel; if spread is nil, local takes all.
	local, spread func([]byte)
	block         []byte
}

func (w *blockWriter) begin(local, spread func([]byte)) {
	w.local, w.spread, w.block = local, spread, w.block[:0]
}

func (w *blockWriter) add(doc *blocks.Document) {
	if len(doc.Text) > blocks.BlockBytes {
		w.local(blocks.AppendDocument(nil, doc))
		w.local(nil) // Beam holds the element that was emitted last
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
	case w.spread != nil:
		w.spread(w.block)
		w.block = nil // a Reshuffle may hold it
	default:
		w.local(w.block)
		w.block = w.block[:0]
	}
}

// rejecter packs rejected rows by table shard. It only counts those of references, which are in no table.
type rejecter struct {
	in      *blocks.Inputs
	options Options
	emit    func(int64, []byte)
	buffers blocks.Buffers
	skipped int64
}

func (r *rejecter) add(key blocks.Key, row records.Rejected) {
	if r.in.IsReference(key) {
		r.skipped++
		return
	}
	row.Source, row.Position = r.in.Source(key), key.Position()
	blocks.AddRow(&r.buffers, int64(r.in.Shard(key)), key, key, &row, r.emit)
}

func (r *rejecter) id(key blocks.Key, doc *codec.Document) *string {
	id := r.options.id(r.in, key, doc)
	return &id
}

func (r *rejecter) flush() { r.buffers.Flush(r.emit) }
