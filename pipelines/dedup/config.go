// Package dedup is the main job: documents in, verified near-duplicates and a clean corpus out.
//
// A Config says what is asked (it is at once the command line's flags and the keys of a job file),
// New checks it, Build makes the pipeline of a plan, and Run does the whole job: plan, lock, build,
// run, check, commit.
package dedup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/verify"
)

// Config is what a user asks of the job.
type Config struct {
	job.Input
	Output      string    `short:"o" placeholder:"DIR" help:"Folder for the results: new, empty, or left by an unfinished run; with --overwrite also a finished output. Required except with --dry-run." group:"Output"`
	MaxRejected Tolerance `default:"0" placeholder:"N|P%" help:"Unreadable records, and documents of sources without the text column, to accept, as a number or a percentage; with more, the run ends with status 4 (default: ${default})." group:"Input"`

	AllowEmpty bool `help:"Succeed with empty tables if there is no input file or no document to compare. A local path that does not exist still fails, unless it is a pattern." group:"Input"`

	job.Similarity

	Method Method `default:"minhash" enum:"${methods}" help:"minhash (near-duplicates, found by signatures), simhash (near-duplicates, found by SimHash signatures), complete (all near-duplicates: every document is compared) or exact (copies only, as --same defines them; ignores --threshold)." group:"Search"`
	Same   Same   `placeholder:"WHAT" help:"Definition of a copy for --method exact: bytes (the text as decoded; the default), tokens (the same words, characters or bytes in the same order after --normalize) or set (the same shingles)." group:"Search"`
	job.Search
	job.Comparing

	MeasureRecall int `placeholder:"N" help:"Measure the recall: read the input again and compare N documents, drawn by --seed, with all others. The summary has the share of their near pairs that the run found." group:"Search"`

	Cluster         Cluster       `default:"star" enum:"${clusters}" help:"star: remove a document only if a kept one is at least threshold similar to it; components: keep one document of each cluster, so chains of similar documents remove others that do not resemble it." group:"Decision"`
	Keep            Keep          `default:"first" placeholder:"POLICY" help:"Which of similar documents to keep: first in input order, longest (bytes of text), max:COLUMN or min:COLUMN (numbers before strings, none last), or prefer:GLOB,... (documents of files that match the first pattern, then the second, then others). Ties go to the first in input order (default: ${default})." group:"Decision"`
	Protect         []string      `sep:"none" placeholder:"GLOB" help:"Never remove documents of files that match, even if they are similar to each other. Other documents that resemble one are removed in its favour, whatever --keep says. Repeat for several patterns." group:"Decision"`
	DropNotCompared bool          `help:"Also leave documents that are not compared out of the corpus: those without text or token, with too few words, or beyond a limit." group:"Decision"`
	MaxRemoved      Share         `placeholder:"P%" help:"End with status 5 and publish nothing if the run would remove more than this percentage of the documents of an input file, or of a folder whose files are a document each." group:"Decision"`
	NoText          bool          `help:"Leave the texts of documents out of report.html." group:"Output"`
	Write           []output.Part `default:"${parts}" enum:"${parts}" placeholder:"NAME" help:"What to write: any of ${enum} (default: all)." group:"Output"`
	PairBudget      int           `default:"262144" placeholder:"N" help:"If a connected group has more pairs than this, list each document only with some of those kept before it; if the ids of its pairs take more than 256 bytes for each of so many, only with the one kept in its place. In a group of more than 4,096 documents the number of pairs is an estimate." group:"Decision"`

	job.Running
	job.Remote
	job.Cloud
	job.Scheduled

	DryRun        bool          `help:"Print the plan and exit: what the run is expected to read, send and need. Reads the input up to 256 MB, and a sample of a larger one." group:"Run"`
	Overwrite     bool          `help:"Replace a finished output once the new one is whole; until then the old one stays." group:"Run"`
	WeakOverwrite bool          `help:"Like --overwrite, also on an object store without conditional DELETE, such as MinIO. No other program may write to the output meanwhile." group:"Run"`
	WaitLock      time.Duration `default:"0s" placeholder:"DURATION" help:"Time to wait for another run's lock on the output, as in 90s or 2h (default: ${default})." group:"Run"`
	ForceUnlock   bool          `help:"Take the output from the run that holds it; that run then stops at its next step with status 3." group:"Run"`

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

	// SliceRows is about how many rows of a table one worker sorts at most; results do not depend on
	// it. 0: the usual.
	SliceRows int64 `kong:"-"`
}

// Method is a way to search.
type Method string

// The methods.
const (
	MinHash  Method = "minhash"
	SimHash  Method = "simhash"
	Complete Method = "complete"
	Exact    Method = "exact"
)

// Same is what copies are to have in common, by the method exact.
type Same struct{ copies.Same }

// UnmarshalText reads a name.
func (s *Same) UnmarshalText(text []byte) error {
	if !slices.Contains(copies.All(), copies.Same(text)) {
		return fmt.Errorf("%q is not one of %s", text, job.Listed(copies.All()...))
	}
	s.Same = copies.Same(text)
	return nil
}

// Cluster is a way to decide what of a cluster is kept.
type Cluster string

// The ways.
const (
	Star       Cluster = "star"
	Components Cluster = "components"
)

// Vars are the values that the tags of Config refer to.
func Vars() map[string]string {
	vars := job.Vars()
	maps.Copy(vars, map[string]string{
		"methods":  job.Names(MinHash, SimHash, Complete, Exact),
		"clusters": job.Names(Star, Components),
		"parts":    job.Names(output.Parts()...),
	})
	return vars
}

// Each worker holds the sets of the sample in memory.
const maxMeasureRecall = 100_000

// validate returns a *job.UsageError for what cannot be meant.
func (c *Config) validate() error {
	c.Overwrite = c.Overwrite || c.WeakOverwrite
	shared := c.shared()
	if err := shared.Validate(); err != nil {
		return err
	}
	if err := job.CheckPath("--output", c.Output); err != nil {
		return err
	}
	if err := c.validateCloud(); err != nil {
		return err
	}
	switch {
	case c.Output == "" && !c.DryRun:
		return job.Usage("no output: give --output DIR")
	case len(c.Write) == 0:
		return job.Usage("nothing to write: give --write, any of %s", job.Listed(output.Parts()...))
	case c.MeasureRecall < 0 || c.MeasureRecall > maxMeasureRecall:
		return job.Usage("--measure-recall %d: must be between 1 and %d", c.MeasureRecall, maxMeasureRecall)
	case c.MeasureRecall > 0 && c.Method == Complete:
		return job.Usage("--measure-recall: --method complete finds every near pair, so there is nothing to measure")
	case c.MeasureRecall > 0 && c.Method == Exact:
		return job.Usage("--measure-recall: --method exact looks for copies only, and finds them all")
	case c.MeasureRecall > 0 && !c.writes(output.Pairs):
		return job.Usage("--measure-recall looks for pairs in the table pairs; add it to --write")
	case c.DropNotCompared && !c.writes(output.Corpus):
		return job.Usage("--drop-not-compared: no corpus is written; add it to --write")
	case c.WaitLock < 0:
		return job.Usage("--wait-lock %v: must be at least 0s", c.WaitLock)
	case c.PairBudget < 1:
		return job.Usage("--pair-budget %d: must be at least 1", c.PairBudget)
	case !c.Runner.Traits().OnCluster && c.JobServer+c.Environment+c.EnvironmentType+c.EnvironmentConfig != "":
		return job.Usage("--job-server and --environment are for jobs on a cluster: add --runner flink")
	case c.Environment != "" && c.EnvironmentType != "":
		return job.Usage("--environment and --environment-type say the same; drop one of the two")
	case c.EnvironmentConfig != "" && c.EnvironmentType == "":
		return job.Usage("--environment-config: add --environment-type, PROCESS, EXTERNAL or DOCKER")
	case c.MaxRemoved.given && !c.writes(output.Corpus):
		return job.Usage("--max-removed counts what is left in the corpus; add that to --write")
	case !c.Runner.Traits().REST && (len(c.FlinkOption) > 0 || c.FlinkREST != ""):
		return job.Usage("--flink-option and --flink-rest are for jobs on Flink: add --runner flink")
	case c.Same.Same != "" && c.Method != Exact:
		return job.Usage("--same %s: only --method exact takes it; add that, or drop it", c.Same.Same)
	case c.Method == Complete && c.Signature != signature.FSS:
		return job.Usage("--signature %s: --method complete compares every document, and signs none; drop one of the two", c.Signature)
	case c.Method == Complete && c.Bands > 0:
		return job.Usage("--bands %d --rows %d: --method complete compares every document, and needs no key; drop these or that", c.Bands, c.Rows)
	case c.Method == Complete && c.Recall != job.DefaultRecall:
		return job.Usage("--recall %v: --method complete finds every near pair; drop one of the two", c.Recall)
	case c.Method == Exact && c.Signature != signature.FSS:
		return job.Usage("--signature %s: --method exact looks for copies only, and signs nothing; drop one of the two", c.Signature)
	case c.Method == Exact && c.Bands > 0:
		return job.Usage("--bands %d --rows %d: --method exact looks for copies only, by one key; drop these or that", c.Bands, c.Rows)
	}
	for _, name := range c.Given {
		if why, idle := idleIfComplete[name]; idle && c.Method == Complete && (name != "seed" || c.family() != signature.SimHash) {
			return job.Usage("--%s: --method complete %s; drop one of the two", name, why)
		}
	}
	for _, glob := range c.Protect {
		if err := checkGlob("--protect "+glob, glob); err != nil {
			return &job.UsageError{Err: err}
		}
	}
	return c.validateComparing()
}

// validateCloud is validate of what Dataflow is asked.
func (c *Config) validateCloud() error {
	if !c.Runner.Traits().OnlyBuckets {
		return c.CheckUnused()
	}
	if c.JobServer+c.Environment != "" {
		return job.Usage("--job-server and --environment: Dataflow has neither; drop them")
	}
	if (c.Detach || c.TemplateLocation != "") && c.SeveralJobs() {
		return job.Usage("--detach: --signature classic, --weights tf-idf and --measure-recall take several jobs, one after another; drop it, or them")
	}
	return c.CheckReached(c.Inputs, c.Output, c.TempDir)
}

// SeveralJobs reports whether what is asked takes more pipelines than one, so that it needs this process until its end.
func (c *Config) SeveralJobs() bool {
	return c.family() == signature.Classic || c.Weights == vector.TFIDF || c.MeasureRecall > 0
}

// protected are the patterns of files that are, clean.
func (c *Config) protected() (globs []string) {
	for _, glob := range c.Protect {
		globs = append(globs, path.Clean(glob))
	}
	return globs
}

// validateComparing is validate of what is compared, and of SimHash.
func (c *Config) validateComparing() error {
	measure := c.compare()
	bySignatures := c.family() == signature.SimHash
	switch {
	case c.Compare != "" && c.Method == Exact:
		return job.Usage("--compare %s: --method exact looks for copies only; drop one of the two", c.Compare)
	case c.Method == MinHash && measure != job.Jaccard:
		return job.Usage("--compare %s: MinHash finds sets of high Jaccard similarity; add --method simhash, or --method complete", c.Compare)
	case c.Method == SimHash && measure == job.Jaccard:
		return job.Usage("--compare jaccard: SimHash finds vectors of high cosine; give --compare cosine or overlap, or --method minhash")
	case c.Method == SimHash && c.Signature != signature.FSS:
		return job.Usage("--signature %s: --method simhash has signatures of its own; drop one of the two", c.Signature)
	case c.Method == SimHash && c.Bands > 0:
		return job.Usage("--bands %d --rows %d: --method simhash cuts signatures into --pieces; drop these or that", c.Bands, c.Rows)
	case !bySignatures && (c.Bits != job.DefaultBits || c.Vectors != job.Normal):
		return job.Usage("--bits %d --vectors %s: no SimHash signature is made; add --method simhash, or --compare overlap to --method complete", c.Bits, c.Vectors)
	case c.Pieces != 0 && c.Method != SimHash:
		return job.Usage("--pieces %d: add --method simhash, which cuts signatures into pieces", c.Pieces)
	case measure == job.Jaccard && c.Weights != vector.Unit:
		return job.Usage("--weights %s: sets have none; add --method simhash, or --compare cosine or overlap to --method complete", c.Weights)
	}
	shared := c.shared()
	return cmp.Or(c.CheckSignatures(c.Recall, c.Method == SimHash && c.asksRecall()), shared.CheckMemory(c.Weights))
}

// compare is what the similarity of two documents is.
func (c *Config) compare() job.Measure {
	if c.Method == SimHash {
		return cmp.Or(c.Compare, job.Overlap)
	}
	return cmp.Or(c.Compare, job.Jaccard)
}

// asksRecall reports whether a recall is asked for, be it the usual one.
func (c *Config) asksRecall() bool {
	return c.Recall != job.DefaultRecall || slices.Contains(c.Given, "recall")
}

// family is the kind of signature.
func (c *Config) family() signature.Family {
	if c.Method == SimHash || c.compare() == job.Overlap {
		return signature.SimHash
	}
	return c.Signature
}

// idleIfComplete are the flags that do nothing if every document is compared, and why.
var idleIfComplete = map[string]string{
	"recall":    "finds every near pair",
	"bands":     "compares every document, and needs no key",
	"rows":      "compares every document, and needs no key",
	"signature": "compares every document, and signs none",
	"seed":      "compares every document, and signs none",
}

func (c *Config) writes(part output.Part) bool { return slices.Contains(c.Write, part) }

// estimates reports whether the recall is estimated: the joins sign sets of shingle hashes again,
// which no other signature is made of.
func (c *Config) estimates() bool { return c.Method == MinHash && c.Signature == signature.FSS }

// same is what copies have in common; "" where near-duplicates are sought.
func (c *Config) same() copies.Same {
	if c.Method != Exact {
		return ""
	}
	return cmp.Or(c.Same.Same, copies.Bytes)
}

// shared is what every job is asked.
func (c *Config) shared() job.Config {
	return job.Config{Input: c.Input, Similarity: c.Similarity, Search: c.Search, Running: c.Running}
}

// request is what the plan is made for.
func (c *Config) request() job.Request {
	shared, comparing := c.shared(), c.Comparing
	shared.GroupBytes = cmp.Or(shared.GroupBytes, c.Runner.Traits().GroupBytes)
	shared.Signature, comparing.Compare = c.family(), c.compare()
	return job.Request{Config: shared, Comparing: comparing, AskedRecall: c.asksRecall(), Same: c.same(), Complete: c.Method == Complete, AllowEmpty: c.AllowEmpty, Strict: c.MaxRejected == Tolerance{} && !c.DryRun, Rank: c.Keep.rank, Prefer: c.Keep.globs, Protect: c.protected()}
}

// Parameters are the flags in force, as run.json has them.
func (c *Config) Parameters() records.Parameters {
	write := make([]string, len(c.Write))
	for i, part := range c.Write {
		write[i] = string(part)
	}
	compare := string(c.compare())
	if c.Method == Exact {
		compare = ""
	}
	return records.Parameters{
		AllowEmpty: c.AllowEmpty,
		Bands:      c.Bands, Bits: c.Bits, Cluster: string(c.Cluster), Compare: compare, Delimiter: string(c.Delimiter), DropNotCompared: c.DropNotCompared, DryRun: c.DryRun, Encoding: string(c.Encoding), Environment: c.Environment, EnvironmentConfig: c.EnvironmentConfig, EnvironmentType: c.EnvironmentType, ForceUnlock: c.ForceUnlock,
		Exclude: c.Exclude, Format: string(c.Format), ID: c.ID, Include: c.Include, Inputs: c.Inputs, InputsFrom: c.InputsFrom, InvalidUTF8: string(c.InvalidUTF8), JobName: c.JobName, JobServer: c.JobServer, Labels: c.Labels, Keep: c.Keep.String(), Limit: c.Limit,
		MaxDocBytes: int64(c.MaxDocBytes), MaxIDBytes: int64(c.MaxIDBytes), MaxRejected: c.MaxRejected.String(), MaxRemoved: c.MaxRemoved.String(), MaxWindow: int64(c.MaxWindow), MeasureRecall: c.MeasureRecall,
		Memory: int64(c.Memory), Method: string(c.Method), MinWords: c.MinWords, ModifiedBefore: c.ModifiedBefore.String(), NoHeader: c.NoHeader, NoText: c.NoText, Normalize: c.Normalize.String(),
		Output: c.Output, Overwrite: c.Overwrite, PairBudget: c.PairBudget, Pieces: c.Pieces, Protect: c.Protect, Recall: c.Recall, Rows: c.Rows,
		Runner: string(c.Runner), Same: string(c.same()), Seed: c.Seed, Shingle: c.Shingle.String(), Signature: string(c.Signature),
		SkipUnknown: c.SkipUnknown, TempDir: c.TempDir, TempLocation: c.TempLocation, Text: c.Text, Threshold: c.Threshold.Float(), Tokens: c.Tokens.String(), Vectors: string(c.Vectors), WaitLock: c.WaitLock.String(), Weights: string(c.Weights),
		WorkerBinary: c.WorkerBin, Workers: c.Workers, Write: write,
		MachineType: c.MachineType, MaxNumWorkers: c.MaxNumWorkers, NumWorkers: c.NumWorkers, Project: c.Project, Region: c.Region,
		Staging: c.StagingLocation,
	}
}

// Tolerance is how many unreadable records a job accepts: a number, or a per cent of all.
type Tolerance sink.Limit

// UnmarshalText reads "12" or "0.5%".
func (t *Tolerance) UnmarshalText(text []byte) error {
	if number, ok := strings.CutSuffix(string(text), "%"); ok {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return fmt.Errorf("%q is not a percentage between 0%% and 100%%", text)
		}
		*t = Tolerance{Percent: percent}
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number of records, or a percentage such as 0.1%%", text)
	}
	*t = Tolerance{Records: n}
	return nil
}

// String is what UnmarshalText reads.
func (t Tolerance) String() string {
	if t.Percent > 0 {
		return strconv.FormatFloat(t.Percent, 'g', -1, 64) + "%"
	}
	return strconv.FormatInt(t.Records, 10)
}

// Share is a per cent; the zero Share is none.
type Share struct {
	percent float64
	given   bool
}

// UnmarshalText reads "12.5%".
func (s *Share) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("%q is not a percentage between 0%% and 100%%, such as 50%%", text)
	}
	*s = Share{percent, true}
	return nil
}

// String is what UnmarshalText reads, "" for none.
func (s Share) String() string {
	if !s.given {
		return ""
	}
	return strconv.FormatFloat(s.percent, 'g', -1, 64) + "%"
}

// Keep is the policy that says which of similar documents is kept.
type Keep struct {
	text  string
	rank  source.Rank
	globs []string // of prefer
}

func (k Keep) String() string { return k.text }

// UnmarshalText reads a policy.
func (k *Keep) UnmarshalText(text []byte) error {
	policy := string(text)
	name, argument, has := strings.Cut(policy, ":")
	*k = Keep{text: policy}
	switch {
	case policy == "first":
	case policy == "longest":
		k.rank = source.Rank{Length: true, Largest: true}
	case (name == "max" || name == "min") && argument != "":
		k.rank = source.Rank{Column: argument, Largest: name == "max"}
	case name == "max" || name == "min":
		return fmt.Errorf("%s: name a column, as in %s:date", policy, name)
	case name == "prefer" && has:
		globs, err := storage.SplitPatterns(argument)
		if err != nil {
			return fmt.Errorf("%s: %w", policy, err)
		}
		k.globs = globs
		return cleanGlobs(policy, k.globs)
	case name == "prefer":
		return fmt.Errorf("%s: give patterns of files, as in prefer:curated/*,news", policy)
	default:
		return fmt.Errorf("%s: not one of first, longest, max:COLUMN, min:COLUMN, prefer:GLOB,GLOB", policy)
	}
	return nil
}

func cleanGlobs(policy string, globs []string) error {
	for i, glob := range globs {
		if err := checkGlob(policy, glob); err != nil {
			return err
		}
		globs[i] = path.Clean(glob)
	}
	return nil
}

func checkGlob(policy, glob string) error {
	if glob == "" {
		return fmt.Errorf("%s: a pattern is empty", policy)
	}
	if _, err := storage.Match(glob, ""); err != nil {
		return fmt.Errorf("%s: %w", policy, err)
	}
	return nil
}

// smallestCell: the smaller the cells, the more often each set is read.
const smallestCell = 1 << 20

// cellBytes leaves each worker room for the sets of two cells, and their index.
func (c *Config) cellBytes() int {
	switch workers := cmp.Or(c.Workers, runtime.GOMAXPROCS(0)); {
	case c.CellBytes > 0:
		return c.CellBytes
	case c.Budget().Bytes > 0:
		return max(smallestCell, min(int(c.Budget().Step(workers))/4, verify.DefaultCellBytes))
	default:
		return verify.DefaultCellBytes
	}
}
