package report_test

import (
	"strings"
	"testing"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// TestIndexes checks that an index below 0 is printed with its sign, unless it rounds to 0.
func TestIndexes(t *testing.T) {
	for value, want := range map[float64]string{-.3: "-0.3000,", -.00006: "-0.0001,", -.00004: "0.0000,", 0: "0.0000,", .99999: "0.9999,", 1: "1.0000,"} {
		var out strings.Builder
		low, high := -1., 1.
		found := &records.Evaluation{Kind: records.TruthPairs, Agreement: records.Agreement{Rand: records.EvaluatedShare{Value: value, Low: &low, High: &high}}}
		if err := report.Evaluation(&out, 80, found); err != nil {
			t.Fatal(err)
		}
		if _, said, _ := strings.Cut(out.String(), "adjusted Rand "); !strings.HasPrefix(said, want) {
			t.Errorf("%v is printed as %.10q, want %s", value, said, want)
		}
	}
}
