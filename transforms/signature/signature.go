// Package signature turns documents into band keys.
package signature

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[minHashFn]())
	register.Emitter1[[]byte]()
	register.Emitter2[int64, []byte]()
}

var (
	documents = beam.NewCounter("sign", "documents")
	collapsed = beam.NewCounter("sign", "collapsed")
	shuffled  = beam.NewCounter("shuffled", "bands") // bytes
	noToken   = beam.NewCounter("sign", "no_token")
)

// Params decide a document's band keys.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Text says how a text becomes shingles.
	Text shingle.Spec
	// Family is the kind of signature.
	Family Family
	// Banding is its length and how it becomes band keys.
	Banding lsh.Banding
	Seed    uint64
	// Same: only documents that have this in common are to share a key, their only one, and nothing is
	// signed; "" signs.
	Same copies.Same
	// ShardBits: the entries of a band go to 1<<ShardBits shards, by the key's first bits.
	ShardBits int
	// Dictionary numbers the shingles, for the family Classic.
	Dictionary Dictionary
}

// minHash signs documents and emits their band keys.
//
//	blocks of documents → KV<band<<ShardBits | shard, band entries>, edges, KV<table shard, rejected rows>
//
// Two documents of similarity s share a bucket with probability 1−(1−s^r)^b (Leskovec, Rajaraman
// and Ullman, Mining of Massive Datasets, §3.4). Of documents of one block with the same shingles, each
// as often, the later gets an edge to the first and no band keys: that connects the same documents as
// equal keys would. Documents without a token are rejected.
func minHash(s beam.Scope, docs flow.Documents, p Params) (flow.Bands, flow.Edges, flow.Rows[records.Rejected]) {
	s = s.Scope("signature.MinHash")
	bands, edges, rejected := beam.ParDo3(s, &minHashFn{Params: p}, beam.PCollection(docs))
	return flow.Bands(bands), flow.Edges(edges), flow.Rows[records.Rejected](rejected)
}

// minHashFn signs documents and makes their band keys; see minHash for the shapes.
type minHashFn struct {
	Params Params

	inputs   *blocks.Inputs
	shingler *shingle.Shingler
	signer   *fss.Signer
	values   []uint64
	keys     []uint64
	copies   collapse[uint64] // by the sum of their shingles
	bands    *blocks.BandWriter
	rejected *blocks.Buffers
}

func (f *minHashFn) Setup(ctx context.Context) (err error) {
	if f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err != nil {
		return err
	}
	f.shingler = f.Params.Text.New()
	f.signer = fss.New(f.Params.Banding.Signature, f.Params.Seed)
	f.bands = blocks.NewBandWriter(f.Params.Banding.Bands, f.Params.ShardBits)
	return nil
}

func (f *minHashFn) StartBundle(func(int64, []byte), func([]byte), func(int64, []byte)) {
	f.copies = newCollapse[uint64]()
	f.rejected = blocks.NewBuffers()
}

func (f *minHashFn) ProcessElement(ctx context.Context, block []byte, bands func(int64, []byte), edges func([]byte), rejected func(int64, []byte)) error {
	var signed, equal, none int64
	bands = counted(ctx, bands)
	f.copies.begin()
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingler.Tokenise(doc.Text)
		shingles := f.shingler.InPlace()
		if len(shingles) == 0 {
			none++
			reject(f.rejected, f.inputs, &doc, records.ReasonNoToken, "", rejected)
			continue
		}
		signed++
		sum := copies.Sum(shingles)
		if f.copies.isCopy(sum, doc.Key, edges) {
			equal++
			continue
		}
		f.values = f.signer.Sign(f.values, shingles)
		f.keys = f.Params.Banding.Keys(f.keys, f.values)
		f.bands.Add(doc.Key, f.keys, bands)
	}
	f.shingler.Trim()
	documents.Inc(ctx, signed)
	collapsed.Inc(ctx, equal)
	noToken.Inc(ctx, none)
	return d.Err()
}

// counted returns an emit that counts the bytes of band entries.
func counted(ctx context.Context, emit func(int64, []byte)) func(int64, []byte) {
	return func(group int64, block []byte) {
		shuffled.Inc(ctx, int64(len(block)))
		emit(group, block)
	}
}

func (f *minHashFn) FinishBundle(ctx context.Context, bands func(int64, []byte), edges func([]byte), rejected func(int64, []byte)) {
	f.bands.Flush(counted(ctx, bands))
	f.copies.flush(edges)
	f.rejected.Flush(rejected)
}
