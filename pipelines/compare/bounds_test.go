package compare

import (
	"errors"
	"strings"
	"testing"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
)

// The work is limited, and the message names a --limit within which it stays.
func TestPlanIsBounded(t *testing.T) {
	for _, c := range []struct {
		methods             []Method
		documents, shingles int64
		write               []output.Part
		want                string
	}{
		{[]Method{bruteForce, minHash}, 1000, 64_000_000, nil, ""},
		{[]Method{bruteForce, minHash}, 1000, 128_000_000, nil, "--methods brute-force: with about 128,000,000 shingles (maximum: 64,000,000), there are too many pairs to compare; use --limit 500"},
		{[]Method{byBands, bySignatures}, 100_000, 1 << 40, nil, ""},
		{[]Method{byBands, bySignatures}, 100_001, 0, nil, "about 100,001 documents have 5,000,050,000 pairs, too many to check one by one; use --limit 100000"},
		{[]Method{byBands, minHash}, 100_000, 64_000_000, []output.Part{output.Pairs}, ""},
		{[]Method{minHash}, 100_001, 0, []output.Part{output.Pairs}, "--output out: about 100,001 documents with 0 shingles are too many for the pairs table (maximum: 100,000 with 64,000,000)"},
		{[]Method{minHash}, 1000, 64_000_001, []output.Part{output.Pairs}, "too many for the pairs table"},
		{[]Method{minHash}, 100_001, 64_000_001, []output.Part{output.Candidates}, ""},
	} {
		plan := &job.Plan{Documents: c.documents, Shingles: c.shingles}
		err := (&Job{part: part{job.Jaccard, c.methods}, plan: plan, config: Config{Output: "out", Write: c.write}}).checkBounds()
		if c.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
