// Package dedup is the main job: it reads documents, finds near-duplicates, and writes a deduplicated corpus. The
// package is internal to the program; only the root package is a stable interface.
//
// A Config holds the settings (its fields are both the flags of the command and the keys of a job file), New checks
// them, Build makes the pipeline of a plan, and Run does the whole job: plan, lock, build, run, check, commit.
package dedup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/verify"
)

// Config holds what a user wants from the job, and how to run it.
type Config struct {
	records.Spec
	job.How

	From string `placeholder:"DIR" help:"Decide again which documents of a finished output of dedup to keep, using its tables. --threshold (the same or higher), --keep, --cluster, --protect, --drop-not-compared and --write may differ. neardup reads the input only to write the corpus." group:"Decision"`

	// Draw writes the HTML report; nil writes none.
	Draw Draw `kong:"-"`

	// InForce holds the limits under which the chosen runner works, for run.json.
	InForce records.InForce `kong:"-"`

	// Given lists the flags that were given, even with their default value: those without effect are refused.
	Given []string `kong:"-"`

	// Ended reports whether the job to which an output's lock was handed over has ended.
	Ended func(ctx context.Context, job string) (bool, error) `kong:"-"`

	// SurveyBytes is about how much of the input a forecast is based on. 0: the usual amount.
	SurveyBytes int64 `kong:"-"`

	// CellBytes is the size of the shingle sets that are compared at once in large components. Results do not depend on
	// it. 0: by --memory.
	CellBytes int `kong:"-"`

	// ConnectDocuments is the maximum number of documents that one worker connects. Results do not depend on it. 0: the
	// usual number.
	ConnectDocuments int64 `kong:"-"`

	// TaskBytes is the maximum that one task may send. Results do not depend on it. 0: as the runner limits it.
	TaskBytes int64 `kong:"-"`

	// GatherBytes is about how much a worker gathers from files at once. Results do not depend on it. 0: by --memory.
	GatherBytes int64 `kong:"-"`
}

// validate returns the parsed settings, or a *job.UsageError. If c.From names an output, it is opened and returned, and
// c takes over the settings of its run.
func (c *Config) validate(ctx context.Context) (*job.Asked, *output.Finished, error) {
	if c.From == "" {
		asked, err := c.compile()
		return asked, nil, err
	}
	from, err := c.takeOver(ctx)
	if err != nil {
		return nil, nil, err
	}
	asked, err := c.compile()
	if err == nil && len(asked.Rank) > 0 {
		err = job.Usage("--from %s: its tables lack the values that --keep %s ranks documents by; run "+
			"dedup on the input instead",
			c.From, strings.Join(c.Keep, ", --keep "))
	}
	return asked, from, err
}

func (c *Config) compile() (*job.Asked, error) {
	asked, err := job.Compile(c.Spec, c.Given...)
	if err != nil {
		return nil, err
	}
	return asked, cmp.Or(c.Check(asked), job.CheckPath("--output", c.Output), c.checkRunner(asked), c.checkOutput())
}

func (c *Config) checkOutput() error {
	switch {
	case c.Output == "" && !c.DryRun:
		return job.Usage("no output; add --output DIR")
	case c.WaitLock < 0:
		return job.Usage("--wait-lock %v: must be at least 0s", c.WaitLock)
	}
	return nil
}

// checkRunner returns a *job.UsageError for flags that the runner does not support.
func (c *Config) checkRunner(asked *job.Asked) error {
	if err := c.CheckRemote(c.Runner); err != nil {
		return err
	}
	switch runner := c.Runner.Traits(); {
	case c.Resume == job.ResumeAlways && runner.OnlyBuckets:
		return job.Usage("--resume always: a job on Dataflow continues even if neardup stops; drop this flag")
	case c.Resume == job.ResumeAlways && slices.Contains(c.Inputs, "-"):
		return job.Usage("--resume always: standard input cannot be read again after a failure; give a " +
			"file, or drop this flag")
	case !runner.OnlyBuckets:
		return c.CheckUnused()
	case c.JobServer+c.Environment != "":
		return job.Usage("--job-server and --environment: Dataflow has neither; drop them")
	case c.Leaves() && severalJobs(asked):
		return job.Usage("--detach: --signature classic, --weights tf-idf, --measure-recall and --append need several " +
			"jobs, one after another; drop --detach, or these flags")
	}
	return c.CheckReached(slices.Concat(c.Inputs, c.Against), c.Output, c.TempDir)
}

// SeveralJobs reports whether the job has more than one pipeline, so that it needs this process until its end.
func (j *Job) SeveralJobs() bool { return severalJobs(j.asked) }

func severalJobs(asked *job.Asked) bool {
	return asked.Prepares() || asked.MeasureRecall > 0 || asked.Append
}

// estimates reports whether the recall is estimated. To do so, joins sign sets of shingle hashes again, which only
// works for FSS signatures.
func estimates(asked *job.Asked) bool {
	return asked.Method == job.MinHash && asked.Family == signature.FSS
}

// smallestCell is a minimum because each set is read more often the smaller cells are.
const smallestCell = 1 << 20

// cellBytes returns a cell size that leaves each worker room for the sets of two cells, and their index.
func (c *Config) cellBytes() int {
	return cmp.Or(c.CellBytes, c.Share(4, smallestCell, verify.DefaultCellBytes))
}

// sendable returns how much a job may send: the sum over all tasks, whose shares are not quite equal. 0: no limit.
func (c *Config) sendable() int64 {
	workers := max(1, cmp.Or(c.InForce.Workers, c.Workers)) // assume one if the number is not known
	return int64(workers) * expected(c.mostOfTask())
}

// mostOfTask returns how much one task may send. 0: no limit.
func (c *Config) mostOfTask() int64 { return cmp.Or(c.TaskBytes, c.Runner.Traits().TaskBytes) }

// Files for a later job have about usualKept bytes, or are larger if there would be more than mostKept: a worker that
// writes holds one file, and one that gathers holds a part of each.
const (
	leastKept = 1 << 20
	usualKept = 8 << 20
	mostKept  = 1 << 12
)

// keptBytes returns the size of the files that keep all bytes. It leaves each worker room for the one that it writes.
func (c *Config) keptBytes(all int64) int {
	return c.Share(2, leastKept, max(usualKept, int(all/mostKept)))
}

// usualGather is about how many bytes a worker gathers from files at once.
const usualGather = 16 << 20

// gatherBytes returns how much a worker gathers at once from the files of a folder, which leaves room for what it does
// with that. 0: the runner groups instead, because gathering would ask a remote store for small parts of all files,
// unless the runner cannot group.
func (c *Config) gatherBytes(folder string) int64 {
	if !storage.IsLocal(folder) && !c.Runner.Traits().Together {
		return 0
	}
	return cmp.Or(c.GatherBytes, int64(c.Share(4, leastKept, usualGather)))
}

// leastRecords is a minimum because fewer records in memory mean more files.
const (
	leastRecords = 1 << 20
	usualRecords = 16 << 20
)

// heldRecords returns how many bytes of records each worker may hold, which leaves room for those of six orders, and
// their sort keys.
func (c *Config) heldRecords() int { return c.Share(8, leastRecords, usualRecords) }
