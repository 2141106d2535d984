package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// step returns a curve that is 0 below a similarity, and 1 from there on.
func step(from int) *records.Curve {
	c := &records.Curve{Bands: 3, Rows: 3, Sensitive: &records.Sensitive{D1: .2, D2: .6, P1: .99995, P2: 3e-7}}
	for i := range 101 {
		p := records.CurvePoint{Similarity: float64(i) / 100}
		if i >= from {
			p.Probability = 1
		}
		c.Points = append(c.Points, p)
	}
	return c
}

// The drawing fits, has as many full columns as the curve has values of 1, and never prints a probability other than 0
// or 1 as one of these.
func TestCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, from := rapid.IntRange(40, 80).Draw(t, "width"), rapid.IntRange(1, 100).Draw(t, "from")
		var got strings.Builder
		if err := report.Curve(&got, width, step(from)); err != nil {
			t.Fatal(err)
		}
		full := -1
		for line := range strings.Lines(got.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d columns of %d: %s", n, width, line)
			}
			if strings.HasPrefix(line, "1.00 │") {
				full = strings.Count(line, "█")
			}
		}
		columns := width - 7
		want := 0
		for i := range columns {
			if float64(i)*100 >= float64(from*(columns-1))-1e-9 {
				want++
			}
		}
		if full < want || full > want+1 { // one may be just below 1, and rounded up
			t.Fatalf("%d columns are full, want %d:\n%s", full, want, got.String())
		}
		if text := strings.Join(strings.Fields(got.String()), " "); !strings.Contains(text, "(0.2, 0.6, 0.999950, 0.00000030)") {
			t.Fatalf("probabilities:\n%s", got.String())
		}
	})
}

// The picture is well-formed XML, and states in words what it shows.
func TestCurvePlot(t *testing.T) {
	var got strings.Builder
	if err := report.CurvePlot(&got, step(50)); err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(strings.NewReader(got.String())); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"3 bands of 3 rows", fmt.Sprintf("At distance 0.2 it is %s", "0.999950"), "d2 = 0.6"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}
