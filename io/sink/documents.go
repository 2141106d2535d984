package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[aboutFn]()
	flow.Register[documentsFn]()
}

// About holds the listed records and what the tables say about them.
type About struct {
	Listed   []flow.Listed
	Rejected []flow.Rows[records.Rejected]
	Clusters []flow.Rows[records.Clustered]
	Removed  []flow.Rows[records.Removed]
}

// Documents writes the table documents: for each input file a Parquet file of the same name, with one row per record in
// the order of the file.
//
//	KV<file, records>, KV<table shard, rows> of other tables → facts
//
// One GroupByKey by file. Rows are sorted like those of a shard of a Table.
func Documents(s beam.Scope, slices int, p Params, about About) flow.Facts {
	s = s.Scope("sink.Documents")
	var all []beam.PCollection
	for _, l := range about.Listed {
		all = append(all, beam.PCollection(l))
	}
	all = append(all, rowsAbout(s, p, rejectedRow, about.Rejected)...)
	all = append(all, rowsAbout(s, p, clusteredRow, about.Clusters)...)
	all = append(all, rowsAbout(s, p, removedRow, about.Removed)...)
	if slices > 1 {
		all = []beam.PCollection{runs(s, string(output.Documents), slices, p, beam.Flatten(s, all...))}
	}
	all = append(all, beam.ParDo(s, &everyFn{Inputs: p.Inputs, Of: ofFiles}, beam.Impulse(s)))
	return flow.Facts(beam.ParDo(s, &documentsFn{Params: p}, beam.GroupByKey(s, beam.Flatten(s, all...))))
}

// The rows about a record are sorted in this order: the listed one comes first.
const (
	listedRow = blocks.Key(iota)
	rejectedRow
	clusteredRow
	removedRow
)

func rowsAbout[T blocks.Row](s beam.Scope, p Params, kind blocks.Key, rows []flow.Rows[T]) (all []beam.PCollection) {
	for _, r := range rows {
		all = append(all, beam.ParDo(s, &aboutFn{Inputs: p.Inputs, Kind: kind}, beam.PCollection(r)))
	}
	return all
}

// aboutFn sends the rows of a table, except those of references, to the files of their documents.
//
//	KV<table shard, rows> → KV<file, rows>
type aboutFn struct {
	Inputs string
	Kind   blocks.Key

	in      *blocks.Inputs
	buffers blocks.Buffers
}

func (f *aboutFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *aboutFn) ProcessElement(_ int64, block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		part := d.RowPart()
		if err := d.Err(); err != nil {
			return err
		}
		if f.in.IsReference(part.Order.A) {
			continue
		}
		part.Order.B = f.Kind
		f.buffers.Add(int64(part.Order.A.File()), part.Append, emit)
	}
	return nil
}

func (f *aboutFn) FinishBundle(emit func(int64, []byte)) { f.buffers.Flush(emit) }

// documentsFn writes the table of one input file; see Documents for the shapes.
type documentsFn struct{ Params Params }

func (f *documentsFn) ProcessElement(
	ctx context.Context, file int64, packed func(*[]byte) bool, facts func([]byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	rows, err := merged(ctx, f.Params, string(output.Documents), packed)
	if err != nil {
		return err
	}
	name := output.DocumentsFile(in.Name(int(file)))
	counts := map[string]int64{}
	written, err := f.Params.write(ctx, name, func(w io.Writer) error {
		return f.write(w, documented(in, rows), counts)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return emitFact(facts, blocks.FactTable, written, counts)
}

func (f *documentsFn) write(w io.Writer, rows iter.Seq2[*records.Documented, error], counts map[string]int64) error {
	out := newRowWriter[records.Documented](w, f.Params)
	for row, err := range rows {
		if err != nil {
			return err
		}
		counts[blocks.CountRows]++
		size := len(row.ID)
		if row.KeptID != nil {
			size += len(*row.KeptID)
		}
		if row.Rank != nil {
			size += len(*row.Rank)
		}
		if err := out.add(*row, size); err != nil {
			return err
		}
	}
	return out.close()
}

// errUnlisted occurs only if the rows and the list are of different inputs.
var errUnlisted = errors.New("a row is about a record that was not read")

// documented yields one row per listed record, completed by the rows that follow it. A row is valid until the next.
func documented(in *blocks.Inputs, rows iter.Seq2[blocks.RowPart, error]) iter.Seq2[*records.Documented, error] {
	return func(yield func(*records.Documented, error) bool) {
		var row *records.Documented
		var two [2]records.Documented // the current row and the one before
		var rejected records.Rejected
		var clustered records.Clustered
		var removed records.Removed
		var of blocks.Key
		for part, err := range rows {
			d := blocks.NewDecoder(part.Fields)
			switch kind := part.Order.B; {
			case err != nil:
			case kind == listedRow:
				if row != nil && !yield(row, nil) {
					return
				}
				l := d.Listing()
				number := int64(0)
				if row != nil {
					number = row.Row + 1
				}
				row, of = &two[number%2], part.Order.A
				*row = records.Documented{
					Row: number, Position: of.Position(), ID: in.ID(of, l.ID, l.HasID), Status: records.StatusKept, Members: 1,
				}
				if rank := in.RankOf(of.File(), l.Rank); len(rank) > 0 {
					row.Rank = &rank
				}
			case row == nil || of != part.Order.A:
				err = errUnlisted
			case kind == rejectedRow:
				blocks.DecodeFields(d, &rejected)
				row.Status, row.Reason = records.StatusNotCompared, new(rejected.Reason)
				if rejected.Unreadable() {
					row.Status = records.StatusUnreadable
				}
			case kind == clusteredRow:
				blocks.DecodeFields(d, &clustered)
				row.Cluster, row.Members = new(clustered.Cluster), clustered.Members
			default:
				blocks.DecodeFields(d, &removed)
				row.Status, row.Reason, row.Similarity = records.StatusRemoved, new(removed.Reason), removed.Similarity
				row.KeptIn, row.KeptID, row.KeptSource = removed.KeptIn, new(removed.KeptID), new(removed.KeptSource)
			}
			if err == nil {
				err = d.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if row != nil {
			yield(row, nil)
		}
	}
}
