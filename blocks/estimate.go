package blocks

import (
	"fmt"
	"strconv"
)

// Estimate estimates the number of near pairs of components from the pairs found.
type Estimate struct {
	// Component is the component that was added first and has pairs; it names the fact.
	Component Key
	// Found is the number of pairs found.
	Found int64
	// Millionths are estimates of the number of all pairs, times 10⁶: one by the keys of the run, then others.
	Millionths []int64
}

// Add adds the estimate of other components, or of another part of the same one.
func (e *Estimate) Add(o Estimate) {
	if e.Found == 0 {
		e.Component = o.Component
	}
	e.Found += o.Found
	if e.Millionths == nil {
		e.Millionths = make([]int64, len(o.Millionths))
	}
	for i, m := range o.Millionths {
		e.Millionths[i] += m
	}
}

// EmitFact emits the estimate as a fact, unless no pair was found.
func (e Estimate) EmitFact(emit func([]byte)) error {
	if e.Found == 0 {
		return nil
	}
	counts := map[string]int64{CountNear: e.Found}
	for i, m := range e.Millionths {
		counts[CountMillionths+strconv.Itoa(i)] = m
	}
	return Fact{Kind: FactEstimate, Name: fmt.Sprint(int64(e.Component)), Counts: counts}.Emit(emit)
}

// EstimateOf returns the estimate that EmitFact emitted.
func EstimateOf(f Fact) Estimate {
	e := Estimate{Found: f.Counts[CountNear]}
	for {
		m, ok := f.Counts[CountMillionths+strconv.Itoa(len(e.Millionths))]
		if !ok {
			return e
		}
		e.Millionths = append(e.Millionths, m)
	}
}

// AppendEstimate appends an estimate of a part of a component to a block.
func AppendEstimate(block []byte, e Estimate) []byte {
	block = AppendUint64(AppendKey(block, e.Component), uint64(e.Found))
	block = AppendUint32(block, uint32(len(e.Millionths)))
	for _, m := range e.Millionths {
		block = AppendUint64(block, uint64(m))
	}
	return block
}

// Estimate reads one estimate of a block.
func (d *Decoder) Estimate() Estimate {
	e := Estimate{Component: d.Key(), Found: int64(d.Uint64())}
	for range d.Uint32() {
		if d.Err() != nil {
			break
		}
		e.Millionths = append(e.Millionths, int64(d.Uint64()))
	}
	return e
}
