package decide

import (
	"bytes"
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[firstsFn]()
	flow.Register[spreadFn]()
}

// Copies is like Survivors, for documents that have copies but no near pairs.
//
//	KV<component shard, profiles>, KV<copy shard, copies> → KV<table shard, rows> for each table, KV<corpus batch, keys>, facts
//
// One CoGroupByKey. Counters as for Survivors.
func Copies(s beam.Scope, profiles flow.Profiles, copied flow.Copies, p Params) Rows {
	s = s.Scope("decide.Copies")
	return spread(s, flow.Verdicts(beam.ParDo(s, &firstsFn{Params: p}, beam.PCollection(profiles))), copied, p)
}

// firstsFn decides each document that has copies, which form a cluster with it.
//
//	KV<component shard, profiles> → KV<copy shard, verdicts>
type firstsFn struct {
	Params Params

	verdicts blocks.Buffers
}

func (f *firstsFn) ProcessElement(ctx context.Context, _ int64, block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		doc := d.Profile()
		v := blocks.Verdict{
			Of: doc.Key, Tokens: doc.Traits.Tokens, Size: doc.Words,
			First: doc, Kept: *doc.Preferred(), Cluster: doc.Key, Members: 1 + doc.Copies, Similarity: 1,
		}
		f.verdicts.Add(f.Params.Shards.Shard(doc.Key), func(block []byte) []byte { return blocks.AppendVerdict(block, &v) },
			emit)
		clustersFound.Inc(ctx, 1)
	}
	return d.Err()
}

func (f *firstsFn) FinishBundle(emit func(int64, []byte)) { f.verdicts.Flush(emit) }

// spread makes the rows of documents that have copies, and of the copies.
//
//	KV<copy shard, verdicts>, KV<copy shard, copies> → KV<table shard, rows> for each table, KV<corpus batch, keys>, facts
//
// One CoGroupByKey. It holds a shard's verdicts in memory, one per copy group; the copies are streamed.
func spread(s beam.Scope, verdicts flow.Verdicts, copied flow.Copies, p Params) (rows Rows) {
	s = s.Scope("Copies")
	rows.add(beam.ParDo5(s, &spreadFn{Params: p},
		beam.CoGroupByKey(s, beam.PCollection(verdicts), beam.PCollection(copied))))
	return rows
}

// spreadFn makes the rows of a shard; see spread for the shapes.
type spreadFn struct {
	Params Params

	rows rowWriter
}

func (f *spreadFn) Setup(ctx context.Context) error { return f.rows.setup(ctx, &f.Params) }

func (f *spreadFn) ProcessElement(
	ctx context.Context, shard int64, verdicts, copied func(*[]byte) bool, toPairs, toClusters, toRemoved,
	toDropped func(int64, []byte), facts func([]byte),
) error {
	all := map[blocks.Key]*verdict{}
	err := gather.Each(verdicts, func(d *blocks.Decoder) {
		v := d.Verdict()
		v.First.ID, v.Kept.ID = bytes.Clone(v.First.ID), bytes.Clone(v.Kept.ID) // so that the block is not retained
		all[v.Of] = &verdict{Verdict: v}
	})
	if err != nil {
		return err
	}
	f.rows.begin(ctx, toPairs, toClusters, toRemoved, toDropped)
	var unknown error
	err = gather.Each(copied, func(d *blocks.Decoder) {
		c := d.Copy()
		v := all[c.Of]
		if v == nil {
			unknown = fmt.Errorf("nothing is decided about %v, which has copies", c.Of)
			return
		}
		f.rows.document(v, &c.Profile)
	})
	if err != nil {
		return err
	}
	if unknown != nil {
		return unknown
	}
	return f.rows.end(ctx, fmt.Sprint("copies ", shard), facts)
}

func (f *spreadFn) FinishBundle(
	ctx context.Context, toPairs, toClusters, toRemoved, toDropped func(int64, []byte), _ func([]byte),
) {
	f.rows.flush(ctx, toPairs, toClusters, toRemoved, toDropped)
}
