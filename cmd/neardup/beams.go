package main

import (
	"context"
	"errors"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow" // for its flags: runners/dataflow runs jobs
	//nolint:staticcheck // deprecated, but a second runner to compare with
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// beams has Beam's own runners in this binary, with which the local one can be compared. Prism needs the build tag
// prism.
var beams = map[job.Runner]bool{job.Direct: true}

// byBeam returns how to run a pipeline on one of Beam's own runners. It accepts those of clusters as well, for plans,
// which run no pipeline.
func byBeam(runner job.Runner) (job.Launch, error) {
	if !beams[runner] && !runner.Traits().OnCluster {
		const build = "--runner %s: this binary does not include it; build one that does with go build -tags %[1]s " +
			"./cmd/neardup, or drop this flag"
		return nil, job.Usage(build, runner)
	}
	return func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		tidy, err := beamcli.Tidy()
		if err != nil {
			return nil, nil, err
		}
		result, err := beam.Run(ctx, string(runner), p)
		return result, nil, errors.Join(err, tidy())
	}, nil
}
