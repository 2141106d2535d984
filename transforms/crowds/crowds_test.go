package crowds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/survivors/survivorstest"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/exchange"
	"github.com/neardup/neardup/transforms/sets"
	"github.com/neardup/neardup/transforms/spool"
	"github.com/neardup/neardup/transforms/verify"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() { beam.RegisterDoFn(reflect.TypeFor[gatherFn]()) }

// gathered has what the pipelines of tests found, by name.
var gathered = struct {
	sync.Mutex
	pairs map[string][]blocks.NearPair
}{pairs: map[string][]blocks.NearPair{}}

type gatherFn struct{ Name string }

func (f *gatherFn) ProcessElement(_ int64, block []byte) (err error) {
	gathered.Lock()
	defer gathered.Unlock()
	gathered.pairs[f.Name], err = blocks.DecodeNearPairs(gathered.pairs[f.Name], block)
	return err
}

// take returns the distinct pairs gathered under a name, sorted, with what they share.
func take(name string) (pairs []blocks.NearPair) {
	gathered.Lock()
	defer gathered.Unlock()
	pairs = gathered.pairs[name]
	delete(gathered.pairs, name)
	slices.SortFunc(pairs, comparePairs)
	return pairs
}

func comparePairs(a, b blocks.NearPair) int {
	return blocks.Edge{A: a.A, B: a.B}.Compare(blocks.Edge{A: b.A, B: b.B})
}

// families are documents of two components: texts of words, many of them variants or copies of
// one another, and of very different length.
func families(seed uint64) (docs []blocks.Document) {
	r := rand.New(rand.NewPCG(seed, 7))
	words := func(n int) (text []string) {
		for range n {
			text = append(text, fmt.Sprint("w", r.IntN(3000)))
		}
		return text
	}
	for component := range 2 {
		first := blocks.NewKey(component, 0)
		position := int64(0)
		for range 6 {
			template := words(8 << r.IntN(4))
			for range 1 + r.IntN(9) {
				text := slices.Clone(template)
				for range r.IntN(4) {
					text[r.IntN(len(text))] = fmt.Sprint("x", r.IntN(3000))
				}
				docs = append(docs, blocks.Document{
					Key: blocks.NewKey(component, position), Component: first, Text: []byte(strings.Join(text, " ")),
				})
				position += int64(1 + r.IntN(50))
			}
		}
	}
	of := map[blocks.Key]int{}
	for _, d := range docs {
		of[d.Component]++
	}
	for i := range docs {
		docs[i].Of = of[docs[i].Component]
	}
	return docs
}

// everyPair compares all representatives of each component with each other, and returns the
// representatives in input order with the sizes of their sets.
func everyPair(docs []blocks.Document, text shingle.Spec, t setsim.Threshold) (pairs []blocks.NearPair, all representativeSets) {
	shingler := text.New()
	type member struct {
		blocks.Document
		set []uint64
	}
	var members []member
	for _, d := range docs {
		set := slices.Clone(shingle.Set(shingler.Shingles(nil, d.Text)))
		if !slices.ContainsFunc(members, func(m member) bool { return m.Component == d.Component && slices.Equal(m.set, set) }) {
			members = append(members, member{d, set})
			all.keys, all.sizes = append(all.keys, d.Key), append(all.sizes, len(set))
		}
	}
	for i, a := range members {
		for _, b := range members[i+1:] {
			shared := setsim.Overlap(a.set, b.set)
			if a.Component == b.Component && t.Reached(shared, len(a.set), len(b.set)) {
				pairs = append(pairs, blocks.NearPair{A: a.Key, B: b.Key, Score: shared, Shared: shared})
			}
		}
	}
	slices.SortFunc(pairs, comparePairs)
	return pairs, all
}

type representativeSets struct {
	keys  []blocks.Key
	sizes []int
}

var words2 = shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 2}}

// found makes, joins and lists sets.
func found(t *testing.T, docs []blocks.Document, v verifier.Spec, cellBytes, budget int) (pairs, links []blocks.NearPair) {
	t.Helper()
	temp := storagetest.RunFolder(t)
	p := Params{
		PairBudget: budget, ChunkBytes: cellBytes,
		Params: verify.Params{Inputs: filepath.Join(temp, "inputs.json"), Verifier: v, CellBytes: cellBytes, PruneBytes: cellBytes, Shards: 1, Temp: temp},
	}
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a"}, nil, nil)
	inputs.Add(&blocks.File{Source: "b"}, nil, nil)
	if err := storage.WriteShared(t.Context(), p.Inputs, inputs); err != nil {
		t.Fatal(err)
	}
	var packed [][]byte
	for i := 0; i < len(docs); i += 7 {
		var block []byte
		for _, d := range docs[i:min(i+7, len(docs))] {
			block = blocks.AppendDocument(block, &d)
		}
		packed = append(packed, block)
	}
	pipeline, s := beam.NewPipelineWithRoot()
	features := sets.Make(s, flow.Fetched(beam.Reshuffle(s, beam.CreateList(s, packed))), sets.Params{
		Text: words2, MaxSmallDocs: sets.MaxSmallDocs(budget), Verifier: v,
	})
	small, tooLarge, tooLargeProfiles := verify.Small(s, exchange.Alone(s, features.Sets), p.Params)
	told := Tell(s, flow.Flatten(s, features.LargeProfiles, tooLargeProfiles), features.Samples, p)
	ofCrowds, ofOthers := spool.Sets(s, flow.Flatten(s, features.LargeSets, tooLarge), told.Crowds, told.Others, temp)
	large := verify.Large(s, ofOthers, p.Params)
	passed := Pass(s, ofCrowds, p)
	beam.ParDo0(s, &gatherFn{Name: t.Name() + "pairs"}, beam.PCollection(flow.Flatten(s, small.Pairs, told.Pairs, large.Pairs, passed.Pairs)))
	beam.ParDo0(s, &gatherFn{Name: t.Name() + "links"}, beam.PCollection(passed.Links))
	if err := ptest.Run(pipeline); err != nil {
		t.Fatal(err)
	}
	return take(t.Name() + "pairs"), take(t.Name() + "links")
}

// The result has all pairs, whether a cell holds one document or everything.
func TestCellsDoNotMatter(t *testing.T) {
	for seed := range uint64(3) {
		docs := families(seed)
		want, _ := everyPair(docs, words2, half)
		if len(want) < 20 {
			t.Fatalf("only %d pairs", len(want))
		}
		for _, cell := range []int{1, 600, 4000, 1 << 20} {
			for _, budget := range []int{1 << 30, most(want)} { // by one call, or by pairs of cells
				got, links := found(t, docs, jaccard(half), cell, budget)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("seed %d, cells of %d bytes, budget %d: %s", seed, cell, budget, diff)
				}
				if len(links) > 0 {
					t.Errorf("seed %d, cells of %d bytes, budget %d: links of no crowd: %v", seed, cell, budget, links)
				}
			}
		}
	}
}

// The kept documents and the clusters of a crowd are those of all its pairs, and the pairs do not depend on how it is
// cut.
func TestCrowds(t *testing.T) {
	for seed := range uint64(3) {
		docs := families(seed)
		want, all := everyPair(docs, words2, half)
		var first []blocks.NearPair
		for _, cell := range []int{1, 600, 1 << 20} {
			got, links := found(t, docs, jaccard(half), cell, 10)
			if len(links) == 0 || len(got) >= len(want) {
				t.Fatalf("seed %d, cells of %d bytes: %d pairs of %d, %d links: no crowd", seed, cell, len(got), len(want), len(links))
			}
			for _, p := range got {
				is := func(w blocks.NearPair) bool {
					return w.A == p.A && w.B == p.B && w.Score == p.Score && w.Shared == p.Shared
				}
				if !slices.ContainsFunc(want, is) {
					t.Errorf("seed %d, cells of %d bytes: %v is no pair", seed, cell, p)
				}
			}
			if diff := cmp.Diff(star(all, want), star(all, got)); diff != "" {
				t.Errorf("seed %d, cells of %d bytes: what is kept: %s", seed, cell, diff)
			}
			if diff := cmp.Diff(clusters(want), clusters(slices.Concat(got, links))); diff != "" {
				t.Errorf("seed %d, cells of %d bytes: clusters: %s", seed, cell, diff)
			}
			if first == nil {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("seed %d, cells of %d bytes: other pairs than with the first cells: %s", seed, cell, diff)
			}
		}
	}
}

// most returns the number of pairs of the component that has most.
func most(pairs []blocks.NearPair) (n int) {
	of := map[int]int{}
	for _, p := range pairs {
		of[p.A.File()]++
		n = max(n, of[p.A.File()])
	}
	return n
}

func star(all representativeSets, near []blocks.NearPair) []survivors.Choice {
	var pairs []survivors.Pair
	for _, p := range near {
		i, _ := slices.BinarySearch(all.keys, p.A)
		j, _ := slices.BinarySearch(all.keys, p.B)
		pairs = append(pairs, survivors.Pair{I: i, J: j, Similarity: setsim.Similarity(p.Score, all.sizes[i], all.sizes[j])})
	}
	return survivorstest.Star(len(all.keys), 0, pairs)
}

func clusters(pairs []blocks.NearPair) map[int64]int64 {
	var forest unionfind.Forest
	for _, p := range pairs {
		forest.Union(int64(p.A), int64(p.B))
	}
	return maps.Collect(forest.All())
}

// If many kept documents are similar to a removed one, only some of the pairs are listed, including the one with the
// most similar. There are 100 pages with a template and much else, the 91st with less of it, then four with the
// template alone.
func TestCrowdOfWhichMuchIsKept(t *testing.T) {
	words := func(prefix string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "%s%d ", prefix, i)
		}
		return text.String()
	}
	const pages, removed = 100, 4
	var docs []blocks.Document
	for i := range pages + removed {
		text := words("t", 80-max(0, i-pages))
		if i < pages {
			own := 70
			if i == 90 {
				own = 50
			}
			text += words(fmt.Sprint("own", i, "x"), own)
		}
		docs = append(docs, blocks.Document{Key: blocks.NewKey(0, int64(i)), Of: pages + removed, Text: []byte(text)})
	}
	want, all := everyPair(docs, words2, half)
	for _, cell := range []int{3000, 1 << 20} {
		got, links := found(t, docs, jaccard(half), cell, 10)
		if len(got) != removed*(maxListed+1) {
			t.Errorf("%d pairs are listed, want %d for each of %d", len(got), maxListed+1, removed)
		}
		if diff := cmp.Diff(star(all, want), star(all, got)); diff != "" {
			t.Errorf("what is kept: %s", diff)
		}
		if diff := cmp.Diff(clusters(want), clusters(slices.Concat(got, links))); diff != "" {
			t.Errorf("clusters: %s", diff)
		}
		if by := star(all, got)[pages].By; by != 90 {
			t.Errorf("the first of the removed falls to %d, not to the most similar", by)
		}
	}
}

// A component of copies of one page has one set and no pair, and so has one whose sample has one set.
func TestCopiesAreNoCrowd(t *testing.T) {
	var docs []blocks.Document
	for i := range 60 {
		docs = append(docs, blocks.Document{Key: blocks.NewKey(0, int64(i)), Of: 60, Text: []byte("the same page again and again")})
	}
	for _, cell := range []int{1, 1 << 20} {
		if pairs, links := found(t, docs, jaccard(half), cell, 1); len(pairs)+len(links) > 0 {
			t.Errorf("cells of %d bytes: pairs %v, links %v", cell, pairs, links)
		}
	}
	// The cells find what a sample of one set does not show.
	docs[59].Text = []byte("the same page again and again tomorrow")
	if pairs, links := found(t, docs, jaccard(half), 1, 1); len(pairs) != 1 || len(links) > 0 {
		t.Errorf("pairs %v, links %v", pairs, links)
	}
}
