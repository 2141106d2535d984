// Package frequencies counts the documents in which each shingle occurs, and weights features by these counts (tf-idf).
package frequencies

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[countFn]()
	flow.Register[writeRangeFn]()
	flow.Register[totalFn]()
}

// File says which shingles are listed, and where. Hashes are divided into ranges, each with its own file of the listed
// shingles in the order of their hashes.
type File struct {
	// Path is that of the file with the totals; a range's file has its number appended.
	Path   string
	Ranges int
	// Least is the minimum number of documents that have a listed shingle.
	Least uint64
}

// total is the content of the file at Path, and one call's contribution to it.
type total struct {
	Documents uint64
	Shingles  map[int64]int // listed shingles of each range that has a file
}

func rangeFile(path string, number int64) string { return fmt.Sprintf("%s-%05d", path, number) }

// RangeOf returns the range of a hash. Ranges are of equal width, in the order of hashes.
func (f File) RangeOf(hash uint64) int64 {
	high, _ := bits.Mul64(hash, uint64(f.Ranges))
	return int64(high)
}

// Build writes the document frequencies of shingles. It runs in its own job, before the job that needs them.
//
//	blocks of documents → nothing
//
// Documents without shingles do not count. Two GroupByKeys: of the counts of each bundle by range, and of the totals.
func (f File) Build(s beam.Scope, text shingle.Spec, docs ...flow.Documents) {
	s = s.Scope("frequencies.Build")
	all := beam.PCollection(flow.Flatten(s, docs...))
	counts, documents := beam.ParDo2(s, &countFn{File: f, Text: text}, all)
	ranges := beam.ParDo(s, &writeRangeFn{f}, beam.GroupByKey(s, counts))
	beam.ParDo0(s, &totalFn{f}, beam.PCollection(gather.All(s, gather.Values(documents), gather.Values(ranges))))
}

// countFn counts, for each shingle, the documents of a bundle that have it, and the documents that have any.
//
//	blocks of documents → KV<range, counts>, KV<gather.Key, total>
type countFn struct {
	File File
	Text shingle.Spec

	shingler  *shingle.Shingler
	hashes    []uint64 // the distinct hashes of each document, concatenated
	documents uint64
	out       blocks.Buffers
}

// maxHashes is 8 MiB of hashes.
const maxHashes = 1 << 20

func (f *countFn) Setup() { f.shingler = f.Text.New() }

func (f *countFn) StartBundle(_, _ func(int64, []byte)) {
	f.hashes, f.documents = f.hashes[:0], 0
}

func (f *countFn) ProcessElement(block []byte, counts, _ func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		before := len(f.hashes)
		f.shingler.Apart(uint64(doc.Key), doc.Values)
		f.hashes = f.shingler.Shingles(f.hashes, doc.Text)
		own := shingle.Set(f.hashes[before:])
		if f.hashes = f.hashes[:before+len(own)]; len(own) > 0 {
			f.documents++
		}
		if len(f.hashes) >= maxHashes {
			f.flush(counts)
		}
	}
	f.shingler.Trim()
	return d.Err()
}

func (f *countFn) FinishBundle(counts, documents func(int64, []byte)) error {
	f.flush(counts)
	f.out.Flush(counts)
	return gather.EmitJSON(total{Documents: f.documents}, documents)
}

func (f *countFn) flush(emit func(int64, []byte)) {
	slices.Sort(f.hashes)
	for c := range runs(f.hashes) {
		f.out.Add(f.File.RangeOf(c.hash), c.append, emit)
	}
	if f.hashes = f.hashes[:0]; cap(f.hashes) > 2*maxHashes { // grown by a large text
		f.hashes = nil
	}
}

// count is the number of documents with a shingle.
type count struct{ hash, documents uint64 }

func (c count) append(block []byte) []byte {
	return binary.AppendUvarint(blocks.AppendUint64(block, c.hash), c.documents)
}

func readCount(d *blocks.Decoder) count { return count{d.Uint64(), d.Uvarint()} }

// runs yields each distinct hash of a sorted list with its number of occurrences.
func runs(hashes []uint64) func(yield func(count) bool) {
	return func(yield func(count) bool) {
		for len(hashes) > 0 {
			n := 1
			for n < len(hashes) && hashes[n] == hashes[0] {
				n++
			}
			if !yield(count{hashes[0], uint64(n)}) {
				return
			}
			hashes = hashes[n:]
		}
	}
}

// merged adds up the counts of each hash, in place, and returns them in the order of hashes.
func merged(counts []count) []count {
	slices.SortFunc(counts, func(a, b count) int { return cmp.Compare(a.hash, b.hash) })
	sums := counts[:0]
	for _, c := range counts {
		if last := len(sums) - 1; last >= 0 && sums[last].hash == c.hash {
			sums[last].documents += c.documents
		} else {
			sums = append(sums, c)
		}
	}
	return sums
}

// writeRangeFn adds up the counts of a range, and writes those of the listed shingles. It holds the distinct shingles
// of the range in memory.
//
//	KV<range, counts> → KV<gather.Key, total>
type writeRangeFn struct{ File File }

func (f *writeRangeFn) ProcessElement(
	ctx context.Context, number int64, packed func(*[]byte) bool, written func(int64, []byte),
) error {
	var counts []count
	full := maxHashes
	err := gather.Each(packed, func(d *blocks.Decoder) {
		if counts = append(counts, readCount(d)); len(counts) >= full { // bounds the memory by the distinct shingles
			counts = merged(counts)
			full = max(maxHashes, 2*len(counts))
		}
	})
	if err != nil {
		return err
	}
	listed := slices.DeleteFunc(merged(counts), func(c count) bool { return c.documents < f.File.Least })
	var out []byte
	for _, c := range listed {
		out = c.append(out)
	}
	if err := storage.WriteBytes(ctx, rangeFile(f.File.Path, number), out); err != nil {
		return err
	}
	return gather.EmitJSON(total{Shingles: map[int64]int{number: len(listed)}}, written)
}

// totalFn adds up the totals.
//
//	KV<gather.Key, total> → nothing
type totalFn struct{ File File }

func (f *totalFn) ProcessElement(ctx context.Context, _ int64, parts func(*[]byte) bool) error {
	of := total{Shingles: map[int64]int{}}
	err := gather.EachJSON(parts, func(part *total) {
		of.Documents += part.Documents
		maps.Copy(of.Shingles, part.Shingles)
	})
	if err != nil {
		return err
	}
	return storage.WriteShared(ctx, f.File.Path, of)
}

// Before returns the number of listed shingles before each range and, last, of all. Build must have written the files.
func (f File) Before(ctx context.Context) ([]uint64, error) {
	of, err := storage.Shared[total](ctx, f.Path)
	if err != nil {
		return nil, err
	}
	before := make([]uint64, f.Ranges+1)
	for i := range f.Ranges {
		before[i+1] = before[i] + uint64(of.Shingles[int64(i)])
	}
	return before, nil
}

// Range returns the hashes of the listed shingles of a range, sorted.
func (f File) Range(ctx context.Context, number int64) (hashes []uint64, err error) {
	err = eachListed(ctx, f.Path, number, func(c count) { hashes = append(hashes, c.hash) })
	return hashes, err
}

// eachListed calls do with the listed shingles of a range, in the order of hashes.
func eachListed(ctx context.Context, path string, number int64, do func(count)) error {
	data, err := storage.ReadFile(ctx, rangeFile(path, number))
	if err != nil {
		return err
	}
	d := blocks.NewDecoder(data)
	for !d.Done() {
		do(readCount(d))
	}
	return d.Err()
}

// table holds the inverse document frequencies of the listed shingles, sorted by hash.
type table struct {
	hashes []uint64
	idf    []uint32
	once   uint32 // of the others, which occur in one document
}

func (t *table) of(shingle uint64) uint32 {
	if i, ok := slices.BinarySearch(t.hashes, shingle); ok {
		return t.idf[i]
	}
	return t.once
}

// Features returns the function that turns shingles into a verifier's features, as verifier.Spec defines them. If they
// are weighted by frequencies, it loads those that Build wrote, once per process: 12 bytes per shingle that occurs in
// two or more documents.
func Features(ctx context.Context, s verifier.Spec) (func(shingles []uint64) []uint64, error) {
	if s.Weights != vector.TFIDF {
		return s.Features(nil), nil
	}
	t, err := loaded(ctx, s.Frequencies)
	if err != nil {
		return nil, err
	}
	return s.Features(t.of), nil
}

// TextFeatures is like Features for texts that may be kept apart: the function takes the text that a shingler tokenised
// last. The inverse document frequency of a shingle does not depend on the document's part.
func TextFeatures(ctx context.Context, s verifier.Spec) (func(of *shingle.Shingler) []uint64, error) {
	if s.Weights != vector.TFIDF {
		features := s.Features(nil)
		return func(of *shingle.Shingler) []uint64 { return features(of.InPlace()) }, nil
	}
	t, err := loaded(ctx, s.Frequencies)
	if err != nil {
		return nil, err
	}
	var salt uint64
	features := s.Features(func(shingle uint64) uint32 { return t.of(shingle ^ salt) })
	return func(of *shingle.Shingler) []uint64 {
		salt = of.Salt()
		return features(of.Salted())
	}, nil
}

func loaded(ctx context.Context, path string) (*table, error) {
	return storage.Loaded(ctx, path, func(of *total) (*table, error) { return load(ctx, path, of) })
}

// load reads the files of all ranges, in the order of hashes.
func load(ctx context.Context, path string, of *total) (*table, error) {
	t := &table{once: vector.InverseFrequency(max(of.Documents, 1), 1)}
	for _, number := range slices.Sorted(maps.Keys(of.Shingles)) {
		err := eachListed(ctx, path, number, func(c count) {
			t.hashes = append(t.hashes, c.hash)
			t.idf = append(t.idf, vector.InverseFrequency(of.Documents, c.documents))
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Forget drops the frequencies that this process holds.
func (f File) Forget() { storage.Forget(f.Path) }
