package local

import (
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

// TestMain lets Beam know of what the tests registered; --runner chooses the runner of the
// conformance tests.
func TestMain(m *testing.M) { os.Exit(ptest.MainRetWithDefault(m, "local")) }
