// Package components connects documents by edges.
package components

import (
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/records"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[spreadFn]())
	beam.RegisterDoFn(reflect.TypeFor[forestFn]())
	beam.RegisterDoFn(reflect.TypeFor[membersFn]())
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

var (
	distinctEdges = beam.NewCounter("components", "distinct_edges")
	forestEdges   = beam.NewCounter("components", "forest_edges")
	members       = beam.NewCounter("components", "documents")
	components    = beam.NewCounter("components", "components")
	sizes         = beam.NewDistribution("components", "size")
)

// Params size the work.
type Params struct {
	// Inputs is the path of the shared records.Inputs.
	Inputs string
	// Parts is the number of groups that edges are spread over at first.
	Parts int
}

// fanIn groups become one at each level of the tree.
const fanIn = 8

// Connect finds the connected components of edges.
//
//	edges → KV<split, members>
//
// A component is named by its first document; documents without an edge are in none. Edges are
// spread by their first document, so equal ones meet and only distinct ones count; each group
// keeps a spanning forest of its own, and forests are merged in a tree of GroupByKeys (union-find
// is commutative and idempotent: order and retries do not matter). The last group holds every
// document that has an edge.
func Connect(s beam.Scope, edges beam.PCollection, p Params) beam.PCollection {
	s = s.Scope("components.Connect")
	groups := beam.GroupByKey(s, beam.ParDo(s, &spreadFn{Parts: p.Parts}, edges))
	for parts, first := p.Parts, true; parts > 1; first = false {
		groups = beam.GroupByKey(s, beam.ParDo(s, &forestFn{First: first}, groups))
		parts = (parts + fanIn - 1) / fanIn
	}
	return beam.ParDo(s, &membersFn{Inputs: p.Inputs, First: p.Parts <= 1}, groups)
}

// spreadFn distributes edges by their first document.
type spreadFn struct {
	Parts int

	edges   []records.Edge
	buffers *records.Buffers
}

func (f *spreadFn) StartBundle(func(int64, []byte)) { f.buffers = records.NewBuffers() }

func (f *spreadFn) ProcessElement(block []byte, emit func(int64, []byte)) (err error) {
	if f.edges, err = records.DecodeEdges(f.edges[:0], block); err != nil {
		return err
	}
	for _, e := range f.edges {
		part := int64(hash.Mix(uint64(e.A)) % uint64(f.Parts))
		f.buffers.Add(part, func(block []byte) []byte { return records.AppendEdge(block, e) }, emit)
	}
	return nil
}

func (f *spreadFn) FinishBundle(emit func(int64, []byte)) { f.buffers.Flush(emit) }

// forestFn replaces the edges of a group by a spanning forest.
type forestFn struct {
	// First: the edges are not yet known to be distinct.
	First bool
}

func (f *forestFn) ProcessElement(ctx context.Context, part int64, blocks func(*[]byte) bool, emit func(int64, []byte)) error {
	forest, err := connect(ctx, blocks, f.First)
	if err != nil {
		return err
	}
	out := records.NewBuffers()
	for key, root := range forest.All() {
		if key != root {
			out.Add(part/fanIn, func(block []byte) []byte {
				return records.AppendEdge(block, records.Edge{A: records.Key(root), B: records.Key(key)})
			}, emit)
		}
	}
	out.Flush(emit)
	return nil
}

// membersFn turns the last forest into members, by split.
type membersFn struct {
	Inputs string
	First  bool
}

func (f *membersFn) ProcessElement(ctx context.Context, _ int64, blocks func(*[]byte) bool, emit func(int64, []byte)) error {
	in, err := storage.Shared[records.Inputs](f.Inputs)
	if err != nil {
		return err
	}
	forest, err := connect(ctx, blocks, f.First)
	if err != nil {
		return err
	}
	out := records.NewBuffers()
	count := map[int64]int64{}
	for _, root := range forest.All() {
		count[root]++
	}
	for key, root := range forest.All() {
		m := records.Member{Key: records.Key(key), Component: records.Key(root), Of: int(count[root])}
		out.Add(int64(in.Split(m.Key)), func(block []byte) []byte { return records.AppendMember(block, m) }, emit)
	}
	out.Flush(emit)
	members.Inc(ctx, int64(forest.Len()))
	components.Inc(ctx, int64(len(count)))
	for _, n := range count {
		sizes.Update(ctx, n)
	}
	return nil
}

// connect joins the edges of a group, each distinct one once.
func connect(ctx context.Context, blocks func(*[]byte) bool, first bool) (*unionfind.Forest, error) {
	var edges []records.Edge
	var block []byte
	var err error
	for blocks(&block) {
		if edges, err = records.DecodeEdges(edges, block); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(edges, records.Edge.Compare)
	edges = slices.Compact(edges)
	counter := forestEdges
	if first {
		counter = distinctEdges
	}
	counter.Inc(ctx, int64(len(edges)))
	var forest unionfind.Forest
	for _, e := range edges {
		forest.Union(int64(e.A), int64(e.B))
	}
	return &forest, nil
}
