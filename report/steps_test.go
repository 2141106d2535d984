package report

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// At each step, the numbers of pairs, clusters and documents are those found by a graph search, in whatever order the
// pairs come.
func TestStepsAgainstSearch(t *testing.T) {
	type pair struct {
		a, b       int64
		similarity float64
		copied     bool
	}
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.SampledFrom([]float64{.05, .5, .8, .85, .999999, 1}).Draw(t, "threshold")
		documents := rapid.Int64Range(2, 12).Draw(t, "documents")
		star, none := rapid.Bool().Draw(t, "star"), rapid.Bool().Draw(t, "none")
		l := newLadder(threshold, star, none, 1<<20)
		var pairs []pair
		for range rapid.IntRange(0, 40).Draw(t, "pairs") {
			p := pair{a: rapid.Int64Range(0, documents-1).Draw(t, "a"), b: rapid.Int64Range(0, documents-1).Draw(t, "b")}
			p.similarity = rapid.OneOf(rapid.SampledFrom(l.at), rapid.Float64Range(threshold, 1)).Draw(t, "similarity")
			if p.a != p.b {
				pairs = append(pairs, pair{min(p.a, p.b), max(p.a, p.b), p.similarity, false})
			}
		}
		for copied := range rapid.Int64Range(0, 3).Draw(t, "copies") {
			of := rapid.Int64Range(0, documents-1).Draw(t, "of")
			pairs = append(pairs, pair{of, documents + copied, 1, true})
		}
		documents += 3
		if star { // as in a table
			slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b)) })
		}
		for _, p := range pairs {
			l.add(sourceName(p.a), p.a/3, sourceName(p.b), p.b/3, p.similarity, p.copied)
		}
		counts := l.counts()
		if len(counts) != steps+1 || counts[0].Threshold != threshold || counts[steps].Threshold != 1 {
			t.Fatalf("%d steps from %v to %v", len(counts), counts[0].Threshold, counts[steps].Threshold)
		}
		for i, got := range counts {
			if i > 0 && got.Threshold < counts[i-1].Threshold {
				t.Fatalf("step %d is at %v, after %v", i, got.Threshold, counts[i-1].Threshold)
			}
			want := Step{Threshold: got.Threshold}
			beside := map[int64][]int64{}
			for _, p := range pairs {
				if p.similarity >= got.Threshold {
					want.Pairs++
					beside[p.a], beside[p.b] = append(beside[p.a], p.b), append(beside[p.b], p.a)
				}
			}
			seen := map[int64]bool{}
			var visit func(int64)
			visit = func(d int64) {
				if !seen[d] {
					seen[d] = true
					for _, other := range beside[d] {
						visit(other)
					}
				}
			}
			for d := range documents {
				if len(beside[d]) > 0 && !seen[d] {
					want.Clusters++
					visit(d)
				}
			}
			want.Documents = int64(len(seen))
			switch want.Removed = want.Documents - want.Clusters; {
			case none:
				want.Removed = want.Documents
			case star:
				want.Removed = 0
				kept := map[int64]bool{}
				for d := range documents {
					kept[d] = !slices.ContainsFunc(pairs, func(p pair) bool {
						return p.b == d && p.similarity >= got.Threshold && (kept[p.a] || p.copied)
					})
					if !kept[d] {
						want.Removed++
					}
				}
			}
			if got != want {
				t.Fatalf("step %d: %+v, want %+v", i, got, want)
			}
		}
	})
}

// 10^7 pairs of 3·10^6 documents: the bytes allocated do not grow with the number of pairs.
func BenchmarkLadder(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l := newLadder(.8, true, false, 1<<30)
		const documents, pairs = 3_000_000, 10_000_000
		for i := range int64(pairs) {
			a := i % documents
			l.add("a", a, "a", (a+1+i/documents)%documents, .8+float64(i%1000)/5000, false)
		}
		l.counts()
	}
}

// sourceName returns one of three names, so that positions alone do not identify documents.
func sourceName(d int64) string { return fmt.Sprint("source-", d%3) }

// The ladder remembers documents, not pairs, and no documents if there are too many.
func TestStepsForgetPairs(t *testing.T) {
	const documents = 1000
	for _, room := range []int64{documents, documents - 1} {
		l := newLadder(.5, false, false, room*documentMemory)
		for a := range int64(documents) {
			for b := range a {
				for range 5 {
					l.add("", a, "", b, .5+float64(a*b)/(2*documents*documents), false)
				}
			}
		}
		want := Step{.5, 5 * documents * (documents - 1) / 2, 1, documents, documents - 1}
		if l.overfull {
			want.Clusters, want.Documents, want.Removed = 0, 0, 0
		}
		if l.overfull != (room < documents) || cap(l.nodes.parent) > 2*documents {
			t.Errorf("room for %d: overfull: %t; %d documents are remembered", room, l.overfull, cap(l.nodes.parent))
		}
		if first := l.counts()[0]; first != want {
			t.Errorf("room for %d: %+v, want %+v", room, first, want)
		}
	}
}

// Paths to the root of a tree stay short, whatever the order and steps of pairs: otherwise these chains would take
// hours.
func TestStepsOfChains(t *testing.T) {
	const documents = 1_000_000
	for name, similarity := range map[string]func(i int64) float64{
		"of one step": func(int64) float64 { return .9 }, "ascending": func(i int64) float64 { return .5 + float64(i)/(2*documents) },
		"descending": func(i int64) float64 { return 1 - float64(i)/(2*documents) },
	} {
		for _, backwards := range []bool{false, true} {
			l := newLadder(.5, false, false, 1<<30)
			for i := range int64(documents - 1) {
				if backwards {
					i = documents - 2 - i
				}
				l.add("", i, "", i+1, similarity(i), false)
			}
			if first := l.counts()[0]; first != (Step{.5, documents - 1, 1, documents, documents - 1}) {
				t.Errorf("%s, backwards: %t: %+v", name, backwards, first)
			}
		}
	}
}
