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

// inProcess returns how a runner in this process is started.
func inProcess(running job.Running, shown *display) (job.Launch, error) {
	if running.Runner.Traits().Bounded {
		return logged(running.Runner, locally(running, shown)), nil
	}
	launch, err := byBeam(running.Runner)
	return logged(running.Runner, launch), err
}

// inForce is what the runner works with, be it asked for or the default.
func inForce(running job.Running, remote job.Remote) records.InForce {
	switch runner := running.Runner.Traits(); {
	case runner.TaskBytes > 0:
		return records.InForce{Workers: parallelism(running, remote)}
	case !runner.Bounded:
		return records.InForce{Workers: running.Workers}
	}
	return here.InForce(running)
}

// logged logs when a pipeline starts and ends.
func logged(runner job.Runner, start job.Launch) job.Launch {
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		begun := time.Now()
		slog.Info("pipeline started", "runner", runner)
		result, stages, err := start(ctx, p, temp)
		slog.Info("pipeline ended", "seconds", time.Since(begun).Round(time.Millisecond).Seconds(), "failed", err != nil)
		return result, stages, err
	}
}

// locally returns how the local runner is started.
func locally(running job.Running, shown *display) job.Launch {
	if running.Workers > 0 { // some steps use all cores that the process may
		runtime.GOMAXPROCS(min(running.Workers, runtime.GOMAXPROCS(0)))
	}
	return here.Launch(running, func(p local.Progress) { shown.show(sightOf(p)) })
}

// warn logs what a run warns of.
func warn(texts []string) {
	for _, text := range texts {
		slog.Warn(text)
	}
}

// sightOf is what the local runner tells: of the stages that run, the one that will take longest or, if none is on its way, the first.
func sightOf(p local.Progress) sight {
	s := sight{elapsed: p.Elapsed, ended: p.Ended, counts: counted(p.Metrics.AllMetrics().Counters()), done: p.Done, of: p.Stages, unit: "stages"}
	s.open = func(step string) bool {
		within := func(stage string) bool { return strings.HasPrefix(stage, step+"/") }
		return slices.ContainsFunc(p.Ahead, within) || slices.ContainsFunc(p.Running, func(s local.StageProgress) bool { return within(s.Name) })
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
