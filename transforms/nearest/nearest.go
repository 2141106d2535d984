// Package nearest finds a document's nearest neighbours: among all documents, or among those that share a bucket with
// it.
package nearest

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[similarFn]()
	flow.Register[mergeFn]()
}

// Query is the document that others are compared with.
type Query struct {
	// Key is the document's key, or None if it is not among the documents read.
	Key blocks.Key
	// Features are its features for a verifier.
	Features []uint64
	// Values is its signature, if buckets are searched.
	Values []uint64
}

// None is the key of no document.
const None blocks.Key = -1

// Near is a neighbour.
type Near struct {
	Key  blocks.Key
	Rank float64 // the similarity, or its estimate
}

func (n Near) compare(o Near) int {
	return cmp.Or(cmp.Compare(o.Rank, n.Rank), cmp.Compare(n.Key, o.Key))
}

// Nearest are the nearest neighbours of the query.
type Nearest struct {
	Candidates int64  // number of all neighbours
	Near       []Near // the nearest, by rank and then in input order

	floor float64 // at least as many as wanted have this rank or a higher one
}

func (n *Nearest) add(near Near, most int) {
	n.Candidates++
	n.Near = append(n.Near, near)
	if len(n.Near) >= 2*most {
		n.cut(most)
	}
}

func (n *Nearest) cut(most int) {
	slices.SortFunc(n.Near, Near.compare)
	if len(n.Near) >= most {
		n.Near = n.Near[:most]
		n.floor = n.Near[most-1].Rank
	}
}

// Params configure the number of neighbours and the output.
type Params struct {
	// Answer is the path that the Nearest is written to.
	Answer string
	// Most is the number of neighbours wanted.
	Most int
}

// Sets configure how documents are compared.
type Sets struct {
	// Query is the path of the shared Query.
	Query string
	// Text says how a text becomes shingles.
	Text shingle.Spec
	// Verifier compares documents.
	Verifier verifier.Spec
}

// BySimilarity writes the most similar documents to a file, even if there are none. Candidates counts all documents
// that the verifier finds similar.
//
//	blocks of documents → nothing
//
// One GroupByKey, of at most Most neighbours from each bundle.
func BySimilarity(s beam.Scope, docs flow.Documents, sets Sets, p Params) {
	s = s.Scope("nearest.BySimilarity")
	merge(s, beam.ParDo(s, &similarFn{Params: p, Sets: sets}, beam.PCollection(docs)), p)
}

// merge writes the nearest documents of all bundles.
//
//	KV<gather.Key, Nearest> → nothing
func merge(s beam.Scope, found beam.PCollection, p Params) {
	beam.ParDo0(s, &mergeFn{p}, beam.PCollection(gather.All(s, gather.Values(found))))
}

// similarFn keeps the most similar documents of a bundle.
//
//	blocks of documents → KV<gather.Key, Nearest>
type similarFn struct {
	Params Params
	Sets   Sets

	query    *Query
	verifier verifier.Verifier
	features func(shingles []uint64) []uint64
	shingler *shingle.Shingler
	sieve    *setsim.Sieve // nil if features are no sets
	least    int           // minimum number of shingles that a similar document shares
	any      bool          // one shared shingle suffices
	nearest  Nearest
}

func (f *similarFn) Setup(ctx context.Context) (err error) {
	if f.query, err = storage.Shared[Query](ctx, f.Sets.Query); err != nil {
		return err
	}
	if f.features, err = frequencies.Features(ctx, f.Sets.Verifier); err != nil {
		return err
	}
	f.verifier, f.shingler = f.Sets.Verifier.New(), f.Sets.Text.New()
	if _, sets := f.verifier.(verifier.Sets); !sets {
		return nil
	}
	f.sieve = setsim.NewSieve(f.query.Features)
	f.any = f.Sets.Verifier.Threshold == setsim.Any
	// The union includes the query's shingles, and both sets share the threshold's fraction of the union.
	f.least = f.Sets.Verifier.Threshold.MinSize(len(f.query.Features))
	return nil
}

// passed reports whether a document with these shingles need not be compared, because it is not similar or would not be
// listed.
func (f *similarFn) passed(shingles []uint64) bool {
	if f.sieve == nil {
		return false
	}
	shared := f.sieve.Count(shingles)
	if shared < f.least {
		return true
	}
	if f.any && f.nearest.floor > 0 && f.sieve.AtMost(shared, shingles) < f.nearest.floor {
		f.nearest.Candidates++ // it counts, but would not be listed
		return true
	}
	return false
}

func (f *similarFn) StartBundle(func(int64, []byte)) { f.nearest = Nearest{} }

func (f *similarFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	own := f.query.Features
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		if doc.Key == f.query.Key {
			continue
		}
		f.shingler.Tokenise(doc.Text)
		shingles := f.shingler.InPlace()
		if len(shingles) == 0 || f.passed(shingles) {
			continue
		}
		features := f.features(shingles)
		if score, ok := f.verifier.Compare(own, features); ok {
			similarity := f.verifier.Similarity(score, f.verifier.Size(own), f.verifier.Size(features))
			f.nearest.add(Near{doc.Key, similarity}, f.Params.Most)
		}
	}
	f.shingler.Trim()
	return d.Err()
}

func (f *similarFn) FinishBundle(emit func(int64, []byte)) error {
	f.nearest.cut(f.Params.Most)
	return gather.EmitJSON(&f.nearest, emit)
}

// mergeFn writes the nearest documents of all bundles; see merge for the shapes.
type mergeFn struct{ Params Params }

func (f *mergeFn) ProcessElement(ctx context.Context, _ int64, parts func(*[]byte) bool) error {
	var all Nearest
	err := gather.EachJSON(parts, func(part *Nearest) {
		candidates := all.Candidates + part.Candidates
		for _, n := range part.Near {
			all.add(n, f.Params.Most)
		}
		all.Candidates = candidates
	})
	if err != nil {
		return err
	}
	all.cut(f.Params.Most)
	return storage.WriteShared(ctx, f.Params.Answer, &all)
}
