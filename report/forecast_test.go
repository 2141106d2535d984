package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

func planned() *records.Run {
	f := &records.Forecast{
		Sampled: 1000, TextBytes: 2_000_000, Documents: 123_456_789, Bytes: 1 << 40,
		Scripts:   []records.Share{{Name: "Latin", Share: .99999}, {Name: "Han", Share: .00001}},
		Encodings: []records.Share{{Name: "ASCII", Share: 1}},
		Curve:     step(80), Edges: &records.Expected{Low: 10, Expected: 1234, High: 100_000}, ReadAgain: 77,
		Shuffled: []records.Shuffled{{Name: "profiles", From: "sets.Make", To: "decide.Survivors", Bytes: 1 << 40}},
		Memory:   1e9, Flowing: 5e6, Workers: 60,
	}
	for i := range 40 {
		f.Columns = append(f.Columns, records.Column{Name: fmt.Sprintf("column\x1b%d", i), Type: "text"})
	}
	for _, q := range []float64{0, .05, .25, .5, .75, .95, 1} {
		f.Lengths = append(f.Lengths, records.Length{Quantile: q, Bytes: 1 << 30, Words: 1 << 28})
	}
	return &records.Run{
		Input: records.RunInput{Files: 3, Bytes: 1 << 40, Root: "/data"}, Forecast: f, Parameters: records.Spec{Similarity: records.Similarity{Threshold: .8}},
		Chosen: records.Chosen{Bands: 9, Rows: 3, Signature: 32, Documents: 5, Reason: "why"},
	}
}

// A plan fits into 40 columns and into 80, the mark of the threshold is below its place in the curve, and no column can
// write control characters to the screen.
func TestPlanFits(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		var got strings.Builder
		if err := report.Plan(&got, width, planned()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.String(), "\x1b") {
			t.Error("an escape is printed")
		}
		curve := min(width, 80)
		columns := curve - 7
		mark := 6 + int(.8*float64(columns-1)+.5)
		marked := false
		for line := range strings.Lines(got.String()) {
			runes := []rune(strings.TrimSuffix(line, "\n"))
			if len(runes) > width {
				t.Errorf("%d columns of %d: %s", len(runes), width, line)
			}
			if at := strings.IndexRune(line, '▲'); at >= 0 {
				marked = true
				if column := utf8.RuneCountInString(line[:at]); column != mark {
					t.Errorf("width %d: the mark is in column %d, want %d", width, column, mark)
				}
			}
			if strings.HasPrefix(line, "1.00 │") && string(runes[mark]) != "│" {
				t.Errorf("width %d: no mark in the curve: %s", width, line)
			}
		}
		if !marked {
			t.Errorf("width %d: the threshold is not marked", width)
		}
		text := strings.Join(strings.Fields(got.String()), " ")
		for _, want := range []string{
			"about 123,456,789 documents", "sample 1,000 documents with 2.0 MB of text", "Latin above 99.9 %, Han below 0.1 %", "and 28 more",
			"1,234 pairs, between 10 and 100,000; 77 documents to read again", "profiles 1.1 TB", "at least 60 workers",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("width %d: no %q in\n%s", width, want, got.String())
			}
		}
	}
}

// Numbers known from the whole input are not called estimates, and what is not known is left out.
func TestPlanOfWhole(t *testing.T) {
	run := planned()
	run.Forecast.Whole, run.Forecast.Edges, run.Forecast.Curve, run.Forecast.Memory = true, nil, nil, 0
	var got strings.Builder
	if err := report.Plan(&got, wide, run); err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"about 123", "extrapolated", "candidates", "▲", "memory"} {
		if strings.Contains(got.String(), unwanted) {
			t.Errorf("%q in\n%s", unwanted, got.String())
		}
	}
}
