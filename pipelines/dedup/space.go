package dedup

import (
	"fmt"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// checkSpace compares what the corpus may take with what is free.
func (r *run) checkSpace() error {
	free, known := storage.FreeSpace(r.output)
	if need := r.needed(); known && r.asked.Writes(output.Corpus) && need > free {
		return fmt.Errorf("corpus/ may take %d bytes, but %s has only %d free; free some space, choose another --output, or --write pairs,clusters,removed,rejected", need, r.output, free)
	}
	return nil
}

// needed is how much the run may still take.
func (r *run) needed() int64 {
	need := r.plan.Listing.Inputs.BytesOfInputs()
	if r.plan.phased() {
		need += r.plan.phaseBytes()
	}
	for _, p := range r.commit.Parts() { // which stay, or go before more is written
		need -= p.Bytes()
	}
	return need
}

// similarBytes are what the phases after the first read leave of a document, if it is similar to another: 370 of short
// reviews of which each is there three times.
const similarBytes = 400

// phaseBytes is about how much the phases of a run leave at most.
func (p *Plan) phaseBytes() int64 { return p.sent() + p.UnreadableBytes + p.Documents*similarBytes }
