package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

func comparison() *records.Comparison {
	candidates, peak := int64(3_801_903), int64(92_200_000)
	return &records.Comparison{Threshold: .8, Signature: "fss", Bands: 40, Rows: 3, Methods: []records.Method{
		{Name: "brute-force", Measure: "jaccard", Seconds: 3.88, CPU: 1.42, Peak: &peak, Candidates: &candidates, Pairs: 127, Common: 127, Recall: 1, Precision: 1},
		{Name: "complete", Measure: "jaccard", Seconds: .58, CPU: .11, Pairs: 127, Common: 127, Recall: 1, Precision: 1},
	}}
}

// A value that a method does not report is shown as a dash.
func TestComparisonInWords(t *testing.T) {
	var b strings.Builder
	if err := report.Comparison(&b, comparison()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^method, by jaccard +time +CPU +memory +candidates +similar pairs +common with brute-force +recall +precision$`,
		`(?m)^brute-force +3\.88 s +1\.42 s +92\.2 MB +3,801,903 +127 +127 +1\.0000 +1\.0000$`,
		`(?m)^complete +580 ms +110 ms +- +- +127 +127 +1\.0000 +1\.0000$`,
	} {
		if !regexp.MustCompile(want).MatchString(b.String()) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// The picture has a bar for each value that a method reports: seven per method, without those that complete does not
// report.
func TestComparisonPlot(t *testing.T) {
	var b strings.Builder
	if err := report.ComparisonPlot(&b, comparison()); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
	}
	const perMethod, samples = 7, 6 // the chart of one series has no legend
	if got, want := strings.Count(b.String(), `<rect class="bar`), 2*perMethod-2+samples; got != want {
		t.Errorf("%d bars, want %d", got, want)
	}
	for _, want := range []string{"candidates, brute-force: 3.8019e+06", "value, brute-force: 92.2", "CPU, complete: 0.11"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no bar is told of as %q", want)
		}
	}
}
