package signature

import (
	"cmp"
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[copiesFn]()
}

// distinct finds the copies in each block, and passes on the other documents if they are to be signed.
//
//	blocks of documents → blocks of documents, KV<hash shard, firsts>, KV<split, members>, KV<table shard, rejected rows>
//
// Documents without tokens are passed on, or rejected if nothing is signed.
func distinct(s beam.Scope, docs flow.Documents, p Params) (flow.Documents, Signed) {
	s = s.Scope("signature.Copies")
	others, firsts, copies, rejected := beam.ParDo4(s, &copiesFn{Params: p}, beam.PCollection(docs))
	return flow.Documents(others), Signed{
		Firsts: flow.Firsts(firsts), Copies: flow.Members(copies),
		Rejected: []flow.Rows[records.Rejected]{flow.Rows[records.Rejected](rejected)},
	}
}

// copiesFn finds the copies in a block; see distinct for the shapes.
type copiesFn struct {
	Params Params

	inputs   *blocks.Inputs
	reader   *copies.Reader
	copies   Collapse
	rejected blocks.Buffers
}

func (f *copiesFn) Setup(ctx context.Context) (err error) {
	f.reader = copies.NewReader(f.Params.Text, (*shingle.Shingler).Set)
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	f.copies = NewCollapse(f.inputs, f.Params.HashShards)
	return err
}

func (f *copiesFn) ProcessElement(
	ctx context.Context, block []byte, others func([]byte), firsts, found, rejected func(int64, []byte),
) error {
	var out []byte
	var hashed, equal, none int64
	sign := f.Params.Same == ""
	firsts = gather.Counted(ctx, firstBytes, firsts)
	f.copies.Begin()
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.reader.Apart(uint64(doc.Key), doc.Values)
		sum, ok := f.reader.Key(cmp.Or(f.Params.Same, copies.Tokens), doc.Text, doc.Ends)
		switch {
		case !ok && !sign:
			none++
			RejectEmpty(&f.rejected, f.inputs, &doc, f.Params.Text, rejected)
		case ok && f.copies.IsCopy(sum, doc.Key, firsts, found):
			equal++
		case sign:
			out = blocks.AppendDocument(out, &doc)
		default:
			hashed++
		}
	}
	f.reader.Trim()
	if len(out) > 0 {
		others(out)
	}
	documents.Inc(ctx, hashed+equal)
	collapsed.Inc(ctx, equal)
	noToken.Inc(ctx, none)
	return d.Err()
}

func (f *copiesFn) FinishBundle(ctx context.Context, _ func([]byte), firsts, found, rejected func(int64, []byte)) {
	f.copies.Flush(gather.Counted(ctx, firstBytes, firsts), found)
	f.rejected.Flush(rejected)
}
