package signature

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/spool"
)

func init() { flow.Register[setsFn]() }

// SetsParams configure how the sets of all documents are made, and where they are sent.
type SetsParams struct {
	Verifier verifier.Spec
	Batching spool.Batching
}

// Sets makes the sets of documents that are all compared with each other, and so need no signatures. Otherwise it is
// like Sign.
//
//	blocks of documents → KV<batch, set parts>, KV<hash shard, firsts>, KV<split, members>, KV<table shard, rejected rows>
//
// Counters: sign/documents, sign/collapsed, sign/no_token, shuffled/sets in bytes.
func Sets(s beam.Scope, docs flow.Documents, p Params, to SetsParams) Signed {
	s = s.Scope("signature.Sets")
	sized, firsts, copies, rejected := beam.ParDo4(s, &setsFn{Params: p, To: to}, beam.PCollection(docs))
	return Signed{
		Sized: flow.Sized(sized), Firsts: flow.Firsts(firsts), Copies: flow.Members(copies),
		Rejected: []flow.Rows[records.Rejected]{flow.Rows[records.Rejected](rejected)},
	}
}

// setsFn makes sets; see Sets for the shapes.
type setsFn struct {
	Params Params
	To     SetsParams

	inputs   *blocks.Inputs
	shingler *shingle.Shingler
	features func(of *shingle.Shingler) []uint64
	copies   Collapse
	sized    blocks.Buffers
	part     []byte
	rejected blocks.Buffers
}

var setBytes = beam.NewCounter("shuffled", "sets")

func (f *setsFn) Setup(ctx context.Context) (err error) {
	f.shingler = f.Params.Text.New()
	if f.features, err = frequencies.TextFeatures(ctx, f.To.Verifier); err != nil {
		return err
	}
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	f.copies = NewCollapse(f.inputs, f.Params.HashShards)
	return err
}

func (f *setsFn) ProcessElement(
	ctx context.Context, block []byte, sized, firsts, copies, rejected func(int64, []byte),
) error {
	var made, equal, none, bytes int64
	firsts = gather.Counted(ctx, firstBytes, firsts)
	f.copies.Begin()
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingler.Apart(uint64(doc.Key), doc.Values)
		values := f.shingler.Tokenise(doc.Text)
		if len(values) == 0 {
			none++
			RejectEmpty(&f.rejected, f.inputs, &doc, f.Params.Text, rejected)
			continue
		}
		made++
		tokens := f.shingler.Copied(values)
		if f.copies.IsCopy(tokens, doc.Key, firsts, copies) {
			equal++
			continue
		}
		set := f.shingler.Matched(f.features(f.shingler))
		sum := blocks.Hash(hash.Sequence(set))
		batch := f.To.Batching.Batch(len(set), sum)
		blocks.SetParts(f.part, doc.Key, sum, set, func(part []byte) {
			f.part = part[:0]
			bytes += int64(len(part))
			f.sized.Add(batch, func(block []byte) []byte { return blocks.AppendBytes(block, part) }, sized)
		})
	}
	f.shingler.Trim()
	documents.Inc(ctx, made)
	collapsed.Inc(ctx, equal)
	noToken.Inc(ctx, none)
	setBytes.Inc(ctx, bytes)
	return d.Err()
}

func (f *setsFn) FinishBundle(ctx context.Context, sized, firsts, copies, rejected func(int64, []byte)) {
	f.sized.Flush(sized)
	f.copies.Flush(gather.Counted(ctx, firstBytes, firsts), copies)
	f.rejected.Flush(rejected)
}
