package verify

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/kernels/setsim"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// A component beyond the work limit ends the job with what to change.
func TestWorkLimit(t *testing.T) {
	var block []byte
	for i := range 100 {
		block = blocks.AppendProfile(block, &blocks.Profile{Key: blocks.NewKey(0, int64(i)), Hash: blocks.Hash{Lo: uint64(i)}, Size: DefaultCellBytes / blocks.ShingleBytes})
	}
	// Each set fills a cell of the usual size, and each of the 100 is sent to 100 pairs of cells,
	// whatever the size of those in use.
	f := &cutFn{Params{Threshold: setsim.Threshold{Num: 1, Den: 2}, CellBytes: 1 << 40, WorkBytes: 100 * 100 * DefaultCellBytes}}
	emit := func(int64, []byte) {}
	if err := f.ProcessElement(t.Context(), 1, beamtest.Values(block), emit); err != nil {
		t.Error(err)
	}
	f.Params.WorkBytes--
	err := f.ProcessElement(t.Context(), 1, beamtest.Values(block), emit)
	if err == nil || !strings.Contains(err.Error(), "100 documents") || !strings.Contains(err.Error(), "--threshold") || strings.Contains(err.Error(), "--shingle") {
		t.Errorf("got %v", err)
	}
}

// A component has one fact, with what all its pairs of cells found; one without pairs has none.
func TestEstimatesAddUp(t *testing.T) {
	var facts []blocks.Fact
	emit := func(data []byte) {
		var fact blocks.Fact
		if err := json.Unmarshal(data, &fact); err != nil {
			t.Fatal(err)
		}
		facts = append(facts, fact)
	}
	component := blocks.NewKey(0, 7)
	var parts [][]byte
	for _, e := range []blocks.Estimate{
		{Found: 3, Millionths: 4_000_000, Deviation: 1_000_000}, {}, {Found: 5, Millionths: 5_500_000, Deviation: 2_000_000},
	} {
		e.Component = component
		parts = append(parts, blocks.AppendEstimate(nil, e))
	}
	for _, of := range [][][]byte{parts, parts[1:2]} {
		if err := (&estimateFn{}).ProcessElement(int64(component), beamtest.Values(of...), emit); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int64{blocks.CountNear: 8, blocks.CountMillionths: 9_500_000, blocks.CountVariance: 9_000_000}
	if len(facts) != 1 || facts[0].Kind != blocks.FactEstimate || facts[0].Name != "7" || !maps.Equal(facts[0].Counts, want) {
		t.Errorf("facts %+v, want one with %v", facts, want)
	}
}
