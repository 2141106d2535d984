package baseline

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/signature"
)

func init() {
	flow.Register[idsFn]()
	flow.Register[bucketRowsFn]()
	flow.Register[byFirstFn]()
	flow.Register[bySecondFn]()
	flow.Register[pairRowsFn]()
}

// Tables make table rows from the collections of Buckets.
type Tables struct {
	// Signing says how signatures become keys, and where the shared blocks.Inputs are.
	Signing signature.Params
}

// IDs are KV<document, id>.
type IDs beam.PCollection

// IDs returns the ids of documents.
//
//	blocks of documents → KV<document, id>
func (t Tables) IDs(s beam.Scope, docs flow.Documents) IDs {
	s = s.Scope("baseline.IDs")
	return IDs(beam.ParDo(s, &idsFn{Tables: t}, beam.PCollection(docs)))
}

// Buckets lists the buckets of each document. One CoGroupByKey.
//
//	KV<document, id>, blocks of signatures → KV<table shard, rows>
func (t Tables) Buckets(s beam.Scope, ids IDs, signed flow.Signatures) flow.Rows[records.Bucketed] {
	s = s.Scope("baseline.BucketRows")
	signatures := beam.ParDo(s, &byDocumentFn{}, beam.PCollection(signed))
	grouped := beam.CoGroupByKey(s, beam.PCollection(ids), signatures)
	return flow.Rows[records.Bucketed](beam.ParDo(s, &bucketRowsFn{Tables: t}, grouped))
}

// Candidates lists pairs of documents. Two CoGroupByKeys: each document of a pair gets its id.
//
//	KV<document, id>, KV<pair of cells, edges> → KV<table shard, rows>
func (t Tables) Candidates(s beam.Scope, ids IDs, found Candidates) flow.Rows[records.Candidate] {
	s = s.Scope("baseline.CandidateRows")
	byFirst := beam.ParDo(s, &byFirstFn{}, beam.PCollection(found))
	return flow.Rows[records.Candidate](t.pairRows(s, ids, byFirst, nil))
}

// pairRows adds the ids of their documents to pairs, and makes rows of them.
func (t Tables) pairRows(s beam.Scope, ids IDs, byFirst beam.PCollection, methods []string) beam.PCollection {
	bySecond := beam.ParDo(s, &bySecondFn{}, beam.CoGroupByKey(s, beam.PCollection(ids), byFirst))
	grouped := beam.CoGroupByKey(s, beam.PCollection(ids), bySecond)
	return beam.ParDo(s, &pairRowsFn{Tables: t, Methods: methods}, grouped)
}

func (t *Tables) inputs(ctx context.Context) (*blocks.Inputs, error) {
	return storage.Shared[blocks.Inputs](ctx, t.Signing.Inputs)
}

// idsFn emits the ids of documents.
//
//	blocks of documents → KV<document, id>
type idsFn struct{ Tables Tables }

func (f *idsFn) ProcessElement(ctx context.Context, block []byte, emit func(int64, []byte)) error {
	in, err := f.Tables.inputs(ctx)
	if err != nil {
		return err
	}
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		emit(int64(doc.Key), []byte(in.ID(doc.Key, doc.ID, doc.HasID)))
	}
	return d.Err()
}

// bucketRowsFn lists the buckets of a document, if it has a signature.
//
//	KV<document, (id, signature)> → KV<table shard, rows>
type bucketRowsFn struct {
	Tables Tables

	values, keys []uint64
	rows         blocks.Buffers
}

func (f *bucketRowsFn) ProcessElement(
	ctx context.Context, document int64, ids, signatures func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := f.Tables.inputs(ctx)
	if err != nil {
		return err
	}
	doc := blocks.Key(document)
	var id []byte
	ids(&id)
	row := records.Bucketed{ID: string(id), Source: in.Source(doc), Position: doc.Position()}
	return gather.Each(signatures, func(d *blocks.Decoder) {
		if _, f.values = d.Numbers(f.values[:0]); d.Err() != nil {
			return
		}
		keyer := f.Tables.Signing.Keyer()
		f.keys = keyer.Keys(f.keys, f.values)
		for band, key := range f.keys {
			row.Band, row.Bucket, row.Label = int32(band), keyer.Bucket(key), keyer.Label(f.values, band)
			shard := band * in.Shards / len(f.keys) // bands follow one another across the files
			blocks.AddRow(&f.rows, int64(shard), blocks.Key(band), doc, &row, emit)
		}
	})
}

func (f *bucketRowsFn) FinishBundle(emit func(int64, []byte)) { f.rows.Flush(emit) }

// byFirstFn keys pairs by their first documents.
//
//	KV<pair of cells, edges> → KV<document, (second document, nothing)>
type byFirstFn struct{}

func (f *byFirstFn) ProcessElement(_ int64, block []byte, emit func(int64, []byte)) error {
	pairs, err := blocks.DecodeEdges(nil, block)
	for _, pair := range pairs {
		emit(int64(pair.A), blocks.AppendBytes(blocks.AppendKey(nil, pair.B), ""))
	}
	return err
}

// bySecondFn keys pairs by their second documents, with the id of the first.
//
//	KV<document, (id, second documents with facts)> → KV<second document, (first document, its id, facts)>
type bySecondFn struct{}

func (f *bySecondFn) ProcessElement(document int64, ids, seconds func(*[]byte) bool, emit func(int64, []byte)) error {
	var id []byte
	ids(&id)
	return gather.Each(seconds, func(d *blocks.Decoder) {
		second := d.Key()
		if facts := d.Bytes(); d.Err() == nil {
			first := blocks.AppendBytes(blocks.AppendKey(nil, blocks.Key(document)), id)
			emit(int64(second), blocks.AppendBytes(first, facts))
		}
	})
}

// pairRowsFn makes rows of pairs: Candidate rows, or Found rows if Methods is set.
//
//	KV<second document, (id, first documents with ids and facts)> → KV<table shard, rows>
type pairRowsFn struct {
	Tables  Tables
	Methods []string

	rows blocks.Buffers
}

func (f *pairRowsFn) ProcessElement(
	ctx context.Context, document int64, ids, firsts func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := f.Tables.inputs(ctx)
	if err != nil {
		return err
	}
	b := blocks.Key(document)
	var id []byte
	ids(&id)
	sourceB := in.Source(b)
	return gather.Each(firsts, func(d *blocks.Decoder) {
		a, idA, facts := d.Key(), d.Bytes(), d.Bytes()
		if d.Err() != nil {
			return
		}
		shard, sourceA := int64(in.Shard(a)), in.Source(a)
		if f.Methods == nil {
			blocks.AddRow(&f.rows, shard, a, b, &records.Candidate{
				IDA: string(idA), SourceA: sourceA, PositionA: a.Position(),
				IDB: string(id), SourceB: sourceB, PositionB: b.Position(),
			}, emit)
			return
		}
		row := f.scored(facts)
		row.IDA, row.SourceA, row.PositionA = string(idA), sourceA, a.Position()
		row.IDB, row.SourceB, row.PositionB = string(id), sourceB, b.Position()
		blocks.AddRow(&f.rows, shard, a, b, &row, emit)
	})
}

// scored decodes the facts of a pair that scoredFn emitted.
func (f *pairRowsFn) scored(facts []byte) records.Found {
	d := blocks.NewDecoder(facts)
	row := records.Found{Similarity: d.Float64(),
		Shared: int32(d.Uint32()), SizeA: int32(d.Uint32()), SizeB: int32(d.Uint32())}
	by := d.Uvarint()
	for i, method := range f.Methods {
		if by>>i&1 == 1 {
			row.Methods = append(row.Methods, method)
		}
	}
	return row
}

func (f *pairRowsFn) FinishBundle(emit func(int64, []byte)) { f.rows.Flush(emit) }
