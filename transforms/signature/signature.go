// Package signature turns documents into the keys by which candidates are found.
package signature

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[signFn]()
}

var (
	documents = beam.NewCounter("sign", "documents")
	collapsed = beam.NewCounter("sign", "collapsed")
	noToken   = beam.NewCounter("sign", "no_token")

	bandBytes  = beam.NewCounter("shuffled", "bands")
	firstBytes = beam.NewCounter("shuffled", "firsts")
)

// Params determine the band keys of a document.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Text says how a text becomes shingles.
	Text shingle.Spec
	// Family is the kind of signature.
	Family Family
	// Banding is the length of a signature and how it becomes band keys.
	Banding lsh.Banding
	// SimHash says how signatures of the family SimHash are made, including those whose overlap is compared, and Pieces
	// how they become keys.
	SimHash verifier.Spec
	Pieces  simhash.Pieces
	Seed    uint64
	// Same is what copies have in common if only copies are sought; then nothing is signed. "" signs.
	Same copies.Same
	// HashShards is the number of shards over which the hashes of documents are spread.
	HashShards int
	// ShardBits spreads the entries of a band over 1<<ShardBits shards, by the first bits of the key.
	ShardBits int
	// Whole adds the keys of two bands: one that documents with equal signatures share, and one that documents with
	// equal tokens share. Settled documents do not have the former, and recalled ones have only the former.
	Whole bool
	// Dictionary numbers the shingles, for the family Classic.
	Dictionary Dictionary
}

// sign signs documents and emits their band keys.
//
//	blocks of documents → KV<band<<ShardBits | shard, band entries>, KV<hash shard, firsts>, KV<split, members>,
//	KV<table shard, rejected rows>
//
// Two documents of similarity s share a bucket with probability 1−(1−s^r)^b (Leskovec, Rajaraman and Ullman, Mining of
// Massive Datasets, §3.4). Pieces of SimHash signatures are bands, too. If documents of one block have the same tokens,
// only the first is signed; members say that the others are copies of it. Documents without tokens are rejected.
func sign(s beam.Scope, docs flow.Documents, p Params) Signed {
	s = s.Scope("signature.Sign")
	bands, firsts, copies, rejected := beam.ParDo4(s, &signFn{Params: p}, beam.PCollection(docs))
	return Signed{
		Bands: flow.Bands(bands), Firsts: flow.Firsts(firsts), Copies: flow.Members(copies),
		Rejected: []flow.Rows[records.Rejected]{flow.Rows[records.Rejected](rejected)},
	}
}

// signFn signs documents and makes their keys; see sign for the shapes.
type signFn struct {
	Params Params

	inputs   *blocks.Inputs
	signer   *signer
	keyer    lsh.Keyer
	values   []uint64
	keys     []uint64
	copies   Collapse
	bands    *blocks.BandWriter
	rejected blocks.Buffers
}

func (f *signFn) Setup(ctx context.Context) (err error) {
	if f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err != nil {
		return err
	}
	f.keyer = f.Params.Keyer()
	bands := f.keyer.Len()
	if f.Params.Whole {
		bands += 2
	}
	f.bands = blocks.NewBandWriter(bands, f.Params.ShardBits)
	f.copies = NewCollapse(f.inputs, f.Params.HashShards)
	f.signer, err = f.Params.signer(ctx)
	return err
}

func (f *signFn) ProcessElement(
	ctx context.Context, block []byte, bands, firsts, copies, rejected func(int64, []byte),
) error {
	var signed, equal, none int64
	bands, firsts = gather.Counted(ctx, bandBytes, bands), gather.Counted(ctx, firstBytes, firsts)
	f.copies.Begin()
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.signer.shingler.Apart(uint64(doc.Key), doc.Values)
		tokens := f.signer.shingler.Tokenise(doc.Text)
		if len(tokens) == 0 { // so no shingles
			none++
			RejectEmpty(&f.rejected, f.inputs, &doc, f.Params.Text, rejected)
			continue
		}
		signed++
		sum := f.signer.shingler.Copied(tokens)
		if f.copies.IsCopy(sum, doc.Key, firsts, copies) {
			equal++
			continue
		}
		f.values = f.signer.tokenised(f.values, doc.Text)
		f.keys = f.keyer.Keys(f.keys, f.values)
		if salt := f.signer.shingler.Salt(); salt != 0 { // families that sign texts, or to few bits, ignore the salt
			for i := range f.keys {
				f.keys[i] ^= salt
			}
		}
		if f.Params.Whole {
			f.addWhole(doc.Key, sum.Hi, bands)
			continue
		}
		f.bands.Add(doc.Key, f.keys, bands)
	}
	f.signer.shingler.Trim()
	documents.Inc(ctx, signed)
	collapsed.Inc(ctx, equal)
	noToken.Inc(ctx, none)
	return d.Err()
}

// addWhole adds a document with the keys that Params.Whole describes; tokens is the hash of its tokens.
func (f *signFn) addWhole(doc blocks.Key, tokens uint64, bands func(int64, []byte)) {
	n, whole := len(f.keys), hash.Values(f.keys).Hi
	switch f.inputs.Standing(doc.File()) {
	case blocks.Settled:
		f.bands.Add(doc, f.keys, bands)
		f.bands.AddKey(doc, n+1, tokens, bands)
	case blocks.Recalled:
		f.bands.AddKey(doc, n, whole, bands)
	default:
		f.bands.Add(doc, append(f.keys, whole, tokens), bands)
	}
}

func (f *signFn) FinishBundle(ctx context.Context, bands, firsts, copies, rejected func(int64, []byte)) {
	f.bands.Flush(gather.Counted(ctx, bandBytes, bands))
	f.copies.Flush(gather.Counted(ctx, firstBytes, firsts), copies)
	f.rejected.Flush(rejected)
}
