package compare

import (
	"errors"
	"strings"
	"testing"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/pipelines/job"
)

// What a method compares all with all has a bound, and the message names a limit that keeps to it.
func TestNumbersAreBounded(t *testing.T) {
	for _, c := range []struct {
		methods             []Method
		documents, shingles int64
		signature           int
		want                string
	}{
		{[]Method{BruteForce, MinHash}, 1000, 64_000_000, 1024, ""},
		{[]Method{BruteForce, MinHash}, 1000, 128_000_000, 1024, "--methods brute-force: about 128000000 shingles are too many to compare all with all, at most 64000000; give --limit 500"},
		{[]Method{MinHash, Signatures}, 62_500, 1 << 40, 1024, ""},
		{[]Method{MinHash, Signatures}, 100_000, 0, 1000, "--methods signatures: about 100000000 values of signatures are too many to compare all with all, at most 64000000; give --limit 64000"},
	} {
		plan := &job.Plan{Documents: c.documents, Shingles: c.shingles, Choice: lsh.Choice{Banding: lsh.Banding{Signature: c.signature}}}
		err := (&run{config: Config{Methods: c.methods}, plan: plan}).checkNumbers()
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
