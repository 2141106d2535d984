// Package compare finds the similar pairs of a small collection in several ways, and says how they
// agree.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/baseline"
	"github.com/neardup/neardup/transforms/signature"
)

// Config is what a user asks of the job.
type Config struct {
	job.Input

	Methods []Method `default:"brute-force,minhash" enum:"${comparisons}" placeholder:"NAME" help:"Ways to find the pairs, in order; the first is what others are measured by. brute-force: the shingle sets of all documents are compared; complete, minhash: as dedup does by --method, each pair verified exactly; classic, salted: as minhash, with signatures of that kind, whatever --signature says; bands: as textbooks draw it, each document goes to a bucket of each band, all pairs of a bucket are listed, and each distinct one is verified exactly; signatures: the same, but pairs count, unverified, whose signatures' sets of values reach the threshold. Refused for 64 million shingles and more (brute-force), for more than 100,000 documents (brute-force, bands, signatures), or more than 10 million pairs by any of them, or of one bucket (bands, signatures): give --limit then (default: ${default})." group:"Comparison"`

	Output string        `short:"o" placeholder:"DIR" help:"Folder for tables of the buckets (bands, signatures), and the comparison as run.json: a new or empty one; a finished one with --overwrite." group:"Comparison"`
	Write  []output.Part `enum:"${tables}" placeholder:"NAME" help:"Tables for --output: buckets (the documents of each bucket of each band), candidates (the distinct pairs of documents that share one) (default: both)." group:"Comparison"`

	Overwrite bool `help:"Replace a finished output once the new one is whole; until then the old one stays." group:"Comparison"`

	job.Similarity
	job.Search
	job.Running
}

// Method is a way to find the pairs.
type Method string

// The methods.
const (
	BruteForce Method = "brute-force"
	Complete   Method = "complete"
	MinHash    Method = "minhash"
	Bands      Method = "bands"
	Signatures Method = "signatures"
	Classic    Method = "classic"
	Salted     Method = "salted"
)

// Methods are all of them.
func Methods() []Method {
	return []Method{BruteForce, Complete, MinHash, Bands, Signatures, Classic, Salted}
}

// deduplicates reports whether a method is the job dedup.
func (m Method) deduplicates() bool { return m != BruteForce && m != Bands && m != Signatures }

// Vars are the values that the tags of Config refer to.
func Vars() map[string]string {
	vars := job.Vars()
	vars["comparisons"] = job.Names(Methods()...)
	vars["tables"] = job.Names(output.Buckets, output.Candidates)
	return vars
}

// validate returns a *job.UsageError for what cannot be meant.
func (c *Config) validate() error {
	shared := c.shared()
	if err := shared.Validate(); err != nil {
		return err
	}
	seen := map[Method]bool{}
	for _, m := range c.Methods {
		if seen[m] {
			return job.Usage("--methods: %s is named twice", m)
		}
		seen[m] = true
	}
	if _, err := storage.At(c.Output); err != nil {
		return job.Usage("--output %w", err)
	}
	switch {
	case c.Output != "" && !seen[Bands] && !seen[Signatures]:
		return job.Usage("--output %s: no buckets are listed; add bands to --methods", c.Output)
	case c.Output == "" && c.Overwrite:
		return job.Usage("--overwrite: there is no folder to write to; give --output")
	case c.Output == "" && len(c.Write) > 0:
		return job.Usage("--write %s: there is no folder to write to; give --output", job.Names(c.Write...))
	case c.Write != nil && len(c.Write) == 0:
		return job.Usage("nothing to write: give --write, any of %s", job.Listed(output.Buckets, output.Candidates))
	case len(c.Methods) < 2:
		return job.Usage("--methods %s: name two at least, of %s", job.Names(c.Methods...), job.Listed(Methods()...))
	case c.Runner.OnCluster():
		return job.Usage("--runner %s: compare runs on this machine; leave it out", c.Runner)
	case slices.Contains(c.Inputs, "-"):
		return job.Usage("compare reads its input several times, and standard input can be read once: give a file")
	}
	return nil
}

// shared is what every job is asked.
func (c *Config) shared() job.Config {
	return job.Config{Input: c.Input, Similarity: c.Similarity, Search: c.Search, Running: c.Running}
}

// dedup is the job that a method is: every pair is wanted, and nothing else.
func (c *Config) dedup(method Method, dir string) dedup.Config {
	way, search := dedup.MinHash, c.Search
	switch method {
	case Complete: // which needs no signature
		way, search.Signature, search.Bands, search.Rows, search.Recall = dedup.Complete, signature.FSS, 0, 0, job.DefaultRecall
	case Classic:
		search.Signature = signature.Classic
	case Salted:
		search.Signature = signature.Salted
	}
	return dedup.Config{
		Input: c.Input, Similarity: c.Similarity, Search: search, Comparing: job.BySets(), Running: c.Running,
		Output: dir, MaxRejected: dedup.Tolerance{Percent: 100},
		Method: way, Cluster: dedup.Star, Write: []output.Part{output.Pairs}, PairBudget: maxPairs + 1,
	}
}

// maxDocuments keeps all pairs to some hours of comparing, of a method that may look at each.
const maxDocuments = 100_000

// maxShingles keeps the shingle sets of all documents to half a gigabyte: by brute force each goes to as
// many pairs of cells as there are cells, which are at most 61 then.
const maxShingles = 64_000_000

// maxPairs keeps the pairs of a method, which are held in memory, to 160 MB. A bucket with as many has 4,472
// documents.
const maxPairs = 10_000_000

func tooMany(method Method) error {
	return job.Usage("--methods %s: more than %d pairs, in all or in one bucket, are too many to hold; give --limit to read fewer documents", method, maxPairs)
}

// Job is a Config that can be meant.
type Job struct{ config Config }

// New checks what is asked; the error is a *job.UsageError.
func New(c Config) (*Job, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Write == nil {
		c.Write = []output.Part{output.Buckets, output.Candidates}
	}
	return &Job{c}, nil
}

// Run does the whole job.
func (j *Job) Run(ctx context.Context, launch job.Launch) (comparison *records.Comparison, err error) {
	if err := job.CheckTempNotInInput(ctx, j.config.Inputs, j.config.TempDir); err != nil {
		return nil, err
	}
	r := &run{config: j.config, launch: launch}
	if j.config.Output != "" {
		return r.intoOutput(ctx)
	}
	err = job.InTempFolder(ctx, j.config.TempDir, func(temp string) (err error) {
		r.temp = temp
		comparison, err = r.do(ctx)
		return err
	})
	return comparison, err
}

// checkBounds refuses what would take too long.
func (r *run) checkBounds() error {
	if r.plan.Documents > maxDocuments && slices.ContainsFunc(r.config.Methods, func(m Method) bool { return !m.deduplicates() }) {
		return job.Usage("about %d documents have %d pairs, too many to look at each; give --limit %d", r.plan.Documents, r.plan.Documents*(r.plan.Documents-1)/2, maxDocuments)
	}
	if slices.Contains(r.config.Methods, BruteForce) && r.plan.Shingles > maxShingles {
		fewer := int64(float64(r.plan.Documents) * maxShingles / float64(r.plan.Shingles))
		return job.Usage("--methods %s: about %d shingles are too many to compare all with all, at most %d; give --limit %d, or the method complete instead, which finds the same pairs", BruteForce, r.plan.Shingles, maxShingles, fewer)
	}
	return nil
}

// run is one comparison.
type run struct {
	config Config
	launch job.Launch
	temp   string
	plan   *job.Plan // what all methods share

	counts  records.Counts // of the last dedup
	staged  output.Folder  // of the tables, if they are asked for
	written bool           // they are, which are the same by each method
}

// found is what a method found.
type found struct {
	pairs      []blocks.Edge // of documents, sorted
	candidates *int64
	buckets    *records.Buckets
}

func (r *run) do(ctx context.Context) (_ *records.Comparison, err error) {
	if r.plan, err = job.NewPlan(ctx, job.Request{Config: r.config.shared()}, r.temp); err != nil {
		return nil, err
	}
	if err := r.checkBounds(); err != nil {
		return nil, err
	}
	if r.config.Output != "" {
		if err := job.CheckInputNotInOutput(r.plan.Listing.Inputs.Files, r.config.Output, r.temp); err != nil {
			return nil, err
		}
	}
	if err := r.plan.Share(ctx, r.temp); err != nil {
		return nil, err
	}
	defer r.plan.Forget(r.temp)
	comparison := &records.Comparison{Threshold: r.plan.Threshold.Float(), Bands: r.plan.Choice.Bands, Rows: r.plan.Choice.Rows, Signature: string(r.config.Signature)}
	var truth []blocks.Edge
	for i, name := range r.config.Methods {
		meter := usage.Start()
		found, err := r.find(ctx, name)
		if err != nil {
			return nil, err
		}
		m := records.Method{Name: string(name), Candidates: found.candidates, Pairs: len(found.pairs), Buckets: found.buckets}
		var peak int64
		if m.Seconds, m.CPU, peak = meter.Stop(); peak > 0 {
			m.Peak = &peak
		}
		if i == 0 {
			truth = found.pairs
		}
		m.Common = common(truth, found.pairs)
		m.Recall, m.Precision = share(m.Common, len(truth)), share(m.Common, len(found.pairs))
		comparison.Methods = append(comparison.Methods, m)
	}
	comparison.Warnings = r.plan.Warnings()
	unreadable, err := r.unreadable(ctx)
	if unreadable != "" {
		comparison.Warnings = append(comparison.Warnings, unreadable)
	}
	return comparison, err
}

// unreadable says how many records are; "" if none is.
func (r *run) unreadable(ctx context.Context) (string, error) {
	if slices.ContainsFunc(r.config.Methods, func(m Method) bool { return !m.deduplicates() }) {
		return r.plan.Unreadable(ctx, r.temp)
	}
	if n := r.counts.Unreadable; n > 0 {
		return fmt.Sprintf("%d of %d records are unreadable; neardup dedup lists them in the table rejected", n, r.counts.Records), nil
	}
	return "", nil
}

// share is 1 of none.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// common counts the pairs in both lists, which are sorted.
func common(a, b []blocks.Edge) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].Compare(b[0]); {
		case c == 0:
			n++
			a, b = a[1:], b[1:]
		case c < 0:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return n
}

// find finds the pairs of documents in one way.
func (r *run) find(ctx context.Context, method Method) (*found, error) {
	if method.deduplicates() {
		return r.deduplicated(ctx, method)
	}
	path := storage.Join(r.temp, string(method))
	var numbering []records.Stage
	if method != BruteForce && r.plan.NeedsDictionary() {
		var err error
		if numbering, err = r.plan.BuildDictionary(ctx, r.launch, r.temp); err != nil {
			return nil, err
		}
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(scope, r.temp)
	params := baseline.Params{Threshold: r.plan.Threshold, Path: path, Most: maxPairs}
	if method == BruteForce {
		params.Cells = cells(r.plan.Shingles)
		baseline.BruteForce(scope, baseline.Sets(scope, docs, r.plan.Spec), params)
	} else {
		r.buckets(scope, docs, method, params)
		r.written = r.config.Output != ""
	}
	ended, failed := r.config.Execute(ctx, r.launch, pipeline, r.temp)
	pairs, err := baseline.Pairs(ctx, path)
	if errors.Is(err, baseline.ErrTooMany) {
		return nil, tooMany(method)
	}
	if failed != nil || err != nil {
		return nil, cmp.Or(failed, err)
	}
	counts := baseline.CountsOf(ended.Result)
	if method == BruteForce {
		return &found{pairs: pairs, candidates: &counts.Compared}, nil
	}
	buckets := told(counts, numbering, ended.Stages)
	if method == Bands {
		verified := int64(len(pairs))
		buckets.True = &verified
	}
	buckets.Refuted = buckets.Compared - int64(len(pairs))
	return &found{pairs, &buckets.Distinct, buckets}, nil
}

// told says what became of buckets, and what the steps took. The stages of numbering are those of a dictionary, which
// signing needs.
func told(c baseline.Counts, numbering, stages []records.Stage) *records.Buckets {
	b := &records.Buckets{
		Pairs: c.BucketPairs, Distinct: c.Candidates, Compared: c.Compared,
		BucketBytes: c.BucketBytes, ShuffledBytes: c.BucketBytes + c.PairBytes + c.SetBytes,
	}
	if len(stages) == 0 {
		return b
	}
	b.CPU = &records.StepCPU{}
	for _, stage := range numbering {
		b.CPU.Signing += stage.CPU
	}
	for _, stage := range stages {
		step, _, _ := strings.Cut(stage.Name, "/")
		switch step {
		case baseline.SetsScope:
			b.CPU.Shingling += stage.CPU
		case signScope:
			b.CPU.Signing += stage.CPU
		case baseline.KeysScope:
			b.CPU.Keys += stage.CPU
		case baseline.GroupScope:
			b.CPU.Grouping += stage.CPU
		case baseline.VerifyScope:
			b.CPU.Verifying += stage.CPU
		}
	}
	return b
}

// buckets builds the pipeline of the textbooks. What goes into a step is set down before it, so that steps which
// would be one stage of the runner are several, with times of their own.
func (r *run) buckets(s beam.Scope, docs flow.Documents, method Method, params baseline.Params) {
	signing := r.plan.Signature(r.temp)
	signed, _ := signature.Values(s.Scope(signScope), setDown(s, docs), signing)
	features := baseline.Features(signed)
	params.Cells = cells(r.plan.Documents * int64(r.plan.Choice.Signature))
	if method == Bands {
		features = baseline.Sets(s, setDown(s, docs), r.plan.Spec)
		params.Cells = cells(r.plan.Shingles)
	}
	found := baseline.Buckets(s, setDown(s, signed), features, signing.Banding, params)
	if r.config.Output != "" && !r.written {
		r.tables(s, docs, signed, found)
	}
}

// tables builds the tables of buckets, in the staging folder.
func (r *run) tables(s beam.Scope, docs flow.Documents, signed flow.Signatures, found baseline.Candidates) {
	t := baseline.Tables{Inputs: job.Inputs(r.temp), Banding: r.plan.Signature(r.temp).Banding}
	ids := t.IDs(s, docs)
	to := sink.Params{Inputs: t.Inputs, Output: r.staged, Temp: r.temp, Write: r.config.Write, Metadata: r.plan.Metadata(nil)}
	var facts []flow.Facts
	if r.writes(output.Buckets) {
		facts = append(facts, sink.Table(s, output.Buckets, 1, to, t.Buckets(s, ids, signed)))
	}
	if r.writes(output.Candidates) {
		facts = append(facts, sink.Table(s, output.Candidates, 1, to, t.Candidates(s, ids, found)))
	}
	sink.Ledger(s, r.ledger(), facts...)
}

func (r *run) writes(table output.Part) bool { return slices.Contains(r.config.Write, table) }

// signScope is what the stages of signing begin with.
const signScope = "compare.Sign"

// setDown returns the same blocks, for a stage of its own.
func setDown[C flow.Documents | flow.Signatures](s beam.Scope, blocks C) C {
	return C(beam.Reshuffle(s, beam.PCollection(blocks)))
}

// cells is how many parts of some megabytes so many numbers make.
func cells(numbers int64) int {
	const numberBytes, cellBytes, least = 8, 8 << 20, 3
	return int(max(least, numbers*numberBytes/cellBytes))
}

// deduplicated runs the job dedup and lists all pairs of documents that its table stands for:
// copies resemble each other and whatever their representative resembles.
func (r *run) deduplicated(ctx context.Context, method Method) (*found, error) {
	dir := storage.Join(r.temp, string(method))
	task, err := dedup.New(r.config.dedup(method, dir))
	if err != nil {
		return nil, err
	}
	ran, err := task.Run(ctx, r.launch)
	if err != nil {
		return nil, err
	}
	r.counts = ran.Counts
	if ran.Counts.PairsPartial > 0 { // a component has more than the budget
		return nil, tooMany(method)
	}
	pairs, err := r.listed(ctx, method, dir)
	if err != nil {
		return nil, err
	}
	f := &found{pairs: pairs}
	if edges, ok := ran.Steps["buckets/edges"]; ok {
		f.candidates = &edges
	}
	return f, nil
}

// listed returns all pairs that the table of a finished run stands for.
func (r *run) listed(ctx context.Context, method Method, dir string) ([]blocks.Edge, error) {
	finished, err := output.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	key := r.plan.Keys()
	copies := map[blocks.Key][]blocks.Key{} // by representative, which is not among them
	var near, all []blocks.Edge
	rows := 0
	for row, err := range output.Rows[records.Pair](ctx, finished, output.Pairs) {
		if err != nil {
			return nil, err
		}
		if rows++; rows > maxPairs {
			return nil, tooMany(method)
		}
		a, b := key(row.SourceA, row.PositionA), key(row.SourceB, row.PositionB)
		if row.Similarity == 1 {
			copies[a] = append(copies[a], b)
		} else {
			near = append(near, blocks.Edge{A: a, B: b})
		}
	}
	group := func(representative blocks.Key) []blocks.Key {
		return append([]blocks.Key{representative}, copies[representative]...)
	}
	total := 0
	for _, others := range copies {
		n := len(others)
		total += n * (n + 1) / 2
	}
	for _, pair := range near {
		total += (1 + len(copies[pair.A])) * (1 + len(copies[pair.B]))
	}
	if total > maxPairs {
		return nil, tooMany(method)
	}
	for representative := range copies {
		same := group(representative)
		for i, a := range same {
			for _, b := range same[i+1:] {
				all = append(all, blocks.Edge{A: min(a, b), B: max(a, b)})
			}
		}
	}
	for _, pair := range near {
		for _, a := range group(pair.A) {
			for _, b := range group(pair.B) {
				all = append(all, blocks.Edge{A: min(a, b), B: max(a, b)})
			}
		}
	}
	slices.SortFunc(all, blocks.Edge.Compare)
	return all, nil
}
