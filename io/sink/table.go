package sink

import (
	"context"
	"io"
	"iter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/records"
)

func init() {
	registerTable[records.Pair]()
	registerTable[records.Clustered]()
	registerTable[records.Removed]()
	registerTable[records.Rejected]()
	registerTable[records.Bucketed]()
	registerTable[records.Candidate]()
	registerTable[records.Found]()
	registerTable[records.Passage]()
	registerTable[records.Coverage]()
	registerTable[records.Contaminated]()
	registerTable[records.Repeat]()
	registerTable[records.Stored]()
}

func registerTable[T blocks.Row]() {
	flow.Register[tableFn[T]]()
}

// Table writes the rows of one table to Output/name, one Parquet file per shard, sorted by key. It counts the rows of a
// table that is not in p.Write without writing them.
//
//	KV<shard, rows> → facts
//
// One GroupByKey by shard. If a shard may have too many rows for one group, it is split into slices: then there is one
// GroupByKey by slice, which sorts the rows into files below p.Temp if they are many, and one by shard. A group holds
// p.HeldRows bytes of rows in memory and sorts the rest into files, too.
func Table[T blocks.Row](s beam.Scope, table output.Part, slices int, p Params, rows ...flow.Rows[T]) flow.Facts {
	s = s.Scope("sink.Table." + string(table))
	var all []beam.PCollection
	for _, r := range rows {
		all = append(all, beam.PCollection(r))
	}
	if slices > 1 {
		all = []beam.PCollection{runs(s, string(table), slices, p, beam.Flatten(s, all...))}
	}
	if p.writes(table) {
		// One for each table: a shared one would tie the tables together on Flink.
		all = append(all, beam.ParDo(s, &everyFn{Inputs: p.Inputs, Of: ofShards}, beam.Impulse(s)))
	}
	return flow.Facts(beam.ParDo(s, &tableFn[T]{Table: table, Params: p}, beam.GroupByKey(s, beam.Flatten(s, all...))))
}

type tableFn[T blocks.Row] struct {
	Table  output.Part
	Params Params
}

func (f *tableFn[T]) ProcessElement(
	ctx context.Context, shard int64, packed func(*[]byte) bool, facts func([]byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	rows, err := merged(ctx, f.Params, string(f.Table), packed)
	if err != nil {
		return err
	}
	name := output.TableFile(f.Table, shard, in.Shards)
	counts := map[string]int64{blocks.CountRows: 0}
	file := records.ManifestFile{Path: name}
	if f.Params.writes(f.Table) {
		file, err = f.Params.write(ctx, name, func(w io.Writer) error {
			return f.write(w, rows, counts)
		})
	} else {
		err = f.count(rows, counts)
	}
	if err != nil {
		return err
	}
	return emitFact(facts, blocks.FactTable, file, counts)
}

// Rows are written in batches, because the writer holds a row group until it is full but not the decoded rows. Batches
// and row groups have these numbers of rows, or fewer if the rows are large.
const (
	rowBatch   = 1024
	rowGroups  = 1 << 20
	batchBytes = 4 << 20
	// groupBytes bounds the bytes of a row group's rows beyond usualRow each.
	groupBytes = 8 << 20
	usualRow   = 256
)

// rowWriter writes the rows of a Parquet file.
type rowWriter[T any] struct {
	out                        *parquet.GenericWriter[T]
	batch                      []T
	most, inBatch, beyondUsual int // in bytes
}

func newRowWriter[T any](w io.Writer, p Params) *rowWriter[T] {
	options, most := append(output.WriterOptions(p.Metadata), parquet.MaxRowsPerRowGroup(rowGroups)), batchBytes
	if p.Stored {
		options, most = append(options, index.Pages()...), index.PageBytes // a page ends with a batch
	}
	return &rowWriter[T]{out: parquet.NewGenericWriter[T](w, options...), batch: make([]T, 0, rowBatch), most: most}
}

// add adds a row of about this many bytes.
func (w *rowWriter[T]) add(row T, bytes int) error {
	w.batch = append(w.batch, row)
	w.inBatch += bytes
	w.beyondUsual += max(0, bytes-usualRow)
	if len(w.batch) < rowBatch && w.inBatch < w.most {
		return nil
	}
	if err := w.flush(); err != nil || w.beyondUsual < groupBytes {
		return err
	}
	w.beyondUsual = 0
	return w.out.Flush()
}

func (w *rowWriter[T]) flush() error {
	_, err := w.out.Write(w.batch)
	clear(w.batch)
	w.batch, w.inBatch = w.batch[:0], 0
	return err
}

func (w *rowWriter[T]) close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.out.Close()
}

func (f *tableFn[T]) write(w io.Writer, rows iter.Seq2[blocks.RowPart, error], counts map[string]int64) error {
	out := newRowWriter[T](w, f.Params)
	var row T
	for r, err := range rows {
		if err != nil {
			return err
		}
		if err := decode(&row, r, counts); err != nil {
			return err
		}
		if err := out.add(row, len(r.Fields)); err != nil {
			return err
		}
	}
	return out.close()
}

// count counts the rows of a table that is not written.
func (f *tableFn[T]) count(rows iter.Seq2[blocks.RowPart, error], counts map[string]int64) error {
	var decoded T
	for r, err := range rows {
		if err != nil {
			return err
		}
		if err := decode(&decoded, r, counts); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes a row and counts it.
func decode[T blocks.Row](decoded *T, r blocks.RowPart, counts map[string]int64) error {
	d := blocks.NewDecoder(r.Fields)
	blocks.DecodeFields(d, decoded)
	if err := d.Err(); err != nil {
		return err
	}
	counts[blocks.CountRows]++
	if name := blocks.CountName(decoded, r.Order.A); name != "" {
		counts[name]++
	}
	removed, ok := any(decoded).(*records.Removed)
	if ok && removed.KeptIn != nil && (*removed.KeptIn == records.InReference || *removed.KeptIn == records.InIndex) {
		counts[blocks.CountForReference]++
	}
	return nil
}
