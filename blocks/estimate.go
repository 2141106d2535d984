package blocks

import "fmt"

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
	return Fact{Kind: FactEstimate, Name: fmt.Sprint(int64(e.Component)), Estimate: &e}.Emit(emit)
}

// AppendEstimate appends an estimate of a part of a component to a block.
func AppendEstimate(block []byte, e Estimate) []byte { return appended(block, &e, (*fields).estimate) }

// Estimate reads one estimate of a block.
func (d *Decoder) Estimate() Estimate { return read(d, (*fields).estimate) }

func (f *fields) estimate(e *Estimate) {
	key.each(f, &e.Component)
	number.each(f, &e.Found)
	numbers.each(f, &e.Millionths)
}
