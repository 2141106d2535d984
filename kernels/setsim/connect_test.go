package setsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type edge struct{ i, j int }

type connect func(sets [][]uint64, t Threshold, link func(i, j int))

func links(c connect, sets [][]uint64, t Threshold) []edge {
	var edges []edge
	c(sets, t, func(i, j int) { edges = append(edges, edge{i, j}) })
	return edges
}

// stage turns one stage of Connect, for groups of every size, into a connect.
func stage(run func(f *forest)) connect {
	return func(sets [][]uint64, t Threshold, link func(i, j int)) {
		order, ordered := bySize(sets)
		f := newForest(ordered, t, func(x int) uint32 { return uint32(x) }, func(x, y int) { link(min(order[x], order[y]), max(order[x], order[y])) })
		f.apart = func(int, int) bool { return false }
		if f.trees > 1 {
			run(f)
		}
	}
}

// connectAll is like Connect, with each set a tree of its own.
func connectAll(sets [][]uint64, t Threshold, link func(i, j int)) {
	tree := make([]uint32, len(sets))
	for i := range tree {
		tree[i] = uint32(len(tree) - i)
	}
	Connect(sets, t, tree, func(int, int) bool { return false }, link)
}

// components labels each of n nodes with the smallest one of its component, by relabelling until nothing changes.
func components(n int, edges []edge) []int {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = i
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
			if low := min(labels[e.i], labels[e.j]); labels[e.i] != labels[e.j] {
				labels[e.i], labels[e.j], changed = low, low, true
			}
		}
	}
	return labels
}

// crowds draws groups of several templates, which may share half of their elements, and many variants of each:
// shortened, and with elements replaced.
var crowds = rapid.Custom(func(t *rapid.T) [][]uint64 {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	common := distinct(rng, rapid.SampledFrom([]int{0, 3, 30}).Draw(t, "common"))
	size := rapid.SampledFrom([]int{2, 10, 60}).Draw(t, "size")
	edits := rapid.SampledFrom([]float64{0, .05, .1, .3}).Draw(t, "edits")
	shorter := rapid.SampledFrom([]float64{0, .1, .7}).Draw(t, "shorter")
	var sets [][]uint64
	for range rapid.IntRange(1, 4).Draw(t, "templates") {
		template := slices.Concat(common, distinct(rng, size))
		for range rapid.IntRange(1, 60).Draw(t, "variants") {
			v := slices.Clone(template)
			rng.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
			v = v[:len(v)-rng.IntN(1+int(shorter*float64(len(v))))]
			for i := range v {
				if rng.Float64() < edits {
					v[i] = rng.Uint64()
				}
			}
			sets = append(sets, set(v...))
		}
	}
	rng.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	return sets
})

func byIndex(f *forest) { f.connectByIndex(newPrefixLists(f.sets, 0, measure{t: f.t})) }

func TestConnectEqualsBruteForce(t *testing.T) {
	// All ways of connecting groups of every size; the public one chooses a way.
	ways := map[string]connect{
		"Connect": connectAll,
		"direct":  stage((*forest).connectDirectly),
		"index":   stage(byIndex),
		"core": stage(func(f *forest) {
			lists, numbers := numberShared(f.sets, portionSize, ranges(f.sets))
			f.overlap = newCore(lists, numbers/2, numbers).overlap
			byIndex(f)
		}),
		"hubs and index": stage(func(f *forest) {
			f.connectToHubs()
			if f.trees > 1 {
				byIndex(f)
			}
		}),
	}
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		for _, v := range []float64{.05, .3, .5, .7, .8, .9, 1} {
			th := threshold(t, v)
			var similar []edge
			for _, p := range collect(comparingAll, sets, th) {
				similar = append(similar, edge{p.i, p.j})
			}
			want := components(len(sets), similar)
			trees := 0
			for i, label := range want {
				trees += one(i == label)
			}
			for name, way := range ways {
				got := links(way, sets, th)
				for _, e := range got {
					if e.i >= e.j || !th.Reached(Overlap(sets[e.i], sets[e.j]), len(sets[e.i]), len(sets[e.j])) {
						t.Fatalf("t=%v, %s: link %v is no pair", v, name, e)
					}
				}
				if labels := components(len(sets), got); !slices.Equal(labels, want) {
					t.Fatalf("t=%v, %s: components\n%v, want\n%v", v, name, labels, want)
				}
				// There are as many links as in a spanning forest, so there is no cycle.
				if len(got) != len(sets)-trees {
					t.Fatalf("t=%v, %s: %d links in %d sets, want %d trees", v, name, len(got), len(sets), trees)
				}
				if again := links(way, sets, th); !slices.Equal(again, got) {
					t.Fatalf("t=%v, %s: links %v, then %v", v, name, got, again)
				}
			}
		}
	})
}

// Sets of one tree are not linked, and sets of several trees are linked as if the links within trees were known.
func TestConnectTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := crowds.Draw(t, "sets")
		v := rapid.SampledFrom([]Threshold{{1, 2}, {4, 5}}).Draw(t, "t")
		tree := make([]uint32, len(sets))
		known := map[uint32]int{}
		var before []edge
		for i := range sets {
			tree[i] = uint32(rapid.IntRange(0, len(sets)).Draw(t, "tree"))
			if first, ok := known[tree[i]]; ok {
				before = append(before, edge{first, i})
			} else {
				known[tree[i]] = i
			}
		}
		var found []edge
		sevenths := rapid.IntRange(0, 7).Draw(t, "sevenths")
		apart := func(i, j int) bool { return (i+j)%7 < sevenths }
		Connect(sets, v, tree, apart, func(i, j int) { found = append(found, edge{i, j}) })
		for _, e := range found {
			if a, b := sets[e.i], sets[e.j]; apart(e.i, e.j) || !v.Reached(Overlap(a, b), len(a), len(b)) {
				t.Fatalf("%v is no pair", e)
			}
		}
		all := slices.DeleteFunc(links(bruteForce, sets, v), func(e edge) bool { return apart(e.i, e.j) })
		got := components(len(sets), slices.Concat(before, found))
		want := components(len(sets), slices.Concat(before, all))
		if !slices.Equal(got, want) {
			t.Fatalf("t=%v: trees %v, found %v, all pairs %v", v, tree, found, all)
		}
		distinct := map[int]bool{}
		for _, root := range want {
			distinct[root] = true
		}
		if len(found) != len(known)-len(distinct) {
			t.Fatalf("%d links make %d trees %d", len(found), len(known), len(distinct))
		}
	})
}

func bruteForce(sets [][]uint64, t Threshold, link func(i, j int)) {
	for j, b := range sets {
		for i, a := range sets[:j] {
			if t.Reached(Overlap(a, b), len(a), len(b)) {
				link(i, j)
			}
		}
	}
}

// A crowd around one template is connected by the hubs alone.
func TestHubsConnectACrowd(t *testing.T) {
	f := newForest(variants(1000, 300, 15), Threshold{7, 10}, func(x int) uint32 { return uint32(x) }, func(int, int) {})
	f.apart = func(int, int) bool { return false }
	if f.connectToHubs(); f.trees != 1 {
		t.Errorf("%d trees", f.trees)
	}
}

// variants returns n sets that have all but edits of the size elements of one template. Two of them share about
// size·(1−edits/size)² elements.
func variants(n, size, edits int) [][]uint64 {
	rng := rand.New(rand.NewPCG(11, 12))
	template := distinct(rng, size)
	sets := make([][]uint64, n)
	for k := range sets {
		s := slices.Clone(template)
		for _, i := range rng.Perm(size)[:edits] {
			s[i] = rng.Uint64()
		}
		sets[k] = set(s...)
	}
	return sets
}

// Two variants with 15 edits have a similarity of .82 on average, and those with 30 one of .68: then 9617 of the
// 1999000 pairs of 2000 variants reach .7, and few variants are similar to a hub.
func BenchmarkConnect(b *testing.B) {
	th := Threshold{7, 10}
	for _, edits := range []int{15, 30} {
		sets := variants(10_000, 300, edits)
		b.Run(fmt.Sprintf("edits=%d/Connect/sets=10000", edits), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.ReportMetric(float64(len(links(connectAll, sets, th))), "links")
			}
		})
		b.Run(fmt.Sprintf("edits=%d/SelfJoin/sets=2000", edits), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(collect(selfJoin, sets[:2000], th))), "pairs")
			}
		})
	}
	sets := recombined(100_000)
	b.Run("recombined/sets=100000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.ReportMetric(float64(len(links(connectAll, sets, th))), "links")
		}
	})
}
