package local

import (
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/neardup/neardup/internal/beamcli"
)

// TestMain initializes Beam after the tests have registered their types; --runner chooses the runner of the conformance
// tests. beamtest.Main, which imports this package, cleans up in the same way.
func TestMain(m *testing.M) {
	tidy, err := beamcli.Tidy()
	if err != nil {
		panic(err)
	}
	status := ptest.MainRetWithDefault(m, "local")
	if err := tidy(); err != nil {
		panic(err)
	}
	os.Exit(status)
}
