package signature

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[exactFn]())
}

// exact makes one key of each document, of what copies have in common.
//
//	blocks of documents → KV<shard, band entries>, edges, KV<table shard, rejected rows>
//
// Of copies in one block, the later gets an edge to the first and no key. Documents without a token are
// rejected.
func exact(s beam.Scope, docs flow.Documents, p Params) (flow.Bands, flow.Edges, flow.Rows[records.Rejected]) {
	s = s.Scope("signature.Exact")
	bands, edges, rejected := beam.ParDo3(s, &exactFn{Params: p}, beam.PCollection(docs))
	return flow.Bands(bands), flow.Edges(edges), flow.Rows[records.Rejected](rejected)
}

// exactFn makes the keys of documents; see exact for the shapes.
type exactFn struct {
	Params Params

	inputs   *blocks.Inputs
	reader   *copies.Reader
	copies   collapse[hash.Sum128]
	key      [1]uint64
	keys     *blocks.BandWriter
	rejected *blocks.Buffers
}

func (f *exactFn) Setup(ctx context.Context) (err error) {
	f.reader = copies.NewReader(f.Params.Text)
	f.keys = blocks.NewBandWriter(1, f.Params.ShardBits)
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *exactFn) StartBundle(func(int64, []byte), func([]byte), func(int64, []byte)) {
	f.copies = newCollapse[hash.Sum128]()
	f.rejected = blocks.NewBuffers()
}

func (f *exactFn) ProcessElement(ctx context.Context, block []byte, keys func(int64, []byte), edges func([]byte), rejected func(int64, []byte)) error {
	var keyed, equal, none int64
	keys = counted(ctx, keys)
	f.copies.begin()
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		sum, ok := f.reader.Key(f.Params.Same, doc.Text, doc.Ends)
		if !ok {
			none++
			reject(f.rejected, f.inputs, &doc, records.ReasonNoToken, "", rejected)
			continue
		}
		keyed++
		if f.copies.isCopy(sum, doc.Key, edges) {
			equal++
			continue
		}
		f.key[0] = sum.Hi
		f.keys.Add(doc.Key, f.key[:], keys)
	}
	f.reader.Trim()
	documents.Inc(ctx, keyed)
	collapsed.Inc(ctx, equal)
	noToken.Inc(ctx, none)
	return d.Err()
}

func (f *exactFn) FinishBundle(ctx context.Context, keys func(int64, []byte), edges func([]byte), rejected func(int64, []byte)) {
	f.keys.Flush(counted(ctx, keys))
	f.copies.flush(edges)
	f.rejected.Flush(rejected)
}
