package baseline

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[foundFn]()
	flow.Register[scoredFn]()
}

// Found is a pair of documents, a before b. The bits of By are the methods that found it.
type Found struct {
	blocks.Edge
	By uint64
}

// Merge adds a method's pairs to those that earlier methods found. Both must be sorted.
func Merge(found []Found, pairs []blocks.Edge, method int) []Found {
	merged := make([]Found, 0, max(len(found), len(pairs)))
	by := uint64(1) << method
	for _, pair := range pairs {
		for len(found) > 0 && found[0].Compare(pair) < 0 {
			merged, found = append(merged, found[0]), found[1:]
		}
		both := Found{pair, by}
		if len(found) > 0 && found[0].Edge == pair {
			both.By |= found[0].By
			found = found[1:]
		}
		merged = append(merged, both)
	}
	return append(merged, found...)
}

// WriteFound writes the file that Compared reads.
func WriteFound(ctx context.Context, path string, found []Found) error {
	_, err := storage.WriteBelow(ctx, storage.Dir(path), path, func(w io.Writer) error {
		var buffer []byte
		for _, f := range found {
			buffer = binary.AppendUvarint(blocks.AppendEdge(buffer[:0], f.Edge), f.By)
			if _, err := w.Write(buffer); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// Compared lists the pairs that WriteFound wrote to p.Path, with their similarity, which may be below the threshold,
// and the methods that found them. Four CoGroupByKeys.
//
//	found │ KV<document, others> │ CoGroupByKey with features │ KV<pair of cells, features>
//	→ CoGroupByKey with KV<pair of cells, pairs> │ compared
//	→ KV<first, (second, facts)> │ CoGroupByKey with ids, twice → KV<table shard, rows>
func (t Tables) Compared(
	s beam.Scope, ids IDs, features Features, p Params, methods []string,
) flow.Rows[records.Found] {
	s = s.Scope("baseline.ComparedRows")
	p.Verifier.Threshold = setsim.Threshold{Num: 0, Den: 1}
	byDocument := beam.ParDo(s, &byDocumentFn{}, beam.PCollection(features))
	others, pairs := beam.ParDo2(s, &foundFn{p}, beam.Impulse(s))
	sets, _ := beam.ParDo2(s, &distinctFn{Params: p}, beam.CoGroupByKey(s, byDocument, others))
	byFirst := beam.ParDo(s, &scoredFn{p}, beam.CoGroupByKey(s, sets, pairs))
	return flow.Rows[records.Found](t.pairRows(s, ids, byFirst, methods))
}

// foundFn reads the pairs.
//
//	Impulse → KV<document, others>, KV<pair of cells, pairs>
type foundFn struct{ Params Params }

func (f *foundFn) ProcessElement(ctx context.Context, _ []byte, others, pairs func(int64, []byte)) error {
	data, err := storage.ReadFile(ctx, f.Params.Path)
	if err != nil {
		return err
	}
	var byCells blocks.Buffers
	d := blocks.NewDecoder(data)
	for !d.Done() {
		edge, by := blocks.Edge{A: d.Key(), B: d.Key()}, d.Uvarint()
		if d.Err() != nil {
			break
		}
		others(int64(edge.A), blocks.AppendKey(nil, edge.B))
		others(int64(edge.B), blocks.AppendKey(nil, edge.A))
		byCells.Add(number(f.Params.cellOf(edge.A), f.Params.cellOf(edge.B)), func(block []byte) []byte {
			return binary.AppendUvarint(blocks.AppendEdge(block, edge), by)
		}, pairs)
	}
	byCells.Flush(pairs)
	return d.Err()
}

// scoredFn compares the features of pairs.
//
//	KV<pair of cells, (features, pairs)> → KV<document, (second document, facts)>
type scoredFn struct{ Params Params }

func (f *scoredFn) ProcessElement(_ int64, features, pairs func(*[]byte) bool, emit func(int64, []byte)) error {
	of, err := f.Params.featuresOf(features)
	if err != nil {
		return err
	}
	verifier := f.Params.Verifier.New()
	return gather.Each(pairs, func(d *blocks.Decoder) {
		edge, by := blocks.Edge{A: d.Key(), B: d.Key()}, d.Uvarint()
		if d.Err() != nil {
			return
		}
		a, b := of[edge.A], of[edge.B]
		similarity, shared := 0.0, 0
		if score, ok := verifier.Compare(a, b); ok {
			similarity = verifier.Similarity(score, verifier.Size(a), verifier.Size(b))
			shared = verifier.Shared(score, a, b)
		}
		facts := blocks.AppendUint32(blocks.AppendFloat64(nil, similarity), uint32(shared))
		facts = blocks.AppendUint32(facts, uint32(verifier.Len(len(a))))
		facts = binary.AppendUvarint(blocks.AppendUint32(facts, uint32(verifier.Len(len(b)))), by)
		emit(int64(edge.A), blocks.AppendBytes(blocks.AppendKey(nil, edge.B), facts))
	})
}
