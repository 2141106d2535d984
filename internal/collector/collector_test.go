package collector

import (
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func percent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestFirst: the first collection is late, and later ones come as usual.
func TestFirst(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set")
	}
	if got := percent(); got != 100*first {
		t.Fatalf("the heap may grow by %d %% before the first collection", got)
	}
	runtime.GC()
	for percent() != 100 { // a cleanup runs soon; if not, the test times out
		time.Sleep(time.Millisecond)
	}
}
