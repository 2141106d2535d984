package passages

import (
	"cmp"
	"fmt"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/pipelines/job"
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
		return job.Usage("corpus/ may take %d bytes, but %s has only %d free; free some space, or choose another --output",
			corpus, to, free)
	}
	switch free, known := storage.FreeSpace(temp); {
	case known && sent > free:
		return job.Usage("the run takes about %d bytes of disk space, but %s has only %d free; free some space, or choose "+
			"another --output or --temp-dir",
			sent, temp, free)
	case known && most > free:
		r.record.Warnings = append(r.record.Warnings, fmt.Sprintf(
			"if all words are repeated, the run takes %d bytes of disk space, but %s has only %d free; the run "+
				"fails if the disk fills up",
			most, temp, free))
	}
	return nil
}
