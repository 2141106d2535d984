package crowds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/survivors/survivorstest"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
)

// occurrences are families in which every third document is repeated with its text twice: with the same shingles except
// one, and different numbers of occurrences. In addition, each component has documents in which one shingle has most of
// the occurrences, and which share no other one.
func occurrences(seed uint64) (docs []blocks.Document) {
	for i, d := range families(seed) {
		d.Key = blocks.NewKey(d.Key.File(), 2*d.Key.Position())
		docs = append(docs, d)
		if i%3 == 0 {
			twice := d
			twice.Key++
			twice.Text = slices.Concat(d.Text, []byte(" "), d.Text)
			docs = append(docs, twice)
		}
	}
	for component := range 2 {
		for i := range 4 {
			text := strings.Repeat("r ", 20)
			for own := range 10 {
				text += fmt.Sprintf("own%dx%d ", i, own)
			}
			docs = append(docs, blocks.Document{
				Key: blocks.NewKey(component, int64(1_000_000+i)), Component: blocks.NewKey(component, 0), Text: []byte(text),
			})
		}
	}
	slices.SortFunc(docs, func(a, b blocks.Document) int { return cmp.Compare(a.Key, b.Key) })
	of := map[blocks.Key]int{}
	for _, d := range docs {
		of[d.Component]++
	}
	for i := range docs {
		docs[i].Of = of[docs[i].Component]
	}
	return docs
}

// bySimilarity has representatives and their pairs by definition, comparing all of them.
type bySimilarity struct {
	verifier.Verifier
	keys     []blocks.Key
	features [][]uint64
	of       []blocks.Key // components
	pairs    []blocks.NearPair
}

func compared(spec verifier.Spec, docs []blocks.Document) *bySimilarity {
	v, of := spec.New(), spec.Features(nil)
	all := &bySimilarity{Verifier: v}
	shingler := words2.New()
	for _, d := range docs {
		features := of(shingler.Shingles(nil, d.Text))
		known := false
		for i, f := range all.features {
			known = known || all.of[i] == d.Component && slices.Equal(f, features)
		}
		if !known {
			all.keys, all.features, all.of = append(all.keys, d.Key), append(all.features, features), append(all.of, d.Component)
		}
	}
	for j, b := range all.features {
		for i, a := range all.features[:j] {
			if score, ok := v.Compare(a, b); ok && all.of[i] == all.of[j] {
				all.pairs = append(all.pairs, blocks.NearPair{A: all.keys[i], B: all.keys[j], Score: score, Shared: v.Shared(score, a, b)})
			}
		}
	}
	slices.SortFunc(all.pairs, comparePairs)
	return all
}

// star returns the decision that pairs imply.
func (s *bySimilarity) star(near []blocks.NearPair) []survivors.Choice {
	var pairs []survivors.Pair
	for _, p := range near {
		i, _ := slices.BinarySearch(s.keys, p.A)
		j, _ := slices.BinarySearch(s.keys, p.B)
		pairs = append(pairs, survivors.Pair{I: i, J: j, Similarity: s.Similarity(p.Score, s.Size(s.features[i]), s.Size(s.features[j]))})
	}
	return survivorstest.Star(len(s.keys), 0, pairs)
}

// A measure that is not of sets takes the same paths and finds its pairs: those of small components, of a sample that
// is complete, of cells, and of crowds.
func TestOtherMeasure(t *testing.T) {
	for _, threshold := range []setsim.Threshold{half, {Num: 9, Den: 10}} {
		spec := verifier.Spec{Measure: verifiertest.Cosine, Threshold: threshold}
		docs := occurrences(1)
		want := compared(spec, docs)
		if sets := compared(jaccard(threshold), docs); len(want.pairs) < 20 || len(sets.keys) == len(want.keys) && len(sets.pairs) == len(want.pairs) {
			t.Fatalf("%d pairs of %d documents, by Jaccard %d of %d", len(want.pairs), len(want.keys), len(sets.pairs), len(sets.keys))
		}
		for _, cell := range []int{1, 2000, 1 << 20} {
			for _, budget := range []int{1 << 30, most(want.pairs)} {
				got, links := found(t, docs, spec, cell, budget)
				if diff := gocmp.Diff(want.pairs, got); diff != "" || len(links) > 0 {
					t.Errorf("t = %v, cells of %d bytes, budget %d: %d links, pairs: %s", threshold, cell, budget, len(links), diff)
				}
			}
			got, links := found(t, docs, spec, cell, 10)
			if len(links) == 0 || len(got) >= len(want.pairs) {
				t.Errorf("t = %v, cells of %d bytes: %d pairs of %d, %d links: no crowd", threshold, cell, len(got), len(want.pairs), len(links))
			}
			if diff := gocmp.Diff(want.star(want.pairs), want.star(got)); diff != "" {
				t.Errorf("t = %v, cells of %d bytes: what is kept: %s", threshold, cell, diff)
			}
			if diff := gocmp.Diff(clusters(want.pairs), clusters(slices.Concat(got, links))); diff != "" {
				t.Errorf("t = %v, cells of %d bytes: clusters: %s", threshold, cell, diff)
			}
		}
	}
}
