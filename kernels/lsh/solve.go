package lsh

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// MaxBackgroundEdges is the number of background edges per document up to which candidate components stay small. At
// about one edge a random graph develops a giant component, all of which would be joined with itself.
const MaxBackgroundEdges = 0.1

// MaxIndexedEdges is the same for an index. It is higher because every run reads all bands of an index, so that fewer
// bands pay, and a run seldom involves all of its documents.
const MaxIndexedEdges = 3 * MaxBackgroundEdges

// MaxSignature is the maximum number of values of a signature.
const MaxSignature = 1024

const minSignature = 32

// The cost of a document in nanoseconds, measured on 800,000 generated
// documents in one process. Only the ratios matter.
const (
	// bandCost is the cost of a band: its key, its record, and sorting the record into its group (1.03 s for 14.3
	// million records).
	bandCost = 70

	// valueCost is the cost of a signature value (1.0 to 1.25 µs for 128 of them).
	valueCost = 8

	// edgeCost is the cost of one background edge per document. An edge causes both of its documents to be read again,
	// 5.3 µs each, and compared, .9 µs; it counts for both.
	edgeCost = 6000
)

// An Input is what the choice of a Banding depends on.
type Input struct {
	// Threshold is the minimum Jaccard similarity sought, 0 < Threshold ≤ 1.
	Threshold float64

	// Recall is the minimum fraction of pairs at the threshold that must share a key, 0 < Recall < 1. More similar
	// pairs are found more often.
	Recall float64

	// Documents is the number of documents, exact or estimated.
	Documents int64

	// Background[r] is the mean, over sampled pairs of documents, of J^r if their similarity J is below Threshold/2
	// (setsim.Background), else of 0: more similar pairs belong to families, which are to be found. Background[0] is 1.
	// For r beyond the table, the last entry is multiplied by Threshold/2 for each further row, which is an upper
	// bound. An empty table therefore represents the worst possible background.
	Background []float64

	// Indexed reports that keys are those of an index.
	Indexed bool
}

// costTolerance is the factor by which a choice may exceed the minimum cost and still count as equally cheap, since
// neither the costs nor the background are known more precisely. Among these, Solve takes the one with the fewest
// background edges. It is well below MaxBackgroundEdges, so another sample of the same documents seldom leads to
// another choice.
const costTolerance = 1.2

// A Choice is a Banding with its consequences.
type Choice struct {
	Banding

	// ExpectedRecall is the probability that a pair at the threshold shares a
	// key.
	ExpectedRecall float64

	// BackgroundEdges is the expected number of unrelated documents per
	// document and band that share its key, summed over the bands.
	BackgroundEdges float64

	// Percolates reports that BackgroundEdges exceeds MaxBackgroundEdges or MaxIndexedEdges.
	Percolates bool

	// Reason says why these parameters were chosen, in a sentence for users.
	Reason string
}

// Solve returns parameters that reach the recall at the threshold with at most MaxBackgroundEdges, or MaxIndexedEdges,
// background edges. Among those that cost at most costTolerance times the minimum, it takes the ones with the fewest
// background edges, then the cheapest, then those with the most rows. If none have so few background edges, it returns
// those with the most rows that reach the recall, marked as percolating. It returns an error if no signature is long
// enough or the input is invalid.
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
			break // more rows need more bands, and leave room for fewer
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
		return Choice{}, fmt.Errorf("threshold %v, recall %v: no signature of up to %d values reaches this recall; "+
			"lower the recall, or raise the threshold",
			in.Threshold, in.Recall, MaxSignature)
	case best.Bands == 0:
		selective.Reason = fmt.Sprintf("at recall %v and threshold %v, many unrelated documents must be compared (more "+
			"than %v candidates per document), so the run is slower; use a higher threshold, or longer shingles if "+
			"unrelated documents share phrases but not whole passages",
			in.Recall, in.Threshold, in.maxEdges())
		return selective, nil
	}
	best.Reason = fmt.Sprintf("these bands and rows reach a recall of %v at a threshold of %v with nearly the "+
		"lowest cost and at most %v false positives per document",
		in.Recall, in.Threshold, in.maxEdges())
	return best, nil
}

// Assess returns the consequences of the given bands and rows, with the shortest signature that has room for them. It
// ignores in.Recall.
func Assess(in Input, bands, rows int) (Choice, error) {
	if err := in.validate(); err != nil {
		return Choice{}, err
	}
	if bands < 1 || rows < 1 || bands > MaxSignature/rows {
		return Choice{}, fmt.Errorf("%d bands of %d rows: both must be at least 1, and their product must be at most %d",
			bands, rows, MaxSignature)
	}
	c := in.assess(bands, rows)
	c.Reason = "bands and rows were given"
	if c.Percolates {
		c.Reason = fmt.Sprintf("with these bands and rows, each document has more than %v false positives on "+
			"average; use more "+
			"rows or fewer bands, or longer shingles if unrelated documents share phrases but not whole passages",
			in.maxEdges())
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

// fewestBands returns the smallest number of bands that reaches the recall.
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

// compare returns a negative number if c is better than d and both cost about the same.
func (c Choice) compare(d Choice) int {
	return cmp.Or(cmp.Compare(c.BackgroundEdges, d.BackgroundEdges), cmp.Compare(c.Cost(), d.Cost()),
		cmp.Compare(d.Rows, c.Rows))
}

// Cost returns the cost of finding candidates, for comparing choices.
func (c Choice) Cost() float64 {
	return float64(bandCost*c.Bands+valueCost*c.Signature) + float64(edgeCost*c.BackgroundEdges)
}
