package dedup

import (
	"math"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// CurveConfig says which S-curve to compute: the probability that bands and rows find a pair, by its similarity.
type CurveConfig struct {
	Bands int      `placeholder:"B" help:"Number of bands, with --rows (default with --d1: 1 band of 1 row)." group:"Curve"`
	Rows  int      `placeholder:"R" help:"Rows per band, with --bands." group:"Curve"`
	D1    *float64 `name:"d1" placeholder:"D" help:"With --d2: print the minimum probability p1 of finding pairs at this Jaccard distance or less, and the maximum p2 at --d2 or more." group:"Curve"`
	D2    *float64 `name:"d2" placeholder:"D" help:"The larger distance, with --d1." group:"Curve"`
}

// mostRows is the maximum number of rows per band, and of bands.
const mostRows = 1 << 20

func (c *CurveConfig) validate() error {
	switch {
	case (c.Bands != 0) != (c.Rows != 0):
		return job.Usage("--bands and --rows go together, each at least 1; use both")
	case (c.D1 != nil) != (c.D2 != nil):
		return job.Usage("--d1 and --d2 go together; use both")
	case c.Bands == 0 && c.D1 == nil:
		return job.Usage("use --bands and --rows, or --d1 and --d2")
	case c.Bands < 0 || c.Bands > mostRows || c.Rows < 0 || c.Rows > mostRows:
		return job.Usage("--bands %d --rows %d: each must be between 1 and %d", c.Bands, c.Rows, mostRows)
	case c.D1 != nil && !(*c.D1 >= 0 && *c.D1 < *c.D2 && *c.D2 <= 1):
		return job.Usage("--d1 %v --d2 %v: must be distances between 0 and 1, the smaller one first", *c.D1, *c.D2)
	}
	return nil
}

// curveSteps is the number of steps from similarity 0 to 1.
const curveSteps = 100

// CurveOf returns the curve. The error is a *job.UsageError.
//
// A band of r rows is an AND of r MinHash functions, and b bands an OR of these (Leskovec, Rajaraman and Ullman, Mining
// of Massive Datasets, 3.4 and 3.6): a (d1, d2, 1−d1, 1−d2)-sensitive family becomes a (d1, d2, p1, p2)-sensitive one.
func CurveOf(c CurveConfig) (*records.Curve, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	b, r := max(1, c.Bands), max(1, c.Rows)
	curve := &records.Curve{Bands: b, Rows: r, Steepest: math.Pow(1/float64(b), 1/float64(r))}
	for i := range curveSteps + 1 {
		s := float64(i) / curveSteps
		curve.Points = append(curve.Points, records.CurvePoint{Similarity: s, Probability: lsh.SCurve(s, b, r)})
	}
	if c.D1 != nil {
		curve.Sensitive = &records.Sensitive{D1: *c.D1, D2: *c.D2, P1: lsh.SCurve(1-*c.D1, b, r),
			P2: lsh.SCurve(1-*c.D2, b, r)}
	}
	return curve, nil
}
