package dedup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// TooManyUnreadableError ends a run whose input has more unreadable records than it accepts.
type TooManyUnreadableError struct {
	sink.ReadTotals
	Rejected string // the table that lists them; "" if it was not asked for
}

func (e *TooManyUnreadableError) Error() string {
	see := "write the table rejected to see them all"
	if e.Rejected != "" {
		see = "all are in " + e.Rejected
	}
	return fmt.Sprintf("%v; %s; mend them, or accept them with --max-rejected %d", e.ReadTotals, see, e.Unreadable)
}

// Launch runs a pipeline on the runner that the Config names; temp is the run's folder for
// temporary files. Stages are what the runner tells of its work, if it does.
type Launch func(ctx context.Context, p *beam.Pipeline, temp string) (result beam.PipelineResult, stages []records.Stage, err error)

// Run does the whole job: plan, lock, build, run, check, commit. With DryRun it only plans. The
// record of the run is returned as far as it got, also beside an error.
func Run(ctx context.Context, c Config, launch Launch) (run *records.Run, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	job, err := newJob(c)
	if err != nil {
		return nil, err
	}
	if c.DryRun {
		return &job.record, job.dryRun(ctx)
	}
	if err := job.open(ctx); err != nil {
		return &job.record, err
	}
	err = job.run(ctx, launch)
	return &job.record, job.close(ctx, err)
}

// job is one run of the pipeline, from the lock to _SUCCESS.
type job struct {
	config Config
	output string // absolute
	work   string // a folder in the output that only this run has
	temp   string
	lock   *storage.Lock
	begun  bool // the output is this run's own
	plan   *Plan
	record records.Run
}

func newJob(c Config) (*job, error) {
	output, err := filepath.Abs(c.Output)
	if err != nil {
		return nil, err
	}
	id := newID()
	work := filepath.Join(output, tempPrefix+id)
	temp := work
	if c.TempDir != "" {
		if temp, err = filepath.Abs(filepath.Join(c.TempDir, "neardup-"+id)); err != nil {
			return nil, err
		}
	}
	parameters, err := toMap(c)
	if err != nil {
		return nil, err
	}
	return &job{config: c, output: output, work: work, temp: temp, record: records.Run{
		Status: "running", Job: id, Version: Version(), Started: time.Now().UTC(),
		Runner: c.Runner, Parameters: parameters, Formats: Formats(c.Signature),
	}}, nil
}

func newID() string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

func toMap(v any) (m map[string]any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(data, &m)
}

// Version is the version of the module this binary was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// dryRun plans, with a temporary folder of the system's in place of the output's.
func (j *job) dryRun(ctx context.Context) (err error) {
	if j.config.Output != "" {
		if err := j.checkOutput(); err != nil {
			return err
		}
	}
	if j.temp, err = os.MkdirTemp(j.config.TempDir, "neardup-"); err != nil {
		return err
	}
	j.record.Status = "planned"
	return errors.Join(j.makePlan(ctx), os.RemoveAll(j.temp))
}

// checkOutput refuses an output that is not to be filled.
func (j *job) checkOutput() error {
	if err := outside(j.config.Inputs, j.output); err != nil {
		return err
	}
	return checkFolder(j.output, j.config.Overwrite)
}

// open takes the output's lock. What an earlier run left there stays until begin.
func (j *job) open(ctx context.Context) (err error) {
	if err := j.checkOutput(); err != nil {
		return err
	}
	if err := os.MkdirAll(j.output, 0o777); err != nil {
		return err
	}
	var former *storage.Holder
	j.lock, former, err = storage.Acquire(ctx, filepath.Join(j.output, lockFile), j.record.Job, j.config.ForceUnlock)
	if locked := (*storage.LockedError)(nil); errors.As(err, &locked) {
		return &OutputExistsError{locked.Error()}
	}
	if err != nil {
		return err
	}
	if former != nil {
		j.warn(fmt.Sprintf("took over the lock of job %s (process %d on %s)", former.Job, former.PID, former.Host))
	}
	err = checkFolder(j.output, j.config.Overwrite) // another run may have finished meanwhile
	if err == nil {
		err = errors.Join(storage.Begin(ctx, j.temp), storage.Begin(ctx, j.made()))
	}
	if err != nil {
		return j.close(ctx, err)
	}
	return nil
}

// made is the folder where workers write tables and corpus. They come to their place in the output
// when all is done, and no worker that outlives its run can reach them there.
func (j *job) made() string { return filepath.Join(j.work, "out") }

// begin makes the output this run's own: empty of what an earlier run left, and marked.
func (j *job) begin(ctx context.Context) error {
	if err := clean(j.output, j.work); err != nil {
		return err
	}
	j.begun = true
	return j.writeRecord(ctx)
}

func (j *job) warn(text string) { j.record.Warnings = append(j.record.Warnings, text) }

func (j *job) writeRecord(ctx context.Context) error {
	return writeJSON(ctx, filepath.Join(j.output, records.RunFile), &j.record)
}

func writeJSON(ctx context.Context, path string, v any) error {
	_, err := storage.WriteFile(ctx, path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	})
	return err
}

// MakePlan is NewPlan with what standard input holds, if that is an input, copied to the folder temp.
func MakePlan(ctx context.Context, c Config, temp string) (*Plan, error) {
	c.stdin = filepath.Join(temp, "stdin")
	plan, err := await(ctx, patience, func() (*Plan, error) {
		if err := spool(ctx, c); err != nil {
			return nil, err
		}
		return NewPlan(ctx, c)
	})
	if err == nil {
		slog.Info("plan made", "files", len(plan.Listing.Inputs.Files), "bytes", plan.Listing.Inputs.Bytes(), "documents", plan.Documents,
			"bands", plan.Choice.Bands, "rows", plan.Choice.Rows, "signature", plan.Choice.Signature)
		slog.Debug("bands and rows chosen", "reason", plan.Choice.Reason)
	}
	return plan, err
}

// Share writes to the folder temp what the workers of a pipeline need to know of the plan.
func (p *Plan) Share(ctx context.Context, temp string) error {
	return storage.WriteShared(ctx, filepath.Join(temp, inputsFile), p.Listing.Inputs)
}

// Forget drops what this process keeps of what workers need to know.
func (p *Plan) Forget(temp string) {
	storage.Forget(filepath.Join(temp, inputsFile))
	p.Dictionary(temp).Forget()
}

// makePlan plans and records what was chosen.
func (j *job) makePlan(ctx context.Context) (err error) {
	if j.plan, err = MakePlan(ctx, j.config, j.temp); err != nil {
		return err
	}
	listing := j.plan.Listing
	if err := apart(listing.Inputs.Files, j.output, j.temp); err != nil && j.config.Output != "" {
		return err
	}
	j.record.Input = records.RunInput{
		Root: listing.Inputs.Root, Files: len(listing.Inputs.Files), Bytes: listing.Inputs.Bytes(),
		Splits: len(listing.Inputs.Splits), Skipped: len(listing.Skipped),
	}
	j.record.Chosen = j.plan.chosen()
	j.record.Warnings = append(j.record.Warnings, j.plan.Warnings()...)
	return nil
}

// spool copies standard input, which is read more than once, to a file.
func spool(ctx context.Context, c Config) error {
	if !slices.Contains(c.Inputs, "-") {
		return nil
	}
	if c.Format == "" {
		return usage("standard input has no name to tell its format; give --format")
	}
	_, err := storage.WriteFile(ctx, c.stdin, func(w io.Writer) error {
		_, err := io.Copy(w, os.Stdin)
		return err
	})
	return err
}

// misled is how many times the estimate of documents makes it wrong enough to be told.
const misled = 4

// run plans, runs the pipeline, checks its totals and commits.
func (j *job) run(ctx context.Context, launch Launch) error {
	if err := j.makePlan(ctx); err != nil {
		return err
	}
	if err := j.checkSpace(); err != nil {
		return err
	}
	if err := j.begin(ctx); err != nil {
		return err
	}
	j.spoolCompressed()
	if err := j.plan.Share(ctx, j.temp); err != nil {
		return err
	}
	defer j.plan.Forget(j.temp)
	if err := j.numberShingles(ctx, launch); err != nil {
		return err
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	Build(scope, j.plan, j.made(), j.temp)
	ended, err := j.launch(ctx, launch, pipeline)
	if err != nil {
		return err
	}
	j.record.Steps, j.record.Stages = counters(ended.result), append(j.record.Stages, ended.stages...)
	if len(j.record.Steps) == 0 {
		j.warn("the runner returned no counters, so run.json has no steps")
	}
	if column := j.config.Source().Rank.Column; column != "" && j.record.Steps["fetch/documents"] > 0 && j.record.Steps["fetch/values"] == 0 {
		j.warn(fmt.Sprintf("--keep %s: no document that was compared has a number or a string in column %q, so input order decided", j.config.Keep, column))
	}
	facts, err := ledger(filepath.Join(j.temp, ledgerFile))
	if err != nil {
		return err
	}
	j.record.Counts = totals(facts)
	if n, expected := j.record.Counts[records.CountRecords], j.plan.Documents; n > misled*expected {
		j.warn(fmt.Sprintf("%d records were read where the sample let expect %d: groups, and memory, may have been larger than planned", n, expected))
	}
	if j.config.Method == "minhash" {
		j.record.Recall = estimatedRecall(facts)
		if !j.config.estimates() {
			j.record.Recall.Estimated = nil
		}
	}
	if err := j.checkLoss(); err != nil {
		return err
	}
	files := manifest(facts)
	if j.config.MeasureRecall > 0 {
		if err := j.measure(ctx, launch, facts, files); err != nil {
			return err
		}
	}
	if err := publish(j.made(), j.output, outputs...); err != nil {
		return err
	}
	slog.Info("files committed", "output", j.output, "files", len(files.Files))
	return writeJSON(ctx, filepath.Join(j.output, records.ManifestName), files)
}

// numberShingles writes the dictionary that the signature classic needs.
func (j *job) numberShingles(ctx context.Context, launch Launch) error {
	if j.config.Signature != string(signature.Classic) {
		return nil
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	_, docs, _ := j.plan.read(scope, j.temp)
	j.plan.Dictionary(j.temp).Build(scope, j.plan.Text, docs)
	ended, err := j.launch(ctx, launch, pipeline)
	if err != nil {
		return err
	}
	j.record.Stages = ended.stages
	return j.plan.CheckDictionary(ctx, j.temp)
}

func (j *job) launch(ctx context.Context, launch Launch, pipeline *beam.Pipeline) (Outcome, error) {
	ended, err := j.config.Execute(ctx, launch, pipeline, j.temp)
	if err != nil {
		return Outcome{}, j.cause(err)
	}
	if id := ended.result.JobID(); id != "" {
		j.record.Jobs = append(j.record.Jobs, id)
	}
	return ended, nil
}

// Outcome is what Launch returns.
type Outcome struct {
	result beam.PipelineResult
	stages []records.Stage
}

// Execute runs a pipeline, and waits for it to stop when ctx is done.
func (r *Running) Execute(ctx context.Context, launch Launch, pipeline *beam.Pipeline, temp string) (Outcome, error) {
	ended, err := await(ctx, r.patience(), func() (Outcome, error) {
		result, stages, err := launch(ctx, pipeline, temp)
		return Outcome{result, stages}, err
	})
	if err != nil {
		err = &PipelineError{err}
	}
	return ended, err
}

// patience is how long an interrupted run waits for what may not stop by itself.
const patience = 2 * time.Second

// patience is how long an interrupted run waits for the runner: the local one stops by itself, and
// has files to remove; a job on a cluster is cancelled there.
func (r *Running) patience() time.Duration {
	if r.Runner == "local" || r.OnCluster() {
		return math.MaxInt64
	}
	return patience
}

// await returns what do returns or, when ctx is done and do does not end in time, ctx's error:
// neither a read of standard input nor prism in the middle of a bundle can be stopped.
func await[T any](ctx context.Context, patience time.Duration, do func() (T, error)) (T, error) {
	type returned struct {
		value T
		err   error
	}
	done := make(chan returned, 1)
	go func() {
		value, err := do()
		done <- returned{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(patience):
	}
	var none T
	return none, ctx.Err()
}

// cause finds out why the pipeline failed.
func (j *job) cause(err error) error {
	data, readErr := os.ReadFile(filepath.Join(j.temp, exceededFile))
	if readErr != nil {
		return err
	}
	exceeded := &TooManyUnreadableError{}
	if j.config.writes("rejected") {
		exceeded.Rejected = filepath.Join(j.config.Output, "rejected")
	}
	if err := json.Unmarshal(data, &exceeded.ReadTotals); err != nil {
		return err
	}
	return exceeded
}

// PipelineError is the error of a step, as the runner reports it: Error gives the step's own
// words, Unwrap all of it.
type PipelineError struct{ err error }

func (e *PipelineError) Error() string {
	// Our runners tell the step's words from their own.
	var step interface{ Cause() string }
	if errors.As(e.err, &step) {
		return step.Cause()
	}
	const mark = "] failed:\n" // ends Beam's account of the DoFn and its plan
	text := e.err.Error()
	if i := strings.LastIndex(text, mark); i >= 0 {
		return text[i+len(mark):]
	}
	return text
}

func (e *PipelineError) Unwrap() error { return e.err }

// spoolCompressed has the plain bytes of large compressed files kept for those who read them again,
// where there is ample room. They are not worth it where workers are elsewhere, or where the first
// to read a file does not read all of it.
func (j *job) spoolCompressed() {
	const (
		large = 1 << 20
		ample = 20 // times the compressed size: text mostly takes a tenth to a third of its size
	)
	var stat syscall.Statfs_t
	if j.config.Runner != "local" || j.config.Limit > 0 || syscall.Statfs(j.temp, &stat) != nil {
		return
	}
	free := int64(stat.Bavail) * stat.Bsize
	files := j.plan.Listing.Inputs.Files
	for i := range files {
		if f := &files[i]; f.Compression != "" && f.Size > large && f.Size*ample < free {
			f.Spool = filepath.Join(j.temp, "plain", strconv.Itoa(i))
			free -= f.Size * ample
		}
	}
}

// checkSpace compares what the corpus may take with what is free.
func (j *job) checkSpace() error {
	var stat syscall.Statfs_t
	if !j.config.writes("corpus") || syscall.Statfs(j.output, &stat) != nil {
		return nil
	}
	need, free := uint64(j.plan.Listing.Inputs.Bytes()), stat.Bavail*uint64(stat.Bsize)
	if need > free {
		return fmt.Errorf("corpus/ may take %d bytes and %s has %d free; make room, choose another --output, or --write pairs,clusters,removed,rejected", need, j.output, free)
	}
	return nil
}

func ledger(path string) ([]blocks.Fact, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the pipeline ended without its ledger: %w", err)
	}
	defer f.Close()
	return sink.ReadLedger(f)
}

// checkLoss holds the promise that nothing is lost.
func (j *job) checkLoss() error {
	n := j.record.Counts
	if j.config.writes("corpus") && n[records.CountRecords] != n[records.CountCorpus]+n[records.CountRemoved]+n[records.CountUnreadable] {
		return fmt.Errorf("lost records: %d were read, but %d in corpus + %d removed + %d unreadable; this is an error in neardup, please report it with run.json",
			n[records.CountRecords], n[records.CountCorpus], n[records.CountRemoved], n[records.CountUnreadable])
	}
	return nil
}

// close ends the run: the mark of success last, or what went wrong, and no temporary files.
func (j *job) close(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx) // an interrupted run tells of itself
	if !j.begun {
		err = errors.Join(err, os.RemoveAll(j.temp), os.RemoveAll(j.work), j.lock.Release())
		os.Remove(j.output) // if it is empty; it is then as it was
		return err
	}
	j.record.Seconds = time.Since(j.record.Started).Seconds()
	j.usage()
	var exceeded *TooManyUnreadableError
	switch {
	case err == nil:
		j.record.Status = "done"
	case errors.As(err, &exceeded):
		err = errors.Join(err, publish(j.made(), j.output, "rejected"))
		j.record.Status, j.record.Error = "failed", exceeded.Error()
		j.record.Counts = map[string]int64{records.CountRecords: exceeded.Records, records.CountUnreadable: exceeded.Unreadable}
	default:
		j.record.Status, j.record.Error = "failed", err.Error()
		if pipeline := (*PipelineError)(nil); errors.As(err, &pipeline) {
			j.record.Error = pipeline.err.Error()
		}
	}
	failed := err != nil
	err = errors.Join(err, os.RemoveAll(j.temp), os.RemoveAll(j.work), j.writeRecord(ctx))
	if !failed && err == nil {
		_, err = storage.WriteFile(ctx, filepath.Join(j.output, records.SuccessFile), func(io.Writer) error { return nil })
	}
	return errors.Join(err, j.lock.Release())
}

// usage records what the process took.
func (j *job) usage() {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		seconds := func(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
		j.record.CPU = seconds(usage.Utime) + seconds(usage.Stime)
		j.record.Peak = usage.Maxrss
		if runtime.GOOS != "darwin" {
			j.record.Peak <<= 10 // counted in KiB
		}
	}
}
