// Package here starts pipelines in this process.
package here

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// Launch returns how to run a pipeline on the local runner, which reports to progress, unless that is nil.
func Launch(running job.Running, progress func(local.Progress)) job.Launch {
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		ctx = local.WithOptions(ctx, local.Options{
			Workers: running.Workers, Memory: running.Budget().Bytes, TempDir: temp, Progress: progress,
		})
		result, err := local.Execute(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		return result, stages(result), nil
	}
}

// InForce returns the limits of the runner, requested or default.
func InForce(running job.Running) records.InForce {
	workers, bytes := local.Options{Workers: running.Workers, Memory: running.Budget().Bytes}.InForce()
	return records.InForce{Workers: workers, Memory: bytes, From: running.Budget().From}
}

func stages(result beam.PipelineResult) (all []records.Stage) {
	r, ok := result.(*local.Result)
	if !ok {
		return nil
	}
	for _, s := range r.Report().Stages {
		all = append(all, records.Stage{
			Name: s.Name, Elements: s.Elements, Written: s.Written, Bytes: s.Bytes, Element: s.Element, Group: s.Group,
			Spilled: s.Spilled, CPU: s.CPU, Seconds: s.Seconds,
		})
	}
	return all
}
