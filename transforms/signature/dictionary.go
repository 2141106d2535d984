package signature

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	dofn.Register[distinctFn]()
	dofn.Register[writeRangeFn]()
	dofn.Register[offsetsFn]()
	dofn.Register[lookupFn]()
	dofn.Register[numberFn]()
	dofn.Register[classicFn]()
}

// Dictionary numbers the distinct shingles of all documents 0 … N−1, in the order of their hashes. It is stored in
// several files: hashes are divided into ranges, each with a sorted file of those that occur. The number of a shingle
// is its index in the file plus the number of shingles in earlier ranges, and so does not depend on the number of
// ranges.
type Dictionary struct {
	// Path is that of the offsets; a range's file has its number appended.
	Path string
	// Ranges is the number of ranges of hashes. Groups is the number of groups over which documents are spread once
	// their shingles have numbers.
	Ranges, Groups int
}

// rangeOffsets has the number of distinct shingles before each range and, last, the total.
type rangeOffsets []uint64

// distinct returns N, the number of distinct shingles.
func (o rangeOffsets) distinct() uint64 { return o[len(o)-1] }

func (d Dictionary) rangeFile(number int64) string { return fmt.Sprintf("%s-%05d", d.Path, number) }

// rangeOf returns the range of a hash. Ranges are of equal width, in the order of hashes.
func (d Dictionary) rangeOf(h uint64) int64 {
	high, _ := bits.Mul64(h, uint64(d.Ranges))
	return int64(high)
}

// offsets returns the offsets that Build wrote.
func (d Dictionary) offsets(ctx context.Context) (rangeOffsets, error) {
	offsets, err := storage.Shared[rangeOffsets](ctx, d.Path)
	if err != nil {
		return nil, err
	}
	return *offsets, nil
}

// Forget drops the offsets that this process holds.
func (d Dictionary) Forget() { storage.Forget(d.Path) }

// Build writes the dictionary of documents. It runs in its own job, before the job that signs.
//
//	blocks of documents → nothing
//
// Two GroupByKeys: of the distinct shingles of each bundle by range, and of one count per range.
func (d Dictionary) Build(s beam.Scope, text shingle.Spec, docs ...flow.Documents) {
	s = s.Scope("signature.Dictionary")
	hashes := beam.ParDo(s, &distinctFn{Dictionary: d, Text: text}, beam.PCollection(flow.Flatten(s, docs...)))
	counts := gather.Values(beam.ParDo(s, &writeRangeFn{d}, beam.GroupByKey(s, hashes)))
	beam.ParDo0(s, &offsetsFn{d}, beam.PCollection(gather.All(s, counts)))
}

// distinctFn sends the distinct shingles of several documents at a time.
//
//	blocks of documents → KV<range, hashes>
type distinctFn struct {
	Dictionary Dictionary
	Text       shingle.Spec

	shingler *shingle.Shingler
	hashes   []uint64
	out      blocks.Buffers
}

// maxHashes is 8 MiB of hashes.
const maxHashes = 1 << 20

func (f *distinctFn) Setup() { f.shingler = f.Text.New() }

func (f *distinctFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingler.Apart(uint64(doc.Key), doc.Values)
		if f.hashes = f.shingler.Shingles(f.hashes, doc.Text); len(f.hashes) >= maxHashes {
			f.flush(emit)
		}
	}
	f.shingler.Trim()
	return d.Err()
}

func (f *distinctFn) FinishBundle(emit func(int64, []byte)) {
	f.flush(emit)
	f.out.Flush(emit)
}

func (f *distinctFn) flush(emit func(int64, []byte)) {
	for _, h := range shingle.Set(f.hashes) {
		f.out.Add(f.Dictionary.rangeOf(h), func(block []byte) []byte { return blocks.AppendUint64(block, h) }, emit)
	}
	if f.hashes = f.hashes[:0]; cap(f.hashes) > 2*maxHashes { // grown by a large text
		f.hashes = nil
	}
}

// writeRangeFn writes the distinct shingles of a range, and counts them.
//
//	KV<range, hashes> → KV<gather.Key, (range, count)>
type writeRangeFn struct{ Dictionary Dictionary }

func (f *writeRangeFn) ProcessElement(
	ctx context.Context, number int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var hashes []uint64
	compact := maxHashes
	var block []byte
	for packed(&block) {
		hashes = appendHashes(hashes, block)
		if len(hashes) >= compact { // bounds the memory by the distinct hashes
			hashes = shingle.Set(hashes)
			compact = max(maxHashes, 2*len(hashes))
		}
	}
	hashes = shingle.Set(hashes)
	data, err := binary.Append(nil, binary.LittleEndian, hashes)
	if err != nil {
		return err
	}
	emit(gather.Key, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)), uint64(len(hashes))))
	return storage.WriteBytes(ctx, f.Dictionary.rangeFile(number), data)
}

func appendHashes(dst []uint64, block []byte) []uint64 {
	for ; len(block) >= 8; block = block[8:] {
		dst = append(dst, binary.LittleEndian.Uint64(block))
	}
	return dst
}

// offsetsFn adds up the counts of ranges.
//
//	KV<gather.Key, (range, count)> → nothing
type offsetsFn struct{ Dictionary Dictionary }

func (f *offsetsFn) ProcessElement(ctx context.Context, _ int64, counts func(*[]byte) bool) error {
	offsets := make(rangeOffsets, f.Dictionary.Ranges+1)
	var block []byte
	for counts(&block) {
		if len(block) == 0 {
			continue
		}
		d := blocks.NewDecoder(block)
		number, count := d.Uvarint(), d.Uvarint()
		if d.Err() != nil || number >= uint64(f.Dictionary.Ranges) {
			return blocks.ErrCorrupt
		}
		offsets[number+1] = count
	}
	for i := range f.Dictionary.Ranges {
		offsets[i+1] += offsets[i]
	}
	return storage.WriteShared(ctx, f.Dictionary.Path, offsets)
}

// open returns the sorted shingles of a range.
func (d Dictionary) open(ctx context.Context, number int64) ([]uint64, error) {
	data, err := storage.ReadFile(ctx, d.rangeFile(number))
	return appendHashes(make([]uint64, 0, len(data)/8), data), err
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
		number, n := d.rangeOf(shingles[0]), 1
		for n < len(shingles) && d.rangeOf(shingles[n]) == number {
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
	offsets, err := d.offsets(ctx)
	if err != nil {
		return nil, err
	}
	err = d.eachRange(shingles, func(number int64, shingles []uint64) error {
		entries, err := d.open(ctx, number)
		if err == nil {
			numbers, err = numbersIn(numbers, entries, offsets[number], shingles)
		}
		return err
	})
	return numbers, err
}

// classic returns the hash functions for the dictionary's size.
func (p *Params) classic(ctx context.Context) (*classic.Signer, error) {
	offsets, err := p.Dictionary.offsets(ctx)
	if err != nil {
		return nil, err
	}
	return classic.New(p.Banding.Signature, offsets.distinct(), p.Seed)
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
	offsets, err := f.Dictionary.offsets(ctx)
	if err != nil {
		return err
	}
	entries, err := f.Dictionary.open(ctx, number)
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
