// Package dedup is the main job: documents in, verified near-duplicates and a clean corpus out.
// It is the program's own: the root package is stable.
//
// A Config says what is asked (it is at once the command line's flags and the keys of a job file),
// New checks it, Build makes the pipeline of a plan, and Run does the whole job: plan, lock, build,
// run, check, commit.
package dedup

import (
	"cmp"
	"context"
	"slices"

	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/verify"
)

// Config is what a user asks of the job, and how it is to be done.
type Config struct {
	records.Spec
	job.How

	From string `placeholder:"DIR" help:"Decide again which documents of a finished output of dedup to keep, using its tables: --threshold (the same or higher), --keep, --cluster, --protect, --drop-not-compared and --write may differ. The input is read only to write the corpus." group:"Decision"`

	// Draw writes the page for persons; nil writes none.
	Draw Draw `kong:"-"`

	// InForce is what the runner that was chosen works with, for run.json.
	InForce records.InForce `kong:"-"`

	// Given are the names of the flags that were given, with their default value or another: those that would do nothing are refused.
	Given []string `kong:"-"`

	// Ended reports whether a job has ended that an output's lock was passed to.
	Ended func(ctx context.Context, job string) (bool, error) `kong:"-"`

	// SurveyBytes is about how much of the input a forecast is made from. 0: the usual.
	SurveyBytes int64 `kong:"-"`

	// CellBytes is the size of the shingle sets that are compared at once in large components;
	// results do not depend on it. 0: by --memory.
	CellBytes int `kong:"-"`

	// ConnectDocuments is how many documents one worker connects at most; results do not depend on
	// it. 0: the usual.
	ConnectDocuments int64 `kong:"-"`

	// TaskBytes is how much one task may send at most; results do not depend on it. 0: what the runner says.
	TaskBytes int64 `kong:"-"`

	// GatherBytes is about how much a worker gathers from files at once; results do not depend on it. 0: by --memory.
	GatherBytes int64 `kong:"-"`
}

// validate returns what is asked, parsed, or a *job.UsageError for what cannot be meant. The output that c.From names is
// open; c has what its run was asked.
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
		return job.Usage("no output: give --output DIR")
	case c.WaitLock < 0:
		return job.Usage("--wait-lock %v: must be at least 0s", c.WaitLock)
	}
	return nil
}

// checkRunner returns a *job.UsageError for flags that the runner does not heed.
func (c *Config) checkRunner(asked *job.Asked) error {
	if err := c.CheckRemote(c.Runner); err != nil {
		return err
	}
	switch runner := c.Runner.Traits(); {
	case c.Resume == job.ResumeAlways && runner.OnlyBuckets:
		return job.Usage("--resume always: a job on Dataflow continues without neardup; drop this flag")
	case c.Resume == job.ResumeAlways && slices.Contains(c.Inputs, "-"):
		return job.Usage("--resume always: standard input cannot be read again after a failure; give a file, or drop this flag")
	case !runner.OnlyBuckets:
		return c.CheckUnused()
	case c.JobServer+c.Environment != "":
		return job.Usage("--job-server and --environment: Dataflow has neither; drop them")
	case c.Leaves() && severalJobs(asked):
		return job.Usage("--detach: --signature classic, --weights tf-idf, --measure-recall and --append need several jobs, one after another; drop --detach, or these flags")
	}
	return c.CheckReached(slices.Concat(c.Inputs, c.Against), c.Output, c.TempDir)
}

// SeveralJobs reports whether the job takes more pipelines than one, so that it needs this process until its end.
func (j *Job) SeveralJobs() bool { return severalJobs(j.asked) }

func severalJobs(asked *job.Asked) bool {
	return asked.Prepares() || asked.MeasureRecall > 0 || asked.Append
}

// estimates reports whether the recall is estimated: the joins sign sets of shingle hashes again,
// which no other signature is made of.
func estimates(asked *job.Asked) bool {
	return asked.Method == job.MinHash && asked.Family == signature.FSS
}

// request is what the plan is made for.
func (c *Config) request(asked *job.Asked) job.Request {
	r := job.Request{Asked: asked, Running: c.Running, Strict: asked.MaxRejected == sink.Limit{} && !c.DryRun}
	r.GroupBytes = cmp.Or(r.GroupBytes, c.Runner.Traits().GroupBytes)
	return r
}

// smallestCell: the smaller the cells, the more often each set is read.
const smallestCell = 1 << 20

// cellBytes leaves each worker room for the sets of two cells, and their index.
func (c *Config) cellBytes() int {
	step := c.Step()
	switch {
	case c.CellBytes > 0:
		return c.CellBytes
	case step > 0:
		return max(smallestCell, min(step/4, verify.DefaultCellBytes))
	default:
		return verify.DefaultCellBytes
	}
}

// sendable is how much a job may send: what all tasks may, whose shares are not quite alike. 0: there is no bound.
func (c *Config) sendable() int64 {
	workers := max(1, cmp.Or(c.InForce.Workers, c.Workers)) // at least, if their number is not known
	return int64(workers) * expected(c.mostOfTask())
}

// mostOfTask is how much one task may send; 0 is no bound.
func (c *Config) mostOfTask() int64 { return cmp.Or(c.TaskBytes, c.Runner.Traits().TaskBytes) }

// Files for a later job are about so large, or that many: a worker holds one, and a part of each when it groups what they have.
const (
	leastKept = 1 << 20
	usualKept = 8 << 20
	mostKept  = 1 << 12
)

// keptBytes is the size of the files that keep so much, which leaves each worker room for one that it writes.
func (c *Config) keptBytes(all int64) int {
	usual := max(usualKept, int(all/mostKept))
	if step := c.Step(); step > 0 {
		return max(leastKept, min(step/2, usual))
	}
	return usual
}

// usualGather is about what a worker gathers from files at once.
const usualGather = 16 << 20

// gatherBytes is how much a worker gathers at once from the files of a folder, which leaves room for what it does with that; 0:
// the runner groups. A store would be asked for small parts of all files, and so it is where the runner cannot group.
func (c *Config) gatherBytes(folder string) int64 {
	switch step := int64(c.Step()); {
	case !storage.IsLocal(folder) && !c.Runner.Traits().Together:
		return 0
	case c.GatherBytes > 0:
		return c.GatherBytes
	case step > 0:
		return max(leastKept, min(step/4, usualGather))
	default:
		return usualGather
	}
}

// leastRecords: the fewer are held, the more files there are.
const (
	leastRecords = 1 << 20
	usualRecords = 16 << 20
)

// heldRecords leaves each worker room for the records of six orders, and for what they are sorted by; 0: as usual.
func (c *Config) heldRecords() int {
	if step := c.Step(); step > 0 {
		return max(leastRecords, min(step/8, usualRecords))
	}
	return 0
}
