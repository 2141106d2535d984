package unionfind

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// component is the result for a document.
type component struct {
	first     int64
	documents int
}

// expected returns the components by one forest.
func expected(edges []edge) map[int64]component {
	var forest Forest
	for _, e := range edges {
		forest.Union(e.a, e.b)
	}
	documents := map[int64]int{}
	for _, root := range forest.All() {
		documents[root]++
	}
	all := map[int64]component{}
	for key, root := range forest.All() {
		all[key] = component{root, documents[root]}
	}
	return all
}

// question is asked by a part.
type question struct {
	label, best int64
	from        int
}

// graph is a graph contracted in parts, as transforms/components does it with groups.
type graph struct {
	parts int
	edges [][]edge // by part, between labels
	gone  []Labels // by round, the labels that were replaced
}

func (g *graph) part(key int64) int { return int(hash.Mix(uint64(key)) % uint64(g.parts)) }

// newGraph spreads edges randomly over parts, by one of their documents.
func newGraph(parts int, edges []edge) *graph {
	g := &graph{parts: parts, edges: make([][]edge, parts)}
	for i, e := range edges {
		if i%2 == 1 {
			e = edge{e.b, e.a}
		}
		g.edges[g.part(e.a)] = append(g.edges[g.part(e.a)], e)
	}
	return g
}

// ask lets each part contract and ask; it returns the questions by the part of the label.
func (g *graph) ask(o Order) [][]question {
	questions := make([][]question, g.parts)
	for from := range g.parts {
		p := NewPart(o)
		for _, e := range g.edges[from] {
			p.Edge(e.a, e.b)
		}
		g.edges[from] = nil
		p.Contract(func(centre, label int64) {
			g.edges[from] = append(g.edges[from], edge{centre, label})
		}, func(label, best int64) {
			to := g.part(label)
			questions[to] = append(questions[to], question{label, best, from})
		})
	}
	return questions
}

// round contracts with the order of a round. Parts receive only answers.
func (g *graph) round() {
	o := OrderOf(len(g.gone))
	answers, gone := make([]Labels, g.parts), Labels{}
	for p := range answers {
		answers[p] = Labels{}
	}
	for _, questions := range g.ask(o) {
		now := Labels{}
		for _, q := range questions {
			now.Prefer(o, q.label, q.best)
		}
		for _, q := range questions {
			if to := now.Of(q.label); to != q.label {
				answers[q.from][q.label], gone[q.label] = to, to
			}
		}
	}
	for p, now := range answers {
		left := g.edges[p][:0]
		for _, e := range g.edges[p] {
			if e = (edge{now.Of(e.a), now.Of(e.b)}); e.a != e.b {
				left = append(left, e)
			}
		}
		g.edges[p] = left
	}
	g.gone = append(g.gone, gone)
}

// left returns the number of labels with a neighbour.
func (g *graph) left() int {
	labels := map[int64]bool{}
	for _, edges := range g.edges {
		for _, e := range edges {
			if e.a != e.b {
				labels[e.a], labels[e.b] = true, true
			}
		}
	}
	return len(labels)
}

// finish connects the remaining labels by one forest, resolves in reverse order, and sums up.
func (g *graph) finish() map[int64]component {
	var forest Forest
	for _, edges := range g.edges {
		for _, e := range edges {
			forest.Union(e.a, e.b)
		}
	}
	became := Labels(maps.Collect(forest.All()))
	for _, gone := range slices.Backward(g.gone) {
		before := maps.Clone(became)
		for label, to := range gone {
			became[label] = before.Of(to)
			became[before.Of(to)] = before.Of(to)
		}
	}
	total := Sizes{}
	for document, label := range became {
		total.Add(label, Size{First: document, Documents: 1})
	}
	all := map[int64]component{}
	for document, label := range became {
		all[document] = component{total[label].First, total[label].Documents}
	}
	return all
}

// Whatever the graph, the parts and the rounds, components are those of one forest.
func TestContractionEqualsUnionFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.Int64Range(0, 8), rapid.Int64Range(0, 200), rapid.SampledFrom([]int64{1 << 40, 1<<40 + 1, 1<<62 - 1}))
		var edges []edge
		for range rapid.IntRange(0, 150).Draw(t, "edges") {
			if e := (edge{key.Draw(t, "a"), key.Draw(t, "b")}); e.a != e.b {
				edges = append(edges, e)
			}
		}
		for i := range rapid.Int64Range(0, 60).Draw(t, "chain") {
			edges = append(edges, edge{300 + i, 301 + i})
		}
		for i := range rapid.Int64Range(0, 60).Draw(t, "star") {
			edges = append(edges, edge{100 + i, 7})
		}
		g := newGraph(rapid.IntRange(1, 9).Draw(t, "parts"), edges)
		for range rapid.IntRange(0, 6).Draw(t, "rounds") {
			g.round()
		}
		if got, want := g.finish(), expected(edges); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// graphs returns difficult graphs of n documents.
func graphs(n int, r *rand.Rand) map[string][]edge {
	all := map[string][]edge{}
	add := func(name string, a, b int) { all[name] = append(all[name], edge{int64(a), int64(b)}) }
	order := r.Perm(n)
	for i := range n - 1 {
		add("chain", i, i+1)
		add("shuffled chain", order[i], order[i+1])
		add("star of the first", 0, i+1)
		add("star of the last", i, n-1)
		add("tree", order[r.IntN(i+1)], order[i+1])
		add("binary tree", i/2, i+1)
		if i%100 == 0 { // a chain of documents with many neighbours each
			add("hubs", order[i], order[(i+100)%n])
		} else {
			add("hubs", order[i-i%100], order[i])
		}
		if i%5 != 0 {
			add("families", order[i-1], order[i])
		}
		if i%2 == 0 {
			add("sparse", r.IntN(n), r.IntN(n))
		}
		for range 3 {
			add("dense", r.IntN(n), r.IntN(n))
		}
	}
	return all
}

// The rounds end. For any graph, a round leaves at most about .6 of the labels, except the first two, which stars take,
// and the last ones, since averages do not apply to few labels.
func TestRoundsEnd(t *testing.T) {
	for _, tt := range []struct{ documents, parts int }{{30_000, 16}, {10_000, 3}, {2000, 1}, {2000, 500}} {
		r := rand.New(rand.NewPCG(uint64(tt.documents), 7))
		for name, edges := range graphs(tt.documents, r) {
			t.Run(fmt.Sprintf("%s/%+v", name, tt), func(t *testing.T) {
				edges = slices.DeleteFunc(edges, func(e edge) bool { return e.a == e.b })
				g := newGraph(tt.parts, edges)
				most := float64(g.left())
				for left := g.left(); left > 0; left = g.left() {
					g.round()
					if g.left() >= left {
						t.Fatalf("round %d leaves %d labels of %d", len(g.gone), g.left(), left)
					}
					if len(g.gone) <= 2 {
						continue
					}
					if most *= .6; float64(g.left()) > most+100 {
						t.Errorf("round %d leaves %d labels, reckoned with %.0f", len(g.gone), g.left(), most)
					}
				}
				if got, want := g.finish(), expected(edges); !maps.Equal(got, want) {
					t.Errorf("other components than those of a forest")
				}
			})
		}
	}
}

// Each order serves two rounds: a new order per round would cost a star many rounds, and a single one would leave more
// of a chain (0.50 of its labels per round on average, and ever more).
func TestOrders(t *testing.T) {
	const documents, rounds = 30_000, 9
	all := graphs(documents, rand.New(rand.NewPCG(5, 5)))
	for _, parts := range []int{1, 8, 100} {
		for _, name := range []string{"star of the first", "star of the last"} {
			g := newGraph(parts, all[name])
			g.round()
			g.round()
			if n := g.left(); n > 0 {
				t.Errorf("%s in %d parts: two rounds leave %d labels", name, parts, n)
			}
		}
	}
	for _, name := range []string{"chain", "shuffled chain"} {
		g := newGraph(8, all[name])
		for range rounds {
			g.round()
		}
		if share := math.Pow(float64(g.left())/documents, 1./rounds); share > .46 {
			t.Errorf("%s: a round leaves %.3f of the labels on average", name, share)
		}
	}
}

// No part asks for a label twice, or is told about labels that it did not ask for: there are at most as many messages
// about a label as parts, even for the centre of a star.
func TestQuestionsAreFew(t *testing.T) {
	const parts = 7
	g := newGraph(parts, graphs(5000, rand.New(rand.NewPCG(1, 1)))["star of the last"])
	for round := range 4 {
		for _, questions := range g.ask(OrderOf(round)) {
			type asked struct {
				label int64
				from  int
			}
			seen := map[asked]bool{}
			for _, q := range questions {
				if a := (asked{q.label, q.from}); seen[a] {
					t.Fatalf("round %d: part %d asks for %d twice", round, q.from, q.label)
				} else {
					seen[a] = true
				}
			}
		}
		g.round()
	}
}

// A star has the edges of a spanning tree, all from the label that comes first.
func TestStar(t *testing.T) {
	for round := range 10 {
		o := OrderOf(round)
		p := NewPart(o)
		labels := []int64{5, 17, 3, 1 << 40, 8}
		for i := 1; i < len(labels); i++ {
			p.Edge(labels[i-1], labels[i])
		}
		p.Edge(99, 99) // has no neighbour
		centre := labels[0]
		for _, label := range labels {
			centre = o.first(centre, label)
		}
		var leaves []int64
		asked := map[int64]int64{}
		p.Contract(func(from, label int64) {
			if from != centre {
				t.Errorf("round %d: an edge from %d, not from %d", round, from, centre)
			}
			leaves = append(leaves, label)
		}, func(label, best int64) { asked[label] = best })
		slices.Sort(labels)
		if want := slices.DeleteFunc(labels, func(l int64) bool { return l == centre }); !slices.Equal(leaves, want) {
			t.Errorf("round %d: edges to %v, want %v", round, leaves, want)
		}
		want := map[int64]int64{5: centre, 17: centre, 3: centre, 1 << 40: centre, 8: centre}
		if !maps.Equal(asked, want) {
			t.Errorf("round %d: questions %v, want %v", round, asked, want)
		}
	}
}

func BenchmarkContract(b *testing.B) {
	const n = 1 << 18
	edges := graphs(n, rand.New(rand.NewPCG(1, 2)))["tree"]
	for b.Loop() {
		p := NewPart(OrderOf(0))
		for _, e := range edges {
			p.Edge(e.a, e.b)
		}
		p.Contract(func(_, _ int64) {}, func(_, _ int64) {})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/edge")
}
