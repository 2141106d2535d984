package passages

import (
	"cmp"
	"fmt"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// checkSpace compares the expected use of the disks with their free space. Repeated words take more, which only the run
// can tell, so that only gives a warning.
func (r *Job) checkSpace() error {
	to, temp := r.config.Output, cmp.Or(r.config.TempDir, r.config.Output)
	if to == "" || !r.config.Runner.Traits().Bounded {
		return nil
	}
	var corpus, sent, most int64
	if r.writes() {
		corpus = r.plan.Listing.Inputs.BytesOfInputs()
	}
	if !r.searches() {
		held := r.config.Budget().Bytes
		sent, most = max(0, r.chosen()-held), max(0, r.most()-held)
	}
	if temp == to {
		sent, most = sent+corpus, most+corpus
	} else if free, known := storage.FreeSpace(to); known && corpus > free {
		return job.Usage("corpus/ may take %s bytes, but %s has only %s free; free some space, or choose another --output",
			records.Count(corpus), to, records.Count(free))
	}
	switch free, known := storage.FreeSpace(temp); {
	case known && sent > free:
		return job.Usage("the run takes about %s bytes of disk space, but %s has only %s free; free some space, or choose "+
			"another --output or --temp-dir",
			records.Count(sent), temp, records.Count(free))
	case known && most > free:
		r.record.Warnings = append(r.record.Warnings, fmt.Sprintf(
			"if all words are repeated, the run takes %s bytes of disk space, but %s has only %s free; the run "+
				"fails if the disk fills up",
			records.Count(most), temp, records.Count(free)))
	}
	return nil
}
