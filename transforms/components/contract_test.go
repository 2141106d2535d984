package components

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/unionfind"
)

func init() { beam.RegisterFunction(gatherFn) }

// gathered are the members that a pipeline of this process came to.
var gathered struct {
	sync.Mutex
	members []blocks.Member
}

func gatherFn(_ int64, block []byte, _ func(string)) (err error) {
	gathered.Lock()
	defer gathered.Unlock()
	gathered.members, err = blocks.DecodeMembers(gathered.members, block)
	return err
}

const most = 200_000

// shared writes inputs of one file with a key for each byte.
func shared(t *testing.T) string {
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a", Size: most}, []int64{most / 4, most / 2, most / 4 * 3}, nil)
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := storage.WriteShared(t.Context(), path, inputs); err != nil {
		t.Fatal(err)
	}
	return path
}

// connected returns what Connect says of edges between numbers.
func connected(t *testing.T, runner string, edges [][2]int, p Params) ([]blocks.Member, error) {
	t.Helper()
	var packed [][]byte
	for chunk := range slices.Chunk(edges, 2000) {
		var block []byte
		for _, e := range chunk {
			block = blocks.AppendEdge(block, blocks.Edge{A: blocks.Key(min(e[0], e[1])), B: blocks.Key(max(e[0], e[1]))})
		}
		packed = append(packed, block)
	}
	p.Inputs = shared(t)
	pipeline, s := beam.NewPipelineWithRoot()
	beam.ParDo(s, gatherFn, beam.PCollection(Connect(s, flow.Edges(beam.CreateList(s, packed)), p)))
	gathered.members = nil
	_, err := beam.Run(context.Background(), runner, pipeline)
	slices.SortFunc(gathered.members, blocks.Member.Compare)
	return gathered.members, err
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

// graphs are hard ones, of n documents.
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

// Components that no group may hold are those of one forest.
func TestContracted(t *testing.T) {
	for _, tt := range []struct {
		runner    string
		documents int
		limit     int64
		parts     int
	}{
		{"local", 100_000, 1000, 16},
		{"local", 10_000, 10_000 - 1, 3},
		{"local", 2000, 10, 1},
		{"prism", 500, 50, 5},
	} {
		r := rand.New(rand.NewPCG(uint64(tt.documents), 7))
		for name, edges := range graphs(tt.documents, r) {
			got, err := connected(t, tt.runner, edges, Params{Parts: tt.parts, Documents: int64(tt.documents), Limit: tt.limit})
			if err != nil {
				t.Fatalf("%+v, %s: %v", tt, name, err)
			}
			if want := expected(edges); !slices.Equal(got, want) {
				t.Errorf("%+v, %s: %d members, want %d, or others", tt, name, len(got), len(want))
			}
		}
	}
}

// A graph that is still too large is not taken for one that is done.
func TestNotConverged(t *testing.T) {
	var block []byte
	for i := range blocks.Key(10) {
		block = blocks.AppendEdge(block, blocks.Edge{A: i, B: i + 1})
	}
	emit := func(int64, []byte) {}
	err := (&rootsFn{Parts: 1, Limit: 10, Rounds: 3}).ProcessElement(t.Context(), 0, beamtest.Values(block), emit)
	if err == nil || !strings.Contains(err.Error(), "not converged: after 3 rounds of contraction 11 groups") || strings.Contains(err.Error(), "--shingle") {
		t.Errorf("error %v", err)
	}
	if err := (&rootsFn{Parts: 1, Limit: 11, Rounds: 3}).ProcessElement(t.Context(), 0, beamtest.Values(block), emit); err != nil {
		t.Error(err)
	}
}
