package signature

import (
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[lookupFn]()
	flow.Register[numberFn]()
	flow.Register[classicFn]()
}

// Dictionary numbers the distinct shingles of all documents 0 … N−1, in the order of their hashes. The number of a
// shingle is its index in the file of its range plus the number of shingles in earlier ranges, so it does not depend on
// the number of ranges. File must list the shingles of a single document, too.
type Dictionary struct {
	frequencies.File
	// Groups is the number of groups over which documents are spread once their shingles have numbers.
	Groups int
}

// numbersIn appends the numbers of sorted shingles that are in one range of the dictionary.
func numbersIn(dst, entries []uint64, offset uint64, shingles []uint64) ([]uint64, error) {
	at := 0
	for _, h := range shingles {
		i, found := slices.BinarySearch(entries[at:], h)
		if !found {
			return nil, fmt.Errorf("shingle %016x is not in the dictionary, though it was made of the same input", h)
		}
		at += i
		dst = append(dst, offset+uint64(at))
	}
	return dst, nil
}

// eachRange calls do with the sorted shingles of each range.
func (d Dictionary) eachRange(shingles []uint64, do func(number int64, shingles []uint64) error) error {
	for len(shingles) > 0 {
		number, n := d.RangeOf(shingles[0]), 1
		for n < len(shingles) && d.RangeOf(shingles[n]) == number {
			n++
		}
		if err := do(number, shingles[:n]); err != nil {
			return err
		}
		shingles = shingles[n:]
	}
	return nil
}

// numbers looks up the numbers of a few sorted shingles in this process.
func (d Dictionary) numbers(ctx context.Context, shingles []uint64) (numbers []uint64, err error) {
	offsets, err := d.Before(ctx)
	if err != nil {
		return nil, err
	}
	err = d.eachRange(shingles, func(number int64, shingles []uint64) error {
		entries, err := d.Range(ctx, number)
		if err == nil {
			numbers, err = numbersIn(numbers, entries, offsets[number], shingles)
		}
		return err
	})
	return numbers, err
}

// classic returns the hash functions for the dictionary's size.
func (p *Params) classic(ctx context.Context) (*classic.Signer, error) {
	offsets, err := p.Dictionary.Before(ctx)
	if err != nil {
		return nil, err
	}
	return classic.New(p.Banding.Signature, offsets[len(offsets)-1], p.Seed)
}

// Check returns an error if the documents have too few distinct shingles for the family Classic. The dictionary must
// exist.
func (p *Params) Check(ctx context.Context) error {
	_, err := p.classic(ctx)
	return err
}

// classicValues joins the shingles of documents with their numbers, and signs the numbers. Two GroupByKeys: by range of
// hashes, and back by document.
func classicValues(s beam.Scope, docs flow.Documents, p Params) (flow.Signatures, flow.Rows[records.Rejected]) {
	sought, rejected := beam.ParDo2(s, &lookupFn{Params: p}, beam.PCollection(docs))
	numbered := beam.ParDo(s, &numberFn{p.Dictionary}, beam.GroupByKey(s, sought))
	return flow.Signatures(beam.ParDo(s, &classicFn{Params: p}, beam.GroupByKey(s, numbered))),
		flow.Rows[records.Rejected](rejected)
}

// lookupFn sends the shingles of documents to their ranges.
//
//	blocks of documents → KV<range, documents with hashes>, KV<table shard, rejected rows>
type lookupFn struct {
	Params Params

	inputs        *blocks.Inputs
	shingler      *shingle.Shingler
	out, rejected blocks.Buffers
}

// maxNumbers bounds the shingles in one element.
const maxNumbers = 8 << 10

func (f *lookupFn) Setup(ctx context.Context) (err error) {
	f.shingler = f.Params.Text.New()
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *lookupFn) ProcessElement(ctx context.Context, block []byte, sought, rejected func(int64, []byte)) error {
	var some, none int64
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingler.Apart(uint64(doc.Key), doc.Values)
		f.shingler.Tokenise(doc.Text)
		shingles := shingle.Set(f.shingler.InPlace())
		if len(shingles) == 0 {
			none++
			RejectEmpty(&f.rejected, f.inputs, &doc, f.Params.Text, rejected)
			continue
		}
		some++
		err := f.Params.Dictionary.eachRange(shingles, func(number int64, shingles []uint64) error {
			for some := range slices.Chunk(shingles, maxNumbers) {
				f.out.Add(number, func(block []byte) []byte { return blocks.AppendNumbers(block, doc.Key, some) }, sought)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	f.shingler.Trim()
	documents.Inc(ctx, some)
	noToken.Inc(ctx, none)
	return d.Err()
}

func (f *lookupFn) FinishBundle(sought, rejected func(int64, []byte)) {
	f.out.Flush(sought)
	f.rejected.Flush(rejected)
}

// numberFn looks up the numbers of the shingles of a range. It holds the range of the dictionary, but not the group,
// which is large if all documents share a shingle.
//
//	KV<range, documents with hashes> → KV<group of documents, documents with numbers>
type numberFn struct{ Dictionary Dictionary }

func (f *numberFn) ProcessElement(
	ctx context.Context, number int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	offsets, err := f.Dictionary.Before(ctx)
	if err != nil {
		return err
	}
	entries, err := f.Dictionary.Range(ctx, number)
	if err != nil {
		return err
	}
	var out blocks.Buffers
	var hashes, numbers []uint64
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			var key blocks.Key
			if key, hashes = d.Numbers(hashes[:0]); d.Err() != nil {
				return d.Err()
			}
			if numbers, err = numbersIn(numbers[:0], entries, offsets[number], hashes); err != nil {
				return err
			}
			high, _ := bits.Mul64(hash.Mix(uint64(key)), uint64(f.Dictionary.Groups))
			out.Add(int64(high), func(block []byte) []byte { return blocks.AppendNumbers(block, key, numbers) }, emit)
		}
	}
	out.Flush(emit)
	return nil
}

// classicFn signs documents by the numbers of their shingles.
//
//	KV<group of documents, documents with numbers> → blocks of signatures
type classicFn struct {
	Params Params

	family *classic.Signer
	values []uint64
}

func (f *classicFn) Setup(ctx context.Context) (err error) {
	f.family, err = f.Params.classic(ctx)
	return err
}

func (f *classicFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, signed func([]byte),
) error {
	hold := memory.NewHold(ctx)
	defer hold.Free()
	numbers := map[blocks.Key][]uint64{}
	var full error
	err := gather.Each(packed, func(d *blocks.Decoder) {
		key, some := d.Numbers(nil)
		if full == nil {
			full = hold.Add(ctx, 2*8*int64(len(some))) // doubled, since slices grow
			numbers[key] = append(numbers[key], some...)
		}
	})
	if full != nil {
		return full
	}
	if err != nil {
		return err
	}
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(numbers)) { // so that blocks are the same in each run
		f.values = f.family.Sign(f.values, numbers[key])
		if out = blocks.AppendNumbers(out, key, f.values); len(out) >= blocks.BlockBytes {
			signed(out)
			out = nil
		}
	}
	if len(out) > 0 {
		signed(out)
	}
	return nil
}
