package candidates

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/radix"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[tokensFn]()
	flow.Register[knownFn]()
}

// Known finds the inputs that have the tokens of a document that the index has kept. That document alone decides about
// them, so List lists them, and Buckets does not look for others that share a band with them.
//
//	KV<band and shard, band entries> → KV<band and shard, band entries>, blocks of edges, KV<gather.Key, keys>
//
// One GroupByKey of the entries of band Params.Tokens.
func Known(s beam.Scope, bands flow.Bands, p Params) (others flow.Bands, edges flow.Edges, known beam.PCollection) {
	s = s.Scope("candidates.Known")
	rest, tokens := beam.ParDo2(s, &tokensFn{Params: p}, beam.PCollection(bands))
	found, known := beam.ParDo2(s, &knownFn{Params: p}, beam.GroupByKey(s, tokens))
	return flow.Bands(rest), flow.Edges(found), known
}

// tokensFn separates the entries of band Params.Tokens from the others.
//
//	KV<band and shard, band entries> → KV<band and shard, band entries> twice
type tokensFn struct{ Params Params }

func (f *tokensFn) ProcessElement(group int64, block []byte, others, tokens func(int64, []byte)) {
	if int(group>>f.Params.ShardBits) == f.Params.Tokens {
		tokens(group, block)
	} else {
		others(group, block)
	}
}

// knownFn connects the inputs of a group with the kept document that has their key.
//
//	KV<band and shard, group of band entries> → blocks of edges, KV<gather.Key, keys>
type knownFn struct {
	Params Params

	in     *blocks.Inputs
	sorter radix.Sorter[blocks.BandEntry, blocks.Key]
}

func (f *knownFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *knownFn) ProcessElement(
	ctx context.Context, group int64, packed func(*[]byte) bool, edges func([]byte), known func(int64, []byte),
) (err error) {
	var entries []blocks.BandEntry
	var keys blocks.Buffers
	var block []byte
	for packed(&block) {
		if entries, err = blocks.DecodeBands(entries, block); err != nil {
			return err
		}
	}
	if entries, err = f.Params.withDocuments(ctx, group, entries, &f.sorter); err != nil {
		return err
	}
	out := blocks.EdgeWriter{Emit: edges}
	for i := 1; i < len(entries); i++ {
		first, e := &entries[i-1], &entries[i]
		if e.Key != first.Key || !f.in.IsReference(first.Document) {
			continue
		}
		if f.in.IsReference(e.Document) {
			continue
		}
		out.Add(first.Document, e.Document)
		keys.Add(gather.Key, func(block []byte) []byte { return blocks.AppendKey(block, e.Document) }, known)
		*e = *first // the entries after it are compared with the same kept document
	}
	out.Flush()
	keys.Flush(known)
	return nil
}
