// Package compare finds the similar pairs of a small collection in several ways, and says how they
// agree.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/baseline"
	"github.com/neardup/neardup/transforms/signature"
)

// Config is what a user asks of the job.
type Config struct {
	dedup.Input

	Methods []string `default:"brute-force,minhash" enum:"brute-force,minhash,signatures" placeholder:"NAME" help:"Ways to find the pairs, in order; the first is what others are measured by. brute-force: the shingle sets of all documents are compared; minhash: as dedup does, each pair verified exactly; signatures: as textbooks do, pairs that share a bucket and whose signatures' sets of values reach the threshold. Refused for more than 100,000 documents, 64 million shingles (brute-force) or values of signatures (signatures), or 10 million pairs by any of them: give --limit then (default: ${default})." group:"Comparison"`

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
		Method: "minhash", Cluster: "star", Keep: "first", Write: []string{"pairs"}, PairBudget: maxPairs + 1,
	}
}

// maxDocuments keeps all pairs to some hours of comparing.
const maxDocuments = 100_000

// maxNumbers keeps the shingle sets, or the signatures, of all documents to half a gigabyte: each
// goes to as many pairs of cells as there are cells, which are at most 61 then.
const maxNumbers = 64_000_000

// maxPairs keeps the pairs of a method, which are held in memory, to 160 MB.
const maxPairs = 10_000_000

func tooMany(method string) error {
	return usage("--methods %s: more than %d pairs, too many to hold; give --limit to read fewer documents", method, maxPairs)
}

// Run does the whole job.
func Run(ctx context.Context, c Config, launch dedup.Launch) (comparison *records.Comparison, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := dedup.TempOutside(c.Inputs, cmp.Or(c.TempDir, os.TempDir())); err != nil {
		return nil, err
	}
	j := &job{config: c, launch: launch}
	if j.temp, err = storage.TempFolder(ctx, c.TempDir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(j.temp)) }()
	if j.plan, err = dedup.MakePlan(ctx, c.dedup(""), j.temp); err != nil {
		return nil, err
	}
	if j.plan.Documents > maxDocuments {
		return nil, usage("about %d documents have %d pairs, too many to look at each; give --limit %d", j.plan.Documents, j.plan.Documents*(j.plan.Documents-1)/2, maxDocuments)
	}
	if err := j.checkNumbers(); err != nil {
		return nil, err
	}
	if err := j.plan.Share(ctx, j.temp); err != nil {
		return nil, err
	}
	defer j.plan.Forget(j.temp)
	return j.run(ctx)
}

func (j *job) checkNumbers() error {
	for _, m := range []struct {
		method, what string
		numbers      int64
	}{{"brute-force", "shingles", j.plan.Shingles}, {"signatures", "values of signatures", j.values()}} {
		if slices.Contains(j.config.Methods, m.method) && m.numbers > maxNumbers {
			fewer := int64(float64(j.plan.Documents) * maxNumbers / float64(m.numbers))
			return usage("--methods %s: about %d %s are too many to compare all with all, at most %d; give --limit %d", m.method, m.numbers, m.what, maxNumbers, fewer)
		}
	}
	return nil
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
	var truth []blocks.Edge
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
	comparison.Warnings = j.plan.Warnings()
	unreadable, err := j.plan.Unreadable(j.temp)
	if unreadable != "" {
		comparison.Warnings = append(comparison.Warnings, unreadable)
	}
	return comparison, err
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

// pairs finds the pairs of documents in one way, sorted.
func (j *job) pairs(ctx context.Context, method string) ([]blocks.Edge, error) {
	if method == "minhash" {
		return j.deduplicated(ctx)
	}
	path := filepath.Join(j.temp, method)
	if method == "signatures" && j.config.Signature == string(signature.Classic) {
		pipeline, scope := beam.NewPipelineWithRoot()
		docs, _ := j.plan.Compared(scope, j.temp)
		j.plan.Dictionary(j.temp).Build(scope, j.plan.Text, docs)
		if _, err := j.config.Execute(ctx, j.launch, pipeline, j.temp); err != nil {
			return nil, err
		}
		if err := j.plan.CheckDictionary(ctx, j.temp); err != nil {
			return nil, err
		}
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := j.plan.Compared(scope, j.temp)
	params := baseline.Params{Threshold: j.plan.Threshold, Path: path, Most: maxPairs}
	if method == "brute-force" {
		params.Cells = cells(j.plan.Shingles)
		baseline.BruteForce(scope, docs, j.plan.Text, params)
	} else {
		params.Cells = cells(j.values())
		signing := j.plan.Signature(j.temp)
		signed, _ := signature.Values(scope, docs, signing)
		baseline.Signatures(scope, signed, signing.Banding(), params)
	}
	_, failed := j.config.Execute(ctx, j.launch, pipeline, j.temp)
	pairs, err := baseline.Pairs(ctx, path)
	if errors.Is(err, baseline.ErrTooMany) {
		return nil, tooMany(method)
	}
	return pairs, cmp.Or(failed, err)
}

// values are those of all signatures.
func (j *job) values() int64 { return j.plan.Documents * int64(j.plan.Choice.Signature) }

// cells is how many parts of some megabytes so many numbers make.
func cells(numbers int64) int {
	const numberBytes, cellBytes, least = 8, 8 << 20, 3
	return int(max(least, numbers*numberBytes/cellBytes))
}

// deduplicated runs the job dedup and lists all pairs of documents that its table stands for:
// copies resemble each other and whatever their representative resembles.
func (j *job) deduplicated(ctx context.Context) ([]blocks.Edge, error) {
	dir := filepath.Join(j.temp, "dedup")
	run, err := dedup.Run(ctx, j.config.dedup(dir), j.launch)
	if err != nil {
		return nil, err
	}
	if run.Counts[records.CountPairsPartial] > 0 { // a component has more than the budget
		return nil, tooMany("minhash")
	}
	r, err := output.Open(dir)
	if err != nil {
		return nil, err
	}
	ordinals := map[string]int{}
	for i, file := range j.plan.Listing.Inputs.Files {
		ordinals[file.Source] = i
	}
	copies := map[blocks.Key][]blocks.Key{} // by representative, which is not among them
	var near, all []blocks.Edge
	rows := 0
	for row, err := range output.Rows[records.Pair](r, "pairs") {
		if err != nil {
			return nil, err
		}
		if rows++; rows > maxPairs {
			return nil, tooMany("minhash")
		}
		a, b := blocks.NewKey(ordinals[row.SourceA], row.PositionA), blocks.NewKey(ordinals[row.SourceB], row.PositionB)
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
		return nil, tooMany("minhash")
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
