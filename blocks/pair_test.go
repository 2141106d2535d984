package blocks

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Pairs come back in order, with the earlier document first, in blocks of bounded size.
func TestPairWriter(t *testing.T) {
	var got, want []NearPair
	w := PairWriter{Key: 7, Emit: func(key int64, block []byte) {
		if key != 7 || len(block) >= BlockBytes+64 {
			t.Errorf("a block of %d bytes for %d", len(block), key)
		}
		var err error
		if got, err = DecodeNearPairs(got, block); err != nil {
			t.Fatal(err)
		}
	}}
	for i := range 50_000 {
		a, b := NewKey(1, int64(i)), NewKey(0, int64(2*i))
		var matches []float64
		if i%3 == 0 {
			matches = []float64{.5, float64(i)}
		}
		w.Add(a, b, i, i/2, matches)
		want = append(want, NearPair{A: b, B: a, Score: i, Shared: i / 2, Matches: matches})
	}
	w.Flush()
	w.Flush()
	if diff := cmp.Diff(want, got); diff != "" || w.Written != int64(len(want)) {
		t.Errorf("%d written: %s", w.Written, diff)
	}
}

// A sum of estimates is named by the first one that has pairs, and one without pairs gives no fact.
func TestEstimates(t *testing.T) {
	var sum Estimate
	if err := sum.EmitFact(func([]byte) { t.Error("a fact of nothing") }); err != nil {
		t.Error(err)
	}
	var block []byte
	for i, found := range []int64{0, 2, 3} {
		block = AppendEstimate(block, Estimate{Component: NewKey(0, int64(i)), Found: found, Millionths: []int64{1_500_000 * found, found}})
	}
	d := NewDecoder(block)
	for !d.Done() {
		sum.Add(d.Estimate())
	}
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	var got Fact
	err := sum.EmitFact(func(data []byte) {
		if err := json.Unmarshal(data, &got); err != nil {
			t.Error(err)
		}
	})
	want := Fact{Kind: FactEstimate, Name: "1", Estimate: &Estimate{Component: NewKey(0, 1), Found: 5, Millionths: []int64{7_500_000, 5}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}
