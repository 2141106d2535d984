package job

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/signature"
)

// Comparing says by what documents are compared, if not by their sets, and how SimHash signatures are made.
type Comparing struct {
	Compare Measure        `placeholder:"MEASURE" help:"Measure of similarity: jaccard (of the documents' sets), cosine (of their vectors) or overlap (the share of equal bits of their SimHash signatures). SimHash finds documents by cosine or overlap, its default (default otherwise: jaccard)." group:"Similarity"`
	Weights vector.Weights `default:"1" enum:"${weights}" help:"Weight of a shingle in a document's vector, for cosine and overlap: 1, tf (the number of its occurrences) or tf-idf (that times log2(1 + N/n), if n of N documents have it; this takes one more read) (default: ${default})." group:"Similarity"`
	Bits    int            `default:"256" placeholder:"M" help:"Bits of a SimHash signature, from 1 to 1024 (default: ${default})." group:"Search"`
	Pieces  int            `placeholder:"P" help:"Number of pieces of a SimHash signature; documents that share one at its position are compared (default: dedup follows --recall if it is given, else takes 32, or compares all documents if chance would connect most of them; query compares all documents)." group:"Search"`
	Vectors Vectors        `default:"normal" enum:"${vectors}" help:"Random vectors of SimHash: normal (normally distributed entries, which satisfy --recall) or sign (entries 1 and -1, as in most programs, which do not guarantee it for cosine) (default: ${default})." group:"Search"`
}

// BySets are the values of the flags where none is given: sets are compared.
func BySets() Comparing {
	return Comparing{Weights: vector.Unit, Bits: DefaultBits, Vectors: Normal}
}

// CheckSignatures returns a *UsageError for SimHash signatures that cannot be made, or cut as a recall asks, if one is asked for.
func (c *Comparing) CheckSignatures(recall float64, asked bool) error {
	switch {
	case c.Bits < 1 || c.Bits > simhash.MaxBits:
		return Usage("--bits %d: must be between 1 and %d", c.Bits, simhash.MaxBits)
	case c.Pieces < 0 || c.Pieces > c.Bits:
		return Usage("--pieces %d: must be between 1 and the number of bits, %d", c.Pieces, c.Bits)
	case c.Compare == Cosine && c.Vectors == Sign && c.Pieces == 0 && asked:
		return Usage("--recall %v: --vectors sign keeps no promise of recall by cosine; give --pieces, or --vectors normal", recall)
	}
	return nil
}

// Measure is a similarity, by its name as a flag; "" is the usual one of the method.
type Measure string

// The measures.
const (
	Jaccard Measure = "jaccard"
	Cosine  Measure = "cosine"
	Overlap Measure = "overlap"
)

var measures = map[Measure]string{Jaccard: verifier.Jaccard, Cosine: verifier.Cosine, Overlap: verifier.Overlap}

// UnmarshalText reads a name.
func (m *Measure) UnmarshalText(text []byte) error {
	*m = Measure(text)
	if all := []Measure{Jaccard, Cosine, Overlap}; !slices.Contains(all, *m) {
		return fmt.Errorf("%q is not one of %s", text, Listed(all...))
	}
	return nil
}

// Vectors are the random vectors of SimHash, by their entries.
type Vectors string

// The vectors.
const (
	Normal Vectors = "normal"
	Sign   Vectors = "sign"
)

var entries = map[Vectors]simhash.Entries{Normal: simhash.Normal, Sign: simhash.Sign}

const (
	// DefaultRecall is that of --recall.
	DefaultRecall = 0.999
	// DefaultBits are those of --bits.
	DefaultBits   = 256
	defaultPieces = 32
)

// UsualPieces is how many pieces signatures have for which neither pieces nor a recall are given.
func (c *Comparing) UsualPieces() int { return min(defaultPieces, c.Bits) }

// Verifier decides which documents are similar; temp is the run's temporary folder.
func (p *Plan) Verifier(temp string) verifier.Spec {
	if p.Request.Compare == Jaccard {
		return verifier.Spec{Measure: verifier.Jaccard, Threshold: p.Threshold}
	}
	s := p.simHash(temp)
	if s.Measure = measures[p.Request.Compare]; s.Measure == verifier.Cosine {
		s.Bits, s.Vectors, s.Seed = 0, 0, 0
	}
	return s
}

// simHash says how SimHash signatures are made, and compared by their overlap.
func (p *Plan) simHash(temp string) verifier.Spec {
	r := &p.Request
	s := verifier.Spec{Measure: verifier.Overlap, Threshold: p.Threshold, Weights: r.Weights, Bits: r.Bits, Vectors: entries[r.Vectors], Seed: r.Seed}
	if p.NeedsFrequencies() {
		s.Frequencies = p.Frequencies(temp).Path
	}
	return s
}

// agree is the probability that a bit of the signatures of two documents at the threshold agrees.
func (p *Plan) agree() float64 {
	if p.Request.Compare == Cosine {
		return simhash.Agree(p.Threshold.Float())
	}
	return p.Threshold.Float()
}

// choosePieces sets the number of pieces, from different sets, or that all documents are compared.
func (p *Plan) choosePieces(sets [][]uint64) error {
	r := &p.Request
	in := simhash.Input{Bits: r.Bits, Agree: p.agree(), Documents: p.Documents, Background: simhash.Background(sets, p.Threshold.Float(), r.Bits)}
	asked := r.Pieces == 0 && r.AskedRecall
	var c simhash.Choice
	var err error
	if asked {
		c, err = simhash.Choose(in, r.Recall)
	} else {
		count := r.Pieces
		if count == 0 {
			count = r.UsualPieces()
		}
		c, err = simhash.Assess(in, count)
	}
	if err != nil {
		return Usage("%w, or --method complete --compare %s, which finds every pair", err, r.Compare)
	}
	meet := fmt.Sprintf("%d pieces of %d bits, by which a document meets %.3g unrelated ones", c.Count, c.Bits, c.BackgroundEdges)
	switch {
	case asked && c.Percolates:
		return Usage("--recall %v: that takes %s; give --method complete --compare %s, which finds every pair, more --bits, or a higher --threshold", r.Recall, meet, r.Compare)
	case r.Pieces == 0 && !asked && c.Percolates:
		p.Complete = true
		p.Choice = lsh.Choice{ExpectedRecall: 1, Percolates: true,
			Reason: "method simhash: every document is compared, as --method complete does, instead of by " + meet + "; --pieces takes another number"}
		return nil
	}
	p.Pieces = c.Pieces
	p.Choice = lsh.Choice{ExpectedRecall: c.ExpectedRecall, BackgroundEdges: c.BackgroundEdges, Percolates: c.Percolates, Reason: meet}
	if c.Percolates {
		p.Choice.Reason += ", so that nearly all documents are compared; fewer --pieces, which are longer, meet fewer"
	}
	p.Choice.Signature = r.Bits
	return nil
}

// piecesWarnings say what may be missed by pieces.
func (p *Plan) piecesWarnings() (warnings []string) {
	r := &p.Request
	if p.Pieces.Count == 0 {
		return nil
	}
	if r.Pieces == 0 && !r.AskedRecall && p.Choice.ExpectedRecall < DefaultRecall {
		warnings = append(warnings, fmt.Sprintf("a pair at the threshold is found with probability %.5f only, by the usual %d pieces; give --recall, or --pieces", p.Choice.ExpectedRecall, p.Pieces.Count))
	}
	if r.Vectors == Sign && r.Compare == Cosine {
		warnings = append(warnings, "the expected recall is that of --vectors normal; sign keeps no such promise by cosine")
	}
	return warnings
}

// comparison is what a Parquet file says of how documents were compared, if not by their sets.
func (p *Plan) comparison() map[string]string {
	r := &p.Request
	all := map[string]string{}
	if r.Compare != Jaccard {
		all["neardup.weights"] = string(r.Weights)
	}
	if r.Signature == signature.SimHash {
		all["neardup.bits"], all["neardup.vectors"] = strconv.Itoa(r.Bits), string(r.Vectors)
		all["neardup.pieces"] = strconv.Itoa(p.Pieces.Count)
	}
	return all
}
