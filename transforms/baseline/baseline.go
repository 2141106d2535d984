// Package baseline finds similar pairs as textbooks do, for comparison: among all documents (BruteForce), or among
// those that share a bucket (Buckets). Both compare every such pair, so they suit small collections only.
package baseline

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[setsFn]()
	flow.Register[sendFn]()
	flow.Register[bruteFn]()
	flow.Register[writePairsFn]()
}

// Features are blocks of documents with the numbers by which they are compared: a verifier's features, or the values of
// a signature. Large sets come in parts.
type Features beam.PCollection

// Params configure how pairs are found, and where they are written.
type Params struct {
	// Verifier decides which documents are pairs.
	Verifier verifier.Spec
	// Cells is the number of cells that documents are spread over; one call compares the documents of two cells.
	Cells int
	// Path is the file that pairs are written to.
	Path string
	// Most is the maximum number of pairs, in all and in one bucket. If there are more, the job fails, and Pairs
	// returns ErrTooMany.
	Most int
}

// Sets makes the features of documents for a verifier.
//
//	blocks of documents → features
func Sets(s beam.Scope, docs flow.Documents, text shingle.Spec, v verifier.Spec) Features {
	s = s.Scope(SetsScope)
	return Features(beam.ParDo(s, &setsFn{Text: text, Verifier: v}, beam.PCollection(docs)))
}

// BruteForce compares the features of all documents, and writes the pairs at or above the threshold to a file. CountsOf
// returns how many pairs it compared. Two GroupByKeys.
//
//	features → nothing
func BruteForce(s beam.Scope, features Features, p Params) {
	s = s.Scope("baseline.BruteForce")
	sent := beam.ParDo(s, &sendFn{Params: p}, beam.PCollection(features))
	pairs := beam.ParDo(s, &bruteFn{p}, beam.GroupByKey(s, sent))
	beam.ParDo0(s, &writePairsFn{p}, beam.GroupByKey(s, pairs))
}

// cellOf returns the cell of a document.
func (p *Params) cellOf(key blocks.Key) int { return int(hash.Mix(uint64(key)) % uint64(p.Cells)) }

// number returns the number of a pair of cells.
func number(one, other int) int64 {
	i, j := int64(min(one, other)), int64(max(one, other))
	return j*(j+1)/2 + i
}

// maxNumbers bounds the numbers of a set in one element.
const maxNumbers = 8 << 10

// ofSets reports whether features are sets. Other features are ordered, and are not split into parts.
func ofSets(v verifier.Verifier) bool {
	_, ok := v.(verifier.Sets)
	return ok
}

// featuresOf returns the features of the documents of a group.
func (p *Params) featuresOf(packed func(*[]byte) bool) (map[blocks.Key][]uint64, error) {
	of := map[blocks.Key][]uint64{}
	err := gather.Each(packed, func(d *blocks.Decoder) {
		key, numbers := d.Numbers(nil)
		of[key] = append(of[key], numbers...)
	})
	if ofSets(p.Verifier.New()) {
		for key, features := range of {
			of[key] = shingle.Set(features) // the parts come in any order
		}
	}
	return of, err
}

// foundPairs collects the pairs of one call among documents with these features.
type foundPairs struct {
	params   *Params
	verifier verifier.Verifier
	features map[blocks.Key][]uint64
	n        int
	out      blocks.Buffers
}

func (p *Params) found(packed func(*[]byte) bool) (*foundPairs, error) {
	features, err := p.featuresOf(packed)
	return &foundPairs{params: p, verifier: p.Verifier.New(), features: features}, err
}

// compare emits a pair if it is similar.
func (f *foundPairs) compare(ctx context.Context, pair blocks.Edge, emit func(int64, []byte)) error {
	if _, ok := f.verifier.Compare(f.features[pair.A], f.features[pair.B]); !ok {
		return nil
	}
	if f.n++; f.n > f.params.Most {
		return f.params.tooMany(ctx)
	}
	f.out.Add(gather.Key, func(block []byte) []byte { return blocks.AppendEdge(block, pair) }, emit)
	return nil
}

// setsFn makes the features of documents.
//
//	blocks of documents → features
type setsFn struct {
	Text     shingle.Spec
	Verifier verifier.Spec

	sets     bool
	features func(shingles []uint64) []uint64
	shingler *shingle.Shingler
}

func (f *setsFn) Setup(ctx context.Context) (err error) {
	f.shingler, f.sets = f.Text.New(), ofSets(f.Verifier.New())
	f.features, err = frequencies.Features(ctx, f.Verifier)
	return err
}

func (f *setsFn) ProcessElement(block []byte, emit func([]byte)) error {
	var out []byte
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingler.Tokenise(doc.Text)
		features := f.features(f.shingler.InPlace())
		most := max(1, len(features))
		if f.sets {
			most = maxNumbers
		}
		for some := range slices.Chunk(features, most) {
			if out = blocks.AppendNumbers(out, doc.Key, some); len(out) >= blocks.BlockBytes {
				emit(out)
				out = nil
			}
		}
	}
	f.shingler.Trim()
	if len(out) > 0 {
		emit(out)
	}
	return d.Err()
}

// sendFn sends documents to all pairs of cells that include their own.
//
//	features → KV<pair of cells, features>
type sendFn struct {
	Params Params

	numbers []uint64
	out     blocks.Buffers
}

func (f *sendFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var key blocks.Key
		if key, f.numbers = d.Numbers(f.numbers[:0]); d.Err() != nil {
			break
		}
		own := f.Params.cellOf(key)
		for other := range f.Params.Cells {
			f.out.Add(number(own, other), func(block []byte) []byte {
				return blocks.AppendNumbers(block, key, f.numbers)
			}, emit)
		}
	}
	return d.Err()
}

func (f *sendFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// bruteFn compares all documents of a pair of cells.
//
//	KV<pair of cells, features> → KV<gather.Key, edges>
type bruteFn struct{ Params Params }

func (f *bruteFn) ProcessElement(
	ctx context.Context, cells int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	found, err := f.Params.found(packed)
	if err != nil {
		return err
	}
	pairs := int64(0)
	keys := slices.Sorted(maps.Keys(found.features))
	for i, a := range keys {
		own := f.Params.cellOf(a)
		for _, b := range keys[i+1:] {
			if number(own, f.Params.cellOf(b)) != cells { // several calls have the documents of one cell
				continue
			}
			if err := found.compare(ctx, blocks.Edge{A: a, B: b}, emit); err != nil {
				return err
			}
			pairs++
		}
	}
	compared.Inc(ctx, pairs)
	found.out.Flush(emit)
	return nil
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

// ErrTooMany reports more than Params.Most pairs.
var ErrTooMany = errors.New("too many pairs")

// tooMany returns the error that fails the job, and leaves a file for Pairs, since the launcher sees only the text of a
// step's error.
func (p *Params) tooMany(ctx context.Context) error {
	return errors.Join(ErrTooMany, storage.WriteBytes(ctx, p.Path+exceeded, nil))
}

const exceeded = ".exceeded"

// Pairs returns the sorted pairs from the file that BruteForce or Buckets wrote, which does not exist if there are no
// pairs.
func Pairs(ctx context.Context, path string) ([]blocks.Edge, error) {
	if _, err := storage.ReadFile(ctx, path+exceeded); !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(err, ErrTooMany)
	}
	return gather.ReadEdges(ctx, path)
}
