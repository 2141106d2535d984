// Package study measures how preprocessing affects similarity: it compares every two documents of a small collection
// with several sizes of shingles, with and without spaces, stop words and stemming.
package study

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/overlap"
	"github.com/neardup/neardup/transforms/signature"
)

// Config holds the settings of the job.
type Config struct {
	records.Input

	Output     string      `short:"o" placeholder:"DIR" help:"Folder for the tables, the report and the plots: new or empty; with --overwrite also a finished output." group:"Study"`
	Unit       Unit        `default:"char" enum:"${units}" placeholder:"UNIT" help:"Unit of shingles: char or word (default: ${default})." group:"Study"`
	K          []int       `name:"k" short:"k" default:"5,7,9" placeholder:"K" help:"Sizes of shingles (default: ${default})." group:"Study"`
	Language   string      `default:"en" placeholder:"CODE" help:"Language of stop words and stems (default: ${default})." group:"Study"`
	Vary       []Variation `enum:"${variations}" placeholder:"NAME" help:"Steps to vary besides spaces, stop words and stems: case (lower or unchanged), punctuation (removed or kept) or replicas (shingles count once or as often as they occur). Each doubles the number of settings." group:"Study"`
	Threshold  float64     `short:"t" default:"0.5" placeholder:"T" help:"Minimum similarity to put documents into one group, under the first setting (the first K, no steps) (default: ${default})." group:"Study"`
	DropCopies bool        `help:"Leave out documents with the same words in the same order as an earlier one." group:"Study"`

	Signatures []int            `placeholder:"N" help:"Lengths of signatures, such as 16,64,256,1024: compare the estimates from signatures of each length with the exact similarities under the first setting. This reads the input again." group:"Study"`
	Signature  signature.Family `default:"classic" enum:"${families}" placeholder:"KIND" help:"Kind of signature, with one hash function per value, for --signatures: classic or salted (default: ${default})." group:"Study"`

	ShowMatrices bool `help:"Write the dictionary, the characteristic matrix, the functions, signatures and buckets of --signature classic under the first setting, and the weights of words, for up to 20 documents and 10,000 shingles. This reads the input again." group:"Study"`
	Bands        int  `default:"3" placeholder:"B" help:"Number of bands of the signatures that --show-matrices shows (default: ${default})." group:"Study"`
	Rows         int  `default:"2" placeholder:"R" help:"Rows per band (default: ${default})." group:"Study"`

	// Draw writes drawings and reports to the output, each by a call of write; nil writes none.
	Draw func(found *records.Study, write func(name string, content func(io.Writer) error) error) error `kong:"-"`

	job.Running
	job.Replacing
}

// Vars returns the values of variables in the tags of Config.
func Vars() map[string]string {
	vars := job.Vars()
	vars["units"] = job.Names(byCharacters, byWords)
	vars["families"] = job.Names(signature.Classic, signature.Salted)
	vars["variations"] = job.Names(letterCase, punctuation, replicas)
	return vars
}

const (
	// mostPairs is the number of pairs of 1,414 documents.
	mostPairs     = 1_000_000
	mostDocuments = 1414
	// mostSettings limits the number of open files to some hundreds.
	mostSettings = 512
	// mostValues is the maximum length of a signature.
	mostValues = 1024
)

// spec returns the settings as a Spec of dedup. Documents are sampled under the first setting.
func (c *Config) spec() (records.Spec, error) {
	s := records.Default()
	s.Input, s.Threshold, s.Signature = c.Input, c.Threshold, string(c.Signature)
	first, err := c.features(&c.settings()[0])
	s.Shingles = records.Shingles{Shingle: first.Text.Shingle.String(),
		Normalizing: records.Normalizing{Normalize: first.Text.Steps()}}
	return s, err
}

// validate returns a *job.UsageError if the settings are wrong.
func (c *Config) validate() error {
	if len(c.K) == 0 {
		return job.Usage("--k: name a shingle size, such as --k 5,7,9")
	}
	if err := job.CheckPath("--output", c.Output); err != nil {
		return err
	}
	if err := c.checkLanguage(); err != nil {
		return job.Usage("--language %s: %w", c.Language, err)
	}
	const once = "--k and --vary: give each value once"
	if varied := slices.Sorted(slices.Values(c.Vary)); len(slices.Compact(varied)) < len(c.Vary) {
		return job.Usage(once)
	}
	names := map[string]bool{}
	for _, s := range c.settings() {
		if s.K < 1 || s.K > maxK {
			return job.Usage("--k %d: must be between 1 and %d", s.K, maxK)
		}
		if names[s.Name] {
			return job.Usage(once)
		}
		names[s.Name] = true
	}
	for _, n := range c.Signatures {
		if n < 1 || n > mostValues {
			return job.Usage("--signatures %d: must be between 1 and %d", n, mostValues)
		}
	}
	switch {
	case len(names) > mostSettings:
		return job.Usage("%d settings are too many (maximum: %d); use fewer values of --k or --vary",
			len(names), mostSettings)
	case c.Output == "" && c.Replaces():
		return job.Usage("--overwrite: there is no folder to write to; add --output")
	case slices.Contains(c.Inputs, "-") && len(c.Signatures) > 0:
		return job.Usage("--signatures reads the input again, but standard input can be read only once; give a file")
	case slices.Contains(c.Inputs, "-") && c.ShowMatrices:
		return job.Usage("--show-matrices reads the input again, but standard input can be read only once; give a file")
	case c.Bands < 1 || c.Rows < 1 || c.Bands > mostValues || c.Rows > mostValues/c.Bands:
		return job.Usage("--bands %d, --rows %d: both must be at least 1, and their product must be at most %d",
			c.Bands, c.Rows, mostValues)
	}
	return c.Runner.CheckHere("study")
}

// maxK is larger than any useful shingle of prose.
const maxK = 1000

// Job is one study.
type Job struct {
	config Config
	asked  *job.Asked
	launch job.Launch
	temp   string
	plan   *job.Plan
	params overlap.Params

	documents []overlap.Document
	dropped   map[int]bool // documents that are left out
	study     records.Study

	staged output.Folder          // for files of the output, if there is one
	files  []records.ManifestFile // written so far
}

// New checks the config; the error is a *job.UsageError.
func New(c Config) (*Job, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	spec, err := c.spec()
	if err != nil {
		return nil, err
	}
	asked, err := job.Compile(spec)
	if err == nil {
		err = c.Check(asked)
	}
	return &Job{config: c, asked: asked}, err
}

func (r *Job) do(ctx context.Context) (*records.Study, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.plan.Share(ctx, r.temp); err != nil {
		return nil, err
	}
	defer r.plan.Forget(r.temp)
	reads := [][]job.Read{r.plan.Reads(job.First)}
	if len(r.config.Signatures) > 0 && r.plan.Request.Prepares() {
		reads = append(reads, r.plan.Reads(job.First))
	}
	if len(r.config.Signatures) > 0 {
		reads = append(reads, r.plan.Reads(job.First))
	}
	r.config.Tell(reads...)
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(scope, r.temp)
	overlap.Count(scope, docs, r.params)
	if _, err := r.config.Execute(ctx, r.launch, pipeline, r.temp); err != nil {
		return nil, err
	}
	var err error
	if r.documents, err = r.params.Documents(ctx); err != nil {
		if many := (*overlap.TooManyError)(nil); errors.As(err, &many) {
			return nil, tooMany(int64(many.Documents))
		}
		return nil, err
	}
	if r.study.Warnings, err = r.plan.ReadWarnings(ctx, r.temp); err != nil {
		return nil, err
	}
	r.describe()
	if r.config.ShowMatrices {
		if r.study.Matrices, err = r.matrices(ctx); err != nil {
			return nil, err
		}
	}
	signed, err := r.sign(ctx)
	if err != nil {
		return nil, err
	}
	err = r.withTables(ctx, func(write func(records.StudiedPair) error) error { return r.compare(ctx, signed, write) })
	return &r.study, err
}

func tooMany(documents int64) error {
	return job.Usage("%s documents have %s pairs, but study takes at most %s; name fewer files, or use --limit %d to "+
		"read only the first documents; neardup dedup has no such limit",
		records.Count(documents), records.Count(documents*(documents-1)/2), records.Count(mostPairs), mostDocuments)
}

// prepare makes the plan, and refuses at once an input that is far too large. The estimates of the plan are not exact.
func (r *Job) prepare(ctx context.Context) (err error) {
	if r.plan, err = job.NewPlan(ctx, job.Request{Asked: r.asked, Running: r.config.Running, Unsigned: true, Strict: true},
		r.temp); err != nil {
		return err
	}
	if r.plan.Documents > 2*mostDocuments {
		return tooMany(r.plan.Documents)
	}
	if err := job.CheckInputNotInOutput(r.plan.Listing.Inputs.Paths(), r.config.Output, r.temp); err != nil {
		return err
	}
	r.study = records.Study{Unit: string(r.config.Unit), Language: r.config.Language, Settings: r.config.settings(),
		Threshold: r.config.Threshold, Dropped: r.config.DropCopies, Copies: [][]int{}}
	r.params = overlap.Params{Dir: r.temp, Most: mostDocuments}
	for i := range r.study.Settings {
		features, err := r.config.features(&r.study.Settings[i])
		if err != nil {
			return err
		}
		r.params.Settings = append(r.params.Settings, features)
	}
	// One call counts about 8 MB of features.
	const rangeFeatures = 1 << 20
	r.params.Ranges = int(max(1, min(r.plan.Shingles/rangeFeatures, int64(mostSettings/len(r.params.Settings)))))
	return nil
}
