package job

import (
	"fmt"
	"strconv"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

var measures = map[string]string{
	Jaccard: verifier.Jaccard, Containment: verifier.Containment, Cosine: verifier.Cosine, Overlap: verifier.Overlap,
}

var entries = map[string]simhash.Entries{Normal: simhash.Normal, Sign: simhash.Sign}

// UsualPieces returns the number of pieces of a signature if neither pieces nor a recall are given.
func UsualPieces(bits int) int { return min(32, bits) }

// Verifier returns the spec of the verifier, which decides which documents are similar; temp is the run's temporary
// folder.
func (p *Plan) Verifier(temp string) verifier.Spec {
	measure := measures[p.Request.Measure]
	if p.Request.OfSets() {
		return verifier.Spec{Measure: measure, Threshold: p.Threshold, Rules: p.Request.Texts.Rules, Field: p.Request.place()}
	}
	s := p.simHash(temp)
	s.Rules = p.Request.Texts.Rules
	if s.Measure = measure; measure == verifier.Cosine {
		s.Bits, s.Vectors, s.Seed = 0, 0, 0
	}
	return s
}

// simHash returns how SimHash signatures are made, and compared by their overlap.
func (p *Plan) simHash(temp string) verifier.Spec {
	r := &p.Request
	s := verifier.Spec{Measure: verifier.Overlap, Threshold: p.Threshold, Weights: vector.Weights(r.Weights), Bits: r.Bits,
		Vectors: entries[r.Vectors], Seed: r.Seed}
	if p.Request.NeedsFrequencies() {
		s.Frequencies = p.Frequencies(temp).Path
	}
	return s
}

// agree returns the probability that a bit agrees in the signatures of two documents at the threshold.
func (p *Plan) agree() float64 {
	if p.Request.Measure == Cosine {
		return simhash.Agree(p.Threshold.Float())
	}
	return p.Threshold.Float()
}

// choosePieces sets the number of pieces from distinct sets, or makes the search complete.
func (p *Plan) choosePieces(sets [][]uint64) error {
	r := &p.Request
	in := simhash.Input{Bits: r.Bits, Agree: p.agree(), Documents: p.Documents, Background: simhash.Background(sets,
		p.Threshold.Float(), r.Bits)}
	asked := r.Pieces == 0 && r.AskedRecall
	var c simhash.Choice
	var err error
	if asked {
		c, err = simhash.Choose(in, r.Recall)
	} else {
		count := r.Pieces
		if count == 0 {
			count = UsualPieces(r.Bits)
		}
		c, err = simhash.Assess(in, count)
	}
	if err != nil {
		return Usage("%w, or --method complete --compare %s, which finds every pair", err, r.Measure)
	}
	meet := fmt.Sprintf("with %d-bit signatures in %s, each document has %s false positives on average",
		c.Bits, records.Plural(c.Count, "piece"), rounded(c.BackgroundEdges))
	switch {
	case asked && c.Percolates:
		return Usage("--recall %v: %s, which is too many; use more --bits, a higher --threshold, or --method complete "+
			"--compare %s, which finds every pair", r.Recall, meet, r.Measure)
	case r.Pieces == 0 && !asked && c.Percolates:
		p.Complete = true
		p.Choice = lsh.Choice{ExpectedRecall: 1, Percolates: true,
			Reason: "method simhash: all documents are compared, as with --method complete, because " + meet +
				"; use --pieces to set another number"}
		return nil
	}
	p.Pieces = c.Pieces
	p.Choice = lsh.Choice{ExpectedRecall: c.ExpectedRecall, BackgroundEdges: c.BackgroundEdges,
		Percolates: c.Percolates, Reason: meet}
	if c.Percolates {
		p.Choice.Reason += "; use fewer --pieces"
	}
	p.Choice.Signature = r.Bits
	return nil
}

// rounded prints a number with three significant digits, and without an exponent.
func rounded(v float64) string {
	v, _ = strconv.ParseFloat(fmt.Sprintf("%.2e", v), 64) // never fails
	if v >= 1000 {
		return records.Count(int64(v))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// piecesWarnings returns warnings about pairs that pieces may miss.
func (p *Plan) piecesWarnings() (warnings []string) {
	r := &p.Request
	if p.Pieces.Count == 0 {
		return nil
	}
	if r.Pieces == 0 && !r.AskedRecall && p.Choice.ExpectedRecall < records.Default().Recall {
		warnings = append(warnings, fmt.Sprintf("with the default of %[2]d pieces, a pair at the threshold is found with a "+
			"probability of only %.5[1]f; use --recall, or --pieces", p.Choice.ExpectedRecall, p.Pieces.Count))
	}
	if r.Vectors == Sign && r.Measure == Cosine {
		warnings = append(warnings,
			"the expected recall is that of --vectors normal; --vectors sign does not guarantee it for cosine")
	}
	return warnings
}

// comparison returns metadata for Parquet files: how documents were compared, if not by their sets.
func (p *Plan) comparison() map[string]string {
	r := &p.Request
	all := map[string]string{}
	if !r.OfSets() {
		all["neardup.weights"] = r.Weights
	}
	if r.Family == signature.SimHash {
		all["neardup.bits"], all["neardup.vectors"] = strconv.Itoa(r.Bits), r.Vectors
		all["neardup.pieces"] = strconv.Itoa(p.Pieces.Count)
	}
	return all
}
