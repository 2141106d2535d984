// Package compare finds the similar pairs of a small collection by several methods, and measures how they agree.
package compare

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/eval"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/baseline"
	"github.com/neardup/neardup/transforms/signature"
)

// Config holds the settings of the job.
type Config struct {
	records.Input

	Methods []Method `default:"brute-force,minhash" enum:"${comparisons}" placeholder:"NAME" help:"Ways to find the pairs: any of brute-force, complete, minhash, simhash, classic, salted, bands, signatures and pieces, which docs/algorithms/README.md describes. The first method listed that uses a measure is the baseline of that measure. Without --truth, only bands, signatures or pieces may stand alone (default: ${default})." group:"Comparison"`

	Truth string `placeholder:"FILE" help:"Also measure each method against known pairs or clusters: a CSV or JSON Lines file as for eval --truth; - is standard input. A method may then stand alone." group:"Comparison"`
	// Content is the content of the truth file.
	Content io.Reader `kong:"-"`

	Output string        `short:"o" placeholder:"DIR" help:"Folder for tables of the pairs and buckets, and the comparison as run.json: new or empty; with --overwrite also a finished output." group:"Comparison"`
	Write  []output.Part `enum:"${tables}" placeholder:"NAME" help:"Tables for --output: pairs (the similar pairs with their similarity, if all methods use the same measure), buckets (the documents of each bucket of each band) and candidates (the distinct pairs that share a bucket) (default: all)." group:"Comparison"`

	records.Similarity
	records.Search
	records.Comparing
	job.Running
	job.Remote
	job.Replacing
}

// tables lists the tables of the output.
var tables = []output.Part{output.Pairs, output.Buckets, output.Candidates}

// Method is a method to find the pairs.
type Method string

// Values of --methods.
const (
	bruteForce     Method = "brute-force"
	completeSearch Method = "complete"
	minHash        Method = "minhash"
	byBands        Method = "bands"
	bySignatures   Method = "signatures"
	classicHash    Method = "classic"
	saltedHash     Method = "salted"
	simHash        Method = "simhash"
	byPieces       Method = "pieces"
)

// Methods returns all methods.
func Methods() []Method {
	return []Method{bruteForce, completeSearch, minHash, byBands, bySignatures, classicHash, saltedHash, simHash, byPieces}
}

// deduplicates reports whether a method runs the job dedup.
func (m Method) deduplicates() bool { return m != bruteForce && !m.buckets() }

// buckets reports whether a method lists the pairs of buckets.
func (m Method) buckets() bool { return m == byBands || m == bySignatures || m == byPieces }

// bySimHash reports whether a method needs SimHash signatures.
func (m Method) bySimHash() bool { return m == simHash || m == byPieces }

// byAny reports whether a method supports every measure.
func (m Method) byAny() bool { return m == bruteForce || m == completeSearch }

// Vars returns the values of variables in the tags of Config.
func Vars() map[string]string {
	vars := job.Vars()
	vars["comparisons"] = job.Names(Methods()...)
	vars["tables"] = job.Names(tables...)
	return vars
}

// validate returns a *job.UsageError if the settings are wrong.
func (c *Config) validate() error {
	named := map[Method]bool{}
	for _, m := range c.Methods {
		if named[m] {
			return job.Usage("--methods: %s is named twice; name it once", m)
		}
		named[m] = true
	}
	if err := job.CheckPath("--output", c.Output); err != nil {
		return err
	}
	switch {
	case c.listsBuckets() && !slices.ContainsFunc(c.Methods, Method.buckets):
		return job.Usage("--write %s: none of these methods lists buckets; add bands to --methods", job.Names(c.Write...))
	case slices.Contains(c.Write, output.Pairs) && len(c.parts()) > 1:
		return job.Usage("--write %s: methods of two measures find pairs with two kinds of similarity; leave out pairs, or "+
			"the methods of one measure", job.Names(c.Write...))
	case c.Output != "" && (c.Write == nil || c.listsBuckets()) && named[byPieces] &&
		(named[byBands] || named[bySignatures]):
		return job.Usage("--output %s: pieces and bands have different buckets; leave one out of --methods", c.Output)
	case c.Output == "" && c.Replaces():
		return job.Usage("--overwrite: there is no folder to write to; add --output")
	case c.Output == "" && len(c.Write) > 0:
		return job.Usage("--write %s: there is no folder to write to; add --output", job.Names(c.Write...))
	case c.Output != "" && c.Write == nil && len(c.parts()) > 1 && !slices.ContainsFunc(c.Methods, Method.buckets):
		return job.Usage("--output %s: methods of two measures have no table in common; add bands or pieces "+
			"to --methods", c.Output)
	case c.Write != nil && len(c.Write) == 0:
		return job.Usage("nothing to write; add --write with any of %s", job.Listed(tables...))
	case len(c.Methods) < 2 && c.Truth == "" && !c.listsAlone():
		return job.Usage("--methods %s: name at least two of %s, or use --truth FILE to measure one", job.Names(c.Methods...),
			job.Listed(Methods()...))
	case slices.Contains(c.Inputs, "-"):
		return job.Usage("compare reads its input several times, but standard input can be read only once; give a file")
	}
	return cmp.Or(c.CheckRemote(c.Runner), c.Runner.CheckAnswers("compare", c.TempDir), c.validateComparing())
}

// listsBuckets reports whether a table of buckets is written.
func (c *Config) listsBuckets() bool {
	return slices.Contains(c.Write, output.Buckets) || slices.Contains(c.Write, output.Candidates)
}

// listsAlone reports whether the only method lists buckets, and no other measures it.
func (c *Config) listsAlone() bool { return len(c.Methods) == 1 && c.Methods[0].buckets() }

// validateComparing is validate for the flags of measures and SimHash.
func (c *Config) validateComparing() error {
	usual, names := records.Default(), job.Names(c.Methods...)
	bySimHash := slices.ContainsFunc(c.Methods, Method.bySimHash)
	parts := c.parts()
	measured := slices.ContainsFunc(parts, func(p part) bool { return p.measure == c.Compare })
	vectors := slices.ContainsFunc(parts, func(p part) bool { return p.measure != job.Jaccard })
	switch {
	case bySimHash && c.Compare == job.Jaccard:
		return job.Usage("--compare jaccard: simhash supports only cosine and overlap; use --compare cosine or overlap")
	case c.Compare != "" && !measured:
		return job.Usage("--compare %s: none of --methods %s uses this measure; add simhash or pieces", c.Compare, names)
	case c.Pieces != 0 && !bySimHash:
		return job.Usage("--pieces %d: these methods compute no SimHash signatures; add simhash or pieces "+
			"to --methods", c.Pieces)
	case !slices.ContainsFunc(parts, part.signed) && (c.Bits != usual.Bits || c.Vectors != usual.Vectors):
		return job.Usage("--bits %d --vectors %s: these methods compute no SimHash signatures; add simhash or pieces to "+
			"--methods", c.Bits, c.Vectors)
	case !vectors && c.Weights != usual.Weights:
		return job.Usage("--weights %s: sets have no weights; add simhash or pieces to --methods, or use --compare "+
			"cosine or overlap", c.Weights)
	}
	for _, p := range parts {
		if len(p.methods) < 2 && c.Truth == "" && !c.listsAlone() {
			return job.Usage("--methods %s: no other method listed compares by %s, so there is nothing to compare %s with; "+
				"add complete, or use --truth", names, p.measure, p.methods[0])
		}
		asked, err := job.Compile(c.spec(p))
		if err == nil {
			err = c.Check(asked)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part holds the methods that use one measure.
type part struct {
	measure string
	methods []Method
}

// signed reports whether SimHash signatures are made.
func (p part) signed() bool {
	return p.measure == job.Overlap || slices.ContainsFunc(p.methods, Method.bySimHash)
}

// measures returns the measures of the parts.
func (c *Config) measures() (all []string) {
	for _, p := range c.parts() {
		all = append(all, p.measure)
	}
	return all
}

// family returns the kind of signature of the first part.
func (c *Config) family() signature.Family {
	if c.parts()[0].measure != job.Jaccard {
		return signature.SimHash
	}
	return signature.Family(c.Signature)
}

// parts returns the methods by measure. Brute force and complete search are in each part that has another method.
func (c *Config) parts() (parts []part) {
	measures := map[string]bool{}
	of := func(m Method) string {
		if m.bySimHash() {
			return cmp.Or(c.Compare, job.Overlap)
		}
		return job.Jaccard
	}
	for _, m := range c.Methods {
		if !m.byAny() {
			measures[of(m)] = true
		}
	}
	if len(measures) == 0 {
		measures[cmp.Or(c.Compare, job.Jaccard)] = true
	}
	for _, measure := range []string{job.Jaccard, job.Containment, job.Cosine, job.Overlap} {
		if !measures[measure] {
			continue
		}
		p := part{measure: measure}
		for _, m := range c.Methods {
			if m.byAny() || of(m) == measure {
				p.methods = append(p.methods, m)
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// spec returns the settings of a part's methods as a Spec of dedup.
func (c *Config) spec(p part) records.Spec {
	s, usual := records.Default(), records.Default()
	s.Input, s.Similarity, s.Search = c.Input, c.Similarity, c.Search
	if p.measure == job.Jaccard {
		return s
	}
	s.Comparing, s.Compare, s.Method = c.Comparing, p.measure, job.SimHash
	s.Signature, s.Bands, s.Rows = usual.Signature, 0, 0
	if !slices.ContainsFunc(p.methods, Method.bySimHash) {
		s.Method, s.Recall = job.Complete, usual.Recall
		if p.measure == job.Cosine {
			s.Seed = usual.Seed
		}
	}
	if slices.Contains(p.methods, byPieces) && c.Recall == usual.Recall {
		s.Pieces = cmp.Or(s.Pieces, job.UsualPieces(s.Bits)) // the usual number, however many documents share a bucket
	}
	return s
}

// dedup returns the job that a method runs for a measure: it wants every pair, and nothing else.
func (c *Config) dedup(method Method, measure, dir string) dedup.Config {
	s := c.spec(part{measure: job.Jaccard})
	switch method {
	case completeSearch: // needs no signature, except for overlap
		s.Method, s.Compare, s.Search = job.Complete, measure, records.Default().Search
		if measure != job.Jaccard {
			s.Weights = c.Weights
		}
		if measure == job.Overlap {
			s.Bits, s.Vectors, s.Seed = c.Bits, c.Vectors, c.Seed
		}
	case simHash:
		s.Method, s.Comparing, s.Signature, s.Bands, s.Rows = job.SimHash, c.Comparing, records.Default().Signature, 0, 0
	case classicHash, saltedHash:
		s.Signature = string(method)
	}
	s.MaxRejected, s.Write, s.PairBudget = "100%", []string{string(output.Pairs)}, maxPairs+1
	how := job.How{Running: c.Running, Output: dir}
	how.Planned = nil // the reads of all methods are announced together
	return dedup.Config{Spec: s, How: how}
}

// reads returns the reads of the pipelines of all methods, for an input that was planned.
func (c *Config) reads(plan *job.Plan) (pipelines [][]job.Read, err error) {
	for _, part := range c.parts() {
		asked, err := job.Compile(c.spec(part))
		if err != nil {
			return nil, err
		}
		for _, method := range part.methods {
			if method.deduplicates() {
				run, err := job.Compile(c.dedup(method, part.measure, "").Spec)
				if err != nil {
					return nil, err
				}
				pipelines = append(pipelines, dedup.Reads(run, plan)...)
				continue
			}
			if needs(asked, method) {
				pipelines = append(pipelines, plan.Reads(job.First))
			}
			pipelines = append(pipelines, plan.Reads(job.First))
		}
		if slices.Contains(c.Write, output.Pairs) {
			if asked.NeedsFrequencies() {
				pipelines = append(pipelines, plan.Reads(job.First))
			}
			pipelines = append(pipelines, plan.Reads(job.First))
		}
	}
	return pipelines, nil
}

// needs reports whether all documents must be read before a method runs: brute force signs none.
func needs(asked *job.Asked, method Method) bool {
	return asked.NeedsFrequencies() || method != bruteForce && asked.NeedsDictionary()
}

// maxDocuments limits a method that may compare all pairs to some hours.
const maxDocuments = 100_000

// maxShingles limits the shingle sets of all documents to half a gigabyte: brute force copies each into as many pairs
// of cells as there are cells, at most 61.
const maxShingles = 64_000_000

// maxPairs limits the pairs of a method, which are held in memory, to 160 MB. A bucket with as many has 4,472
// documents.
const maxPairs = 10_000_000

func (r *Job) tooMany(method Method) error {
	return job.Usage("--methods %s: more than %s pairs, in all or in one bucket, are too many to hold in memory; use "+
		"--limit to read fewer documents", method, records.Count(int64(r.most)))
}

// Job is one comparison.
type Job struct {
	config Config
	asked  *job.Asked // with the measure jaccard
	launch job.Launch
	temp   string
	most   int         // maximum number of pairs of a method
	part   part        // the current part
	known  *eval.Known // nil without --truth
	plan   *job.Plan   // shared by the part's methods

	counts  records.Counts // of the last run of dedup
	staged  output.Folder  // for tables, if any are written
	written bool           // the tables of buckets, which are the same for each method
	ledgers []string       // files with the facts of the tables
}

// New checks the config; the error is a *job.UsageError.
func New(c Config) (*Job, error) {
	asked, err := job.Compile(c.spec(part{measure: job.Jaccard}))
	if err == nil {
		err = cmp.Or(c.Check(asked), c.validate())
	}
	if err != nil {
		return nil, err
	}
	if c.Write == nil && c.Output != "" {
		if len(c.parts()) == 1 {
			c.Write = append(c.Write, output.Pairs)
		}
		if slices.ContainsFunc(c.Methods, Method.buckets) {
			c.Write = append(c.Write, output.Buckets, output.Candidates)
		}
	}
	return &Job{config: c, asked: asked, most: maxPairs}, nil
}

// checkBounds returns a *job.UsageError for an input that would take too long.
func (r *Job) checkBounds() error {
	if r.writes(output.Pairs) && (r.plan.Documents > maxDocuments || r.words() > maxShingles) {
		return job.Usage("--output %s: about %s documents with %s shingles are too many for the pairs table (maximum: %s "+
			"with %s); use --limit to read fewer, or leave pairs out of --write",
			r.config.Output, records.Count(r.plan.Documents), records.Count(r.plan.Shingles), records.Count(maxDocuments),
			records.Count(maxShingles))
	}
	if r.plan.Documents > maxDocuments && slices.ContainsFunc(r.part.methods,
		func(m Method) bool { return !m.deduplicates() }) {
		return job.Usage("about %s documents have %s pairs, too many to check one by one; use --limit %d",
			records.Count(r.plan.Documents), records.Count(r.plan.Documents*(r.plan.Documents-1)/2), maxDocuments)
	}
	if words := r.words(); slices.Contains(r.part.methods, bruteForce) && words > maxShingles {
		share := maxShingles / float64(words)
		return job.Usage("--methods %s: with about %s shingles (maximum: %s), there are too many pairs to compare; use "+
			"--limit %d, or the method complete instead, which finds the same pairs",
			bruteForce, records.Count(r.plan.Shingles), records.Count(int64(float64(r.plan.Shingles)*share)),
			int64(float64(r.plan.Documents)*share))
	}
	return nil
}

// words estimates the size of all documents' features, in words of 8 bytes.
func (r *Job) words() int64 {
	each := float64(r.plan.Shingles) / float64(r.plan.Documents)
	if r.part.measure == job.Overlap {
		each = float64((r.config.Bits + 63) / 64)
	} else if r.part.measure == job.Cosine && r.config.Weights != string(vector.Unit) {
		each *= 1.5 // a word holds two weights
	}
	return int64(each * float64(r.plan.Documents))
}

// found is the result of a method.
type found struct {
	pairs      []blocks.Edge // pairs of documents, sorted
	candidates *int64
	buckets    *records.Buckets
}

func (r *Job) do(ctx context.Context) (*records.Comparison, error) {
	comparison := &records.Comparison{Threshold: r.config.Threshold, Signature: r.config.Signature}
	for at, part := range r.config.parts() {
		if err := r.prepare(ctx, part); err != nil {
			return nil, err
		}
		if at == 0 {
			reads, err := r.config.reads(r.plan)
			if err != nil {
				return nil, err
			}
			r.config.Tell(reads...)
		}
		if err := r.compare(ctx, part, comparison); err != nil {
			return nil, err
		}
	}
	unreadable, err := r.unreadable(ctx)
	if unreadable != "" {
		comparison.Warnings = append(comparison.Warnings, unreadable)
	}
	return comparison, err
}

// prepare makes the plan of a part, and checks it.
func (r *Job) prepare(ctx context.Context, part part) (err error) {
	r.part = part
	asked, err := job.Compile(r.config.spec(part))
	if err != nil {
		return err
	}
	if r.plan, err = job.NewPlan(ctx, job.Request{Asked: asked, Running: r.config.Running, Strict: true},
		r.temp); err != nil {
		return err
	}
	if err := r.checkBounds(); err != nil {
		return err
	}
	return job.CheckInputNotInOutput(r.plan.Listing.Inputs.Paths(), r.config.Output, r.temp)
}

// compare runs the methods of the prepared part, and adds them to the comparison.
func (r *Job) compare(ctx context.Context, part part, comparison *records.Comparison) (err error) {
	if err := r.plan.Share(ctx, r.temp); err != nil {
		return err
	}
	defer r.plan.Forget(r.temp)
	if r.config.Truth != "" && r.known == nil {
		if r.known, err = eval.Read(ctx, r.config.Content, r.config.Truth, r.plan, r.most); err != nil {
			return err
		}
		comparison.Warnings = append(comparison.Warnings, r.known.Warnings...)
	}
	if part.measure == job.Jaccard {
		comparison.Bands, comparison.Rows = r.plan.Choice.Bands, r.plan.Choice.Rows
	} else {
		comparison.Pieces = r.plan.Pieces.Count
	}
	if part.signed() {
		comparison.Bits = r.config.Bits
	}
	verifier := r.plan.Verifier(r.temp)
	var truth []blocks.Edge
	var all []baseline.Found
	for i, name := range part.methods {
		meter := usage.Start()
		found, err := r.find(ctx, name)
		if err != nil {
			return err
		}
		m := records.Method{Name: string(name), Measure: verifier.Measure, Candidates: found.candidates,
			Pairs: len(found.pairs), Buckets: found.buckets}
		var peak int64
		if m.Seconds, m.CPU, peak = meter.Stop(); peak > 0 {
			m.Peak = &peak
		}
		if i == 0 {
			truth = found.pairs
		}
		if r.writes(output.Pairs) {
			if all = baseline.Merge(all, found.pairs, i); len(all) > r.most {
				return r.tooMany(name)
			}
		}
		// A run of dedup leaves no frequencies, which are needed to weigh what a pair shares.
		weighed := name.deduplicates() && r.plan.Request.NeedsFrequencies()
		if len(comparison.Examples) == 0 && !weighed {
			if comparison.Examples, err = r.examples(ctx, found.pairs); err != nil {
				return err
			}
		}
		m.Common = common(truth, found.pairs)
		m.Recall, m.Precision = share(m.Common, len(truth)), share(m.Common, len(found.pairs))
		if r.known != nil {
			agreement := r.known.Agree(found.pairs)
			m.Truth = &agreement
		}
		comparison.Methods = append(comparison.Methods, m)
	}
	if r.writes(output.Pairs) {
		if err := r.writePairs(ctx, all); err != nil {
			return err
		}
	}
	for _, warning := range r.plan.Warnings() {
		if !slices.Contains(comparison.Warnings, warning) {
			comparison.Warnings = append(comparison.Warnings, warning)
		}
	}
	return nil
}

// exampleCount is how many pairs are shown with their texts.
const exampleCount = 3

// examples returns the first pairs in input order, with their texts and what they share. It leaves out pairs that only
// signatures call similar.
func (r *Job) examples(ctx context.Context, pairs []blocks.Edge) (examples []records.Example, err error) {
	for _, pair := range pairs[:min(len(pairs), exampleCount)] {
		e, similar, err := r.plan.Example(ctx, r.plan.Verifier(r.temp), pair)
		if err != nil {
			return nil, err
		}
		if similar {
			examples = append(examples, *e)
		}
	}
	return examples, nil
}

// unreadable returns how many records are unreadable, or "" if none is.
func (r *Job) unreadable(ctx context.Context) (string, error) {
	if slices.ContainsFunc(r.config.Methods, func(m Method) bool { return !m.deduplicates() }) {
		return r.plan.Unreadable(ctx, r.temp)
	}
	if n := r.counts.Unreadable; n > 0 {
		return records.OfAll(n, r.counts.Records, "record", "unreadable") + "; neardup dedup lists them in " +
			"the rejected table", nil
	}
	return "", nil
}

// share returns part/whole, and 1 if whole is 0.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// common returns the number of pairs in both lists, which are sorted.
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

// find finds the pairs of documents by a method.
func (r *Job) find(ctx context.Context, method Method) (*found, error) {
	if method.deduplicates() {
		return r.deduplicated(ctx, method)
	}
	path := storage.Join(r.temp, string(method)+"-"+r.part.measure)
	var numbering []records.Stage
	var err error
	if needs(r.plan.Request.Asked, method) {
		if numbering, err = r.plan.Prepare(ctx, r.launch, r.temp); err != nil {
			return nil, err
		}
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(scope, r.temp)
	params := baseline.Params{Verifier: r.plan.Verifier(r.temp), Path: path, Most: r.most}
	if method == bruteForce {
		params.Cells = r.cells(r.words())
		baseline.BruteForce(scope, baseline.Sets(scope, docs, r.plan.Spec, params.Verifier), params)
	} else {
		r.buckets(scope, docs, method, params)
		r.written = r.config.listsBuckets()
	}
	ended, failed := r.config.Execute(ctx, r.launch, pipeline, r.temp)
	pairs, err := baseline.Pairs(ctx, path)
	if errors.Is(err, baseline.ErrTooMany) {
		return nil, r.tooMany(method)
	}
	if failed != nil || err != nil {
		return nil, cmp.Or(failed, err)
	}
	counts := baseline.CountsOf(ended.Result)
	if method == bruteForce {
		return &found{pairs: pairs, candidates: &counts.Compared}, nil
	}
	buckets := bucketsOf(counts, numbering, ended.Stages)
	if method != bySignatures {
		verified := int64(len(pairs))
		buckets.True = &verified
	}
	buckets.Refuted = buckets.Compared - int64(len(pairs))
	return &found{pairs, &buckets.Distinct, buckets}, nil
}

// bucketsOf returns the counts of buckets, and the CPU time of each step. numbering holds the stages that signing needs
// first: those of a dictionary, or of the frequencies of shingles.
func bucketsOf(c baseline.Counts, numbering, stages []records.Stage) *records.Buckets {
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

// buckets builds the textbook pipeline. It reshuffles the input of each step, so that the runner does not fuse steps
// into one stage and each has a time of its own.
func (r *Job) buckets(s beam.Scope, docs flow.Documents, method Method, params baseline.Params) {
	signing := r.plan.Signature(r.temp)
	signed, _ := signature.Values(s.Scope(signScope), setDown(s, docs), signing)
	features := baseline.Features(signed)
	params.Cells = r.cells(r.plan.Documents * int64(r.plan.Choice.Signature))
	if method != bySignatures {
		features = baseline.Sets(s, setDown(s, docs), r.plan.Spec, params.Verifier)
		params.Cells = r.cells(r.words())
	}
	found := baseline.Buckets(s, setDown(s, signed), features, signing, params)
	if r.config.listsBuckets() && !r.written {
		r.tables(s, docs, signed, found)
	}
}

// tables writes the tables of buckets to the staging folder.
func (r *Job) tables(s beam.Scope, docs flow.Documents, signed flow.Signatures, found baseline.Candidates) {
	t := baseline.Tables{Signing: r.plan.Signature(r.temp)}
	ids := t.IDs(s, docs)
	to := r.sink()
	var facts []flow.Facts
	if r.writes(output.Buckets) {
		facts = append(facts, sink.Table(s, output.Buckets, r.slices(), to, t.Buckets(s, ids, signed)))
	}
	if r.writes(output.Candidates) {
		facts = append(facts, sink.Table(s, output.Candidates, r.slices(), to, t.Candidates(s, ids, found)))
	}
	sink.Ledger(s, r.ledger(output.Buckets), facts...)
}

// writePairs writes the table of the pairs that the methods of a part found.
func (r *Job) writePairs(ctx context.Context, found []baseline.Found) error {
	if r.plan.Request.NeedsFrequencies() { // dedup leaves none
		if _, err := r.plan.Prepare(ctx, r.launch, r.temp); err != nil {
			return err
		}
	}
	params := baseline.Params{Verifier: r.plan.Verifier(r.temp), Path: storage.Join(r.temp, "found"),
		Cells: r.cells(r.words())}
	if err := baseline.WriteFound(ctx, params.Path, found); err != nil {
		return err
	}
	pipeline, s := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(s, r.temp)
	t := baseline.Tables{Signing: r.plan.Signature(r.temp)}
	rows := t.Compared(s, t.IDs(s, docs), baseline.Sets(s, docs, r.plan.Spec, params.Verifier), params,
		job.Strings(r.part.methods...))
	sink.Ledger(s, r.ledger(output.Pairs), sink.Table(s, output.Pairs, r.slices(), r.sink(), rows))
	_, err := r.config.Execute(ctx, r.launch, pipeline, r.temp)
	return err
}

// sink returns where and how tables are written.
func (r *Job) sink() sink.Params {
	return sink.Params{
		Inputs: job.Inputs(r.temp), Output: r.staged, Sync: r.config.Runner.Traits().OnCluster, Temp: r.temp,
		Write: r.config.Write, Metadata: r.plan.Metadata(nil), GroupRows: r.config.Runner.Traits().GroupBytes,
	}
}

// slices returns the number of groups over which the rows of a table's file are spread: many where groups must be
// small.
func (r *Job) slices() int {
	const many = 256
	if r.config.Runner.Traits().GroupBytes == 0 {
		return 1
	}
	return many
}

// ledger returns the file for the facts of a pipeline's tables.
func (r *Job) ledger(table output.Part) string {
	r.ledgers = append(r.ledgers, storage.Join(r.temp, string(table)+".jsonl"))
	return r.ledgers[len(r.ledgers)-1]
}

func (r *Job) writes(table output.Part) bool { return slices.Contains(r.config.Write, table) }

// signScope is the prefix of the stages of signing.
const signScope = "compare.Sign"

// setDown reshuffles blocks, so that the next step is a stage of its own.
func setDown[C flow.Documents | flow.Signatures](s beam.Scope, blocks C) C {
	return C(beam.Reshuffle(s, beam.PCollection(blocks)))
}

// cells returns how many cells the given number of 8-byte values fills: of some megabytes, or of the size of the
// runner's groups.
func (r *Job) cells(numbers int64) int {
	const numberBytes, cellBytes, least = 8, 8 << 20, 3
	return int(max(least, numbers*numberBytes/cmp.Or(r.config.Runner.Traits().GroupBytes, cellBytes)))
}

// deduplicated runs the job dedup and returns all pairs of documents that its table implies: copies are similar to each
// other, and to whatever is similar to their representative.
func (r *Job) deduplicated(ctx context.Context, method Method) (*found, error) {
	dir := storage.Join(r.temp, string(method)+"-"+r.part.measure)
	task, err := dedup.New(ctx, r.config.dedup(method, r.part.measure, dir))
	if err != nil {
		return nil, err
	}
	ran, err := task.Run(ctx, r.launch)
	if nothing := (*dedup.NothingComparedError)(nil); errors.As(err, &nothing) && nothing.Records == 0 {
		err = &job.NothingReadError{Reason: "the input contains no records; use a different input"} // not --allow-empty
	}
	if err != nil {
		return nil, err
	}
	r.counts = ran.Counts
	if ran.Counts.PairsPartial > 0 { // pairs may be missing
		return nil, r.tooMany(method)
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

// listed returns all pairs that the table of a finished run implies.
func (r *Job) listed(ctx context.Context, method Method, dir string) ([]blocks.Edge, error) {
	finished, err := output.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	key := r.plan.Keys()
	groups := map[blocks.Key][]blocks.Key{} // copies by representative; what is similar to one is similar to all
	group := func(first blocks.Key) []blocks.Key {
		if members := groups[first]; members != nil {
			return members
		}
		return []blocks.Key{first}
	}
	var near, all []blocks.Edge
	rows := 0
	for row, err := range output.Rows[records.Pair](ctx, finished, output.Pairs) {
		if err != nil {
			return nil, err
		}
		if rows++; rows > r.most {
			return nil, r.tooMany(method)
		}
		a, b := key(row.SourceA, row.PositionA), key(row.SourceB, row.PositionB)
		if row.Copy() {
			groups[a] = append(group(a), b)
		} else {
			near = append(near, blocks.Edge{A: a, B: b})
		}
	}
	total := 0
	for _, members := range groups {
		n := len(members)
		total += n * (n - 1) / 2
	}
	for _, pair := range near {
		total += len(group(pair.A)) * len(group(pair.B))
	}
	if total > r.most {
		return nil, r.tooMany(method)
	}
	for _, members := range groups {
		for i, a := range members {
			for _, b := range members[i+1:] {
				all = append(all, blocks.Edge{A: a, B: b})
			}
		}
	}
	for _, pair := range near {
		for _, a := range group(pair.A) {
			for _, b := range group(pair.B) {
				all = append(all, blocks.NewEdge(a, b))
			}
		}
	}
	slices.SortFunc(all, blocks.Edge.Compare)
	return all, nil
}
