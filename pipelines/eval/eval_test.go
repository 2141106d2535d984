package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/records"
)

// Counts by clusters, and by pairs of clusters, equal those from a loop over all pairs; each listed pair is what it is
// listed as.
func TestCountsEqualPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "documents")
		of := rapid.SliceOfN(rapid.IntRange(0, 4), n, n)
		inFound, inTrue := of.Draw(t, "found"), of.Draw(t, "true")
		id := func(i int) string { return fmt.Sprintf("d%02d", i) }
		sizes := map[int]int{}
		for _, cluster := range inFound {
			sizes[cluster]++
		}
		known := &truth{kind: records.TruthClusters, label: map[string]string{}}
		var pairs [][2]string
		found := map[string]int64{}
		var documents []clustered
		both, all, truths := 0., 0., 0.
		for i := range n {
			known.ids = append(known.ids, id(i))
			known.label[id(i)] = fmt.Sprint(inTrue[i])
			if sizes[inFound[i]] > 1 { // the table has no other documents
				found[id(i)], documents = int64(inFound[i]), append(documents, clustered{id(i), int64(inFound[i])})
			}
			for j := range i {
				if inFound[i] == inFound[j] {
					all++
				}
				if inTrue[i] == inTrue[j] {
					truths++
					pairs = append(pairs, [2]string{id(j), id(i)})
				}
				if inFound[i] == inFound[j] && inTrue[i] == inTrue[j] {
					both++
				}
			}
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		number := func(id string) (i int) {
			fmt.Sscanf(id, "d%d", &i)
			return i
		}
		c := &Config{List: 1000}
		for name, count := range map[string]func(*records.Evaluation) records.Agreement{
			"clusters": func(e *records.Evaluation) records.Agreement { return c.clusters(e, known, found) },
			"pairs":    func(e *records.Evaluation) records.Agreement { return c.pairs(e, pairs, found, documents) },
		} {
			e := &records.Evaluation{Documents: int64(n)}
			e.Agreement = count(e)
			want := quality.Agreement{Both: both, Found: all, True: truths, All: quality.Pairs(n)}
			if got := [4]float64{e.Precision.Value, e.Recall.Value, e.F1.Value, e.Rand.Value}; got != [4]float64{want.Precision(), want.Recall(), want.F1(), want.AdjustedRand()} {
				t.Fatalf("%s: %v of %+v", name, got, want)
			}
			for _, s := range []records.EvaluatedShare{e.Precision, e.Recall, e.F1, e.Rand} {
				if s.Low != nil && !(*s.Low <= s.Value && s.Value <= *s.High) {
					t.Fatalf("%s: %v is not from %v to %v", name, s.Value, *s.Low, *s.High)
				}
			}
			if e.Both != both || e.Found != all || e.True != truths {
				t.Fatalf("%s: %v both, %v found, %v true; want %v, %v, %v", name, e.Both, e.Found, e.True, both, all, truths)
			}
			for _, p := range e.Missed {
				if a, b := number(p[0]), number(p[1]); inTrue[a] != inTrue[b] || inFound[a] == inFound[b] {
					t.Fatalf("%s: %v is not missed", name, p)
				}
			}
			for _, p := range e.False {
				if a, b := number(p[0]), number(p[1]); inTrue[a] == inTrue[b] || inFound[a] != inFound[b] {
					t.Fatalf("%s: %v is not false", name, p)
				}
			}
			if (len(e.Missed) > 0) != (both < truths) || (len(e.False) > 0) != (both < all) {
				t.Fatalf("%s: %d missed and %d false are listed, of %v and %v", name, len(e.Missed), len(e.False), truths-both, all-both)
			}
			if name == "pairs" && (len(e.Missed) != int(truths-both) || len(e.False) != int(all-both)) {
				t.Fatalf("%d missed and %d false, want %v and %v", len(e.Missed), len(e.False), truths-both, all-both)
			}
		}
	})
}

// Both formats of both kinds are read, with numbers as they are written.
func TestTruth(t *testing.T) {
	for text, kind := range map[string]string{
		"id_a,id_b\n2,1\n":                                               records.TruthPairs,
		"\ufeffscore,id_b,id_a\r\n.5,2,1\r\n":                            records.TruthPairs,
		`{"id_a": 1, "id_b": "2", "score": null}`:                        records.TruthPairs,
		"id,cluster\n1,x\n2,x\n":                                         records.TruthClusters,
		"{\"id\": 1, \"cluster\": 7}\n{\"id\": \"2\", \"cluster\": 7}\n": records.TruthClusters,
	} {
		got, err := readTruth(strings.NewReader(text), "file")
		if err != nil || got.kind != kind {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
		if kind == records.TruthPairs && (len(got.pairs) != 1 || got.pairs[0] != [2]string{"1", "2"}) || kind == records.TruthClusters && got.label["1"] != got.label["2"] {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for text, want := range map[string]string{
		"":                       "it is empty",
		"a,b\n1,2\n":             "neither",
		"id_a,id_b\n1,1\n":       "\"1\" is paired with itself",
		"id,cluster\n1,x\n1,y\n": "\"1\" is in two clusters, x and y",
		`{"id_a": 1}`:            "row 1: it has neither",
		"{\"id_a\": 1, \"id_b\": 2}\n{\"id\": 1, \"cluster\": 2}": "row 2: it has clusters, but the rows before it have pairs; list only pairs or only clusters",
		`{"id": 1, "cluster": null}`:                              "row 1: cluster is null; give a string or a number",
		`{"id_a": [1], "id_b": 2}`:                                "row 1: id_a is [1]; give",
		"id,cluster\n1,x\n2,\n":                                   "\"2\" has no cluster",
		`{"id": 1, "cluster": ""}`:                                "row 1: \"1\" has no cluster",
		"id_a,id_b\n1\n":                                          "wrong number of fields",
	} {
		if _, err := readTruth(strings.NewReader(text), "file"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Pairs connect groups, whatever the ids and the order of pairs.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g"})
		pairs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) [2]string { return [2]string{id.Draw(t, "a"), id.Draw(t, "b")} })).Draw(t, "pairs")
		plain := map[string]string{}
		for _, pair := range pairs {
			plain[pair[0]], plain[pair[1]] = pair[0], pair[1]
		}
		for _, pair := range pairs {
			from, to := plain[pair[1]], plain[pair[0]]
			for id, group := range plain {
				if group == from {
					plain[id] = to
				}
			}
		}
		groups := group(pairs)
		for a := range plain {
			for b := range plain {
				if (groups(a) == groups(b)) != (plain[a] == plain[b]) {
					t.Fatalf("%q and %q: groups %v and %v", a, b, groups(a), groups(b))
				}
			}
		}
	})
}

// Unconnected pairs are separate units, and pairs that found and true pairs connect together are one: the interval of
// many is narrower than that of one, and pairs of a unit count once.
func TestUnits(t *testing.T) {
	edge := func(a, b int64) blocks.Edge { return blocks.Edge{A: blocks.Key(a), B: blocks.Key(b)} }
	var apart, chain, none []blocks.Edge
	for i := range int64(40) {
		apart, chain = append(apart, edge(2*i, 2*i+1)), append(chain, edge(i, i+1))
	}
	width := func(s records.EvaluatedShare) float64 { return *s.High - *s.Low }
	many, one := ofPairs(apart[:20], apart, 100), ofPairs(chain[:20], chain, 100)
	if many.Recall.Value != .5 || one.Recall.Value != .5 || width(many.Recall) > .5 || width(one.Recall) < .9 || width(one.F1) < .9 {
		t.Errorf("%v of units apart, %v of one", many.Recall, one.Recall)
	}
	// Found pairs connect the true ones to one unit: half of them are found together.
	bridged := ofPairs(chain, apart[:20], 100)
	if bridged.Both != 20 || bridged.Found != 40 || bridged.True != 20 || width(bridged.Precision) < .9 {
		t.Errorf("%+v", bridged)
	}
	if empty := ofPairs(none, none, 100); empty.Recall.Low != nil || empty.F1.Low != nil || empty.Rand.Low != nil || empty.F1.Value != 1 {
		t.Errorf("%+v of nothing", empty)
	}
}
