package signature

import (
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hamming"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[valuesFn]()
	flow.Register[keysFn]()
}

// Family is a kind of signature.
type Family string

// The families. FSS makes signatures from shingle hashes, Salted from the shingles' text, and Classic from the
// shingles' numbers in a dictionary of all documents. SimHash makes bits from vectors.
const (
	FSS     Family = "fss"
	Classic Family = "classic"
	Salted  Family = "salted"
	SimHash Family = "simhash"
)

// Families returns the families of the method MinHash.
func Families() []Family { return []Family{FSS, Classic, Salted} }

// Signed is the output of the first read.
type Signed struct {
	// Bands are the band entries of signatures; empty if only copies are sought.
	Bands flow.Bands
	// Sized are the sets of documents that are all compared with each other; set only by Sets.
	Sized flow.Sized
	// Firsts are the documents whose copies in other blocks are still to be found, and Copies the copies within a
	// block.
	Firsts flow.Firsts
	Copies flow.Members
	// Rejected are the documents without tokens.
	Rejected []flow.Rows[records.Rejected]
}

// Sign makes the band keys of documents, and finds the copies in each block, which are not signed. Copies have the same
// tokens or, if only copies are sought, have Params.Same in common. Documents without tokens are rejected.
//
//	blocks of documents → KV<band<<ShardBits | shard, band entries>, KV<hash shard, firsts>, KV<split, members>,
//	KV<table shard, rejected rows>
func Sign(s beam.Scope, docs flow.Documents, p Params) Signed {
	if p.Same == "" && p.Family != Classic {
		return sign(s, docs, p)
	}
	others, signed := distinct(s, docs, p)
	if p.Same == "" {
		values, rejected := Values(s, others, p)
		signed.Bands, signed.Rejected = keys(s, values, p), append(signed.Rejected, rejected)
	}
	return signed
}

// keys makes the band keys of signatures.
//
//	blocks of signatures → KV<band<<ShardBits | shard, band entries>
func keys(s beam.Scope, signed flow.Signatures, p Params) flow.Bands {
	s = s.Scope("signature.Keys")
	return flow.Bands(beam.ParDo(s, &keysFn{Params: p}, beam.PCollection(signed)))
}

// Values signs documents.
//
//	blocks of documents → blocks of signatures, KV<table shard, rejected rows>
//
// Documents without tokens are rejected. Two GroupByKeys for the family Classic, otherwise none.
func Values(s beam.Scope, docs flow.Documents, p Params) (flow.Signatures, flow.Rows[records.Rejected]) {
	s = s.Scope("signature.Values")
	if p.Family == Classic {
		return classicValues(s, docs, p)
	}
	signed, rejected := beam.ParDo2(s, &valuesFn{Params: p}, beam.PCollection(docs))
	return flow.Signatures(signed), flow.Rows[records.Rejected](rejected)
}

// signer signs texts for the families that need only the text.
type signer struct {
	shingler *shingle.Shingler
	fss      *fss.Signer
	salted   *salted.Signer
	simHash  func(of *shingle.Shingler) []uint64
}

func (p *Params) signer(ctx context.Context) (s *signer, err error) {
	s = &signer{shingler: p.Text.New()}
	switch p.Family {
	case Salted:
		s.salted, err = salted.New(p.Banding.Signature, p.Seed)
	case SimHash:
		s.simHash, err = frequencies.TextFeatures(ctx, p.SimHash)
	default:
		s.fss = fss.New(p.Banding.Signature, p.Seed)
	}
	return s, err
}

// Signer returns a function that signs texts, for a family other than Classic. The signature of a text without tokens
// has length 0. A signature is valid until the next call. The function is not safe for concurrent use.
func (p *Params) Signer(ctx context.Context) (func(text []byte) []uint64, error) {
	signer, err := p.signer(ctx)
	if err != nil {
		return nil, err
	}
	var values []uint64
	return func(text []byte) []uint64 {
		values = signer.sign(values, text)
		signer.shingler.Trim()
		return values
	}, nil
}

// sign returns the signature of a text, of length 0 if the text has no tokens.
func (s *signer) sign(dst []uint64, text []byte) []uint64 {
	if s.salted == nil { // salted tokenises the text itself
		s.shingler.Tokenise(text)
	}
	return s.tokenised(dst, text)
}

// tokenised is like sign, for the text that the shingler tokenised last.
func (s *signer) tokenised(dst []uint64, text []byte) []uint64 {
	switch {
	case s.salted != nil:
		return s.salted.Sign(dst, s.shingler.Texts(text))
	case s.simHash != nil:
		return s.simHash(s.shingler)
	}
	return s.fss.Sign(dst, s.shingler.InPlace())
}

// Keyer returns the keyer that makes keys of signatures.
func (p *Params) Keyer() lsh.Keyer {
	if p.Family == SimHash {
		return p.Pieces
	}
	return p.Banding
}

// Equal returns how many of the Banding.Signature values, or bits, of two signatures are equal.
func (p *Params) Equal(a, b []uint64) int {
	if p.Family == SimHash {
		return p.Banding.Signature - hamming.Distance(a, b)
	}
	return fss.Equal(a, b)
}

// valuesFn signs the documents of a block.
//
//	blocks of documents → blocks of signatures, KV<table shard, rejected rows>
type valuesFn struct {
	Params Params

	inputs   *blocks.Inputs
	signer   *signer
	values   []uint64
	rejected blocks.Buffers
}

func (f *valuesFn) Setup(ctx context.Context) (err error) {
	if f.signer, err = f.Params.signer(ctx); err != nil {
		return err
	}
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *valuesFn) ProcessElement(
	ctx context.Context, block []byte, signed func([]byte), rejected func(int64, []byte),
) error {
	var out []byte
	var made, none int64
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.signer.shingler.Apart(uint64(doc.Key), doc.Values)
		f.values = f.signer.sign(f.values, doc.Text)
		if len(f.values) == 0 {
			none++
			RejectEmpty(&f.rejected, f.inputs, &doc, f.Params.Text, rejected)
			continue
		}
		made++
		if out = blocks.AppendNumbers(out, doc.Key, f.values); len(out) >= blocks.BlockBytes {
			signed(out)
			out = nil
		}
	}
	f.signer.shingler.Trim()
	if len(out) > 0 {
		signed(out)
	}
	documents.Inc(ctx, made)
	noToken.Inc(ctx, none)
	return d.Err()
}

func (f *valuesFn) FinishBundle(_ func([]byte), rejected func(int64, []byte)) {
	f.rejected.Flush(rejected)
}

// keysFn makes the band keys of signatures.
//
//	blocks of signatures → KV<band<<ShardBits | shard, band entries>
type keysFn struct {
	Params Params

	keyer        lsh.Keyer
	values, keys []uint64
	bands        *blocks.BandWriter
}

func (f *keysFn) StartBundle(func(int64, []byte)) {
	f.keyer = f.Params.Keyer()
	f.bands = blocks.NewBandWriter(f.keyer.Len(), f.Params.ShardBits)
}

func (f *keysFn) ProcessElement(ctx context.Context, block []byte, bands func(int64, []byte)) error {
	bands = gather.Counted(ctx, bandBytes, bands)
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var key blocks.Key
		if key, f.values = d.Numbers(f.values[:0]); d.Err() != nil {
			break
		}
		f.keys = f.keyer.Keys(f.keys, f.values)
		f.bands.Add(key, f.keys, bands)
	}
	return d.Err()
}

func (f *keysFn) FinishBundle(ctx context.Context, bands func(int64, []byte)) {
	f.bands.Flush(gather.Counted(ctx, bandBytes, bands))
}

// Of signs one text in this process. The signature of a text without tokens has length 0. For the family Classic, every
// shingle of the text must be in the dictionary.
func (p *Params) Of(ctx context.Context, text []byte) ([]uint64, error) {
	if p.Family != Classic {
		sign, err := p.Signer(ctx)
		if err != nil {
			return nil, err
		}
		return slices.Clone(sign(text)), nil
	}
	shingles := shingle.Set(p.Text.New().Shingles(nil, text))
	if len(shingles) == 0 {
		return nil, nil
	}
	numbers, err := p.Dictionary.numbers(ctx, shingles)
	if err != nil {
		return nil, err
	}
	family, err := p.classic(ctx)
	if err != nil {
		return nil, err
	}
	return family.Sign(nil, numbers), nil
}
