package blocks

import (
	"fmt"
	"math"
)

// Estimate is how many near pairs components have, judged by those found.
type Estimate struct {
	// Component is the first one added that has pairs; it names the fact.
	Component Key
	// Found is the number of pairs found, Millionths that of all, times 10⁶.
	Found, Millionths int64
	// Deviation is a bound of the standard deviation of Millionths, as of parts of one component: they add up.
	Deviation int64
	// Variance is that of whole components, times 10⁶.
	Variance int64
}

// Whole returns the estimate of a component whose parts have been added.
func (e Estimate) Whole() Estimate {
	pairs := float64(e.Deviation) / 1e6
	e.Deviation, e.Variance = 0, int64(min(1e6*pairs*pairs, 1e18)) // in the range of int64
	return e
}

// Add adds the estimate of other components, or of another part of one.
func (e *Estimate) Add(o Estimate) {
	if e.Found == 0 {
		e.Component = o.Component
	}
	e.Found += o.Found
	e.Millionths += o.Millionths
	e.Deviation += o.Deviation
	e.Variance += min(o.Variance, math.MaxInt64-e.Variance)
}

// EmitFact emits the estimate as a fact, unless no pair was found.
func (e Estimate) EmitFact(emit func([]byte)) error {
	if e.Found == 0 {
		return nil
	}
	return Fact{Kind: FactEstimate, Name: fmt.Sprint(int64(e.Component)), Counts: map[string]int64{
		CountNear: e.Found, CountMillionths: e.Millionths, CountVariance: e.Variance,
	}}.Emit(emit)
}

// AppendEstimate appends an estimate of a part of a component to a block.
func AppendEstimate(block []byte, e Estimate) []byte {
	block = AppendKey(block, e.Component)
	return AppendUint64(AppendUint64(AppendUint64(block, uint64(e.Found)), uint64(e.Millionths)), uint64(e.Deviation))
}

// Estimate reads one estimate of a block.
func (d *Decoder) Estimate() Estimate {
	return Estimate{Component: d.Key(), Found: int64(d.Uint64()), Millionths: int64(d.Uint64()),
		Deviation: int64(d.Uint64())}
}
