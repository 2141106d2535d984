// Package components connects documents by edges.
//
// In one job, a tree of groups merges spanning forests of parts of the edges; the last group holds every document that
// has an edge. In a sequence of jobs, all workers contract the graph in rounds (rounds.go) until one call can hold the
// rest.
package components

import (
	"context"
	"iter"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/transforms/exchange"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[spreadFn]()
	flow.Register[forestFn]()
	flow.Register[membersFn]()
}

var (
	edgesSeen     = beam.NewCounter("components", "edges")
	edgesShuffled = beam.NewCounter("shuffled", "edges") // bytes, over all groupings
	members       = beam.NewCounter("components", "documents")
	components    = beam.NewCounter("components", "components")
	sizes         = beam.NewDistribution("components", "size")
)

// Params configure the steps.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Parts is the number of parts of the graph: edges are grouped first by a hash of a document modulo Parts.
	Parts int
}

// EdgeBytes is the encoded size of an edge.
const EdgeBytes = 16

// FanIn is the number of groups that become one at each level of the tree.
const FanIn = 4

// Connect finds the connected components of edges.
//
//	edges → KV<split, members>
//
// A component is named by its first document; documents without an edge are in none. Each group keeps only a spanning
// forest of its edges: union-find is commutative and idempotent, so order and retries do not matter, and the size of
// every later group is bounded by its documents and not by their edges. One GroupByKey per level of the tree.
func Connect(s beam.Scope, edges flow.Edges, p Params) flow.Members {
	s = s.Scope("components.Connect")
	groups := spread(s, edges, p.Parts)
	for parts := p.Parts; parts > 1; parts = (parts + FanIn - 1) / FanIn {
		groups = beam.GroupByKey(s, beam.ParDo(s, &forestFn{}, groups))
	}
	return flow.Members(beam.ParDo(s, &membersFn{Inputs: p.Inputs}, groups))
}

// Spread keys edges by the part of their later document.
//
//	blocks of edges → KV<part, edges>
func Spread(s beam.Scope, edges flow.Edges, parts int) flow.Forests {
	return flow.Forests(beam.ParDo(s, &spreadFn{Parts: parts}, beam.PCollection(edges)))
}

// spread groups edges by part.
//
//	blocks of edges → KV<part, group of edges>
func spread(s beam.Scope, edges flow.Edges, parts int) beam.PCollection {
	return beam.GroupByKey(s, beam.PCollection(Spread(s, edges, parts)))
}

// part returns the part of a document.
func part(key blocks.Key, parts int) int64 {
	return int64(hash.Mix(uint64(key)) % uint64(parts))
}

// spreadFn keys edges by the part of their later document. Candidates give a document at most one edge to an earlier
// one per band, so no group becomes large because of one document with many edges.
//
// It does not drop edges that others of its bundle make redundant: the choice would depend on the bundle, and if a
// runner repeats a step for some groups only, its bundles may differ.
//
//	blocks of edges → KV<part, edges>
type spreadFn struct {
	Parts int

	edges []blocks.Edge
	out   *blocks.Shards
}

func (f *spreadFn) StartBundle(func(int64, []byte)) { f.out = blocks.NewShards(f.Parts) }

func (f *spreadFn) ProcessElement(ctx context.Context, block []byte, emit func(int64, []byte)) (err error) {
	if f.edges, err = blocks.DecodeEdges(f.edges[:0], block); err != nil {
		return err
	}
	for _, e := range f.edges {
		f.out.Add(part(e.B, f.Parts), func(block []byte) []byte { return blocks.AppendEdge(block, e) }, emit)
	}
	edgesSeen.Inc(ctx, int64(len(f.edges)))
	edgesShuffled.Inc(ctx, int64(len(block)))
	return nil
}

func (f *spreadFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// forestEdges yields the edges of a forest, each from a root to another document of its tree.
func forestEdges(f *unionfind.Forest) iter.Seq[blocks.Edge] {
	return func(yield func(blocks.Edge) bool) {
		for key, root := range f.AsAdded() {
			if key != root && !yield(blocks.Edge{A: blocks.Key(root), B: blocks.Key(key)}) {
				return
			}
		}
	}
}

// sender packs values by key, and counts bytes.
type sender struct {
	buffers blocks.Buffers
	emit    func(int64, []byte)
	bytes   int64
}

func newSender(emit func(int64, []byte)) *sender {
	s := new(sender)
	s.emit = func(part int64, block []byte) {
		s.bytes += int64(len(block))
		emit(part, block)
	}
	return s
}

func (s *sender) add(to int64, add func(block []byte) []byte) { s.buffers.Add(to, add, s.emit) }

func (s *sender) edge(to int64, e blocks.Edge) {
	s.add(to, func(block []byte) []byte { return blocks.AppendEdge(block, e) })
}

// flush sends the rest, and returns the number of bytes sent in all.
func (s *sender) flush() int64 {
	s.buffers.Flush(s.emit)
	return s.bytes
}

// forestFn replaces the edges of a group by a spanning forest.
//
//	KV<part, group of edges> → KV<part/FanIn, edges>
type forestFn struct{ In exchange.In }

func (f *forestFn) ProcessElement(
	ctx context.Context, key int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	return f.In.Each(ctx, key, packed, func(part int64, packed func(*[]byte) bool) error {
		var forest unionfind.Forest
		if err := connect(&forest, packed); err != nil {
			return err
		}
		sendForest(ctx, &forest, part/FanIn, emit)
		return nil
	})
}

// sendForest sends the edges of a forest to a part.
func sendForest(ctx context.Context, forest *unionfind.Forest, part int64, emit func(int64, []byte)) {
	out := newSender(emit)
	for e := range forestEdges(forest) {
		out.edge(part, e)
	}
	edgesShuffled.Inc(ctx, out.flush())
}

// membersFn turns the last forest into members, by split.
//
//	KV<0, group of edges> → KV<split, members>
type membersFn struct{ Inputs string }

func (f *membersFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	var forest unionfind.Forest
	if err := connect(&forest, packed); err != nil {
		return err
	}
	out := newSender(emit)
	count := map[int64]int64{}
	for _, root := range forest.AsAdded() {
		count[root]++
	}
	for key, root := range forest.AsAdded() {
		out.member(in, blocks.Member{Key: blocks.Key(key), Component: blocks.Key(root), Of: int32(count[root])})
	}
	out.flush()
	members.Inc(ctx, int64(forest.Len()))
	components.Inc(ctx, int64(len(count)))
	for _, n := range count {
		sizes.Update(ctx, n)
	}
	return nil
}

func (s *sender) member(in *blocks.Inputs, m blocks.Member) {
	s.add(int64(in.Split(m.Key)), func(block []byte) []byte { return blocks.AppendMember(block, m) })
}

// connect adds the edges of a group to a forest.
func connect(forest *unionfind.Forest, packed func(*[]byte) bool) error {
	return gather.Edges(packed, func(e blocks.Edge) { forest.Union(int64(e.A), int64(e.B)) })
}
