package main

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/here"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// inProcess returns how to run a pipeline on a runner in this process.
func inProcess(running job.Running, shown *display) (job.Launch, error) {
	if running.Runner.Traits().Bounded {
		return logged(running.Runner, locally(running, shown)), nil
	}
	launch, err := byBeam(running.Runner)
	return logged(running.Runner, launch), err
}

// launched returns how to run a pipeline on a runner in this process or, unless the run is dry, on a cluster.
func launched(
	ctx context.Context, dry bool, running job.Running, remote job.Remote, name string, s streams,
) (job.Launch, error) {
	if dry || !running.Runner.Traits().OnCluster {
		return inProcess(running, s.Progress)
	}
	return onCluster(ctx, running, remote, name, s.Progress)
}

// inForce returns the limits of the runner, requested or default.
func inForce(running job.Running, remote job.Remote) records.InForce {
	switch runner := running.Runner.Traits(); {
	case runner.TaskBytes > 0:
		return records.InForce{Workers: parallelism(running, remote)}
	case !runner.Bounded:
		return records.InForce{Workers: running.Workers}
	}
	return here.InForce(running)
}

// logged returns start with log messages before and after each pipeline.
func logged(runner job.Runner, start job.Launch) job.Launch {
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		begun := time.Now()
		slog.Info("pipeline started", "runner", runner)
		result, stages, err := start(ctx, p, temp)
		slog.Info("pipeline ended", "seconds", time.Since(begun).Round(time.Millisecond).Seconds(), "failed", err != nil)
		return result, stages, err
	}
}

// locally returns how to run a pipeline on the local runner.
func locally(running job.Running, shown *display) job.Launch {
	if running.Workers > 0 { // some steps use all cores of the process
		runtime.GOMAXPROCS(min(running.Workers, runtime.GOMAXPROCS(0)))
	}
	return here.Launch(running, func(p local.Progress) { shown.show(sightOf(p)) })
}

// warn logs the warnings of a run.
func warn(texts []string) {
	for _, text := range texts {
		slog.Warn(text)
	}
}

// sightOf returns the progress of the local runner: of the running stages, it shows the one that will take longest or,
// if none can tell, the first.
func sightOf(p local.Progress) sight {
	s := sight{elapsed: p.Elapsed, ended: p.Ended, counts: counted(p.Metrics.AllMetrics().Counters()), done: p.Done,
		of: p.Stages, unit: "stages"}
	s.open = func(step string) bool {
		within := func(stage string) bool { return strings.HasPrefix(stage, step+"/") }
		return slices.ContainsFunc(p.Ahead, within) || slices.ContainsFunc(p.Running,
			func(s local.StageProgress) bool { return within(s.Name) })
	}
	longest := 0.0
	for _, stage := range p.Running {
		remaining := 0.0
		if stage.Fraction > 0 {
			remaining = stage.Elapsed.Seconds() * (1 - stage.Fraction) / stage.Fraction
		}
		if s.step == "" || remaining > longest {
			longest, s.share = remaining, stage.Fraction
			s.step, _, _ = strings.Cut(stage.Name, "/")
		}
	}
	return s
}
