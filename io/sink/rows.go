package sink

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/klauspost/compress/s2"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
)

func init() {
	flow.Register[sliceFn]()
	beam.RegisterFunction(packFn)
	flow.Register[runFn]()
}

// runs sorts the rows of each slice of a shard.
//
//	KV<shard, rows> → KV<shard, rows>
//
// One GroupByKey by slice.
func runs(s beam.Scope, name string, slices int, p Params, rows beam.PCollection) beam.PCollection {
	sliced := beam.ParDo(s, &sliceFn{Slices: int64(slices)}, rows)
	if p.Pack {
		sliced = beam.ParDo(s, packFn, sliced)
	}
	return beam.ParDo(s, &runFn{Files: p.files(name), Slices: int64(slices), Few: int(p.GroupRows) / slices,
		Packed: p.Pack}, beam.GroupByKey(s, sliced))
}

// sliceFn spreads the rows of a shard over its slices. A row's slice depends on its sort key alone, because a repeated
// step may receive its blocks in another order.
//
//	KV<shard, rows> → KV<slice, rows>
type sliceFn struct {
	Slices int64

	buffers blocks.Buffers
}

func (f *sliceFn) ProcessElement(shard int64, block []byte, emit func(int64, []byte)) error {
	for d := blocks.NewDecoder(block); !d.Done(); {
		part := d.RowPart()
		if err := d.Err(); err != nil {
			return err
		}
		f.buffers.Add(shard*f.Slices+f.slice(part.Order), part.Append, emit)
	}
	return nil
}

// slice returns the slice of a row, by Fibonacci hashing, twice.
func (f *sliceFn) slice(order blocks.Edge) int64 {
	const golden = 0x9e3779b97f4a7c15
	mixed := uint64(order.A) * golden
	mixed = (mixed ^ mixed>>32 ^ uint64(order.B)) * golden
	return int64((mixed >> 32) % uint64(f.Slices))
}

func (f *sliceFn) FinishBundle(emit func(int64, []byte)) { f.buffers.Flush(emit) }

// packFn compresses rows.
//
//	KV<slice, rows> → KV<slice, packed rows>
func packFn(slice int64, rows []byte, emit func(int64, []byte)) { emit(slice, s2.Encode(nil, rows)) }

// runFn sorts one slice. It passes on up to Few bytes directly, and writes more to files that marker rows name (Order
// == inFile).
//
//	KV<slice, rows> → KV<shard, rows>
type runFn struct {
	Files  sorted.Params
	Slices int64
	Few    int // maximum bytes of rows to pass on
	Packed bool

	rows    sorted.Records
	buffers blocks.Buffers
}

// inFile is the order of a row whose fields are a sorted.File of rows.
var inFile = blocks.Edge{A: -1, B: -1}

func (f *runFn) ProcessElement(
	ctx context.Context, slice int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	f.rows.Begin(ctx, f.Files)
	var block []byte
	for packed(&block) {
		if f.Packed {
			var err error
			if block, err = s2.Decode(nil, block); err != nil {
				return err
			}
		}
		if err := addRows(&f.rows, block); err != nil {
			return err
		}
	}
	files, err := f.rows.Spill(f.Few)
	if err != nil {
		return err
	}
	shard := slice / f.Slices
	for _, file := range files {
		fields, err := json.Marshal(file)
		if err != nil {
			return err
		}
		run := blocks.RowPart{RowPlace: blocks.RowPlace{Order: inFile}, Fields: fields}
		emit(shard, run.Append(nil))
	}
	if len(files) > 0 {
		return nil
	}
	for part, err := range partsOf(&f.rows) {
		if err != nil {
			return err
		}
		f.buffers.Add(shard, part.Append, emit)
	}
	f.buffers.Flush(emit)
	return nil
}

// addRows adds the parts of rows in a block, or in the files of its marker rows.
func addRows(rows *sorted.Records, block []byte) error {
	var record []byte
	for d := blocks.NewDecoder(block); !d.Done(); {
		part := d.RowPart()
		if err := d.Err(); err != nil {
			return err
		}
		if part.Order == inFile {
			var file sorted.File
			if err := json.Unmarshal(part.Fields, &file); err != nil {
				return err
			}
			rows.AddFile(file)
			continue
		}
		record = appendPart(record[:0], part)
		if err := rows.Add(record); err != nil {
			return err
		}
	}
	return nil
}

// appendPart appends a part of a row as a record whose bytes are in the order of parts: the more of the row follows,
// the earlier.
func appendPart(dst []byte, p blocks.RowPart) []byte {
	left := uint64(p.Left) << 1
	if p.Continues {
		left |= 1
	}
	dst = blocks.AppendOrdered(blocks.AppendOrdered(dst, p.Order.A), p.Order.B)
	return append(binary.BigEndian.AppendUint64(dst, ^left), p.Fields...)
}

// partOf returns the part in a record of appendPart.
func partOf(record []byte) (p blocks.RowPart, err error) {
	const head = 3 * 8
	if len(record) < head {
		return p, blocks.ErrCorrupt
	}
	left := ^binary.BigEndian.Uint64(record[16:])
	p.Order.A = blocks.Key(binary.BigEndian.Uint64(record))
	p.Order.B = blocks.Key(binary.BigEndian.Uint64(record[8:]))
	p.Left, p.Continues, p.Fields = int(left>>1), left&1 == 1, record[head:]
	return p, nil
}

// partsOf yields the parts in records. A part is valid until the next.
func partsOf(rows *sorted.Records) iter.Seq2[blocks.RowPart, error] {
	return func(yield func(blocks.RowPart, error) bool) {
		for record, err := range rows.All() {
			var part blocks.RowPart
			if err == nil {
				part, err = partOf(record)
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

// merged yields the whole rows of a shard of the table name in order, from the group's blocks and from files. A row is
// valid until the next.
func merged(
	ctx context.Context, p Params, name string, packed func(*[]byte) bool,
) (iter.Seq2[blocks.RowPart, error], error) {
	rows := new(sorted.Records)
	rows.Begin(ctx, p.files(name))
	var block []byte
	for packed(&block) {
		if err := addRows(rows, block); err != nil {
			return nil, err
		}
	}
	return joined(partsOf(rows)), rows.End()
}

// joined yields the rows that parts make up.
func joined(parts iter.Seq2[blocks.RowPart, error]) iter.Seq2[blocks.RowPart, error] {
	return func(yield func(blocks.RowPart, error) bool) {
		var rows blocks.RowJoiner
		for part, err := range parts {
			whole := false
			if err == nil {
				part, whole, err = rows.Add(part)
			}
			if err != nil {
				yield(part, err)
				return
			}
			if whole && !yield(part, nil) {
				return
			}
		}
		if err := rows.Close(); err != nil {
			yield(blocks.RowPart{}, err)
		}
	}
}
