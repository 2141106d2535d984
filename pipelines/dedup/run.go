package dedup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Job is a Config that New has checked.
type Job struct {
	config Config
	asked  *job.Asked
	from   *output.Finished // the output that is decided again, or nil
	index  *index.Index     // the index that documents are compared with, or nil
}

// New checks the config, and opens the output to decide again and the index. The error of a config that is wrong is a
// *job.UsageError.
func New(ctx context.Context, c Config) (*Job, error) {
	x, err := c.takeIndex(ctx)
	if err != nil {
		return nil, err
	}
	asked, from, err := c.validate(ctx)
	if err != nil {
		return nil, err
	}
	return &Job{c, asked, from, x}, nil
}

// Run does the whole job: plan, lock, build, run, check, commit. With DryRun it only plans. It returns the record of
// the run as far as it got, also with an error.
func (j *Job) Run(ctx context.Context, launch job.Launch) (*records.Run, error) {
	r, err := newRun(j.config, j.asked)
	if err != nil {
		return nil, err
	}
	r.from, r.index, r.launch = j.from, j.index, launch
	if j.config.DryRun {
		return &r.record, r.dryRun(ctx)
	}
	// An interrupted run is still closed properly.
	ending, done := commit.Ending(ctx)
	defer done()
	if err := r.open(ctx, ending); err != nil {
		return &r.record, r.besides(ctx, err)
	}
	return &r.record, r.leave(ctx, ending, r.do(ctx))
}

// TooManyUnreadableError ends a run whose input has more unreadable records than it accepts.
type TooManyUnreadableError struct {
	sink.ReadTotals
	Rejected string // the table that lists them; "" if it was not asked for
	More     bool   // input remains to be read
}

func (e *TooManyUnreadableError) Error() string {
	see := "to list the records, add rejected to --write"
	if e.Rejected != "" {
		see = "to list the records: " + printed(e.Rejected)
	}
	if e.More {
		return fmt.Sprintf("%s; the rest of the input has not been read; %s; fix the input, or raise --max-rejected",
			strings.Replace(e.String(), " of ", " of the first ", 1), see)
	}
	if e.Unreadable == e.Records { // accepting them would leave nothing
		return fmt.Sprintf("%v; %s; fix the input, or use a different one", e.ReadTotals, see)
	}
	var parts, next []string
	if e.Unreadable > 0 {
		parts, next = append(parts, e.String()), append(next, "fix the input")
	}
	if e.Whole > 0 {
		whole := slices.DeleteFunc(slices.Clone(e.NoColumn), func(n records.NoColumn) bool { return !n.Whole() })
		parts = append(parts, fmt.Sprintf("no text column in %s of %s: %s", records.Count(e.Whole),
			records.Plural(e.Records, "record"), job.NoColumn(whole)))
		next = append(next, job.NameColumn)
	}
	return fmt.Sprintf("%s; %s; %s, or add --max-rejected %d", strings.Join(parts, "; "), see,
		strings.Join(next, ", "), e.Unreadable+e.Whole)
}

// printed returns the command that prints the table rejected of a run that failed.
func printed(rejected string) string {
	return fmt.Sprintf("neardup export %s --table rejected --format csv --output -", path.Dir(rejected))
}

// Status returns the exit status.
func (*TooManyUnreadableError) Status() int { return 4 }

// NothingComparedError ends a run in which no document was compared, even if it accepts any number of unreadable
// records.
type NothingComparedError struct {
	sink.ReadTotals
	NotCompared map[string]int64
	Rejected    string // the table that lists them; "" if it was not asked for
}

func (e *NothingComparedError) Error() string {
	if e.Records == 0 {
		return "no document was compared: the input contains no records; use a different input, or add --allow-empty"
	}
	var parts []string
	if e.Unreadable > 0 {
		parts = append(parts, e.String())
	}
	for _, reason := range slices.Sorted(maps.Keys(e.NotCompared)) {
		verb := "have"
		if e.NotCompared[reason] == 1 {
			verb = "has"
		}
		parts = append(parts, fmt.Sprintf("%s of %s %s %s", records.Count(e.NotCompared[reason]),
			records.Plural(e.Records, "document"), verb, cmp.Or(lacks[reason], reason)))
	}
	list := "to list them: "
	short, large := e.NotCompared[records.ReasonTooShort] > 0, e.NotCompared[records.ReasonTooLarge] > 0
	switch {
	case short && large:
		list = "lower --min-words, raise --max-doc-bytes, or list them: "
	case short:
		list = "lower --min-words, or list them: "
	case large:
		list = "raise --max-doc-bytes, or list them: "
	}
	if e.Rejected != "" {
		parts = append(parts, list+printed(e.Rejected))
	}
	return "no document was compared: " + strings.Join(parts, "; ")
}

// lacks maps a reason that is not a noun to what such a document has.
var lacks = map[string]string{
	records.ReasonTooLarge: "a text that is too large", records.ReasonLongID: "an id that is too long",
	records.ReasonNoToken: "no tokens",
}

// Status returns the exit status.
func (*NothingComparedError) Status() int { return 4 }

// run is one run of the job, from the lock to _SUCCESS.
type run struct {
	config  Config
	asked   *job.Asked
	from    *output.Finished
	index   *index.Index
	launch  job.Launch
	output  string // absolute path, without links
	temp    string
	commit  *commit.Commit
	begun   bool // from now on, a failure is recorded
	plan    *Plan
	planned planFacts
	record  records.Run

	// Of a run in phases: the phases' fingerprints, and the waves of the first and the last read.
	prints          map[string]string
	splits, batches []blocks.Range

	// adding is the index that the run adds to, or nil; the run's batch becomes one segment of it.
	adding  *index.Writer
	batch   string
	segment index.Segment

	fingerprint string
	listed      int64 // rows of the table documents
	// last means that no job follows the one that runs, so that another process can finish the run.
	last bool
}

// planFacts holds what the end of a run needs to know of its plan.
type planFacts struct {
	Documents int64 `json:"documents"` // as estimated
	Complete  bool  `json:"complete"`
	Shards    int   `json:"shards"`
}

func newRun(c Config, asked *job.Asked) (*run, error) {
	dir, err := job.OutputPath(c.Output)
	if err != nil {
		return nil, err
	}
	return &run{config: c, asked: asked, output: dir, record: records.Run{
		Job: commit.NewRun(), Version: Version(), Started: time.Now().UTC(), Runner: string(c.Runner), InForce: c.InForce,
		Parameters: asked.Spec, Given: asked.Given, Running: c.Record(), Formats: job.Formats(asked.Texts, asked.Family),
	}}, nil
}

// Version is the version of the module this binary was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// dryRun plans, with a temporary folder of the system instead of one in the output.
func (r *run) dryRun(ctx context.Context) (err error) {
	r.record.Status = "planned"
	return job.InTempFolder(ctx, r.config.TempDir, func(temp string) error {
		r.temp = temp
		if err := r.makePlan(ctx); err != nil {
			return err
		}
		if r.config.Output != "" {
			if err := r.checkOutput(ctx); err != nil {
				return err
			}
		}
		r.record.Forecast, err = r.plan.forecast(ctx, r.config.InForce)
		if err != nil {
			return err
		}
		f := r.record.Forecast
		if f.Whole && f.Documents == 0 && !r.config.AllowEmpty {
			r.record.Warnings = append(r.record.Warnings, "no document can be read, so the run would fail; check --format and "+
				"--text, use a different input, or add --allow-empty")
		}
		r.record.Warnings = append(r.record.Warnings, r.plan.warnOfShort(f.Short)...)
		return nil
	})
}

// open locks the output, and the index if the run adds to it. ending outlives ctx.
func (r *run) open(ctx, ending context.Context) (err error) {
	if err := r.lockIndex(ctx); err != nil {
		return err
	}
	if err := r.openOutput(ctx); err != nil {
		return errors.Join(err, r.closeIndex(ending))
	}
	return nil
}

func (r *run) openOutput(ctx context.Context) (err error) {
	if err := r.checkOutput(ctx); err != nil {
		return err
	}
	temp, err := r.tempOutside(ctx)
	if err != nil {
		return err
	}
	r.commit, err = job.Begin(ctx, r.config.TempDir, commit.Options{
		Dir: r.output, Run: r.record.Job, Overwrite: r.config.Replaces(), Weak: r.config.WeakOverwrite,
		Temp: temp, Private: !r.config.Runner.Traits().OnCluster, Lock: r.config.lock(), Warn: r.warn,
		Continue: r.config.Resume != job.ResumeNever,
	})
	if err != nil {
		return err
	}
	r.temp = r.commit.Temporary()
	return nil
}

// tempOutside returns the folder for temporary files, or "" if it belongs in the staging folder.
func (r *run) tempOutside(ctx context.Context) (string, error) {
	// A runner in this process spills to a local disk, whatever store the output is on.
	if r.config.TempDir != "" || !storage.IsLocal(r.output) && !r.config.Runner.Traits().OnCluster {
		return job.RunTemp(ctx, r.config.TempDir, r.record.Job)
	}
	return "", nil
}

func (r *run) warn(format string, args ...any) {
	r.record.Warnings = append(r.record.Warnings, fmt.Sprintf(format, args...))
}

// besides adds what is wrong with the input to the error that the output exists, so that the user can correct both.
func (r *run) besides(ctx context.Context, exists error) error {
	if job.Status(exists) != 3 || slices.Contains(r.config.Inputs, "-") {
		return exists
	}
	err := job.InTempFolder(ctx, r.config.TempDir, func(temp string) error {
		r.temp = temp
		return r.makePlan(ctx)
	})
	if job.Status(err) != 2 {
		return exists
	}
	return fmt.Errorf("%w; and %w", err, exists)
}

// isRelative reports whether the current folder decides what an input is.
func isRelative(input string) bool { return storage.IsLocal(input) && !path.IsAbs(input) }

// makePlan plans, and records what was chosen.
func (r *run) makePlan(ctx context.Context) error {
	request := job.NewRequest(r.asked, r.config.Running, r.config.DryRun)
	request.Index = r.index
	var plan *job.Plan
	var err error
	switch {
	case r.from != nil:
		plan, err = job.Follow(ctx, request, &r.from.Run)
		if job.Status(err) == 2 {
			where := ""
			if slices.ContainsFunc(r.asked.Inputs, isRelative) {
				where = "; that run found its input below its working folder; run this command there"
			}
			err = job.Usage("--from %s: cannot read its input again: %w%s", r.config.From, err, where)
		}
	case r.commit != nil: // not a dry run
		request.Reread = true
		if request.Layout, err = r.earlier(); err != nil {
			return err
		}
		fallthrough
	default:
		plan, err = job.NewPlan(ctx, request, r.temp)
	}
	if err != nil {
		return err
	}
	r.asked = plan.Request.Asked // the plan chooses the field that leads
	r.plan = &Plan{Plan: plan, Config: r.config, From: r.from}
	if r.from != nil {
		if err := r.checkInput(ctx); err != nil {
			return err
		}
	}
	if r.index != nil && !r.asked.Append {
		if err := CheckAdded(ctx, r.index); errors.As(err, new(*job.UsageError)) {
			r.warn("--against %v", err)
		} else if err != nil {
			return err
		}
	}
	r.planned = planFacts{Documents: plan.Documents, Complete: plan.Complete, Shards: plan.Listing.Inputs.Shards}
	if err := job.CheckInputNotInOutput(plan.Listing.Inputs.Paths(), r.output, r.temp); err != nil &&
		r.config.Output != "" {
		return err
	}
	if r.asked.Writes(output.Corpus) {
		if err := job.CheckCorpusNames(plan.Listing.Inputs.Inputs, r.output); err != nil {
			return err
		}
	}
	r.record.Input, r.record.References, r.record.Chosen = plan.Input(), plan.References(), plan.Chosen()
	r.record.Chosen.JoinBytes = r.plan.joinBytes()
	r.record.Warnings = append(r.record.Warnings, plan.Warnings()...)
	if r.config.DryRun {
		r.warnOfColumns(plan.NoColumn, "the run accepts them only with --max-rejected; ")
	} else { // a dry run's forecast judges by a larger sample
		r.record.Warnings = append(r.record.Warnings, r.plan.shortWarnings()...)
	}
	if plan.Sampled != "" && (r.config.DryRun || r.asked.MaxRejected != sink.Limit{}) { // else the run fails with it
		r.warn("%s", plan.Sampled)
	}
	if r.from != nil {
		return nil // the earlier run gave the warnings of the sample
	}
	if r.plan.phased() && r.plan.Layout.Waves == 0 { // else the layout of an earlier run
		r.plan.Layout.Waves = r.plan.waves()
		r.plan.LayKeys()
	}
	if err := r.plan.checkTasks(); err != nil && !r.config.DryRun {
		return err
	} else if err != nil {
		r.warn("the run would be refused: %v", err)
	}
	for _, glob := range plan.Idle {
		r.warn("--keep %s: %s matches no input file; patterns apply to paths relative to %s",
			strings.Join(r.config.Keep, ", --keep "), glob, plan.Listing.Inputs.Root)
	}
	for _, glob := range plan.Unprotecting {
		r.warn("--protect %s matches no input file; patterns apply to paths relative to %s", glob, plan.Listing.Inputs.Root)
	}
	return nil
}

// warnOfColumns warns of sources in which most documents have no text column.
func (r *run) warnOfColumns(sources []records.NoColumn, more string) {
	most := slices.DeleteFunc(slices.Clone(sources), func(n records.NoColumn) bool { return 2*n.Documents <= n.Of })
	if len(most) > 0 {
		columns, flag := r.asked.Columns()
		r.warn("%s %s: documents without this column are not compared: %s; %s%s", flag, strings.Join(columns, ", "+flag+" "),
			job.NoColumn(most), more, job.NameColumn)
	}
}

// do plans, runs the pipeline, checks its facts and commits.
func (r *run) do(ctx context.Context) (err error) {
	warnings := len(r.record.Warnings)
	if err = r.makePlan(ctx); err != nil {
		return err
	}
	if r.fingerprint, err = r.identify(ctx); err != nil {
		return err
	}
	if done, err := r.recovered(ctx, r.fingerprint); done || err != nil {
		return job.Refused(err)
	}
	if err := r.resumeIndex(ctx, warnings); err != nil {
		return err
	}
	if err := r.checkSpace(); err != nil {
		return err
	}
	r.begun = true
	if err := r.plan.Share(ctx, r.temp); err != nil {
		return err
	}
	defer r.plan.Forget(r.temp)
	if r.plan.phased() {
		if err := r.inPhases(ctx); err != nil {
			return r.cause(ctx, err)
		}
		return r.end(ctx)
	}
	if _, err := r.commit.Retain(ctx, func(commit.Part) bool { return false }); err != nil {
		return err
	}
	r.config.Tell(r.plan.reads(r.asked)...)
	if r.from == nil {
		if r.record.Stages, err = r.plan.Prepare(ctx, r.launch, r.temp); err != nil {
			return r.cause(ctx, err)
		}
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	Build(scope, r.plan, r.commit.Staged(), r.temp)
	return r.complete(ctx, pipeline)
}

// complete runs the pipeline of the tables and the corpus, checks its facts and commits.
func (r *run) complete(ctx context.Context, pipeline *beam.Pipeline) error {
	r.last = r.asked.MeasureRecall == 0 && !r.asked.Append
	ended, err := r.execute(ctx, pipeline)
	if err != nil {
		return err
	}
	r.record.Steps = counters(ended.Result)
	return r.end(ctx)
}

// end checks the facts of a run whose jobs are complete, and commits.
func (r *run) end(ctx context.Context) error {
	files, err := r.account(ctx)
	if err != nil {
		return err
	}
	if err := r.addSegment(ctx); err != nil {
		return err
	}
	r.record.Status = "done"
	r.measure()
	limit := max(textTime, time.Since(r.record.Started)/textShare)
	WritePage(ctx, &r.record, r.commit.Staged(), files, r.config.Draw, r.stagedTexts, limit)
	r.measure()
	if r.adding != nil {
		if err := r.adding.Prove(ctx); err != nil { // another writer has removed the segment
			return job.Refused(err)
		}
	}
	if err := r.commit.Publish(ctx, r.fingerprint, files, &r.record); err != nil {
		return job.Refused(err)
	}
	slog.Info("files committed", "output", r.output, "files", len(files.Files))
	return nil
}

// recovered reports whether an earlier run with the same settings was killed when it had almost published its output,
// which is then published. Its record becomes this run's.
func (r *run) recovered(ctx context.Context, fingerprint string) (bool, error) {
	done, err := r.commit.Recovered(fingerprint)
	if err != nil || !done {
		return false, err
	}
	r.record.Status = "done"
	finished, err := output.Open(ctx, r.output)
	if err != nil {
		r.warn("the output is complete, but its run.json could not be read: %v", err)
		return true, nil
	}
	warnings := r.record.Warnings
	r.record = finished.Run
	r.record.Warnings = append(r.record.Warnings, warnings...)
	return true, nil
}

// identify returns the run's fingerprint, a hash of its input and settings by which a later run recognises the same
// run. Settings of how it runs are not part of it.
func (r *run) identify(ctx context.Context) (string, error) {
	versions, err := r.versions(ctx)
	r.record.Input.Versions = versions
	sum := newDigest()
	sum.add(r.record.Parameters, r.record.Given, r.record.Formats, r.record.Version, r.config.From, versions)
	return sum.String(), err
}

// versions returns a hash of the paths, sizes and versions of all input files.
func (r *run) versions(ctx context.Context) (string, error) {
	sum := newDigest()
	err := sum.addFiles(ctx, r.plan.Listing.Inputs, 0)
	return sum.String(), err
}

// digest is a hash of values, as JSON.
type digest struct {
	hash.Hash
	encoder *json.Encoder
}

func newDigest() digest {
	sum := sha256.New()
	return digest{sum, json.NewEncoder(sum)}
}

func (d digest) add(values ...any) { _ = d.encoder.Encode(values) } // writing to a hash never fails

// addFiles adds the path, size and version of each input file, from the given one on.
func (d digest) addFiles(ctx context.Context, in *source.Inputs, first int) error {
	for i := first; i < in.Len(); i++ {
		f, _, err := in.Listed(ctx, i)
		if err != nil {
			return err
		}
		d.add(f.Path, f.Size, f.Version)
	}
	return nil
}

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)) }

func (r *run) execute(ctx context.Context, pipeline *beam.Pipeline) (job.Outcome, error) {
	ended, err := r.config.Execute(ctx, r.launch, pipeline, r.temp)
	if err != nil {
		return job.Outcome{}, r.cause(ctx, err)
	}
	if id := ended.Result.JobID(); id != "" {
		r.record.Jobs = append(r.record.Jobs, id)
	}
	r.record.Stages = append(r.record.Stages, ended.Stages...)
	return ended, nil
}

// cause returns why the pipeline failed: a *TooManyUnreadableError if it read too many such records, else err.
func (r *run) cause(ctx context.Context, err error) error {
	if read := job.Exceeded(ctx, r.temp); read != nil {
		return &TooManyUnreadableError{ReadTotals: *read}
	}
	return err
}

// close ends the run: it records a failure if the run had begun, removes temporary files, and releases the locks.
func (r *run) close(ctx context.Context, err error) error {
	if err != nil && r.begun {
		r.fail(ctx, err)
	}
	closing := r.closeIndex(ctx) // first, as removing an old output may take long
	err = r.commit.Close(ctx, err)
	switch {
	case closing == nil:
	case err == nil:
		r.warn("the output is complete, but it may not be in the index yet: %v; the next run that adds to the index also "+
			"adds this one", closing)
	default:
		err = errors.Join(err, closing)
	}
	if fenced := (*storage.FencedError)(nil); errors.As(err, &fenced) {
		return job.Refused(err)
	}
	return err
}

// fail writes the record of a run that failed.
func (r *run) fail(ctx context.Context, err error) {
	r.measure()
	var names []string
	var rejected *string // the field of err that names the table
	exceeded, nothing := (*TooManyUnreadableError)(nil), (*NothingComparedError)(nil)
	if errors.As(err, &exceeded) {
		r.record.Counts = records.Counts{Records: exceeded.Records, Unreadable: exceeded.Unreadable,
			NoColumn: exceeded.Without}
		r.record.NoColumn = exceeded.NoColumn
		rejected = &exceeded.Rejected
	} else if errors.As(err, &nothing) {
		rejected = &nothing.Rejected
	}
	if rejected != nil {
		if r.asked.Writes(output.Rejected) {
			*rejected = storage.Join(r.shown(r.commit.FailedFolder()), string(output.Rejected))
			shards := r.planned.Shards
			for shard := range shards {
				names = append(names, output.TableFile(output.Rejected, int64(shard), shards))
			}
		}
	}
	r.record.Status, r.record.Error, r.record.Exit = "failed", err.Error(), job.Status(err)
	if pipeline := (*job.PipelineError)(nil); errors.As(err, &pipeline) {
		r.record.Error = pipeline.Unwrap().Error()
	}
	if err := r.commit.Fail(ctx, &r.record, names); err != nil {
		if rejected != nil {
			*rejected = ""
		}
		if fenced := (*storage.FencedError)(nil); !errors.As(err, &fenced) { // close returns that as the run's own error
			r.warn("could not log this run: %v", err)
		}
		return
	}
	switch folder := r.commit.FailedFolder(); {
	case r.commit.Pending():
		r.warn("a record of this run is in %s", r.shown(folder))
	case folder != r.output:
		r.warn("%s is unchanged; a record of this run is in %s", r.shown(r.output), r.shown(folder))
	}
}

// shown returns the output, or the folder with the record of a failed run, in the form the user gave.
func (r *run) shown(folder string) string {
	called := storage.Join(r.config.Output)
	if abs, err := storage.Abs(called); err != nil || abs != r.output {
		return folder // the path that was given has a link in it
	}
	if called == "." || strings.HasSuffix(called, "..") {
		return folder
	}
	if folder != r.output {
		return commit.FailedDir(called)
	}
	return called
}

// measure records the run's time, memory and retries.
func (r *run) measure() {
	r.record.Seconds = time.Since(r.record.Started).Seconds()
	r.record.CPU, r.record.Peak = usage.Process()
	r.record.Retries = storage.Retries()
}
