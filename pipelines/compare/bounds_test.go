package compare

import (
	"errors"
	"strings"
	"testing"

	"github.com/neardup/neardup/pipelines/job"
)

// What is looked at has a bound, and the message names a limit that keeps to it.
func TestPlanIsBounded(t *testing.T) {
	for _, c := range []struct {
		methods             []Method
		documents, shingles int64
		want                string
	}{
		{[]Method{bruteForce, minHash}, 1000, 64_000_000, ""},
		{[]Method{bruteForce, minHash}, 1000, 128_000_000, "--methods brute-force: about 128000000 shingles are too many to compare all with all, at most 64000000; give --limit 500"},
		{[]Method{byBands, bySignatures}, 100_000, 1 << 40, ""},
		{[]Method{byBands, bySignatures}, 100_001, 0, "about 100001 documents have 5000050000 pairs, too many to look at each; give --limit 100000"},
	} {
		plan := &job.Plan{Documents: c.documents, Shingles: c.shingles}
		err := (&run{part: part{job.Jaccard, c.methods}, plan: plan}).checkBounds()
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
