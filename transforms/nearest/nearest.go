// Package nearest finds a document's nearest neighbours among those sharing a bucket with it.
package nearest

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[nearFn]())
	beam.RegisterDoFn(reflect.TypeFor[mergeNearFn]())
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

// Query is the document that others are compared with.
type Query struct {
	// Key is its own; None if it is not among those that are read.
	Key    blocks.Key
	Values []uint64 // its signature
}

// None is the key of no document.
const None blocks.Key = -1

// Near is a neighbour.
type Near struct {
	Key   blocks.Key
	Equal int // values of the signatures that are equal
}

func (n Near) compare(o Near) int {
	return cmp.Or(cmp.Compare(o.Equal, n.Equal), cmp.Compare(n.Key, o.Key))
}

// Nearest are the neighbours of the document in question.
type Nearest struct {
	Candidates int64  // the number of all
	Near       []Near // the nearest, by equal values and then in input order
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
	n.Near = n.Near[:min(len(n.Near), most)]
}

// Params say what is searched for, and where the answer goes.
type Params struct {
	// Banding says how signatures become band keys.
	Banding lsh.Banding
	// Query is the path of the shared Query, Answer that of the Nearest.
	Query, Answer string
	// Most is the number of neighbours wanted.
	Most int
}

// Find writes the nearest neighbours to a file, also if there are none.
//
//	blocks of signatures → nothing
//
// One GroupByKey, of at most Most neighbours from each bundle.
func Find(s beam.Scope, signed flow.Signatures, p Params) {
	s = s.Scope("nearest.Find")
	found := gather.Values(beam.ParDo(s, &nearFn{Params: p}, beam.PCollection(signed)))
	beam.ParDo0(s, &mergeNearFn{p}, beam.PCollection(gather.All(s, found)))
}

// nearFn keeps the nearest of a bundle.
//
//	blocks of signatures → KV<gather.Key, Nearest>
type nearFn struct {
	Params Params

	query        *Query
	wanted, keys []uint64
	values       []uint64
	nearest      Nearest
}

func (f *nearFn) Setup(ctx context.Context) (err error) {
	if f.query, err = storage.Shared[Query](ctx, f.Params.Query); err != nil {
		return err
	}
	f.wanted = f.Params.Banding.Keys(nil, f.query.Values)
	return nil
}

func (f *nearFn) StartBundle(func(int64, []byte)) { f.nearest = Nearest{} }

func (f *nearFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var key blocks.Key
		if key, f.values = d.Numbers(f.values[:0]); d.Err() != nil {
			break
		}
		if key == f.query.Key {
			continue
		}
		f.keys = f.Params.Banding.Keys(f.keys, f.values)
		if equals(f.keys, f.wanted) > 0 {
			f.nearest.add(Near{key, equals(f.values, f.query.Values)}, f.Params.Most)
		}
	}
	return d.Err()
}

// equals counts the indexes at which two lists agree.
func equals(a, b []uint64) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

func (f *nearFn) FinishBundle(emit func(int64, []byte)) error {
	f.nearest.cut(f.Params.Most)
	return emitJSON(&f.nearest, emit)
}

func emitJSON(v any, emit func(int64, []byte)) error {
	data, err := json.Marshal(v)
	if err == nil {
		emit(gather.Key, data)
	}
	return err
}

// mergeNearFn writes the nearest of all bundles.
//
//	KV<gather.Key, Nearest> → nothing
type mergeNearFn struct{ Params Params }

func (f *mergeNearFn) ProcessElement(ctx context.Context, _ int64, parts func(*[]byte) bool) error {
	var all Nearest
	err := eachJSON(parts, func(part *Nearest) {
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

// eachJSON calls do with each value of a group of gather.All.
func eachJSON[T any](values func(*[]byte) bool, do func(*T)) error {
	var data []byte
	for values(&data) {
		if len(data) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		do(&v)
	}
	return nil
}
