package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// here returns how a runner in this process is started.
func here(running job.Running, progress io.Writer) (job.Launch, error) {
	switch running.Runner {
	case job.Local:
		return logged(running.Runner, locally(running, progress)), nil
	case job.Prism:
		if !prismLinked {
			return nil, job.Usage("--runner prism: this binary is built without it; build one with go build -tags prism ./cmd/neardup, or leave the flag out")
		}
	}
	return logged(running.Runner, func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		result, err := beam.Run(ctx, string(running.Runner), p)
		return result, nil, err
	}), nil
}

// inForce is what the runner works with, be it asked for or the default.
func inForce(running job.Running) records.InForce {
	if running.Runner != job.Local {
		return records.InForce{Workers: running.Workers}
	}
	workers, memory := local.Options{Workers: running.Workers, Memory: int64(running.Memory)}.InForce()
	return records.InForce{Workers: workers, Memory: memory}
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
func locally(running job.Running, progress io.Writer) job.Launch {
	show := showProgress(progress)
	if running.Memory > 0 { // for the plan, too
		debug.SetMemoryLimit(int64(running.Memory) / 10 * 9)
	}
	return func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		ctx = local.WithOptions(ctx, local.Options{
			Workers: running.Workers, Memory: int64(running.Memory), TempDir: temp,
			Progress: func(p local.Progress) { show(p.Elapsed, p.Ended, describe(p)) },
		})
		result, err := local.Execute(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		return result, stages(result), nil
	}
}

// showProgress returns what shows how far the pipeline is: on a terminal a line that is written
// over, elsewhere one that is logged every 10 seconds.
func showProgress(w io.Writer) func(elapsed time.Duration, ended bool, text string) {
	if terminal.Watched(w) {
		return func(elapsed time.Duration, ended bool, text string) {
			const begin, erase = "\r", "\x1b[K"
			if ended {
				fmt.Fprint(w, begin+erase)
				return
			}
			fmt.Fprint(w, begin+fitted(fmt.Sprintf("%v, %s", elapsed.Round(time.Second), text), terminal.Width(w)-1)+erase)
		}
	}
	const interval = 10 * time.Second
	next := interval
	return func(elapsed time.Duration, ended bool, text string) {
		switch {
		case ended:
			next = interval // of the next pipeline
		case elapsed >= next:
			next = elapsed + interval
			logging.Notice(fmt.Sprintf("%v, %s", elapsed.Round(time.Second), text))
		}
	}
}

// fitted is as much of a line of progress as a line of the screen has room for: the last column must stay free. It lacks parts, from the end.
func fitted(text string, width int) string {
	for utf8.RuneCountInString(text) > width {
		end := strings.LastIndexAny(text, ",;")
		if end < 0 {
			return terminal.Cut(text, width)
		}
		text = text[:end]
	}
	return text
}

// warn logs what a run warns of.
func warn(texts []string) {
	for _, text := range texts {
		slog.Warn(text)
	}
}

// describe says how far the pipeline is, and the stage that will take longest of those that run.
func describe(p local.Progress) string {
	var read int64
	for _, c := range p.Metrics.AllMetrics().Counters() {
		if c.Namespace() == "read" && c.Name() == "records" {
			read += c.Committed
		}
	}
	text := fmt.Sprintf("%d records read, %d of %d stages done", read, p.Done, p.Stages)
	var longest string
	var most time.Duration
	for _, s := range p.Running {
		if s.Fraction > 0 && s.Elapsed > time.Second {
			left := time.Duration(float64(s.Elapsed) * (1 - s.Fraction) / s.Fraction)
			if left >= most {
				most = left
				step, _, _ := strings.Cut(s.Name, "/")
				longest = fmt.Sprintf("; %s %.0f %%, about %s left in it", step, 100*s.Fraction, left.Round(time.Second))
			}
		}
	}
	return text + longest
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
