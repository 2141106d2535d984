package dedup_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/pipelines/dedup"
)

func at(v float64) *float64 { return &v }

// Figure 3.8 and section 3.6.3 of Mining of Massive Datasets: 20 bands of 5 rows by similarity, and the (.2, .6, .8, .4)-sensitive
// family after a 4-way AND and a 4-way OR.
func TestPublishedCurve(t *testing.T) {
	c, err := dedup.CurveOf(dedup.CurveConfig{Bands: 20, Rows: 5})
	if err != nil {
		t.Fatal(err)
	}
	for percent, want := range map[int]float64{20: .006, 30: .047, 40: .186, 50: .470, 60: .802, 70: .975, 80: .9996} {
		p := c.Points[percent]
		if p.Similarity != float64(percent)/100 || math.Abs(p.Probability-want) > .0006 {
			t.Errorf("%d %%: %v, want %v", percent, p, want)
		}
	}
	c, err = dedup.CurveOf(dedup.CurveConfig{Bands: 4, Rows: 4, D1: at(.2), D2: at(.6)})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Sensitive; math.Abs(s.P1-.8785) > 5e-5 || math.Abs(s.P2-.0985) > 5e-5 {
		t.Errorf("p1 %v, p2 %v; want .8785 and .0985", s.P1, s.P2)
	}
	c, err = dedup.CurveOf(dedup.CurveConfig{D1: at(.2), D2: at(.6)})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Sensitive; math.Abs(s.P1-.8) > 1e-12 || math.Abs(s.P2-.4) > 1e-12 {
		t.Errorf("p1 %v, p2 %v of one function; want .8 and .4", s.P1, s.P2)
	}
}

// A curve ascends from 0 to 1, and pairs at a smaller distance are found more often.
func TestCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d1 := rapid.Float64Range(0, .99).Draw(t, "d1")
		d2 := rapid.Float64Range(d1+.001, 1).Draw(t, "d2")
		c, err := dedup.CurveOf(dedup.CurveConfig{Bands: rapid.IntRange(1, 500).Draw(t, "bands"), Rows: rapid.IntRange(1, 50).Draw(t, "rows"), D1: &d1, D2: &d2})
		if err != nil {
			t.Fatal(err)
		}
		last := len(c.Points) - 1
		if c.Points[0].Similarity != 0 || c.Points[0].Probability != 0 || c.Points[last].Similarity != 1 || c.Points[last].Probability != 1 {
			t.Fatalf("from %v to %v", c.Points[0], c.Points[last])
		}
		for i := range last {
			if c.Points[i+1].Probability < c.Points[i].Probability {
				t.Fatalf("%v then %v", c.Points[i], c.Points[i+1])
			}
		}
		if c.Sensitive.P1 < c.Sensitive.P2 {
			t.Fatalf("%+v", c.Sensitive)
		}
	})
}
