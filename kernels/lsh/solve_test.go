package lsh

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/solve.golden")

// The profiles were measured on samples of 2,000 documents (800 for char),
// shingles of five words or characters: mean J^r over pairs below .4.
var profiles = []struct {
	name       string
	background []float64
}{
	{"none", []float64{1, 0}},
	{"imdb-word", []float64{1, 1.2e-05, 4.7e-08, 3.2e-10, 3.5e-12, 5.2e-14, 9.5e-16, 1.9e-17, 4.3e-19, 1e-20, 2.5e-22}},
	{"agnews-word", []float64{1, 2.4e-05, 1.5e-06, 1.7e-07, 3e-08, 6.5e-09, 1.6e-09, 4e-10, 1e-10, 2.7e-11, 7.3e-12}},
	{"reuters-word", []float64{1, 5.5e-05, 3.4e-06, 5.7e-07, 1.3e-07, 3.4e-08, 9.5e-09, 2.9e-09, 9e-10, 3e-10, 1e-10}},
	{"imdb-char", []float64{1, .054, .0032, .00021, 1.5e-05, 1.1e-06, 9e-08, 7.7e-09, 6.9e-10, 6.6e-11, 6.5e-12}},
	{"reuters-char", []float64{1, .037, .0019, .00013, 1.5e-05, 2.8e-06, 7.4e-07, 2.3e-07, 7.5e-08, 2.6e-08, 9e-09}},
	{"worst", nil},
}

// TestGolden shows in review how a change of costs or rules affects the parameters of users. TestSolveEqualsEnumeration
// checks on the same inputs that the parameters are right.
func TestGolden(t *testing.T) {
	const path = "testdata/solve.golden"
	var out strings.Builder
	out.WriteString("# threshold recall documents profile: bands x rows / signature, expected recall, background edges\n")
	inputs(func(name string, in Input) {
		c, err := Solve(in)
		fmt.Fprintf(&out, "%v %v %.0e %s: ", in.Threshold, in.Recall, float64(in.Documents), name)
		if err != nil {
			fmt.Fprintln(&out, "none long enough")
			return
		}
		fmt.Fprintf(&out, "%d x %d / %d, %.5f, %.1e", c.Bands, c.Rows, c.Signature, c.ExpectedRecall, c.BackgroundEdges)
		if c.Percolates {
			out.WriteString(", percolates")
		}
		out.WriteString("\n")
	})
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var got, want string
		if i < len(gotLines) {
			got = gotLines[i]
		}
		if i < len(wantLines) {
			want = wantLines[i]
		}
		if got != want {
			t.Errorf("line %d:\ngot  %s\nwant %s", i+1, got, want)
		}
	}
}

func inputs(yield func(name string, in Input)) {
	for _, threshold := range []float64{.001, .05, .3, .5, .7, .8, .9, 1} {
		for _, recall := range []float64{.75, .99, .999, .999999} {
			for _, documents := range []int64{0, 1e5, 1e7, 1e9} {
				for _, p := range profiles {
					yield(p.name, Input{Threshold: threshold, Recall: recall, Documents: documents, Background: p.background})
				}
			}
		}
	}
}

// Solve equals the rules of its comment, by enumeration of all numbers of bands, rows and components, with the recall
// computed in 300-bit arithmetic.
func TestSolveEqualsEnumeration(t *testing.T) {
	type candidate struct{ b, r, n int }
	reaching := make(map[[2]float64][]candidate)
	candidates := func(in Input) []candidate {
		key := [2]float64{in.Threshold, in.Recall}
		if _, ok := reaching[key]; !ok {
			mayMiss := one().Sub(one(), big.NewFloat(in.Recall))
			all := []candidate{}
			same := one() // t^r
			for r := 1; r <= 1024; r++ {
				same.Mul(same, big.NewFloat(in.Threshold))
				other, missed := one().Sub(one(), same), one()
				for b := 1; b*r <= 1024; b++ {
					missed.Mul(missed, other)
					if missed.Cmp(mayMiss) > 0 {
						continue
					}
					for _, n := range []int{32, 64, 128, 256, 512, 1024} {
						if b*r <= n {
							all = append(all, candidate{b, r, n})
						}
					}
				}
			}
			reaching[key] = all
		}
		return reaching[key]
	}

	inputs(func(name string, in Input) {
		edges := func(c candidate) float64 {
			e := 1.
			for r := 1; r <= c.r; r++ {
				if r < len(in.Background) {
					e = in.Background[r]
				} else {
					e *= in.Threshold / 2
				}
			}
			return math.Max(float64(in.Documents)-1, 0) * float64(c.b) * e
		}
		cost := func(c candidate) float64 { return 70*float64(c.b) + 8*float64(c.n) + 6000*edges(c) }

		least := math.Inf(1)
		for _, c := range candidates(in) {
			if edges(c) <= .1 {
				least = min(least, cost(c))
			}
		}
		percolates := math.IsInf(least, 1)
		var best candidate
		for _, c := range candidates(in) {
			var order int
			switch {
			case percolates:
				order = cmp.Or(cmp.Compare(best.r, c.r), cmp.Compare(c.b, best.b), cmp.Compare(c.n, best.n))
			case edges(c) > .1 || compare(cost(c), 1.2*least) > 0:
				continue
			default:
				// Rows decide only if all else is equal.
				order = cmp.Or(compare(edges(c), edges(best)), compare(cost(c), cost(best)), cmp.Compare(c.b, best.b), cmp.Compare(best.r, c.r))
			}
			if best.b == 0 || order < 0 {
				best = c
			}
		}

		got, err := Solve(in)
		if best.b == 0 {
			if err == nil {
				t.Errorf("%s %+v: %+v, want an error", name, in, got.Banding)
			}
			return
		}
		if err != nil {
			t.Errorf("%s %+v: %v, want %+v", name, in, err, best)
			return
		}
		if want := (Banding{Bands: best.b, Rows: best.r, Signature: best.n}); got.Banding != want || got.Percolates != percolates {
			t.Errorf("%s %+v: %+v, percolates %v; want %+v, %v", name, in, got.Banding, got.Percolates, want, percolates)
		}
		if want := edges(best); math.Abs(got.BackgroundEdges-want) > 1e-12*want {
			t.Errorf("%s %+v: %v background edges, want %v", name, in, got.BackgroundEdges, want)
		}
		if got.ExpectedRecall < in.Recall || got.Reason == "" {
			t.Errorf("%s %+v: recall %v, reason %q", name, in, got.ExpectedRecall, got.Reason)
		}
	})
}

// compare treats values that differ only by rounding as equal.
func compare(a, b float64) int {
	if math.Abs(a-b) <= 1e-12*b {
		return 0
	}
	return cmp.Compare(a, b)
}

// Newswire has templates, so it needs the usual 18 × 5: with 14 × 4, documents would have 1e5·14·1.3e-7 = .18 unrelated
// neighbours.
func TestSolveNews(t *testing.T) {
	for _, p := range profiles {
		if p.name != "reuters-word" {
			continue
		}
		c, err := Solve(Input{Threshold: .8, Recall: .999, Documents: 1e5, Background: p.background})
		if want := (Banding{Bands: 18, Rows: 5, Signature: 128}); err != nil || c.Banding != want {
			t.Errorf("got %+v, %v; want %+v", c.Banding, err, want)
		}
	}
}

func TestSolveErrors(t *testing.T) {
	good := Input{Threshold: .8, Recall: .99, Documents: 1000, Background: []float64{1, .1}}
	for name, spoil := range map[string]func(*Input){
		"threshold 0":         func(in *Input) { in.Threshold = 0 },
		"threshold above 1":   func(in *Input) { in.Threshold = 1.01 },
		"threshold NaN":       func(in *Input) { in.Threshold = math.NaN() },
		"recall 0":            func(in *Input) { in.Recall = 0 },
		"recall 1":            func(in *Input) { in.Recall = 1 },
		"negative documents":  func(in *Input) { in.Documents = -1 },
		"background above 1":  func(in *Input) { in.Background = []float64{1, 1.5} },
		"background NaN":      func(in *Input) { in.Background = []float64{1, math.NaN()} },
		"threshold too small": func(in *Input) { in.Threshold = .001 },
	} {
		in := good
		spoil(&in)
		if c, err := Solve(in); err == nil {
			t.Errorf("%s: %+v, want an error", name, c)
		}
	}
}

func TestAssess(t *testing.T) {
	in := Input{Threshold: .5, Documents: 1001, Background: []float64{1, .1, .01}}
	c, err := Assess(in, 10, 2)
	if err != nil {
		t.Fatal(err)
	}
	// 1 − (3/4)^10; 1000·10·.01.
	if c.Banding != (Banding{Bands: 10, Rows: 2, Signature: 32}) || math.Abs(c.ExpectedRecall-.943686485) > 1e-9 || math.Abs(c.BackgroundEdges-100) > 1e-9 || !c.Percolates || c.Reason == "" {
		t.Errorf("got %+v", c)
	}
	for _, given := range [][2]int{{0, 5}, {5, 0}, {1, 1025}, {513, 2}, {math.MaxInt, 2}} {
		if c, err := Assess(in, given[0], given[1]); err == nil {
			t.Errorf("%d × %d: %+v, want an error", given[0], given[1], c.Banding)
		}
	}
}

// TestSolveWithAllRows: one band with as many rows as a signature has values is a choice, too.
func TestSolveWithAllRows(t *testing.T) {
	background := slices.Repeat([]float64{1}, MaxSignature+1) // all percolate, so the maximum of rows is chosen
	c, err := Solve(Input{Threshold: 1, Recall: .9, Documents: 2, Background: background})
	if want := (Banding{Bands: 1, Rows: MaxSignature, Signature: MaxSignature}); err != nil || c.Banding != want {
		t.Errorf("%+v, error %v, want %+v", c.Banding, err, want)
	}
}

// TestPercolatesAboveTheBound: the maximum of background edges does not percolate, and more do.
func TestPercolatesAboveTheBound(t *testing.T) {
	for indexed, most := range map[bool]float64{false: MaxBackgroundEdges, true: MaxIndexedEdges} {
		for background, want := range map[float64]bool{most: false, math.Nextafter(most, 1): true} {
			c, err := Assess(Input{Threshold: .5, Documents: 2, Background: []float64{1, background}, Indexed: indexed}, 1, 1)
			if err != nil || c.Percolates != want {
				t.Errorf("%v edges percolate: %v, error %v", c.BackgroundEdges, c.Percolates, err)
			}
		}
	}
}

// TestNobodyElse: a single document has no unrelated neighbours, whatever the background.
func TestNobodyElse(t *testing.T) {
	for documents := range int64(2) {
		c, err := Solve(Input{Threshold: .8, Recall: .999, Documents: documents})
		if want := (Banding{Bands: 5, Rows: 1, Signature: 32}); err != nil || c.Banding != want || c.BackgroundEdges != 0 || c.Percolates {
			t.Errorf("%d documents: %+v, error %v, want %+v", documents, c, err, want)
		}
	}
}
