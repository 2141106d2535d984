package blocks

import (
	"fmt"
)

// Estimate is how many near pairs components have, judged by those found.
type Estimate struct {
	// Component is the first one added that has pairs; it names the fact.
	Component Key
	// Found is the number of pairs found, Millionths that of all, times 10⁶.
	Found, Millionths int64
}

// Add adds the estimate of other components.
func (e *Estimate) Add(o Estimate) {
	if e.Found == 0 {
		e.Component = o.Component
	}
	e.Found += o.Found
	e.Millionths += o.Millionths
}

// EmitFact emits the estimate as a fact, unless no pair was found.
func (e Estimate) EmitFact(emit func([]byte)) error {
	if e.Found == 0 {
		return nil
	}
	return Fact{Kind: FactEstimate, Name: fmt.Sprint(int64(e.Component)), Counts: map[string]int64{
		CountNear: e.Found, CountMillionths: e.Millionths,
	}}.Emit(emit)
}

// AppendEstimate appends an estimate to a block.
func AppendEstimate(block []byte, e Estimate) []byte {
	block = AppendKey(block, e.Component)
	return AppendUint64(AppendUint64(block, uint64(e.Found)), uint64(e.Millionths))
}

// Estimate reads one estimate of a block.
func (d *Decoder) Estimate() Estimate {
	return Estimate{Component: d.Key(), Found: int64(d.Uint64()), Millionths: int64(d.Uint64())}
}
