package verifier_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/cosine"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
)

// definition computes by other means, from the shingles of two documents, their score, their similarity, the number of
// shared features, and whether they are similar.
type definition func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, shared int, ok bool)

// comparison is a Spec without a threshold, and its definition.
type comparison struct {
	verifier.Spec
	define definition
}

// comparisons are ways to compare, by name.
var comparisons = map[string]comparison{
	"jaccard": {verifier.Spec{Measure: verifier.Jaccard}, func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, shared int, ok bool) {
		shared = inBoth(a, b)
		union := inBoth(a, a) + inBoth(b, b) - shared
		return shared, float64(shared) / float64(union), shared, shared*int(t.Den) >= int(t.Num)*union
	}},
	"containment": {verifier.Spec{Measure: verifier.Containment}, func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, shared int, ok bool) {
		shared = inBoth(a, b)
		smaller := min(inBoth(a, a), inBoth(b, b))
		return shared, float64(shared) / float64(smaller), shared, shared > 0 && shared*int(t.Den) >= int(t.Num)*smaller
	}},
	"test-cosine":    {verifier.Spec{Measure: verifiertest.Cosine}, cosineOf(occurrences)},
	"cosine":         {verifier.Spec{Measure: verifier.Cosine, Weights: vector.Unit}, cosineOf(once)},
	"cosine, tf":     {verifier.Spec{Measure: verifier.Cosine, Weights: vector.TF}, cosineOf(occurrences)},
	"cosine, tf-idf": {verifier.Spec{Measure: verifier.Cosine, Weights: vector.TFIDF}, cosineOf(weighed)},
	"overlap":        {verifier.Spec{Measure: verifier.Overlap, Weights: vector.Unit, Bits: 100, Vectors: simhash.Normal, Seed: 5}, overlapOf(once, 100, simhash.New(100, simhash.Normal, 5))},
	"overlap, sign":  {verifier.Spec{Measure: verifier.Overlap, Weights: vector.TFIDF, Bits: 67, Vectors: simhash.Sign, Seed: 6}, overlapOf(weighed, 67, simhash.New(67, simhash.Sign, 6))},
}

func inBoth(a, b []uint64) (n int) {
	set := map[uint64]bool{}
	for _, s := range a {
		if !set[s] && slices.Contains(b, s) {
			n++
		}
		set[s] = true
	}
	return n
}

// idf weights shingles for tf-idf. One may be so heavy that weights are halved.
func idf(shingle uint64) uint32 { return uint32(1 + shingle%3 + shingle/12<<31) }

// Weights of shingles.
func once(shingles []uint64) vector.Vector {
	v := occurrences(shingles)
	v.Weights = nil
	return v
}
func occurrences(shingles []uint64) vector.Vector {
	return vector.TermFrequencies(slices.Clone(shingles))
}
func weighed(shingles []uint64) vector.Vector { return occurrences(shingles).TimesIDF(idf) }

func cosineOf(of func(shingles []uint64) vector.Vector) definition {
	return func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, shared int, ok bool) {
		x, y := of(a), of(b)
		dot, lengthX, lengthY := cosine.Dot(x, y), x.SquaredLength(), y.SquaredLength()
		return int(dot), cosine.Similarity(dot, lengthX, lengthY), inBoth(a, b), cosine.Reached(t, dot, lengthX, lengthY)
	}
}

func overlapOf(of func(shingles []uint64) vector.Vector, bits int, signer *simhash.Signer) definition {
	return func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, shared int, ok bool) {
		x, y := signer.Sign(nil, of(a)), signer.Sign(nil, of(b))
		for i := range bits {
			if x[i/64]>>(i%64)&1 == y[i/64]>>(i%64)&1 {
				shared++
			}
		}
		return shared, float64(shared) / float64(bits), shared, shared*int(t.Den) >= int(t.Num)*bits
	}
}

// with returns the Spec with a threshold.
func (c comparison) with(t setsim.Threshold) verifier.Spec {
	c.Threshold = t
	return c.Spec
}

type pair struct{ i, j, score int }

// Each way of searching finds the similar documents of the definition.
func TestMeasures(t *testing.T) {
	shingle := rapid.OneOf(rapid.Uint64Range(0, 12), rapid.Uint64Range(0, 60))
	anyDocument := rapid.SliceOfN(shingle, 1, 12)
	for name, c := range comparisons {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			threshold := setsim.Threshold{Num: uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), Den: 10}
			spec := c.with(threshold)
			v, of := spec.New(), spec.Features(idf)
			texts := rapid.SliceOfN(anyDocument, 0, 50).Draw(t, "documents")
			var features [][]uint64
			for _, shingles := range texts {
				features = append(features, of(slices.Clone(shingles)))
				own := features[len(features)-1]
				if n := inBoth(shingles, shingles); spec.Measure != verifier.Overlap && v.Len(len(own)) != n || v.Words(n) != len(own) {
					t.Fatalf("%d words are %d, and %d shingles take %d words", len(own), v.Len(len(own)), n, v.Words(n))
				}
				if score, _, shared, _ := c.define(threshold, shingles, shingles); v.Size(own) != score || v.Len(len(own)) != shared {
					t.Fatalf("size %d of %d, want %d of %d", v.Size(own), v.Len(len(own)), score, shared)
				}
			}
			var want []pair
			for j, b := range texts {
				for i, a := range texts[:j] {
					score, similarity, shared, similar := c.define(threshold, a, b)
					if got, ok := v.Compare(features[i], features[j]); ok != similar || ok && got != score {
						t.Fatalf("Compare(%v, %v) = %d, %v, want %d, %v", a, b, got, ok, score, similar)
					}
					if !similar {
						continue
					}
					want = append(want, pair{i, j, score})
					if got := v.Shared(score, features[i], features[j]); got != shared {
						t.Fatalf("%v and %v share %d, want %d", a, b, got, shared)
					}
					if got := v.Similarity(score, v.Size(features[i]), v.Size(features[j])); math.Abs(got-similarity) > 1e-12 {
						t.Fatalf("%v and %v: similarity %v, want %v", a, b, got, similarity)
					}
					if few, many := len(features[i]), len(features[j]); min(few, many) < v.MinWords(max(few, many)) {
						t.Fatalf("%v and %v are similar, and of %d words at least %d are needed", a, b, max(few, many), v.MinWords(max(few, many)))
					}
				}
			}
			check := func(by string, got []pair) {
				byIndexes := func(a, b pair) int { return slices.Compare([]int{a.j, a.i}, []int{b.j, b.i}) }
				slices.SortFunc(got, byIndexes)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{}), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s: %s", by, diff)
				}
			}
			smaller := rapid.IntRange(0, len(features)).Draw(t, "border")
			check("SelfJoin", joined(v, features, nil))
			check("CrossJoin", crossJoined(v, features, nil, smaller))
			apart := make([]bool, len(features))
			for i := range apart {
				apart[i] = rapid.Bool().Draw(t, "apart")
			}
			all := want
			want = slices.DeleteFunc(slices.Clone(want), func(p pair) bool { return apart[p.i] && apart[p.j] })
			check("SelfJoin apart", joined(v, features, apart))
			check("CrossJoin apart", crossJoined(v, features, apart, smaller))
			if most := rapid.IntRange(1, 3).Draw(t, "most"); len(want) >= most {
				calls := 0
				verifier.SelfJoin(v, features, apart, func(_, _, _ int) bool { calls++; return calls < most })
				if calls != most {
					t.Fatalf("SelfJoin calls emit %d times, and is to end at %d", calls, most)
				}
			}
			want = all
			check("Index", indexed(v, features, rapid.Bool().Draw(t, "counted")))
			checkConnect(t, v, features, want)
		}))
	}
}

func joined(v verifier.Verifier, features [][]uint64, apart []bool) (pairs []pair) {
	verifier.SelfJoin(v, features, apart, func(i, j, score int) bool {
		pairs = append(pairs, pair{i, j, score})
		return true
	})
	return pairs
}

// crossJoined joins the first documents, as many as smaller, and the others with themselves, and both with each other.
func crossJoined(v verifier.Verifier, features [][]uint64, apart []bool, smaller int) (pairs []pair) {
	order := make([]int, len(features))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return len(features[i]) - len(features[j]) })
	of := func(numbers []int) (some [][]uint64) {
		for _, i := range numbers {
			some = append(some, features[i])
		}
		return some
	}
	add := func(i, j, score int) bool {
		pairs = append(pairs, pair{min(i, j), max(i, j), score})
		return true
	}
	small, large := order[:smaller], order[smaller:]
	are := func(numbers []int) (some []bool) {
		if apart == nil {
			return nil
		}
		for _, i := range numbers {
			some = append(some, apart[i])
		}
		return some
	}
	verifier.SelfJoin(v, of(small), are(small), func(i, j, score int) bool { return add(small[i], small[j], score) })
	verifier.SelfJoin(v, of(large), are(large), func(i, j, score int) bool { return add(large[i], large[j], score) })
	verifier.CrossJoin(v, of(small), of(large), are(order), func(i, j, score int) bool { return add(small[i], large[j], score) })
	return pairs
}

// indexed looks up each document among those before it.
func indexed(v verifier.Verifier, features [][]uint64, counted bool) (pairs []pair) {
	var common setsim.Frequencies
	if counted {
		for _, f := range features {
			common.Count(f)
		}
	}
	index := verifier.NewIndex(v, &common)
	finder := index.Finder()
	for j, f := range features {
		first := len(pairs)
		finder.Similar(f, 0, func(i, score int) { pairs = append(pairs, pair{i, j, score}) })
		var behind []pair
		finder.Similar(f, j/2, func(i, score int) { behind = append(behind, pair{i, j, score}) })
		if want := slices.DeleteFunc(slices.Clone(pairs[first:]), func(p pair) bool { return p.i < j/2 }); !slices.Equal(behind, want) {
			panic(fmt.Sprintf("from %d on %v, want %v", j/2, behind, want))
		}
		if number := index.Add(f); number != j {
			panic(number)
		}
	}
	return pairs
}

// checkConnect connects trees of at most three documents each, of which the first ones are apart unless they are
// similar.
func checkConnect(t *rapid.T, v verifier.Verifier, features [][]uint64, pairs []pair) {
	tree, apart := make([]uint32, len(features)), make([]bool, len(features))
	var all, linked unionfind.Forest
	for i := range features {
		tree[i] = uint32(i % max(1, (len(features)+2)/3))
		all.Union(int64(tree[i]), int64(i))
		linked.Union(int64(tree[i]), int64(i))
		apart[i] = !slices.ContainsFunc(pairs, func(p pair) bool { return p.j == i && apart[p.i] })
	}
	for _, p := range pairs {
		all.Union(int64(p.i), int64(p.j))
	}
	verifier.Connect(v, features, tree, apart, func(i, j int) {
		if !slices.ContainsFunc(pairs, func(p pair) bool { return p.i == i && p.j == j }) {
			t.Fatalf("%d and %d are linked, and not similar", i, j)
		}
		if !linked.Union(int64(i), int64(j)) {
			t.Fatalf("%d and %d are linked twice", i, j)
		}
	})
	if diff := cmp.Diff(maps.Collect(all.All()), maps.Collect(linked.All())); diff != "" {
		t.Fatalf("trees: %s", diff)
	}
}

// A false from emit ends a join.
func TestJoinsEnd(t *testing.T) {
	same := [][]uint64{{1, 1}, {1, 1}, {1, 1}}
	for measure, c := range comparisons {
		v := c.with(setsim.Threshold{Num: 1, Den: 2}).New()
		for name, join := range map[string]func(func(i, j, score int) bool){
			"SelfJoin":  func(emit func(i, j, score int) bool) { verifier.SelfJoin(v, same, nil, emit) },
			"CrossJoin": func(emit func(i, j, score int) bool) { verifier.CrossJoin(v, same, same, nil, emit) },
		} {
			pairs := 0
			join(func(int, int, int) bool {
				pairs++
				return pairs < 2
			})
			if pairs != 2 {
				t.Errorf("%s, %s: %d pairs, want 2", measure, name, pairs)
			}
		}
	}
}

// An index that compares each document holds them all, and reports their size.
func TestBytes(t *testing.T) {
	for measure, c := range comparisons {
		index := verifier.NewIndex(c.with(setsim.Threshold{Num: 1, Den: 2}).New(), &setsim.Frequencies{})
		before := index.Bytes()
		for range 100 {
			index.Add(make([]uint64, 1000))
		}
		if held := index.Bytes() - before; held < 100*1000*8 {
			t.Errorf("%s: 100 documents of 8,000 bytes take %d", measure, held)
		}
	}
	spec := comparisons["jaccard"].with(setsim.Threshold{Num: 1, Den: 2})
	spec.Rules = []match.Rule{{Column: "a", Kind: match.Similar, Threshold: spec.Threshold}}
	index := verifier.NewIndex(spec.New(), &setsim.Frequencies{})
	const behind = 1000
	for range 100 {
		index.Add(append(make([]uint64, behind, behind+1), behind)) // all but the first word are traits
	}
	if held := index.Bytes(); held < 100*behind*8 {
		t.Errorf("100 documents with values of 8,000 bytes take %d", held)
	}
}

// A worker receives the measure, the threshold, and how the features are made.
func TestSpecsTravel(t *testing.T) {
	for _, c := range comparisons {
		sent := c.with(setsim.Threshold{Num: 7, Den: 10})
		sent.Frequencies = "file"
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got verifier.Spec
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, sent) || got.New() != sent.New() {
			t.Errorf("%s arrives as %+v, error %v", data, got, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a measure that is not known is accepted")
		}
	}()
	verifier.Spec{Measure: "none"}.New()
}
