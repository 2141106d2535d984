package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
)

// Features that are not sets are connected as all their pairs connect them.
func TestConnectByOtherMeasure(t *testing.T) {
	spec := verifier.Spec{Measure: verifiertest.Cosine, Threshold: setsim.Threshold{Num: 8, Den: 10}}
	v, features := spec.New(), spec.Features(nil)
	r := rand.New(rand.NewPCG(1, 1))
	var c component
	for i := range 60 {
		var shingles []uint64
		for range 4 + r.IntN(4) {
			shingles = append(shingles, uint64(i/4*10+r.IntN(4)))
		}
		vector := features(shingles)
		if !slices.ContainsFunc(c, func(other []uint64) bool { return slices.Equal(vector, other) }) {
			c = append(c, vector)
		}
	}
	slices.SortStableFunc(c, func(a, b []uint64) int { return len(a) - len(b) })
	var want []blocks.Edge
	for j := range c {
		for i := range j {
			if _, ok := v.Compare(c[i], c[j]); ok {
				want = append(want, blocks.Edge{A: c.key(i), B: c.key(j)})
			}
		}
	}
	if n := len(trees(want)); n < 10 || n == len(want) {
		t.Fatalf("%d pairs connect %d documents", len(want), n)
	}
	for _, bytes := range []int{1, 500, 1 << 20} {
		temp := storagetest.RunFolder(t)
		p := Params{Verifier: spec, CellBytes: bytes, Shards: 1, Inputs: noReferences(t), Temp: temp}
		if diff := cmp.Diff(trees(want), trees(connected(t, p, 5, c.spooled(t, temp, 5, bytes)))); diff != "" {
			t.Errorf("cells of %d bytes: %s", bytes, diff)
		}
	}
}
