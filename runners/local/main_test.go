package local

import (
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/neardup/neardup/internal/beamcli"
)

// TestMain lets Beam know of what the tests registered; --runner chooses the runner of the
// conformance tests. beamtest.Main, which imports this package, tidies up in the same way.
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
