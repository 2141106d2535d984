// Package baseline finds similar pairs as textbooks do, for comparison: by comparing all documents
// (BruteForce), or the signatures of those that share a bucket (Signatures). Both look at every pair,
// so they suit small collections only.
package baseline

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[setsFn]())
	beam.RegisterDoFn(reflect.TypeFor[bruteFn]())
	beam.RegisterDoFn(reflect.TypeFor[signaturesFn]())
	beam.RegisterDoFn(reflect.TypeFor[bucketsFn]())
	beam.RegisterDoFn(reflect.TypeFor[writePairsFn]())
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

// Params say how pairs are found, and where they go.
type Params struct {
	// Threshold is what the pairs reach.
	Threshold setsim.Threshold
	// Cells are what documents are spread over; each two cells are compared by one call.
	Cells int
	// Path is the file of the pairs.
	Path string
	// Most is how many pairs there may be: more end the job, and Pairs returns ErrTooMany.
	Most int
}

// BruteForce compares the shingle sets of all documents, and writes the pairs that reach the
// threshold to a file.
//
//	blocks of documents → nothing
func BruteForce(s beam.Scope, docs flow.Documents, text shingle.Spec, p Params) {
	s = s.Scope("baseline.BruteForce")
	sets := beam.ParDo(s, &setsFn{Params: p, Text: text}, beam.PCollection(docs))
	pairs := beam.ParDo(s, &bruteFn{p}, beam.GroupByKey(s, sets))
	beam.ParDo0(s, &writePairsFn{p}, beam.GroupByKey(s, pairs))
}

// Signatures writes to a file the pairs of documents that share a bucket, if the sets of their
// signatures' values reach the threshold. The documents themselves are not compared.
//
//	blocks of signatures → nothing
func Signatures(s beam.Scope, signed flow.Signatures, banding lsh.Banding, p Params) {
	s = s.Scope("baseline.Signatures")
	signatures := beam.ParDo(s, &signaturesFn{Params: p}, beam.PCollection(signed))
	pairs := beam.ParDo(s, &bucketsFn{Params: p, Banding: banding}, beam.GroupByKey(s, signatures))
	beam.ParDo0(s, &writePairsFn{p}, beam.GroupByKey(s, pairs))
}

// cellOf returns the cell of a document.
func (p *Params) cellOf(key blocks.Key) int { return int(hash.Mix(uint64(key)) % uint64(p.Cells)) }

// number numbers the pairs of cells.
func number(one, other int) int64 {
	i, j := int64(min(one, other)), int64(max(one, other))
	return j*(j+1)/2 + i
}

// maxNumbers keeps an element small, whatever the document.
const maxNumbers = 8 << 10

// send sends numbers of a document to all pairs of cells that have its own.
func (p *Params) send(out *blocks.Buffers, key blocks.Key, numbers []uint64, emit func(int64, []byte)) {
	own := p.cellOf(key)
	for other := range p.Cells {
		for some := range slices.Chunk(numbers, maxNumbers) {
			out.Add(number(own, other), func(block []byte) []byte {
				return blocks.AppendNumbers(block, key, some)
			}, emit)
		}
	}
}

// member is a document in a group of two cells.
type member struct {
	doc  blocks.Key
	cell int
	keys []uint64 // of the signature's bands
	set  []uint64
}

// members gathers the documents of a group, in input order.
func (p *Params) members(packed func(*[]byte) bool) (members []*member, err error) {
	byKey := map[blocks.Key]*member{}
	err = gather.Each(packed, func(d *blocks.Decoder) {
		key, numbers := d.Numbers(nil)
		if byKey[key] == nil {
			byKey[key] = &member{doc: key, cell: p.cellOf(key)}
		}
		byKey[key].set = append(byKey[key].set, numbers...)
	})
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		members = append(members, byKey[key])
	}
	return members, nil
}

// foundPairs are the pairs of one call.
type foundPairs struct {
	params Params
	cells  int64 // that are compared
	n      int
	out    *blocks.Buffers
	emit   func(int64, []byte)
}

func (p *Params) found(cells int64, emit func(int64, []byte)) *foundPairs {
	return &foundPairs{params: *p, cells: cells, out: blocks.NewBuffers(), emit: emit}
}

// compare adds two documents, a before b, if their sets reach the threshold. Several calls compare two
// documents of one cell; one of them counts.
func (f *foundPairs) compare(ctx context.Context, a, b *member) error {
	if number(a.cell, b.cell) != f.cells || !f.params.Threshold.Reached(setsim.Overlap(a.set, b.set), len(a.set), len(b.set)) {
		return nil
	}
	if f.n++; f.n > f.params.Most {
		return f.params.tooMany(ctx)
	}
	f.out.Add(gather.Key, func(block []byte) []byte { return blocks.AppendEdge(block, blocks.Edge{A: a.doc, B: b.doc}) }, f.emit)
	return nil
}

// setsFn sends the shingle sets of documents to their cells.
//
//	blocks of documents → KV<pair of cells, documents with shingles>
type setsFn struct {
	Params Params
	Text   shingle.Spec

	shingler *shingle.Shingler
	shingles []uint64
	out      *blocks.Buffers
}

func (f *setsFn) Setup() { f.shingler = f.Text.New() }

func (f *setsFn) StartBundle(func(int64, []byte)) { f.out = blocks.NewBuffers() }

func (f *setsFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = shingle.Set(f.shingler.Shingles(f.shingles[:0], doc.Text))
		f.Params.send(f.out, doc.Key, f.shingles, emit)
	}
	return d.Err()
}

func (f *setsFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// bruteFn compares all sets of two cells.
//
//	KV<pair of cells, documents with shingles> → KV<gather.Key, edges>
type bruteFn struct{ Params Params }

func (f *bruteFn) ProcessElement(ctx context.Context, cells int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	members, err := f.Params.members(packed)
	if err != nil {
		return err
	}
	for _, m := range members {
		slices.Sort(m.set) // its parts come in any order
	}
	found := f.Params.found(cells, emit)
	for i, a := range members {
		for _, b := range members[i+1:] {
			if err := found.compare(ctx, a, b); err != nil {
				return err
			}
		}
	}
	found.out.Flush(emit)
	return nil
}

// signaturesFn sends signatures to their cells.
//
//	blocks of signatures → KV<pair of cells, documents with signature>
type signaturesFn struct {
	Params Params

	values []uint64
	out    *blocks.Buffers
}

func (f *signaturesFn) StartBundle(func(int64, []byte)) { f.out = blocks.NewBuffers() }

func (f *signaturesFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var key blocks.Key
		if key, f.values = d.Numbers(f.values[:0]); d.Err() != nil {
			break
		}
		f.Params.send(f.out, key, f.values, emit)
	}
	return d.Err()
}

func (f *signaturesFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// bucketsFn compares the signatures of two cells that share a bucket, in the first that they share.
//
//	KV<pair of cells, documents with signature> → KV<gather.Key, edges>
type bucketsFn struct {
	Params  Params
	Banding lsh.Banding
}

func (f *bucketsFn) ProcessElement(ctx context.Context, cells int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	members, err := f.Params.members(packed)
	if err != nil {
		return err
	}
	for _, m := range members {
		m.keys = f.Banding.Keys(nil, m.set) // in the signature's order still
		m.set = shingle.Set(m.set)
	}
	found := f.Params.found(cells, emit)
	for band := range f.Banding.Bands {
		slices.SortFunc(members, func(a, b *member) int {
			return cmp.Or(cmp.Compare(a.keys[band], b.keys[band]), cmp.Compare(a.doc, b.doc))
		})
		for i, a := range members {
			for _, b := range members[i+1:] {
				if a.keys[band] != b.keys[band] {
					break
				}
				if anyEqual(a.keys[:band], b.keys[:band]) {
					continue
				}
				if err := found.compare(ctx, a, b); err != nil {
					return err
				}
			}
		}
	}
	found.out.Flush(emit)
	return nil
}

// anyEqual reports whether two lists agree at any index.
func anyEqual(a, b []uint64) bool {
	for i := range a {
		if a[i] == b[i] {
			return true
		}
	}
	return false
}

// writePairsFn writes pairs to a file, sorted.
//
//	KV<gather.Key, edges> → nothing
type writePairsFn struct{ Params Params }

func (f *writePairsFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool) error {
	var edges []blocks.Edge
	var block []byte
	var err error
	for packed(&block) {
		if edges, err = blocks.DecodeEdges(edges, block); err != nil {
			return err
		}
		if len(edges) > f.Params.Most {
			return f.Params.tooMany(ctx)
		}
	}
	return gather.WriteEdges(ctx, f.Params.Path, edges)
}

// ErrTooMany says that there are more pairs than Params.Most.
var ErrTooMany = errors.New("too many pairs")

// tooMany ends the job and leaves a file for Pairs: of a step's error the launcher sees only the text.
func (p *Params) tooMany(ctx context.Context) error {
	_, err := storage.WriteBelow(ctx, storage.Dir(p.Path), p.Path+exceeded, func(io.Writer) error { return nil })
	return errors.Join(ErrTooMany, err)
}

const exceeded = ".exceeded"

// Pairs returns the pairs in the file that BruteForce or Signatures wrote, sorted; without a pair
// there is no file.
func Pairs(ctx context.Context, path string) ([]blocks.Edge, error) {
	if _, err := storage.ReadFile(ctx, path+exceeded); !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(err, ErrTooMany)
	}
	return gather.ReadEdges(ctx, path)
}
