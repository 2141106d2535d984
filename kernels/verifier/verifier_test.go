package verifier_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/cosine"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
)

// definitions say by other means, of the shingles of two documents, what score and similarity they have, and whether they are similar.
var definitions = map[string]func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, ok bool){
	verifier.Jaccard: func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, ok bool) {
		union, setA := map[uint64]bool{}, map[uint64]bool{}
		for _, s := range a {
			setA[s], union[s] = true, true
		}
		shared := map[uint64]bool{}
		for _, s := range b {
			if union[s] = true; setA[s] {
				shared[s] = true
			}
		}
		return len(shared), float64(len(shared)) / float64(len(union)), len(shared)*int(t.Den) >= int(t.Num)*len(union)
	},
	verifiertest.Cosine: func(t setsim.Threshold, a, b []uint64) (score int, similarity float64, ok bool) {
		x, y := vector.TermFrequencies(slices.Clone(a)), vector.TermFrequencies(slices.Clone(b))
		dot, lengthX, lengthY := cosine.Dot(x, y), x.SquaredLength(), y.SquaredLength()
		return int(dot), cosine.Similarity(dot, lengthX, lengthY), cosine.Reached(t, dot, lengthX, lengthY)
	},
}

type pair struct{ i, j, score int }

// Whatever finds them, the similar documents are those of the definition.
func TestMeasures(t *testing.T) {
	shingle := rapid.OneOf(rapid.Uint64Range(0, 12), rapid.Uint64Range(0, 60))
	anyDocument := rapid.SliceOfN(shingle, 1, 12)
	for measure, define := range definitions {
		t.Run(measure, rapid.MakeCheck(func(t *rapid.T) {
			threshold := setsim.Threshold{Num: uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), Den: 10}
			v := verifier.Spec{Measure: measure, Threshold: threshold}.New()
			texts := rapid.SliceOfN(anyDocument, 0, 50).Draw(t, "documents")
			var features [][]uint64
			for _, shingles := range texts {
				features = append(features, v.Features(slices.Clone(shingles)))
			}
			var want []pair
			for j, b := range texts {
				for i, a := range texts[:j] {
					score, similarity, similar := define(threshold, a, b)
					if got, ok := v.Compare(features[i], features[j]); ok != similar || ok && got != score {
						t.Fatalf("Compare(%v, %v) = %d, %v, want %d, %v", a, b, got, ok, score, similar)
					}
					if !similar {
						continue
					}
					want = append(want, pair{i, j, score})
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
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); diff != "" {
					t.Fatalf("%s: %s", by, diff)
				}
			}
			check("SelfJoin", joined(v, features))
			check("CrossJoin", crossJoined(v, features, rapid.IntRange(0, len(features)).Draw(t, "border")))
			check("Index", indexed(v, features, rapid.Bool().Draw(t, "counted")))
			checkConnect(t, v, features, want)
		}))
	}
}

func joined(v verifier.Verifier, features [][]uint64) (pairs []pair) {
	v.SelfJoin(features, func(i, j, score int) bool {
		pairs = append(pairs, pair{i, j, score})
		return true
	})
	return pairs
}

// crossJoined joins the smaller documents, so many of them, and the others, and both with each other.
func crossJoined(v verifier.Verifier, features [][]uint64, smaller int) (pairs []pair) {
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
	v.SelfJoin(of(small), func(i, j, score int) bool { return add(small[i], small[j], score) })
	v.SelfJoin(of(large), func(i, j, score int) bool { return add(large[i], large[j], score) })
	v.CrossJoin(of(small), of(large), func(i, j, score int) bool { return add(small[i], large[j], score) })
	return pairs
}

// indexed looks for each document among those before it.
func indexed(v verifier.Verifier, features [][]uint64, counted bool) (pairs []pair) {
	var common setsim.Frequencies
	if counted {
		for _, f := range features {
			common.Count(f)
		}
	}
	index := verifier.NewIndex(v, &common)
	for j, f := range features {
		index.Similar(f, func(i, score int) { pairs = append(pairs, pair{i, j, score}) })
		if number := index.Add(f); number != j {
			panic(number)
		}
	}
	return pairs
}

// checkConnect connects trees of three documents each, at most, of which the first ones are apart unless they are similar.
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

// A false ends a join.
func TestJoinsEnd(t *testing.T) {
	same := [][]uint64{{1, 1}, {1, 1}, {1, 1}}
	for measure := range definitions {
		v := verifier.Spec{Measure: measure, Threshold: setsim.Threshold{Num: 1, Den: 2}}.New()
		for name, join := range map[string]func(func(i, j, score int) bool){
			"SelfJoin":  func(emit func(i, j, score int) bool) { v.SelfJoin(same, emit) },
			"CrossJoin": func(emit func(i, j, score int) bool) { v.CrossJoin(same, same, emit) },
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

// An index of documents that are compared with each holds them, and says so.
func TestBytes(t *testing.T) {
	for measure := range definitions {
		index := verifier.NewIndex(verifier.Spec{Measure: measure, Threshold: setsim.Threshold{Num: 1, Den: 2}}.New(), &setsim.Frequencies{})
		before := index.Bytes()
		for range 100 {
			index.Add(make([]uint64, 1000))
		}
		if held := index.Bytes() - before; held < 100*1000*8 {
			t.Errorf("%s: 100 documents of 8,000 bytes take %d", measure, held)
		}
	}
}

// A worker is told the measure and the threshold.
func TestSpecsTravel(t *testing.T) {
	for measure := range definitions {
		sent := verifier.Spec{Measure: measure, Threshold: setsim.Threshold{Num: 7, Den: 10}}
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got verifier.Spec
		if err := json.Unmarshal(data, &got); err != nil || got.New() != sent.New() {
			t.Errorf("%s arrives as %+v, error %v", data, got, err)
		}
	}
}

func TestUnknownAndTaken(t *testing.T) {
	for name, do := range map[string]func(){
		"a measure that is not known":   func() { verifier.Spec{Measure: "none"}.New() },
		"a measure that is known twice": func() { verifier.Register(verifier.Jaccard, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			do()
		}()
	}
}
