// Package compare finds the similar pairs of a small collection in several ways, and says how they
// agree.
package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/results"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
	"github.com/neardup/neardup/transforms/textbook"
)

// Config is what a user asks of the job.
type Config struct {
	dedup.Input

	Methods []string `default:"brute-force,minhash" enum:"brute-force,minhash,signatures" placeholder:"NAME" help:"Ways to find the pairs, in order; the first is what others are measured by. brute-force: the shingle sets of all documents are compared; minhash: as dedup does, each pair verified exactly; signatures: as textbooks do, pairs that share a bucket and whose signatures' sets of values reach the threshold (default: ${default})." group:"Comparison"`

	dedup.Similarity
	dedup.Search
	dedup.Running
}

var methods = []string{"brute-force", "minhash", "signatures"}

func usage(format string, args ...any) error {
	return &dedup.UsageError{Err: fmt.Errorf(format, args...)}
}

// Validate returns a *dedup.UsageError for what cannot be meant.
func (c *Config) Validate() error {
	seen := map[string]bool{}
	for _, m := range c.Methods {
		switch {
		case !slices.Contains(methods, m):
			return usage("--methods %s: not one of %s", m, strings.Join(methods, ", "))
		case seen[m]:
			return usage("--methods: %s is named twice", m)
		}
		seen[m] = true
	}
	switch {
	case len(c.Methods) < 2:
		return usage("--methods %s: name two at least, of %s", strings.Join(c.Methods, ","), strings.Join(methods, ", "))
	case c.OnCluster():
		return usage("--runner %s: compare runs on this machine; leave it out", c.Runner)
	case slices.Contains(c.Inputs, "-"):
		return usage("compare reads its input several times, and standard input can be read once: give a file")
	}
	job := c.dedup("")
	return job.Validate()
}

// dedup is the job that the method minhash is; without an output only its plan.
func (c *Config) dedup(output string) dedup.Config {
	return dedup.Config{
		Input: c.Input, Similarity: c.Similarity, Search: c.Search, Running: c.Running,
		Output: output, DryRun: output == "", MaxRejected: dedup.Tolerance{Percent: 100},
		Method: "minhash", Cluster: "star", Keep: "first", Write: []string{"pairs"}, PairBudget: math.MaxInt,
	}
}

// maxDocuments keeps all pairs to some hours of comparing.
const maxDocuments = 100_000

// Run does the whole job.
func Run(ctx context.Context, c Config, launch dedup.Launch) (comparison *records.Comparison, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	j := &job{config: c, launch: launch}
	if j.temp, err = os.MkdirTemp(c.TempDir, "neardup-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(j.temp)) }()
	if j.plan, err = dedup.MakePlan(ctx, c.dedup(""), j.temp); err != nil {
		return nil, err
	}
	if j.plan.Documents > maxDocuments {
		return nil, usage("about %d documents have %d pairs, too many to look at each; give --limit %d", j.plan.Documents, j.plan.Documents*(j.plan.Documents-1)/2, maxDocuments)
	}
	if err := j.plan.Share(j.temp); err != nil {
		return nil, err
	}
	defer j.plan.Forget(j.temp)
	return j.run(ctx)
}

// job is one comparison.
type job struct {
	config Config
	launch dedup.Launch
	temp   string
	plan   *dedup.Plan
}

func (j *job) run(ctx context.Context) (*records.Comparison, error) {
	comparison := &records.Comparison{Threshold: j.plan.Threshold.Float(), Bands: j.plan.Choice.Bands, Rows: j.plan.Choice.Rows, Signature: j.config.Signature}
	var truth []records.Edge
	for i, name := range j.config.Methods {
		started := time.Now()
		pairs, err := j.pairs(ctx, name)
		if err != nil {
			return nil, err
		}
		m := records.Method{Name: name, Seconds: time.Since(started).Seconds(), Pairs: len(pairs)}
		if i == 0 {
			truth = pairs
		}
		m.Common = common(truth, pairs)
		m.Recall, m.Precision = share(m.Common, len(truth)), share(m.Common, len(pairs))
		comparison.Methods = append(comparison.Methods, m)
	}
	return comparison, nil
}

// share is 1 of none.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// common counts the pairs in both lists, which are sorted.
func common(a, b []records.Edge) (n int) {
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

// pairs finds the pairs of documents in one way, sorted.
func (j *job) pairs(ctx context.Context, method string) ([]records.Edge, error) {
	if method == "minhash" {
		return j.deduplicated(ctx)
	}
	path := filepath.Join(j.temp, method)
	if method == "signatures" && j.config.Signature == string(signature.Classic) {
		pipeline, scope := beam.NewPipelineWithRoot()
		blocks, _ := j.plan.Compared(scope, j.temp)
		j.plan.Dictionary(j.temp).Build(scope, blocks, j.plan.Text)
		if _, err := j.config.Execute(ctx, j.launch, pipeline, j.temp); err != nil {
			return nil, err
		}
		if err := j.plan.CheckDictionary(j.temp); err != nil {
			return nil, err
		}
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	blocks, _ := j.plan.Compared(scope, j.temp)
	if method == "brute-force" {
		textbook.BruteForce(scope, blocks, j.plan.Text, j.plan.Threshold, j.cells(), path)
	} else {
		signing := j.plan.Signature(j.temp)
		signed, _ := signature.Values(scope, blocks, signing)
		textbook.Signatures(scope, signed, signing.Banding(), j.plan.Threshold, path)
	}
	if _, err := j.config.Execute(ctx, j.launch, pipeline, j.temp); err != nil {
		return nil, err
	}
	return textbook.Pairs(path)
}

// cells is how many parts of some megabytes the sets of all documents make.
func (j *job) cells() int {
	const shingleBytes, cellBytes, least = 8, 8 << 20, 3
	return int(max(least, j.plan.Shingles*shingleBytes/cellBytes))
}

// deduplicated runs the job dedup and lists all pairs of documents that its table stands for:
// copies resemble each other and whatever their representative resembles.
func (j *job) deduplicated(ctx context.Context) ([]records.Edge, error) {
	output := filepath.Join(j.temp, "dedup")
	if _, err := dedup.Run(ctx, j.config.dedup(output), j.launch); err != nil {
		return nil, err
	}
	r, err := results.Open(output)
	if err != nil {
		return nil, err
	}
	ordinals := map[string]int{}
	for i, file := range j.plan.Listing.Inputs.Files {
		ordinals[file.Source] = i
	}
	copies := map[records.Key][]records.Key{} // by representative, which is not among them
	var near, all []records.Edge
	for row, err := range results.Rows[records.Pair](r, "pairs") {
		if err != nil {
			return nil, err
		}
		a, b := records.NewKey(ordinals[row.SourceA], row.PositionA), records.NewKey(ordinals[row.SourceB], row.PositionB)
		if row.Similarity == 1 {
			copies[a] = append(copies[a], b)
		} else {
			near = append(near, records.Edge{A: a, B: b})
		}
	}
	group := func(representative records.Key) []records.Key {
		return append([]records.Key{representative}, copies[representative]...)
	}
	for representative := range copies {
		same := group(representative)
		for i, a := range same {
			for _, b := range same[i+1:] {
				all = append(all, records.Edge{A: min(a, b), B: max(a, b)})
			}
		}
	}
	for _, pair := range near {
		for _, a := range group(pair.A) {
			for _, b := range group(pair.B) {
				all = append(all, records.Edge{A: min(a, b), B: max(a, b)})
			}
		}
	}
	slices.SortFunc(all, records.Edge.Compare)
	return all, nil
}
