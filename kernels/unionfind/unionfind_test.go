package unionfind

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type edge struct{ a, b int64 }

// propagate labels every key with the smallest one that edges lead to, by passing smaller labels along the edges until
// nothing changes.
func propagate(edges []edge) map[int64]int64 {
	labels := make(map[int64]int64)
	for _, e := range edges {
		labels[e.a], labels[e.b] = e.a, e.b
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
			if least := min(labels[e.a], labels[e.b]); labels[e.a] != least || labels[e.b] != least {
				labels[e.a], labels[e.b] = least, least
				changed = true
			}
		}
	}
	return labels
}

var edgeLists = rapid.Custom(func(t *rapid.T) []edge {
	key := rapid.OneOf(
		rapid.Int64Range(0, 10),
		rapid.Int64Range(0, 300),
		rapid.SampledFrom([]int64{math.MinInt64, -1, math.MaxInt64, 1 << 40, 1<<40 + 1}),
	)
	edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) edge {
		return edge{key.Draw(t, "a"), key.Draw(t, "b")}
	}), 0, 300).Draw(t, "edges")
	if rapid.Bool().Draw(t, "chain") { // deep trees, whose order matters most
		from := rapid.Int64Range(0, 300).Draw(t, "from")
		for k := range rapid.Int64Range(0, 100).Draw(t, "length") {
			edges = append(edges, edge{from + k, from + k + 1})
		}
	}
	return rapid.Permutation(edges).Draw(t, "shuffled")
})

func TestForestEqualsPropagation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := edgeLists.Draw(t, "edges")
		want := propagate(edges)
		var f Forest
		joined := 0
		for _, e := range edges {
			if f.Union(e.a, e.b) {
				joined++
			}
		}
		if f.Len() != len(want) {
			t.Fatalf("%d keys, want %d", f.Len(), len(want))
		}
		var added []int64 // before any other look at the trees flattens them
		for _, e := range edges {
			for _, key := range []int64{e.a, e.b} {
				if !slices.Contains(added, key) {
					added = append(added, key)
				}
			}
		}
		i := 0
		for key, root := range f.AsAdded() {
			if i == len(added) || key != added[i] || root != want[key] {
				t.Fatalf("AsAdded: number %d is %d in %d, want %v by %v", i, key, root, added, want)
			}
			i++
		}
		if i != len(added) {
			t.Fatalf("AsAdded: %d keys, want %d", i, len(added))
		}
		trees := 0
		for key, root := range want {
			if got := f.Find(key); got != root {
				t.Fatalf("Find(%d) = %d, want %d", key, got, root)
			}
			if key == root {
				trees++
			}
		}
		// Every true result of Union turned two trees into one.
		if joined != len(want)-trees {
			t.Fatalf("%d unions joined trees, want %d", joined, len(want)-trees)
		}
		last, started := int64(0), false
		for key, root := range f.All() {
			if started && key <= last {
				t.Fatalf("%d after %d", key, last)
			}
			if want[key] != root {
				t.Fatalf("All: root of %d is %d, want %d", key, root, want[key])
			}
			last, started = key, true
		}
		if got := maps.Collect(f.All()); !maps.Equal(got, want) {
			t.Fatalf("All = %v, want %v", got, want)
		}
	})
}

// Forests of parts, merged by the pairs of All, equal the forest of the whole.
func TestForestsMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := edgeLists.Draw(t, "edges")
		parts := make([]Forest, 4)
		for _, e := range edges {
			parts[rapid.IntRange(0, 3).Draw(t, "part")].Union(e.a, e.b)
		}
		var whole Forest
		for i := range parts {
			for key, root := range parts[i].All() {
				whole.Union(key, root)
			}
		}
		if got, want := maps.Collect(whole.All()), propagate(edges); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestForestWithoutKeys(t *testing.T) {
	var f Forest
	if got := f.Find(7); got != 7 || f.Len() != 0 {
		t.Errorf("Find(7) = %d with %d keys", got, f.Len())
	}
	for key := range f.All() {
		t.Errorf("key %d", key)
	}
	f.Union(3, 3)
	if got := f.Find(7); got != 7 || f.Len() != 1 {
		t.Errorf("Find(7) = %d with %d keys, want 7 with 1", got, f.Len())
	}
}

func TestAllStops(t *testing.T) {
	var f Forest
	for k := range int64(10) {
		f.Union(k, k)
	}
	var keys []int64
	for key := range f.All() {
		if keys = append(keys, key); len(keys) == 3 {
			break
		}
	}
	for key := range f.AsAdded() {
		if keys = append(keys, key); len(keys) == 6 {
			break
		}
	}
	if !slices.Equal(keys, []int64{0, 1, 2, 0, 1, 2}) {
		t.Errorf("keys %v, want 0 1 2 twice", keys)
	}
}

func BenchmarkForest(b *testing.B) {
	const n = 1 << 20
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]edge, n)
	for i := range random {
		random[i] = edge{rng.Int64N(n), rng.Int64N(n)}
	}
	chain := make([]edge, n) // from the far end, each link a new root
	for i := range chain {
		chain[i] = edge{int64(n - i - 1), int64(n - i)}
	}
	star := slices.Clone(random)
	for i := range star {
		star[i].a = 0
	}
	slices.SortFunc(star, func(x, y edge) int { return cmp.Compare(x.b, y.b) })
	for _, c := range []struct {
		name  string
		edges []edge
	}{{"random", random}, {"chain", chain}, {"star", star}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var f Forest
				for _, e := range c.edges {
					f.Union(e.a<<20, e.b<<20)
				}
				for range f.All() {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/edge")
		})
	}
}
