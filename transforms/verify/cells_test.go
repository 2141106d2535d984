package verify

import (
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
