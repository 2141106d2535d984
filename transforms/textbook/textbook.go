// Package textbook finds similar pairs as textbooks do, to compare with: by comparing all documents
// (BruteForce), and by the signatures of those that share a bucket (Signatures). Both look at every
// pair on its own, which no large collection allows.
package textbook

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[cellsFn]())
	beam.RegisterDoFn(reflect.TypeFor[bruteFn]())
	beam.RegisterDoFn(reflect.TypeFor[bucketsFn]())
	beam.RegisterDoFn(reflect.TypeFor[bucketPairsFn]())
	beam.RegisterDoFn(reflect.TypeFor[writePairsFn]())
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

// together is the key of what one call gathers.
const together = 0

// BruteForce compares the shingle sets of all documents, and writes the pairs that reach the
// threshold to the file path. Documents are spread over cells, and each two cells are compared by
// one call.
//
//	blocks of documents → nothing
func BruteForce(s beam.Scope, blocks beam.PCollection, text shingle.Spec, t setsim.Threshold, cells int, path string) {
	s = s.Scope("textbook.BruteForce")
	sets := beam.ParDo(s, &cellsFn{Text: text, Cells: cells}, blocks)
	pairs := beam.ParDo(s, &bruteFn{Threshold: t, Cells: cells}, beam.GroupByKey(s, sets))
	beam.ParDo0(s, &writePairsFn{path}, beam.GroupByKey(s, pairs))
}

func cellOf(key records.Key, cells int) int { return int(hash.Mix(uint64(key)) % uint64(cells)) }

// number numbers the pairs of cells i ≤ j.
func number(i, j int) int64 { return int64(j)*int64(j+1)/2 + int64(i) }

// cellsFn sends the set of each document to all pairs of cells that have its own.
//
//	blocks of documents → KV<pair of cells, documents with shingles>
type cellsFn struct {
	Text  shingle.Spec
	Cells int

	shingler *shingle.Shingler
	shingles []uint64
	out      *records.Buffers
}

// maxRun keeps an element small, whatever the document.
const maxRun = 8 << 10

func (f *cellsFn) Setup() { f.shingler = f.Text.New() }

func (f *cellsFn) StartBundle(func(int64, []byte)) { f.out = records.NewBuffers() }

func (f *cellsFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := records.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = shingle.Set(f.shingler.Shingles(f.shingles[:0], doc.Text))
		own := cellOf(doc.Key, f.Cells)
		for other := range f.Cells {
			for run := range slices.Chunk(f.shingles, maxRun) {
				f.out.Add(number(min(own, other), max(own, other)), func(block []byte) []byte {
					return records.AppendNumbers(block, doc.Key, run)
				}, emit)
			}
		}
	}
	return d.Err()
}

func (f *cellsFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// bruteFn compares all sets of two cells.
//
//	KV<pair of cells, documents with shingles> → KV<together, edges>
type bruteFn struct {
	Threshold setsim.Threshold
	Cells     int
}

func (f *bruteFn) ProcessElement(cells int64, blocks func(*[]byte) bool, emit func(int64, []byte)) error {
	byKey, err := numbers(blocks)
	if err != nil {
		return err
	}
	var keys []records.Key
	for key, set := range byKey {
		slices.Sort(set) // its runs came in any order
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out := records.NewBuffers()
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			one, other := cellOf(a, f.Cells), cellOf(b, f.Cells)
			if number(min(one, other), max(one, other)) != cells {
				continue // both are in one cell, and met there
			}
			x, y := byKey[a], byKey[b]
			if f.Threshold.Reached(setsim.Overlap(x, y), len(x), len(y)) {
				addPair(out, a, b, emit)
			}
		}
	}
	out.Flush(emit)
	return nil
}

// numbers gathers those of each document in a group.
func numbers(blocks func(*[]byte) bool) (map[records.Key][]uint64, error) {
	byKey := map[records.Key][]uint64{}
	var block []byte
	for blocks(&block) {
		d := records.NewDecoder(block)
		for !d.Done() {
			key, some := d.Numbers(nil)
			if d.Err() != nil {
				return nil, d.Err()
			}
			byKey[key] = append(byKey[key], some...)
		}
	}
	return byKey, nil
}

// addPair adds two documents, a before b.
func addPair(out *records.Buffers, a, b records.Key, emit func(int64, []byte)) {
	out.Add(together, func(block []byte) []byte { return records.AppendEdge(block, records.Edge{A: a, B: b}) }, emit)
}

// Signatures writes to the file path the pairs of documents that share a bucket and of whose
// signatures the sets of values reach the threshold. Nothing is verified on the documents.
//
//	blocks of signatures → nothing
func Signatures(s beam.Scope, signed beam.PCollection, banding lsh.Banding, t setsim.Threshold, path string) {
	s = s.Scope("textbook.Signatures")
	buckets := beam.ParDo(s, &bucketsFn{Banding: banding}, signed)
	pairs := beam.ParDo(s, &bucketPairsFn{t}, beam.GroupByKey(s, buckets))
	beam.ParDo0(s, &writePairsFn{path}, beam.GroupByKey(s, pairs))
}

// bucketsFn sends a signature with each of its band keys.
//
//	blocks of signatures → KV<group of buckets, documents with band, key and signature>
type bucketsFn struct {
	Banding lsh.Banding

	values, keys []uint64
	out          *records.Buffers
}

// bucketGroups are the groups that buckets are spread over.
const bucketGroups = 64

func (f *bucketsFn) StartBundle(func(int64, []byte)) { f.out = records.NewBuffers() }

func (f *bucketsFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := records.NewDecoder(block)
	for !d.Done() {
		var doc records.Key
		if doc, f.values = d.Numbers(f.values[:0]); d.Err() != nil {
			break
		}
		f.keys = f.Banding.Keys(f.keys, f.values)
		for band, key := range f.keys {
			group := int64(hash.Mix(key^uint64(band)) % bucketGroups)
			entry := append([]uint64{uint64(band), key}, f.values...)
			f.out.Add(group, func(block []byte) []byte { return records.AppendNumbers(block, doc, entry) }, emit)
		}
	}
	return d.Err()
}

func (f *bucketsFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// bucketPairsFn compares all signatures of each bucket.
//
//	KV<group of buckets, documents with band, key and signature> → KV<together, edges>
type bucketPairsFn struct{ Threshold setsim.Threshold }

// member is a document in a bucket, with the set of its signature's values.
type member struct {
	band, key uint64
	doc       records.Key
	values    []uint64
}

func (f *bucketPairsFn) ProcessElement(_ int64, blocks func(*[]byte) bool, emit func(int64, []byte)) error {
	var members []member
	var block []byte
	for blocks(&block) {
		d := records.NewDecoder(block)
		for !d.Done() {
			doc, entry := d.Numbers(nil)
			if d.Err() != nil || len(entry) < 2 {
				return records.ErrCorrupt
			}
			members = append(members, member{entry[0], entry[1], doc, shingle.Set(entry[2:])})
		}
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.band, b.band), cmp.Compare(a.key, b.key), cmp.Compare(a.doc, b.doc))
	})
	out := records.NewBuffers()
	for i, a := range members {
		for _, b := range members[i+1:] {
			if a.band != b.band || a.key != b.key {
				break
			}
			if f.Threshold.Reached(setsim.Overlap(a.values, b.values), len(a.values), len(b.values)) {
				addPair(out, a.doc, b.doc, emit)
			}
		}
	}
	out.Flush(emit)
	return nil
}

// writePairsFn writes pairs to a file, sorted, each once.
//
//	KV<together, edges> → nothing
type writePairsFn struct{ Path string }

func (f *writePairsFn) ProcessElement(_ int64, blocks func(*[]byte) bool) error {
	var edges []records.Edge
	var block []byte
	var err error
	for blocks(&block) {
		if edges, err = records.DecodeEdges(edges, block); err != nil {
			return err
		}
	}
	slices.SortFunc(edges, records.Edge.Compare)
	_, err = storage.WriteFile(f.Path, func(w io.Writer) error {
		var buffer []byte
		for _, e := range slices.Compact(edges) {
			buffer = records.AppendEdge(buffer[:0], e)
			if _, err := w.Write(buffer); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// Pairs returns the pairs in a file that BruteForce or Signatures wrote, sorted; without a pair
// there is no file.
func Pairs(path string) ([]records.Edge, error) {
	data, err := storage.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return records.DecodeEdges(nil, data)
}
