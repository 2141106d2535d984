package signature

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"path"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[distinctFn]())
	beam.RegisterDoFn(reflect.TypeFor[partFn]())
	beam.RegisterDoFn(reflect.TypeFor[offsetsFn]())
	beam.RegisterFunction(emptyPart)
	beam.RegisterDoFn(reflect.TypeFor[lookupFn]())
	beam.RegisterDoFn(reflect.TypeFor[rankFn]())
	beam.RegisterDoFn(reflect.TypeFor[classicFn]())
	register.Iter1[[]byte]()
}

// Dictionary numbers the distinct shingles of all documents, 0 … N−1 in the order of their hashes.
// It is never in one place: hashes are cut into ranges, each with a sorted file of those that
// occur, and the number of a shingle is its place in the file plus the number of shingles in
// ranges before. So numbers do not depend on how many ranges there are.
type Dictionary struct {
	// Path begins the paths of the ranges' files, and is that of the offsets.
	Path string
	// Ranges of hashes, and Groups of documents, are how many groups the shingles are spread over.
	Ranges, Groups int
}

// rangeOffsets are the number of distinct shingles before each range and, last, that of all.
type rangeOffsets []uint64

// distinct is N, the number of distinct shingles.
func (o rangeOffsets) distinct() uint64 { return o[len(o)-1] }

func (d Dictionary) part(number int64) string { return fmt.Sprintf("%s-%05d", d.Path, number) }

// rangeOf returns the range that a hash is in: ranges are of equal width, in the order of hashes.
func (d Dictionary) rangeOf(h uint64) int64 {
	high, _ := bits.Mul64(h, uint64(d.Ranges))
	return int64(high)
}

// offsets returns those that Build wrote.
func (d Dictionary) offsets(ctx context.Context) (rangeOffsets, error) {
	offsets, err := storage.Shared[rangeOffsets](ctx, d.Path)
	if err != nil {
		return nil, err
	}
	return *offsets, nil
}

// Forget drops what this process keeps of the dictionary.
func (d Dictionary) Forget() { storage.Forget(d.Path) }

// Build writes the dictionary of documents. It is a job of its own, before the one that signs.
//
//	blocks of documents → nothing
func (d Dictionary) Build(s beam.Scope, text shingle.Spec, docs ...flow.Documents) {
	s = s.Scope("signature.Dictionary")
	var all []beam.PCollection
	for _, some := range docs {
		all = append(all, beam.PCollection(some))
	}
	hashes := beam.ParDo(s, &distinctFn{Dictionary: d, Text: text}, beam.Flatten(s, all...))
	counts := beam.ParDo(s, &partFn{d}, beam.GroupByKey(s, hashes))
	// Of no shingle at all there are offsets, too.
	mark := beam.ParDo(s, emptyPart, beam.Impulse(s))
	beam.ParDo0(s, &offsetsFn{d}, beam.GroupByKey(s, beam.Flatten(s, counts, mark)))
}

func emptyPart(_ []byte, emit func(int64, []byte)) { emit(together, []byte{}) }

// together is the key of what one call gathers.
const together = 0

// distinctFn sends the distinct shingles of many documents at a time.
//
//	blocks of documents → KV<range, hashes>
type distinctFn struct {
	Dictionary Dictionary
	Text       shingle.Spec

	shingler *shingle.Shingler
	hashes   []uint64
	out      *blocks.Buffers
}

// maxHashes are 8 MB.
const maxHashes = 1 << 20

func (f *distinctFn) Setup() { f.shingler = f.Text.New() }

func (f *distinctFn) StartBundle(func(int64, []byte)) {
	f.hashes, f.out = f.hashes[:0], blocks.NewBuffers()
}

func (f *distinctFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		if f.hashes = f.shingler.Shingles(f.hashes, doc.Text); len(f.hashes) >= maxHashes {
			f.flush(emit)
		}
	}
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
	f.hashes = f.hashes[:0]
}

// partFn writes the distinct shingles of a range, and counts them.
//
//	KV<range, hashes> → KV<together, (range, count)>
type partFn struct{ Dictionary Dictionary }

func (f *partFn) ProcessElement(ctx context.Context, number int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	var hashes []uint64
	compact := maxHashes
	var block []byte
	for packed(&block) {
		hashes = appendHashes(hashes, block)
		if len(hashes) >= compact { // memory is bounded by the distinct ones
			hashes = shingle.Set(hashes)
			compact = max(maxHashes, 2*len(hashes))
		}
	}
	hashes = shingle.Set(hashes)
	_, err := storage.WriteBelow(ctx, path.Dir(f.Dictionary.Path), f.Dictionary.part(number), func(w io.Writer) error {
		return binary.Write(w, binary.LittleEndian, hashes)
	})
	emit(together, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)), uint64(len(hashes))))
	return err
}

func appendHashes(dst []uint64, block []byte) []uint64 {
	for ; len(block) >= 8; block = block[8:] {
		dst = append(dst, binary.LittleEndian.Uint64(block))
	}
	return dst
}

// offsetsFn adds up the counts of ranges.
//
//	KV<together, (range, count)> → nothing
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

// open returns the shingles of a range, sorted.
func (d Dictionary) open(ctx context.Context, number int64) ([]uint64, error) {
	data, err := storage.ReadFile(ctx, d.part(number))
	return appendHashes(make([]uint64, 0, len(data)/8), data), err
}

// rankIn appends to dst the numbers of sorted shingles that are in one range.
func rankIn(dst, part []uint64, offset uint64, shingles []uint64) ([]uint64, error) {
	at := 0
	for _, h := range shingles {
		i, found := slices.BinarySearch(part[at:], h)
		if !found {
			return nil, fmt.Errorf("shingle %016x is not in the dictionary, though it was made of the same input", h)
		}
		at += i
		dst = append(dst, offset+uint64(at))
	}
	return dst, nil
}

// eachRange calls do with the part of sorted shingles that each range has.
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

// ranks returns the numbers of a few sorted shingles, in this process.
func (d Dictionary) ranks(ctx context.Context, shingles []uint64) (ranks []uint64, err error) {
	offsets, err := d.offsets(ctx)
	if err != nil {
		return nil, err
	}
	err = d.eachRange(shingles, func(number int64, shingles []uint64) error {
		part, err := d.open(ctx, number)
		if err == nil {
			ranks, err = rankIn(ranks, part, offsets[number], shingles)
		}
		return err
	})
	return ranks, err
}

// classic returns the family of functions for the dictionary's size.
func (p *Params) classic(ctx context.Context) (*classic.Signer, error) {
	offsets, err := p.Dictionary.offsets(ctx)
	if err != nil {
		return nil, err
	}
	return classic.New(p.Signature, offsets.distinct(), p.Seed)
}

// Check says whether the documents have shingles enough for the functions of the family Classic,
// once there is a dictionary.
func (p *Params) Check(ctx context.Context) error {
	_, err := p.classic(ctx)
	return err
}

// classicValues joins the shingles of documents with their numbers, and signs those. Two
// GroupByKeys: by range of hashes, and back by document.
func classicValues(s beam.Scope, docs flow.Documents, p Params) (signed, rejected beam.PCollection) {
	sought, rejected := beam.ParDo2(s, &lookupFn{Params: p}, beam.PCollection(docs))
	ranked := beam.ParDo(s, &rankFn{p.Dictionary}, beam.GroupByKey(s, sought))
	return beam.ParDo(s, &classicFn{Params: p}, beam.GroupByKey(s, ranked)), rejected
}

// lookupFn sends the shingles of documents to their ranges.
//
//	blocks of documents → KV<range, documents with hashes>, KV<table shard, rejected rows>
type lookupFn struct {
	Params Params

	inputs        *blocks.Inputs
	shingler      *shingle.Shingler
	shingles      []uint64
	out, rejected *blocks.Buffers
}

// maxRun keeps an element small, whatever the document.
const maxRun = 8 << 10

func (f *lookupFn) Setup(ctx context.Context) (err error) {
	f.shingler = f.Params.Text.New()
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *lookupFn) StartBundle(_, _ func(int64, []byte)) {
	f.out, f.rejected = blocks.NewBuffers(), blocks.NewBuffers()
}

func (f *lookupFn) ProcessElement(ctx context.Context, block []byte, sought, rejected func(int64, []byte)) error {
	var some, none int64
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = shingle.Set(f.shingler.Shingles(f.shingles[:0], doc.Text))
		if len(f.shingles) == 0 {
			none++
			reject(f.rejected, f.inputs, &doc, records.ReasonNoToken, "", rejected)
			continue
		}
		some++
		err := f.Params.Dictionary.eachRange(f.shingles, func(number int64, shingles []uint64) error {
			for run := range slices.Chunk(shingles, maxRun) {
				f.out.Add(number, func(block []byte) []byte { return blocks.AppendNumbers(block, doc.Key, run) }, sought)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	documents.Inc(ctx, some)
	noToken.Inc(ctx, none)
	return d.Err()
}

func (f *lookupFn) FinishBundle(sought, rejected func(int64, []byte)) {
	f.out.Flush(sought)
	f.rejected.Flush(rejected)
}

// rankFn gives the shingles of a range their numbers. A shingle that all documents have makes its
// group large, so it streams through; the dictionary's part is what is held.
//
//	KV<range, documents with hashes> → KV<group of documents, documents with numbers>
type rankFn struct{ Dictionary Dictionary }

func (f *rankFn) ProcessElement(ctx context.Context, number int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	offsets, err := f.Dictionary.offsets(ctx)
	if err != nil {
		return err
	}
	part, err := f.Dictionary.open(ctx, number)
	if err != nil {
		return err
	}
	out := blocks.NewBuffers()
	var hashes, ranks []uint64
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			var key blocks.Key
			if key, hashes = d.Numbers(hashes[:0]); d.Err() != nil {
				return d.Err()
			}
			if ranks, err = rankIn(ranks[:0], part, offsets[number], hashes); err != nil {
				return err
			}
			high, _ := bits.Mul64(hash.Mix(uint64(key)), uint64(f.Dictionary.Groups))
			out.Add(int64(high), func(block []byte) []byte { return blocks.AppendNumbers(block, key, ranks) }, emit)
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

func (f *classicFn) ProcessElement(_ int64, packed func(*[]byte) bool, signed func([]byte)) error {
	ranks := map[blocks.Key][]uint64{}
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			key, some := d.Numbers(nil)
			if d.Err() != nil {
				return d.Err()
			}
			ranks[key] = append(ranks[key], some...)
		}
	}
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(ranks)) { // so that blocks are the same in each run
		f.values = f.family.Sign(f.values, ranks[key])
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
