package components

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/transforms/exchange"
)

func init() { beam.RegisterFunction(gatherFn) }

// gathered has the blocks that a pipeline of this process produced.
var gathered struct {
	sync.Mutex
	blocks [][]byte
}

func gatherFn(_ int64, block []byte, _ func(string)) {
	gathered.Lock()
	defer gathered.Unlock()
	gathered.blocks = append(gathered.blocks, slices.Clone(block))
}

// job runs build as a job, and returns the contents of the collections that it builds.
func job(t *testing.T, runner string, build func(s beam.Scope) []beam.PCollection) (left [][][]byte) {
	t.Helper()
	for i := range build(beam.NewPipeline().Root()) { // one job each, so that none knows what another left
		pipeline, s := beam.NewPipelineWithRoot()
		gathered.blocks = nil
		beam.ParDo(s, gatherFn, build(s)[i])
		if _, err := beam.Run(context.Background(), runner, pipeline); err != nil {
			t.Fatal(err)
		}
		left = append(left, gathered.blocks)
	}
	return left
}

const most = 200_000

// shared writes inputs with one file, and a key for each byte.
func shared(t *testing.T) string {
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a", Size: most}, []int64{most / 4, most / 2, most / 4 * 3}, nil)
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := storage.WriteShared(t.Context(), path, inputs); err != nil {
		t.Fatal(err)
	}
	return path
}

// edgesOf are blocks of edges.
func edgesOf(s beam.Scope, packed [][]byte) flow.Edges {
	if len(packed) == 0 {
		packed = [][]byte{{}}
	}
	return flow.Edges(beam.CreateList(s, packed))
}

func number(t *testing.T, packed [][]byte) (n int) {
	t.Helper()
	for _, block := range packed {
		edges, err := blocks.DecodeEdges(nil, block)
		if err != nil {
			t.Fatal(err)
		}
		n += len(edges)
	}
	return n
}

// inRounds returns the members that rounds give for edges between numbers, in a sequence of jobs until at most limit
// edges are left. Each round has a different number of parts.
func inRounds(t *testing.T, runner string, edges [][2]int, parts, limit int) (all []blocks.Member) {
	t.Helper()
	var left [][]byte
	for chunk := range slices.Chunk(edges, 2000) {
		var block []byte
		for _, e := range chunk {
			block = blocks.AppendEdge(block, blocks.Edge{A: blocks.Key(min(e[0], e[1])), B: blocks.Key(max(e[0], e[1]))})
		}
		left = append(left, block)
	}
	left = job(t, runner, func(s beam.Scope) []beam.PCollection {
		return []beam.PCollection{beam.PCollection(Forests(s, exchange.Alone(s, Spread(s, edgesOf(s, left), parts))))}
	})[0]
	var gone [][][]byte
	for round := 0; len(gone) == 0 || number(t, left) > limit; round++ {
		after := job(t, runner, func(s beam.Scope) []beam.PCollection {
			left, gone := Round(s, edgesOf(s, left), parts+round, round)
			return []beam.PCollection{beam.PCollection(left), beam.PCollection(gone)}
		})
		if now := number(t, after[0]); now >= number(t, left) && now > 0 {
			t.Fatalf("round %d leaves %d edges of %d", round, now, number(t, left))
		}
		left, gone = after[0], append(gone, after[1])
	}
	roots := job(t, runner, func(s beam.Scope) []beam.PCollection {
		return []beam.PCollection{beam.PCollection(Forests(s, exchange.Alone(s, Spread(s, edgesOf(s, left), 1))))}
	})[0]
	for _, of := range slices.Backward(gone) {
		roots = job(t, runner, func(s beam.Scope) []beam.PCollection {
			return []beam.PCollection{beam.PCollection(Resolve(s, edgesOf(s, of), edgesOf(s, roots), parts))}
		})[0]
	}
	path := shared(t)
	members := job(t, runner, func(s beam.Scope) []beam.PCollection {
		spread := beam.ParDo(s, &spreadFn{Parts: parts}, beam.PCollection(edgesOf(s, roots)))
		return []beam.PCollection{beam.PCollection(Members(s, flow.Forests(spread), Params{Inputs: path, Parts: parts}))}
	})[0]
	for _, block := range members {
		var err error
		if all, err = blocks.DecodeMembers(all, block); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(all, blocks.Member.Compare)
	return all
}

// expected is the same by one forest.
func expected(edges [][2]int) (all []blocks.Member) {
	var forest unionfind.Forest
	for _, e := range edges {
		forest.Union(int64(e[0]), int64(e[1]))
	}
	of := map[int64]int{}
	for _, root := range forest.All() {
		of[root]++
	}
	for key, root := range forest.All() {
		all = append(all, blocks.Member{Key: blocks.Key(key), Component: blocks.Key(root), Of: int32(of[root])})
	}
	return all
}

// graphs are difficult graphs of n documents.
func graphs(n int, r *rand.Rand) map[string][][2]int {
	var chain, shuffled, starFirst, starLast, hubs, tree, sparse, dense, families [][2]int
	order := r.Perm(n)
	for i := range n - 1 {
		chain = append(chain, [2]int{i, i + 1})
		shuffled = append(shuffled, [2]int{order[i], order[i+1]})
		starFirst = append(starFirst, [2]int{0, i + 1})
		starLast = append(starLast, [2]int{i, n - 1})
		tree = append(tree, [2]int{order[r.IntN(i+1)], order[i+1]})
		if i%100 == 0 { // a chain of documents with many neighbours each
			hubs = append(hubs, [2]int{order[i], order[(i+100)%n]})
		} else {
			hubs = append(hubs, [2]int{order[i-i%100], order[i]})
		}
		if i%5 != 0 {
			families = append(families, [2]int{order[i-1], order[i]})
		}
		if i%2 == 0 {
			sparse = append(sparse, [2]int{r.IntN(n), r.IntN(n)})
		}
		dense = append(dense, [2]int{r.IntN(n), r.IntN(n)}, [2]int{r.IntN(n), r.IntN(n)}, [2]int{r.IntN(n), r.IntN(n)})
	}
	return map[string][][2]int{
		"chain": chain, "shuffled chain": shuffled, "star of the first": starFirst, "star of the last": starLast,
		"hubs": hubs, "tree": tree, "sparse": sparse, "dense": dense, "families": families, "nothing": nil,
	}
}

// Components that no call may hold are those of one forest.
func TestRounds(t *testing.T) {
	for _, tt := range []struct {
		runner                  string
		documents, limit, parts int
	}{
		{"local", 100_000, 1000, 16},
		{"local", 10_000, 10_000 - 1, 3},
		{"local", 2000, 0, 1},
		{"prism", 500, 50, 5},
	} {
		r := rand.New(rand.NewPCG(uint64(tt.documents), 7))
		for name, edges := range graphs(tt.documents, r) {
			edges = slices.DeleteFunc(edges, func(e [2]int) bool { return e[0] == e[1] })
			got := inRounds(t, tt.runner, edges, tt.parts, tt.limit)
			if want := expected(edges); !slices.Equal(got, want) {
				t.Errorf("%+v, %s: %d members, want %d, or others", tt, name, len(got), len(want))
			}
		}
	}
}
