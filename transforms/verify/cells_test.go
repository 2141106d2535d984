package verify

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/spool"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// component is sets in the order of their sizes.
type component [][]uint64

// key returns the key of a set: two of three are in the first file.
func (c component) key(i int) blocks.Key { return blocks.NewKey(i%3/2, int64(1000+i)) }

// spooled writes the sets to batches of about this many bytes, and returns their descriptions in arbitrary order.
func (c component) spooled(t *testing.T, temp string, name blocks.Key, bytes int) (batches [][]byte) {
	t.Helper()
	for rest := 0; rest < len(c); {
		var g blocks.Sets
		for size := 0; rest < len(c) && (size == 0 || size+8*len(c[rest]) <= bytes); rest++ {
			g.Keys, g.Sets = append(g.Keys, c.key(rest)), append(g.Sets, c[rest])
			size += 8 * len(c[rest])
		}
		n := 3*len(batches) + 1 // numbers may have gaps
		if err := spool.Write(t.Context(), temp, spool.BatchFile(temp, name, n), g); err != nil {
			t.Fatal(err)
		}
		batches = append([][]byte{blocks.AppendBatch(nil, spool.Describe(n, g))}, batches...)
	}
	return batches
}

// pairs returns the pairs of all sets, by comparing each two.
func (c component) pairs(t setsim.Threshold) (pairs []blocks.NearPair) {
	for j, b := range c {
		for i, a := range c[:j] {
			shared := 0
			for _, x := range a {
				if slices.Contains(b, x) {
					shared++
				}
			}
			if t.Reached(shared, len(a), len(b)) {
				a, b := c.key(i), c.key(j)
				pairs = append(pairs, blocks.NearPair{A: min(a, b), B: max(a, b), Score: shared, Shared: shared})
			}
		}
	}
	return pairs
}

// pairsOf cuts a component, and returns its pairs of cells. left is the number of sets that stay.
func pairsOf(ctx context.Context, t *testing.T, p Params, name blocks.Key, batches [][]byte) (cellPairs [][]byte, left int) {
	t.Helper()
	ranges := map[int64][][]byte{}
	if err := (&cutFn{Params: p}).ProcessElement(ctx, int64(name), beamtest.Values(batches...), func(_ int64, pair []byte) {
		cellPairs = append(cellPairs, pair)
		c, _ := decodeCellPair(blocks.NewDecoder(pair), nil)
		if c.component != name {
			t.Errorf("a pair of cells of %v", c.component)
		}
		if c.first == c.second {
			g, err := spool.Read(ctx, p.file(c.component, c.round, c.first))
			if err != nil {
				t.Fatal(err)
			}
			left += len(g.Sets)
		}
	}, func(r int64, postings []byte) { ranges[r] = append([][]byte{postings}, ranges[r]...) }); err != nil {
		t.Fatal(err)
	}
	if len(ranges) > 0 && len(cellPairs) > 0 {
		t.Error("cells are joined, and rare shingles sent")
	}
	for r, postings := range ranges {
		err := (&rareFn{Params: p}).ProcessElement(ctx, r, beamtest.Values(postings...), func(_ int64, pair []byte) { cellPairs = append(cellPairs, pair) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return cellPairs, left
}

// joinLarge cuts a component and joins its pairs of cells. left is the number of sets that stay.
func joinLarge(ctx context.Context, t *testing.T, p Params, name blocks.Key, batches [][]byte) (pairs []blocks.NearPair, left int) {
	t.Helper()
	cellPairs, left := pairsOf(ctx, t, p, name, batches)
	f := &cellPairFn{Params: p}
	setUp(t, f.Setup)
	estimated := 0
	err := f.ProcessElement(ctx, 0, beamtest.Values(cellPairs...), func(shard int64, block []byte) {
		var err error
		if pairs, err = blocks.DecodeNearPairs(pairs, block); err != nil || shard != p.Shards.Shard(name) {
			t.Fatal(shard, err)
		}
	}, func(component int64, _ []byte) {
		estimated++
		if component != int64(name) {
			t.Errorf("an estimate of %d", component)
		}
	})
	if err != nil || estimated == 0 && len(pairs) > 0 {
		t.Fatalf("%d estimates, error %v", estimated, err)
	}
	slices.SortFunc(pairs, func(a, b blocks.NearPair) int {
		return blocks.Edge{A: a.A, B: a.B}.Compare(blocks.Edge{A: b.A, B: b.B})
	})
	return pairs, left
}

// connected cuts a component and returns the edges of its pairs of cells.
func connected(t *testing.T, p Params, name blocks.Key, batches [][]byte) (edges []blocks.Edge) {
	t.Helper()
	cellPairs, _ := pairsOf(t.Context(), t, p, name, batches)
	err := (&connectFn{Params: p}).ProcessElement(t.Context(), 0, beamtest.Values(cellPairs...), func(block []byte) {
		var err error
		if edges, err = blocks.DecodeEdges(edges, block); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return edges
}

func ends(pairs []blocks.NearPair) (edges []blocks.Edge) {
	for _, p := range pairs {
		edges = append(edges, blocks.Edge{A: p.A, B: p.B})
	}
	return edges
}

// trees returns, for each other document, the first one of its tree.
func trees(edges []blocks.Edge) map[blocks.Key]blocks.Key {
	var forest unionfind.Forest
	for _, e := range edges {
		forest.Union(int64(e.A), int64(e.B))
	}
	first := map[blocks.Key]blocks.Key{}
	for _, e := range edges {
		for _, key := range []blocks.Key{e.A, e.B} {
			if root := blocks.Key(forest.Find(int64(key))); root != key {
				first[key] = root
			}
		}
	}
	return first
}

// However a component is cut, and whether sets leave it before or not, its pairs are those of all sets, except pairs of
// two references, and its edges connect what these connect.
func TestLargeEqualsBruteForce(t *testing.T) {
	nightly.Checks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		pool := rapid.SampledFrom([]int{20, 200, 1 << 40}).Draw(rt, "pool")
		var c component
		for range rapid.IntRange(0, 40).Draw(rt, "sets") {
			var set []uint64
			if len(c) > 0 && r.IntN(3) == 0 {
				set = slices.Clone(c[r.IntN(len(c))])
				set[r.IntN(len(set))] = uint64(r.IntN(pool))
			}
			for range 1 + r.IntN(8) {
				set = append(set, uint64(r.IntN(pool)))
			}
			slices.Sort(set)
			if set = slices.Compact(set); !slices.ContainsFunc(c, func(other []uint64) bool { return slices.Equal(set, other) }) {
				c = append(c, set)
			}
		}
		slices.SortStableFunc(c, func(a, b []uint64) int { return len(a) - len(b) })
		threshold := setsim.Threshold{Num: uint64(rapid.IntRange(1, 10).Draw(rt, "tenths")), Den: 10}
		references := rapid.IntRange(0, 1).Draw(rt, "references") // files
		want := slices.DeleteFunc(c.pairs(threshold), func(p blocks.NearPair) bool {
			return p.A.File() < references && p.B.File() < references
		})
		if len(want) == 0 {
			want = nil
		}
		slices.SortFunc(want, func(a, b blocks.NearPair) int {
			return blocks.Edge{A: a.A, B: a.B}.Compare(blocks.Edge{A: b.A, B: b.B})
		})
		for _, bytes := range []int{1, 150, 1 << 20} {
			for _, prune := range []int{0, 300, 1 << 30} {
				for _, way := range []Way{Cells, Rare, ""} {
					temp := storagetest.RunFolder(t)
					p := Params{Verifier: jaccard(threshold), CellBytes: bytes, PruneBytes: prune, Way: way, Shards: 7, Inputs: withReferences(t, references), Temp: temp}
					got, _ := joinLarge(t.Context(), t, p, 5, c.spooled(t, temp, 5, bytes))
					if diff := cmp.Diff(want, got); diff != "" {
						rt.Errorf("cells of %d bytes, pruned above %d, way %q: %s", bytes, prune, way, diff)
					}
					edges := connected(t, p, 5, c.spooled(t, temp, 5, bytes))
					if diff := cmp.Diff(trees(ends(want)), trees(edges)); diff != "" {
						rt.Errorf("cells of %d bytes, pruned above %d, way %q, trees: %s", bytes, prune, way, diff)
					}
					if bytes == 1<<20 && way == Cells && len(edges) != len(trees(edges)) {
						rt.Errorf("%d edges where %d connect", len(edges), len(trees(edges)))
					}
				}
			}
		}
	})
}

// Sets that share little leave; those that become lonely leave in the next round; and the others are cut anew.
func TestPeel(t *testing.T) {
	var c component
	next := uint64(0)
	fresh := func(n int) (set []uint64) {
		for range n {
			next++
			set = append(set, next*0x9e3779b97f4a7c15)
		}
		return set
	}
	for range 300 { // unrelated
		c = append(c, fresh(10))
	}
	for range 10 { // pairs
		set := fresh(10)
		c = append(c, set, slices.Concat(set[:9], fresh(1)))
	}
	for range 30 { // one that shares only with two that leave at once
		middle := fresh(10)
		c = append(c, middle, slices.Concat(middle[5:], fresh(5)), slices.Concat(middle[:5], fresh(5)))
	}
	threshold := setsim.Threshold{Num: 8, Den: 10}
	for i := range c {
		slices.Sort(c[i])
	}
	slices.SortStableFunc(c, func(a, b []uint64) int { return len(a) - len(b) })
	for _, tt := range []struct {
		prune string
		above,
		least, most int
	}{{"never", 1 << 30, len(c), len(c)}, {"in rounds", 0, 20, 24}} {
		temp := storagetest.RunFolder(t)
		p := Params{Verifier: jaccard(threshold), CellBytes: 1000, PruneBytes: tt.above, Shards: 1, Inputs: noReferences(t), Temp: temp}
		pairs, left := joinLarge(t.Context(), t, p, 9, c.spooled(t, temp, 9, 500))
		if len(pairs) != 10 || left < tt.least || left > tt.most {
			t.Errorf("%s: %d pairs, %d sets are left, want 10, %d to %d", tt.prune, len(pairs), left, tt.least, tt.most)
		}
	}
}

// A step releases everything it holds, or others would wait forever. Sets that leave are held by the cell.
func TestHolds(t *testing.T) {
	var c component
	for i := range uint64(8) {
		set := make([]uint64, 150_000+i/2) // more than memory.Large, in pairs of similar sets
		for j := range set {
			set[j] = i/2<<32 | uint64(j)
		}
		c = append(c, set)
	}
	const all, cell = 1 << 30, 2_500_000 // two sets
	var room memory.Room
	ctx := memory.Worker(t.Context(), room.Claim(all))
	for _, way := range []Way{Cells, Rare} {
		temp := storagetest.RunFolder(t)
		p := Params{Verifier: jaccard(setsim.Threshold{Num: 8, Den: 10}), CellBytes: cell, PruneBytes: 1, Way: way, Inputs: noReferences(t), Temp: temp}
		if pairs, _ := joinLarge(ctx, t, p, 9, c.spooled(t, temp, 9, cell)); len(pairs) != len(c)/2 {
			t.Errorf("%d pairs", len(pairs))
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		giveBack, err := room.Claim(all).Take(done, all)
		if err != nil {
			t.Fatalf("way %q: some is held", way)
		}
		giveBack()
	}
}

// While sets leave, a step holds one cell that is read and one that is filled.
func TestLeaveHolds(t *testing.T) {
	var c component
	for range 12 {
		c = append(c, make([]uint64, 150_000)) // more than memory.Large
	}
	leaves := make([]bool, len(c))
	for i := range leaves {
		leaves[i] = i%4 == 0
	}
	const cell = 2_500_000 // two sets
	for bytes, fits := range map[int64]bool{2 * cell: true, cell * 3 / 2: false} {
		temp := storagetest.RunFolder(t)
		p := Params{Verifier: jaccard(setsim.Threshold{Num: 8, Den: 10}), CellBytes: cell, Inputs: noReferences(t), Temp: temp}
		of := cells{Params: &p, component: 9}
		for _, batch := range c.spooled(t, temp, 9, cell) {
			of.cells = append(of.cells, blocks.NewDecoder(batch).Batch())
		}
		const all = 1 << 30
		var room memory.Room
		if _, err := room.Claim(all).Take(t.Context(), all-bytes); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(memory.Worker(t.Context(), room.Claim(all)), time.Second)
		if err := of.leave(ctx, leaves); errors.Is(err, context.DeadlineExceeded) == fits {
			t.Errorf("room for %d bytes: error %v", bytes, err)
		}
		cancel()
	}
}

// The sets that stay are in new cells of at most CellBytes, unless one set is larger, and cells are as full as
// possible.
func TestLeaveCuts(t *testing.T) {
	var c component
	for i := range uint64(40) {
		set := make([]uint64, 10+i/10) // 80 to 104 bytes
		for j := range set {
			set[j] = 100*i + uint64(j)
		}
		c = append(c, set)
	}
	temp := storagetest.RunFolder(t)
	p := Params{Verifier: jaccard(setsim.Threshold{Num: 8, Den: 10}), CellBytes: 250, Inputs: noReferences(t), Temp: temp}
	of := cells{Params: &p, verifier: p.Verifier.New(), component: 9, tables: memory.NewHold(t.Context())}
	for _, batch := range c.spooled(t, temp, 9, 500) {
		d := blocks.NewDecoder(batch)
		of.cells = append(of.cells, d.Batch())
	}
	slices.SortFunc(of.cells, func(a, b blocks.Batch) int { return a.Number - b.Number })
	leaves := make([]bool, len(c))
	for i := range leaves {
		leaves[i] = i%4 == 0
	}
	if err := of.leave(t.Context(), leaves); err != nil {
		t.Fatal(err)
	}
	var left component
	before := p.CellBytes
	err := of.each(t.Context(), func(g blocks.Sets) error {
		if size := blocks.ShingleBytes * len(g.Sets[0]); before+size <= p.CellBytes {
			t.Errorf("a cell of %d bytes has room for %d more", before, size)
		}
		bytes := 0
		for _, set := range g.Sets {
			left, bytes = append(left, slices.Clone(set)), bytes+blocks.ShingleBytes*len(set)
		}
		if bytes > p.CellBytes {
			t.Errorf("a cell of %d sets, %d bytes", len(g.Sets), bytes)
		}
		before = bytes
		return nil
	})
	var want component
	for i, set := range c {
		if !leaves[i] {
			want = append(want, set)
		}
	}
	if diff := cmp.Diff(want, left); err != nil || diff != "" {
		t.Errorf("error %v, %s", err, diff)
	}
}

// Sets outside the part of the first round leave in the next.
func TestPeelAllParts(t *testing.T) {
	threshold := setsim.Threshold{Num: 9, Den: 10}
	if threshold.Parts() == 1 {
		t.Fatal("the first round looks at all shingles")
	}
	var c component
	for i := range uint64(200) {
		var set []uint64
		for j := range uint64(10) {
			set = append(set, 1<<63|(10*i+j)<<50) // none in the first part
		}
		c = append(c, set)
	}
	temp := storagetest.RunFolder(t)
	p := Params{Verifier: jaccard(threshold), CellBytes: 1000, Way: Cells, Shards: 1, Inputs: noReferences(t), Temp: temp}
	if pairs, left := joinLarge(t.Context(), t, p, 9, c.spooled(t, temp, 9, 500)); len(pairs) != 0 || left != 0 {
		t.Errorf("%d pairs, %d sets are left, want none", len(pairs), left)
	}
}

// A component has one fact, with what all its pairs of cells found; one without pairs has none.
func TestEstimatesAddUp(t *testing.T) {
	var facts []blocks.Fact
	emit := func(data []byte) {
		var fact blocks.Fact
		if err := json.Unmarshal(data, &fact); err != nil {
			t.Fatal(err)
		}
		facts = append(facts, fact)
	}
	name := blocks.NewKey(0, 7)
	var parts [][]byte
	for _, e := range []blocks.Estimate{
		{Found: 3, Millionths: []int64{4_000_000}}, {}, {Found: 5, Millionths: []int64{5_500_000}},
	} {
		e.Component = name
		parts = append(parts, blocks.AppendEstimate(nil, e))
	}
	for _, of := range [][][]byte{parts, parts[1:2]} {
		if err := (&estimateFn{}).ProcessElement(int64(name), beamtest.Values(of...), emit); err != nil {
			t.Fatal(err)
		}
	}
	want := []blocks.Fact{{Kind: blocks.FactEstimate, Name: "7",
		Estimate: &blocks.Estimate{Component: name, Found: 8, Millionths: []int64{9_500_000}}}}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}
}

// For a pair of cells with candidates, these are compared, once each, however often they are named. Above a limit of
// names, all pairs are.
func TestCandidatesOfCells(t *testing.T) {
	temp := storagetest.RunFolder(t)
	c := component{{1, 2, 3}, {11, 12, 13}, {1, 2, 3, 4}, {11, 12, 13, 14}}
	for cell := range 2 {
		g := blocks.Sets{Keys: []blocks.Key{c.key(2 * cell), c.key(2*cell + 1)}, Sets: c[2*cell:][:2]}
		if err := spool.Write(t.Context(), temp, spool.BatchFile(temp, 3, cell), g); err != nil {
			t.Fatal(err)
		}
	}
	pair := cellPair{component: 3, first: 0, second: 1}
	for _, tt := range []struct {
		named, times int
		want         []blocks.NearPair
	}{
		{1, 2, []blocks.NearPair{{A: c.key(0), B: c.key(2), Score: 3, Shared: 3}}},
		{mostCandidates / 2, 2, []blocks.NearPair{{A: c.key(0), B: c.key(2), Score: 3, Shared: 3}}},
		{mostCandidates/2 + 1, 2, []blocks.NearPair{{A: c.key(0), B: c.key(2), Score: 3, Shared: 3}, {A: c.key(1), B: c.key(3), Score: 3, Shared: 3}}},
		{mostCandidates/2 + 1, 3, []blocks.NearPair{{A: c.key(0), B: c.key(2), Score: 3, Shared: 3}, {A: c.key(1), B: c.key(3), Score: 3, Shared: 3}}},
	} {
		var values [][]byte
		for range tt.times {
			values = append(values, pair.append(nil, make([]candidate, tt.named))) // the first set of each cell
		}
		f := &cellPairFn{Params: Params{Verifier: verifier.Spec{Measure: verifier.Jaccard, Threshold: setsim.Threshold{Num: 1, Den: 2}}, Shards: 1, Inputs: noReferences(t), Temp: temp}}
		setUp(t, f.Setup)
		var got []blocks.NearPair
		err := f.ProcessElement(t.Context(), 0, beamtest.Values(values...), func(_ int64, block []byte) {
			var err error
			if got, err = blocks.DecodeNearPairs(got, block); err != nil {
				t.Fatal(err)
			}
		}, func(int64, []byte) {})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%d times %d candidates: error %v, %s", tt.times, tt.named, err, diff)
		}
	}
}

// However many candidates two cells have, no element is large.
func TestCandidatesInBlocks(t *testing.T) {
	sent := 0
	c := candidatesOf{cells: []numberedCell{{}, {number: 1, first: 1}}, pairs: map[cellPair][]candidate{}, emit: func(_ int64, block []byte) {
		if len(block) > 2*blocks.BlockBytes {
			t.Errorf("an element of %d bytes", len(block))
		}
		_, some := decodeCellPair(blocks.NewDecoder(block), nil)
		sent += len(some)
	}}
	for j := range uint32(heldCandidates + 1) {
		c.add(0, 1+j)
	}
	c.flush()
	if sent != heldCandidates+1 {
		t.Errorf("%d candidates", sent)
	}
}
