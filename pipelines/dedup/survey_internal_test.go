package dedup

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// The extrapolation of a·n + b·n² is exact, for any a, b and n.
func TestGrowOfBothParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 10).Draw(t, "a"), rapid.Float64Range(0, 10).Draw(t, "b")
		n, x := rapid.Float64Range(1, 100).Draw(t, "n"), rapid.Float64Range(1, 100).Draw(t, "x")
		at := func(n float64) float64 { return a*n + b*n*n }
		if got, want := grow(at(n), at(n/2), x), at(x*n); math.Abs(got-want) > 1e-9*(want+1) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// If halves have more than growth by n implies, or less than growth by n² does, the extrapolation takes that growth.
func TestGrowIsBounded(t *testing.T) {
	for _, c := range []struct{ whole, half, want float64 }{{100, 60, 1000}, {100, 50, 1000}, {100, 25, 10_000}, {100, 10, 10_000}, {0, 0, 0}} {
		if got := grow(c.whole, c.half, 10); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.half, c.whole, got, c.want)
		}
	}
}

// For random pairs, of which samples have varying numbers, the interval contains the true number. About twenty of 1000
// samples may be outside two standard errors on either side; more than 100 have a probability below 1e-9.
func TestIntervalOfPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const pairs, trials = 4000, 1000
	for _, share := range []float64{.1, .5} {
		outside := 0
		for range trials {
			n := 0
			for range pairs {
				if r.Float64() < share*share {
					n++
				}
			}
			low, high := interval(float64(n), float64(n), 1/share)
			if pairs < low || pairs > high {
				outside++
			}
		}
		if outside > 100 {
			t.Errorf("of samples of %v, %d of %d are outside", share, outside, trials)
		}
	}
	if low, high := interval(0, 0, 10); low != 0 || high != 300 {
		t.Errorf("of none %v to %v", low, high)
	}
	if low, high := interval(7, 3, 1); low != 7 || high != 7 {
		t.Errorf("of all %v to %v", low, high)
	}
}

// However many keys records have, a limited number is held.
func TestColumnsAreBounded(t *testing.T) {
	var lines []byte
	for record := range 30 {
		lines = append(lines, `{"text":"some text"`...)
		for key := range 100 {
			lines = fmt.Appendf(lines, `,"k%d":1`, 100*record+key)
		}
		lines = append(lines, "}\n"...)
	}
	file := &blocks.File{Format: "jsonl"}
	s, typed := survey{plan: &Plan{Plan: &job.Plan{}}}, map[string][]string{}
	for i, line := range bytes.Split(lines, []byte("\n")) {
		s.documents = append(s.documents, surveyed{key: blocks.NewKey(0, int64(i))})
		if err := s.addColumns(t.Context(), typed, &source.Seen{File: file, Record: line}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.columns) != surveyColumns || len(typed) != surveyColumns {
		t.Errorf("%d columns, %d with types", len(s.columns), len(typed))
	}
}

// By trial, leastShingles are the smallest numbers that reach the threshold.
func TestLeastShinglesByTrying(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.Uint64Range(2, 1000).Draw(t, "denominator")
		threshold := setsim.Threshold{Num: rapid.Uint64Range(1, den-1).Draw(t, "numerator"), Den: den}
		e := rapid.IntRange(1, 9).Draw(t, "changed")
		reaches := func(shared, all int) bool { return uint64(shared)*threshold.Den >= threshold.Num*uint64(all) }
		equal, word := 1, e
		for !reaches(equal-1, equal) {
			equal++
		}
		for !reaches(word-e, word+e) {
			word++
		}
		if a, b := leastShingles(threshold, e); a != equal || b != word {
			t.Fatalf("%d and %d shingles, want %d and %d", a, b, equal, word)
		}
	})
}

// A night reads of an index few documents. If it is added, the night is read again, signed again and written.
func TestSecondsAgainstAnIndex(t *testing.T) {
	index := filepath.Join(t.TempDir(), "index")
	spec := records.Default()
	if _, err := CreateIndex(t.Context(), index, spec, 1000); err != nil {
		t.Fatal(err)
	}
	// seconds are those of a night, by a survey of which the index has half.
	seconds := func(night string, adds bool) float64 {
		c := Config{Spec: spec}
		c.Inputs, c.Against, c.Append = []string{"../../testdata/tldr/" + night}, []string{index}, adds
		c.Runner, c.Output = "local", filepath.Join(t.TempDir(), "out")
		task, err := New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := newRun(task.config, task.asked)
		if err != nil {
			t.Fatal(err)
		}
		r.index, r.temp = task.index, t.TempDir()
		if err := r.makePlan(t.Context()); err != nil {
			t.Fatal(err)
		}
		in := r.plan.Listing.Inputs
		s := &survey{plan: r.plan, sampled: source.Sampled{Stored: in.Bytes(), Documents: 2}, whole: true, reading: 1000, signing: 100_000, text: 1e9}
		s.documents = []surveyed{{key: 0, text: 5e8}, {key: blocks.NewKey(in.References(), 0), text: 5e8}}
		got, err := r.plan.seconds(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if adds {
			if _, err := task.Run(t.Context(), beamtest.Launch("local", local.Options{})); err != nil {
				t.Fatal(err)
			}
		}
		return got
	}
	alone, more := seconds("linux.jsonl", false), seconds("linux.jsonl", true)
	if added := more - alone; added < 80_000+2000+10 || added > 100_000+2000+50 {
		t.Errorf("%v seconds, to add the night %v more", alone, added)
	}
	if against := seconds("osx.jsonl", false); math.Abs(against/alone-.5) > .01 {
		t.Errorf("%v seconds of a night that is half of what may be compared, and %v of all", against, alone)
	}
}
