package verify

import (
	"encoding/json"
	"fmt"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
)

// Banding is how candidates were found: bands of so many rows of a signature. Without bands there
// is nothing to estimate.
type Banding struct {
	Signature, Bands, Rows int
	Seed                   uint64
}

// estimator estimates how many pairs there are by those found.
func (b Banding) estimator() *estimate.Estimator {
	if b.Bands == 0 {
		return estimate.New(lsh.Banding{}, nil)
	}
	return estimate.New(lsh.Banding{Bands: b.Bands, Rows: b.Rows}, fss.New(b.Signature, b.Seed).Sign)
}

// bundleEstimate adds up those of the components that a bundle meets.
type bundleEstimate struct {
	sum   estimate.Sum
	first int64 // component that has pairs, which names the fact
}

func (b *bundleEstimate) add(component int64, e estimate.Sum) {
	if b.sum.Found == 0 {
		b.first = component
	}
	b.sum.Add(e)
}

// emit emits the sum as a fact.
func (b *bundleEstimate) emit(facts func([]byte)) error {
	if b.sum.Found == 0 {
		return nil
	}
	fact, err := json.Marshal(blocks.Fact{Kind: blocks.FactEstimate, Name: fmt.Sprint(b.first), Counts: map[string]int64{
		blocks.CountNear: b.sum.Found, blocks.CountMillionths: b.sum.Millionths,
	}})
	if err == nil {
		facts(fact)
	}
	return err
}

func appendEstimate(block []byte, e estimate.Sum) []byte {
	return blocks.AppendUint64(blocks.AppendUint64(block, uint64(e.Found)), uint64(e.Millionths))
}

func decodeEstimate(block []byte) (estimate.Sum, error) {
	d := blocks.NewDecoder(block)
	e := estimate.Sum{Found: int64(d.Uint64()), Millionths: int64(d.Uint64())}
	return e, d.Err()
}
