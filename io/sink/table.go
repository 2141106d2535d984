package sink

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

func init() {
	registerTable[records.Pair]()
	registerTable[records.Clustered]()
	registerTable[records.Removed]()
	registerTable[records.Rejected]()
}

func registerTable[T any, R row[T]]() {
	beam.RegisterDoFn(reflect.TypeFor[tableFn[T, R]]())
}

// row is a table's row type as the sink needs it.
type row[T any] interface {
	*T
	DecodeFields(*records.Decoder)
	Tally(own records.Key) string
}

// Table writes the rows of one table to Output/name, a Parquet file a shard, rows in the order
// of their sort keys. A table that is not among p.Write is counted all the same.
//
//	KV<shard, rows> → facts
//
// One GroupByKey by shard; a shard's rows are held in memory.
func Table[T any, R row[T]](s beam.Scope, name string, rows beam.PCollection, p Params) (facts beam.PCollection) {
	s = s.Scope("sink.Table." + name)
	shards := beam.GroupByKey(s, beam.Flatten(s, rows, marks(s, p.Inputs, false)))
	return beam.ParDo(s, &tableFn[T, R]{Name: name, Params: p}, shards)
}

type tableFn[T any, R row[T]] struct {
	Name   string
	Params Params
}

// sorted is a row that is not yet decoded, with its sort key.
type sorted struct {
	order  records.Edge
	fields []byte
}

func (f *tableFn[T, R]) ProcessElement(_ context.Context, shard int64, blocks func(*[]byte) bool, facts func([]byte)) error {
	in, err := storage.Shared[records.Inputs](f.Params.Inputs)
	if err != nil {
		return err
	}
	var rows []sorted
	var block []byte
	for blocks(&block) {
		for d := records.NewDecoder(block); !d.Done(); {
			r := sorted{order: records.Edge{A: d.Key(), B: d.Key()}, fields: d.Bytes()}
			if err := d.Err(); err != nil {
				return err
			}
			rows = append(rows, r)
		}
		block = nil // rows point into it
	}
	slices.SortFunc(rows, func(a, b sorted) int { return a.order.Compare(b.order) })

	name := fmt.Sprintf("%s/part-%05d-of-%05d.parquet", f.Name, shard, in.Shards)
	counts := map[string]int64{records.CountRows: int64(len(rows))}
	var written storage.Written
	if slices.Contains(f.Params.Write, f.Name) {
		written, err = storage.WriteFile(path.Join(f.Params.Output, name), func(w io.Writer) error {
			return f.write(w, rows, counts)
		})
	} else {
		err = f.write(io.Discard, rows, counts)
	}
	if err != nil {
		return err
	}
	return emitFact(facts, records.FactTable, name, written, counts)
}

// Rows are written in batches: a row group is held until it is full, the decoded rows are not.
const (
	rowBatch  = 1024
	rowGroups = 1 << 20
)

func (f *tableFn[T, R]) write(w io.Writer, rows []sorted, counts map[string]int64) error {
	options := []parquet.WriterOption{
		parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("neardup", records.Tables, ""),
		parquet.MaxRowsPerRowGroup(rowGroups),
	}
	for _, key := range slices.Sorted(maps.Keys(f.Params.Metadata)) {
		options = append(options, parquet.KeyValueMetadata(key, f.Params.Metadata[key]))
	}
	out := parquet.NewGenericWriter[T](w, options...)
	batch := make([]T, 0, rowBatch)
	for chunk := range slices.Chunk(rows, rowBatch) {
		batch = batch[:len(chunk)]
		for i, r := range chunk {
			d := records.NewDecoder(r.fields)
			decoded := R(&batch[i])
			decoded.DecodeFields(d)
			if err := d.Err(); err != nil {
				return err
			}
			if tally := decoded.Tally(r.order.A); tally != "" {
				counts[tally]++
			}
		}
		if _, err := out.Write(batch); err != nil {
			return err
		}
	}
	return out.Close()
}
