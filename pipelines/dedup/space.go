package dedup

import (
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// checkSpace returns an error if the corpus may need more space than is free.
func (r *run) checkSpace() error {
	free, known := storage.FreeSpace(r.output)
	if need := r.needed(); known && r.asked.Writes(output.Corpus) && need > free {
		return job.Usage("corpus/ may take %s bytes, but %s has only %s free; free some space, choose another --output, "+
			"or use --write pairs,clusters,removed,rejected", records.Count(need), r.output, records.Count(free))
	}
	return nil
}

// needed returns how many bytes the run may still write.
func (r *run) needed() int64 {
	need := r.plan.Listing.Inputs.BytesOfInputs()
	if r.plan.phased() {
		need += r.plan.phaseBytes()
	}
	for _, p := range r.commit.Parts() { // their files stay, or are removed before others are written
		need -= p.Bytes()
	}
	return need
}

// similarBytes is about how much the phases after the first read write for a document that is similar to another: 370
// bytes were measured for short reviews with two copies each.
const similarBytes = 400

// phaseBytes estimates the maximum that the phases of a run leave.
func (p *Plan) phaseBytes() int64 { return p.sent() + p.UnreadableBytes + p.Documents*similarBytes }
