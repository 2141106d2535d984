package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
	"github.com/neardup/neardup/runners/dataflow"
)

type dedupCmd struct {
	dedup.Config
	Job      configfile.Flag `name:"config" placeholder:"FILE" help:"Job file: TOML that sets flags by name; the command line wins." group:"Running"`
	JSON     bool            `name:"json" help:"Print run.json instead of the summary." group:"Output"`
	Watching watching        `embed:""`
	Gone     goneOfDedup     `embed:""`
	// TempLocation is Beam's flag for the folder for temporary files; on Dataflow, for the service's.
	TempLocation string `hidden:"" group:"Cluster"`

	// Named is the name by which the command was called.
	Named string `kong:"-"`

	shown *records.Example // for the summary, read while the run had its inputs decompressed; nil if it was not
}

// AfterApply records the name of the command, and which flags the command line or the job file sets.
func (c *dedupCmd) AfterApply(command *kong.Context) error {
	c.Named = subcommand(command)
	c.Given = given(command)
	if !slices.Contains(c.Given, "text") && len(job.ColumnsOf(c.Match)) > 0 {
		c.Text = nil // rules of similarity are the whole comparison
	}
	if c.Runner.Traits().OnlyBuckets && c.TempLocation != "" {
		if c.DataflowOption == nil {
			c.DataflowOption = map[string]string{}
		}
		c.DataflowOption["temp-location"] = c.TempLocation
	}
	return nil
}

// given returns the flags that the command line or the job file sets, in the form that files use.
func given(command *kong.Context) (names []string) {
	for _, path := range command.Path {
		if path.Flag != nil {
			names = append(names, strings.ReplaceAll(path.Flag.Name, "-", "_"))
		}
	}
	return names
}

// Run runs the job and prints what it found.
func (c *dedupCmd) Run(ctx context.Context, s streams) error {
	if !c.DryRun {
		signal.Ignore(syscall.SIGPIPE) // a closed pipe must not end the run; the write fails instead
	}
	unread := readFrom(ctx, &c.Input, &c.Running, s)
	w, err := c.watch()
	if err != nil {
		return withHelp(err, c.Named)
	}
	var found *records.Run
	if unread == nil {
		found, err = c.do(ctx, s)
	} else {
		err = withHelp(unread, c.Named)
	}
	if left := (*job.LeftError)(nil); errors.As(err, &left) { // the run has not ended
		return c.left(s.Out, left, found)
	}
	w.end(context.WithoutCancel(ctx), found, job.Cause(ctx, err))
	return err
}

// do does the work of Run, and returns the record of the run, if it has begun.
func (c *dedupCmd) do(ctx context.Context, s streams) (found *records.Run, err error) {
	if err := c.relocate(); err != nil {
		return nil, err
	}
	c.InForce, c.Draw = inForce(c.Running, c.Remote), report.Page
	if !c.JSON && !s.Quiet {
		c.Draw = c.draw
	}
	var options dataflow.Options
	if err := setNamed(&options, c.DataflowOption); err != nil {
		return nil, withHelp(err, c.Named)
	}
	c.Ended, c.Planned = jobEnded(options.Endpoint), s.Progress.plan
	task, err := dedup.New(ctx, c.Config)
	if err != nil {
		return nil, withHelp(err, c.Named)
	}
	return c.run(ctx, task, s)
}

// draw draws the page, and keeps the example pair, with its texts, for the summary.
func (c *dedupCmd) draw(ctx context.Context, w io.Writer, f *output.Finished, texts dedup.TextsOf) error {
	c.shown, _ = dedup.Example(ctx, f, texts) // on an error it is read again, and the error reported
	return report.Page(ctx, w, f, texts)
}

// relocate uses Beam's folder for temporary files as --temp-dir, and makes it if necessary, as Beam does. On Dataflow
// it is the service's.
func (c *dedupCmd) relocate() error {
	if c.TempLocation == "" || c.TempDir != "" || c.DryRun || c.Runner.Traits().OnlyBuckets {
		return nil
	}
	if !strings.Contains(c.TempLocation, "://") {
		if err := os.MkdirAll(c.TempLocation, 0o777); err != nil {
			return job.Usage("--temp-location %w", err)
		}
	}
	c.TempDir = c.TempLocation
	return nil
}

func (c *dedupCmd) run(ctx context.Context, task *dedup.Job, s streams) (*records.Run, error) {
	launch, err := c.launch(ctx, task, s)
	if err != nil {
		return nil, err
	}
	run, err := task.Run(ctx, launch)
	if run != nil {
		warn(run.Warnings)
	}
	if left := (*job.LeftError)(nil); errors.As(err, &left) {
		return run, err
	}
	if err != nil {
		return run, &runError{interrupted(job.Cause(ctx, err), c.Output, c.DryRun), run}
	}
	if s.Quiet && !c.JSON && !c.DryRun {
		return run, nil
	}
	err = c.print(ctx, s.Out, run)
	if err != nil && !c.DryRun { // the run is committed nevertheless
		slog.Warn(fmt.Sprintf("%v; the run is complete; see %s/%s", err, c.Output, output.RunFile))
		return run, nil
	}
	return run, err
}

// interrupted adds to an error what an interruption leaves.
func interrupted(err error, output string, dry bool) error {
	var pending interface{ Pending() bool } // such an error says so itself
	if interrupted := (*job.InterruptedError)(nil); errors.As(err, &interrupted) && !dry && !errors.As(err, &pending) {
		return fmt.Errorf("%w; any finished output in %s is unchanged; run the same command again", err, output)
	}
	return err
}

// left prints how to follow a job that continues, or returns an error that says so, unless the user asked to leave it.
func (c *dedupCmd) left(w io.Writer, left *job.LeftError, run *records.Run) error {
	if left.Err != nil {
		return &runError{fmt.Errorf("%w; publish its output when it has ended:\n  neardup finish %s", left, c.Output), run}
	}
	if c.JSON {
		return output.JSON(w, run)
	}
	_, err := fmt.Fprintf(w, "submitted   %s\nshow it     %s\nfinish it   neardup finish %s\n",
		left.Job, left.Show, c.Output)
	return err
}

// print prints the result of the run or, if it was dry, the plan.
func (c *dedupCmd) print(ctx context.Context, w io.Writer, run *records.Run) error {
	switch {
	case c.JSON:
		return output.JSON(w, run)
	case c.DryRun:
		return report.Plan(w, terminal.Width(w), run)
	}
	example, err := c.example(ctx, run)
	if err != nil {
		slog.Warn(fmt.Sprintf("cannot show an example pair: %v", err))
	}
	return report.Summary(w, terminal.Width(w), run, c.Output, example)
}

// launch returns how to run a pipeline on the chosen runner. It fails if a cluster cannot be reached, before the run
// has changed anything.
func (c *dedupCmd) launch(ctx context.Context, task *dedup.Job, s streams) (job.Launch, error) {
	if runner := c.Runner.Traits(); runner.OnCluster && !runner.JobServer && !c.DryRun {
		return onDataflow(ctx, c.Config, task, s)
	}
	return launched(ctx, c.DryRun, c.Running, c.Remote, cmp.Or(c.JobName, jobName(c.Inputs)), s)
}

// example returns a pair to show, or nil if there is none.
func (c *dedupCmd) example(ctx context.Context, run *records.Run) (example *records.Example, err error) {
	defer func() { // parquet-go may panic on a file that it cannot read
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	if run.Counts.NearPairs == 0 || !c.Wrote(string(output.Pairs)) || slices.Contains(c.Inputs, "-") {
		return nil, nil // standard input cannot be read again
	}
	if c.shown != nil {
		return c.shown, nil
	}
	finished, err := output.Open(ctx, c.Output)
	if err != nil {
		return nil, err
	}
	return dedup.Example(ctx, finished, dedup.Texts(finished))
}
