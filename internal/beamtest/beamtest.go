// Package beamtest runs tests that run pipelines.
package beamtest

import (
	"os"
	"testing"

	// The runners of tests.
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct" //nolint:staticcheck // deprecated, but a second runner to compare with
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/neardup/neardup/internal/beamcli"
)

// Main is a package's TestMain: it initialises Beam, which a worker in the test's own process
// needs too, and runs the tests.
func Main(m *testing.M) {
	if err := beamcli.Init(os.Args[1:]); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Values hands out blocks one by one, as a DoFn meets the values of a group.
func Values(blocks ...[]byte) func(*[]byte) bool {
	return func(block *[]byte) bool {
		if len(blocks) == 0 {
			return false
		}
		*block, blocks = blocks[0], blocks[1:]
		return true
	}
}
