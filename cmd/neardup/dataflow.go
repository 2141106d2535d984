package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/dataflow"
)

// onDataflow returns how to run a job on Dataflow. It fails if the service, or a bucket to write to, does not answer.
func onDataflow(ctx context.Context, c dedup.Config, task *dedup.Job, s streams) (job.Launch, error) {
	var options dataflow.Options
	options.Name, options.NumWorkers = c.JobName, int64(c.Workers)
	if err := setNamed(&options, c.DataflowOption); err != nil {
		return nil, err
	}
	follow(&options, s)
	if task.SeveralJobs() {
		options.Interrupted = nil // only this process can continue after the first job
	}
	options, err := beamcli.Dataflow(options)
	if err == nil {
		err = options.Check()
	}
	if err == nil {
		options.Worker, err = workerBinary(options.Worker, dataflow.Arch(options.MachineType))
	}
	if err != nil {
		return nil, &job.UsageError{Reason: fmt.Errorf("--runner dataflow: %w", err)}
	}
	service, err := dataflow.Connect(ctx, options, c.Output)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		result, err := service.Execute(ctx, p)
		if err != nil {
			return nil, nil, left(err)
		}
		return result, nil, nil
	}, nil
}

// setNamed sets the options that --dataflow-option names.
func setNamed(o *dataflow.Options, named map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if err := o.Set(name, named[name]); err != nil {
			return job.Usage("--dataflow-option %w", err)
		}
	}
	return nil
}

// follow sets how to follow a job.
func follow(o *dataflow.Options, s streams) {
	o.Submitted = func(id string) {
		// The line that Beam's SDKs write: schedulers look for it to follow the job.
		fmt.Fprintf(s.Raw, "Submitted job: %s\n", id)
	}
	o.Message = func(at time.Time, level slog.Level, text string) {
		slog.Log(context.Background(), min(level, slog.LevelWarn), "Dataflow: "+text, "at", at.Format(time.RFC3339))
	}
	o.Progress = func(p dataflow.Progress) {
		state := strings.ToLower(strings.TrimPrefix(p.State, "JOB_STATE_"))
		s.Progress.show(sight{
			elapsed: p.Elapsed, ended: p.Ended, counts: counted(p.Metrics.AllMetrics().Counters()),
			state: [2]string{"the Dataflow job is " + state, state},
		})
	}
	o.Interrupted = func(ctx context.Context, id string) bool {
		signal := (*job.InterruptedError)(nil)
		switch {
		case o.Cancel:
			return true
		case !errors.As(context.Cause(ctx), &signal) || signal.Signal != "SIGINT" || !s.asks():
			return false
		}
		fmt.Fprintf(s.Raw, "cancel Dataflow job %s too? [y/N] ", id)
		answer, _ := bufio.NewReader(s.In).ReadString('\n')
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
	}
}

// left converts the error of a job that continues to the type that pipelines know.
func left(err error) error {
	l := (*dataflow.LeftError)(nil)
	if !errors.As(err, &l) {
		return err
	}
	return &job.LeftError{Job: l.Job.Path(), Show: l.Job.Show(), State: l.Job.Encode(), Err: l.Unwrap()}
}

// jobEnded returns a function that asks the service whether a job has ended.
func jobEnded(endpoint string) func(ctx context.Context, path string) (bool, error) {
	return func(ctx context.Context, path string) (bool, error) {
		j, ok := dataflow.JobAt(path)
		if !ok {
			return false, nil
		}
		j.Endpoint = endpoint
		return dataflow.Ended(ctx, j)
	}
}
