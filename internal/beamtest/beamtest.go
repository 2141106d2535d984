// Package beamtest supports tests that run pipelines.
package beamtest

import (
	"context"
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	// Runners for tests.
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct" //nolint:staticcheck // deprecated, but a second runner to compare with
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// Main is a package's TestMain: it initialises Beam, which a worker in the test's own process also needs, and runs the
// tests.
func Main(m *testing.M) {
	if err := beamcli.Init(os.Args[1:]); err != nil {
		panic(err)
	}
	tidy, err := beamcli.Tidy()
	if err != nil {
		panic(err)
	}
	status := m.Run()
	if err := tidy(); err != nil {
		panic(err)
	}
	os.Exit(status)
}

// Launch returns a job.Launch for a runner; options are for the local one.
func Launch(
	runner string, options local.Options,
) func(context.Context, *beam.Pipeline, string) (beam.PipelineResult, []records.Stage, error) {
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		options.TempDir = temp
		result, err := beam.Run(local.WithOptions(ctx, options), runner, p)
		return result, nil, err
	}
}

// Values returns an iterator over blocks, in the form in which a DoFn gets the values of a group.
func Values(packed ...[]byte) func(*[]byte) bool {
	return func(block *[]byte) bool {
		if len(packed) == 0 {
			return false
		}
		*block, packed = packed[0], packed[1:]
		return true
	}
}
