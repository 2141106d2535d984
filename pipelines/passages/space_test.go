package passages

import (
	"errors"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/pipelines/job"
)

// A run whose first read would send more than the free disk space is refused; one that may need more, if all words are
// repeated, warns.
func TestRunsThatTheDiskCannotHold(t *testing.T) {
	length, dir := usualLength, t.TempDir()
	free, known := storage.FreeSpace(dir)
	if !known {
		t.Skip("the free space of the disk is unknown")
	}
	for _, c := range []struct {
		name            string
		words           int64
		refused, warned bool
	}{
		{"small", 1000, false, false},
		{"if all is repeated", free / repeatBytes, false, true},
		{"always", free * 4, true, false},
	} {
		config := Config{Length: &length, Output: dir, Cut: "none"}
		config.Runner, config.Memory = job.Local, 1
		r := &Job{config: config, plan: &job.Plan{Shingles: c.words}}
		err := r.checkSpace()
		if usage := (*job.UsageError)(nil); errors.As(err, &usage) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if warned := len(r.record.Warnings) > 0; warned != c.warned {
			t.Errorf("%s: warnings %q", c.name, r.record.Warnings)
		}
	}
}
