package lsh

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// MaxBackgroundEdges is the number of background edges per document up to
// which candidate components stay small. At about one edge a random graph
// grows a giant component, and all that is in it would be joined with itself.
const MaxBackgroundEdges = 0.1

// MaxIndexedEdges is that of an index, of which every run reads all bands: it takes fewer of them, and a run seldom
// brings all of its documents.
const MaxIndexedEdges = 3 * MaxBackgroundEdges

// MaxSignature is the most values that a signature has.
const MaxSignature = 1024

const minSignature = 32

// The cost of a document in nanoseconds, measured on 800,000 generated
// documents in one process. Only the ratios matter.
const (
	// bandCost is that of a band: its key, its record, and the place of the
	// record in the sorted group (1.03 s for 14.3 million records).
	bandCost = 70

	// valueCost is that of a value of the signature (1.0 to 1.25 µs
	// for 128 of them).
	valueCost = 8

	// edgeCost is that of one background edge per document. An edge makes its
	// two documents be read again, 5.3 µs each, and be compared, .9 µs; it
	// counts at both.
	edgeCost = 6000
)

// An Input is what the choice of a Banding depends on.
type Input struct {
	// Threshold is the least Jaccard similarity sought, 0 < Threshold ≤ 1.
	Threshold float64

	// Recall is the least share of pairs at the threshold that shall share a
	// key, 0 < Recall < 1. More similar pairs are found more often.
	Recall float64

	// Documents is their number, exact or estimated.
	Documents int64

	// Background[r] is the mean, over sampled pairs of documents, of J^r where their
	// similarity J is below Threshold/2 (setsim.Background), else of 0: those above
	// are families, which are to be found. Background[0] is 1. For r beyond the table
	// the last entry counts times Threshold/2 for each further row, the most it can
	// be. So an empty table stands for the worst of all backgrounds.
	Background []float64

	// Indexed: keys are those of an index.
	Indexed bool
}

// costTolerance: choices that cost up to this many times the minimum count as equally cheap, since neither the costs
// nor the background are known any better. Solve takes the one with the fewest background edges. That one is well
// below MaxBackgroundEdges, so another sample of the same documents seldom leads to another choice.
const costTolerance = 1.2

// A Choice is a Banding and what it leads to.
type Choice struct {
	Banding

	// ExpectedRecall is the probability that a pair at the threshold shares a
	// key.
	ExpectedRecall float64

	// BackgroundEdges is the expected number of unrelated documents per
	// document and band that share its key, summed over the bands.
	BackgroundEdges float64

	// Percolates says that BackgroundEdges exceeds MaxBackgroundEdges, or MaxIndexedEdges.
	Percolates bool

	// Reason says why these were chosen, in a sentence for people.
	Reason string
}

// Solve returns parameters that reach the recall at the threshold with at most
// MaxBackgroundEdges background edges, or MaxIndexedEdges. Among those that cost at most costTolerance
// times the minimum, it takes the ones with the fewest background edges, then the
// cheapest, then those with the most rows. If none have so few background edges,
// it returns those with the most rows that reach the recall, marked as percolating.
// An error means that no signature is long enough, or an invalid input.
func Solve(in Input) (Choice, error) {
	if err := in.validate(); err != nil {
		return Choice{}, err
	}
	if !(in.Recall > 0 && in.Recall < 1) {
		return Choice{}, fmt.Errorf("recall %v: must be above 0 and below 1", in.Recall)
	}
	var fitting []Choice
	var selective Choice
	least := math.Inf(1)
	for rows := 1; rows <= MaxSignature; rows++ {
		bands, ok := in.fewestBands(rows)
		if !ok {
			break // with more rows it takes more bands, and fewer fit
		}
		selective = in.assess(bands, rows)
		if !selective.Percolates {
			fitting = append(fitting, selective)
			least = min(least, selective.Cost())
		}
	}
	var best Choice
	for _, c := range fitting {
		if c.Cost() <= costTolerance*least && (best.Bands == 0 || c.compare(best) < 0) {
			best = c
		}
	}
	switch {
	case selective.Bands == 0:
		return Choice{}, fmt.Errorf("threshold %v, recall %v: no signature of up to %d values reaches this; lower the "+
			"recall or raise the threshold",
			in.Threshold, in.Recall, MaxSignature)
	case best.Bands == 0:
		selective.Reason = fmt.Sprintf("at recall %v and threshold %v many unrelated documents must be compared (more "+
			"than %v candidates per document), so the run is slower. A higher threshold helps, and so do longer shingles "+
			"if unrelated documents share phrases but not whole passages",
			in.Recall, in.Threshold, in.maxEdges())
		return selective, nil
	}
	best.Reason = fmt.Sprintf("these bands and rows reach recall %v at threshold %v at about the lowest cost, with "+
		"at most %v unrelated candidates per document",
		in.Recall, in.Threshold, in.maxEdges())
	return best, nil
}

// Assess returns what given bands and rows lead to, with the shortest signature
// that has them. It does not look at in.Recall.
func Assess(in Input, bands, rows int) (Choice, error) {
	if err := in.validate(); err != nil {
		return Choice{}, err
	}
	if bands < 1 || rows < 1 || bands > MaxSignature/rows {
		return Choice{}, fmt.Errorf("%d bands of %d rows: must be at least 1 each, and at most %d values together",
			bands, rows, MaxSignature)
	}
	c := in.assess(bands, rows)
	c.Reason = "bands and rows were given"
	if c.Percolates {
		c.Reason += fmt.Sprintf("; with them each document has more than %v unrelated candidates. More rows or fewer bands "+
			"help, and so do longer shingles if unrelated documents share phrases but not whole passages", in.maxEdges())
	}
	return c, nil
}

func (in Input) validate() error {
	if !(in.Threshold > 0 && in.Threshold <= 1) {
		return fmt.Errorf("threshold %v: must be above 0 and at most 1", in.Threshold)
	}
	if in.Documents < 0 {
		return errors.New("a negative number of documents")
	}
	for r, e := range in.Background {
		if !(e >= 0 && e <= 1) {
			return fmt.Errorf("background of %d rows is %v: must be from 0 to 1", r, e)
		}
	}
	return nil
}

// fewestBands returns the least number of bands that reaches the recall.
func (in Input) fewestBands(rows int) (bands int, ok bool) {
	for b := 1; b*rows <= MaxSignature; b++ {
		if SCurve(in.Threshold, b, rows) >= in.Recall {
			return b, true
		}
	}
	return 0, false
}

func (in Input) assess(bands, rows int) Choice {
	n := minSignature
	for n < bands*rows {
		n *= 2
	}
	others := max(in.Documents-1, 0)
	edges := float64(float64(others) * float64(bands) * in.background(rows))
	return Choice{
		Banding:         Banding{Signature: n, Bands: bands, Rows: rows},
		ExpectedRecall:  SCurve(in.Threshold, bands, rows),
		BackgroundEdges: edges,
		Percolates:      edges > in.maxEdges(),
	}
}

func (in Input) maxEdges() float64 {
	if in.Indexed {
		return MaxIndexedEdges
	}
	return MaxBackgroundEdges
}

func (in Input) background(rows int) float64 {
	last := len(in.Background) - 1
	switch {
	case rows <= last:
		return in.Background[rows]
	case last < 1:
		return power(in.Threshold/2, rows)
	}
	return float64(in.Background[last] * power(in.Threshold/2, rows-last))
}

// compare is negative if c is better than d, where both cost about as much.
func (c Choice) compare(d Choice) int {
	return cmp.Or(cmp.Compare(c.BackgroundEdges, d.BackgroundEdges), cmp.Compare(c.Cost(), d.Cost()),
		cmp.Compare(d.Rows, c.Rows))
}

// Cost is what candidates cost by the choice, for comparing choices.
func (c Choice) Cost() float64 {
	return float64(bandCost*c.Bands+valueCost*c.Signature) + float64(edgeCost*c.BackgroundEdges)
}
