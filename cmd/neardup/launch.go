package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// launch returns how the runner that was asked for is started.
func (c *dedupCmd) launch(progress io.Writer) dedup.Launch {
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		if c.Runner != "local" {
			result, err := beam.Run(ctx, c.Runner, p)
			return result, nil, err
		}
		ctx = local.WithOptions(ctx, local.Options{
			Workers: c.Workers, Memory: int64(c.Memory), TempDir: temp, Progress: every(10*time.Second, progress),
		})
		result, err := local.Execute(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		return result, stages(result), nil
	}
}

// every prints how far the pipeline is, a line each interval.
func every(interval time.Duration, w io.Writer) func(local.Progress) {
	next := interval
	return func(p local.Progress) {
		if p.Elapsed < next || p.Done == p.Stages {
			return
		}
		next = p.Elapsed + interval
		fmt.Fprintf(w, "neardup: %s, %d of %d stages done", p.Elapsed.Round(time.Second), p.Done, p.Stages)
		for _, s := range p.Running {
			fmt.Fprintf(w, "; %s %.0f %%", s.Name, 100*s.Fraction)
		}
		fmt.Fprintln(w)
	}
}

func stages(result beam.PipelineResult) (all []records.Stage) {
	r, ok := result.(*local.Result)
	if !ok {
		return nil
	}
	for _, s := range r.Report().Stages {
		all = append(all, records.Stage{
			Name: s.Name, Elements: s.Elements, Written: s.Written, Bytes: s.Bytes,
			Spilled: s.Spilled, CPU: s.CPU, Seconds: s.Seconds,
		})
	}
	return all
}
