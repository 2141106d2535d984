// Package query finds the documents nearest to one: it reads, signs and makes keys as the job dedup
// does, and nothing more.
package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/nearest"
	"github.com/neardup/neardup/transforms/signature"
)

// Config is what a user asks of the job.
type Config struct {
	dedup.Input

	Of     string `placeholder:"ID" help:"Id of the document whose nearest are sought." group:"Query"`
	File   string `placeholder:"FILE" help:"File with a text whose nearest are sought, instead of a document's; - is standard input." group:"Query"`
	Most   int    `name:"nearest" short:"n" default:"10" placeholder:"N" help:"How many to list at most, of those that share a bucket (default: ${default})." group:"Query"`
	Output string `short:"o" placeholder:"FILE" help:"Parquet file for the result; must be new." group:"Query"`

	dedup.Similarity
	dedup.Search
	dedup.Running
}

func usage(format string, args ...any) error {
	return &dedup.UsageError{Err: fmt.Errorf(format, args...)}
}

// Validate returns a *dedup.UsageError for what cannot be meant.
func (c *Config) Validate() error {
	switch {
	case c.Of == "" && c.File == "":
		return usage("nothing to look for: give --of ID, or a text by --file FILE (- is standard input)")
	case c.Of != "" && c.File != "":
		return usage("--of and --file exclude each other: give one")
	case c.File == "-" && slices.Contains(c.Inputs, "-"):
		return usage("standard input is both an input and --file; give one of them as a file")
	case c.OnCluster():
		return usage("--runner %s: query runs on this machine; leave it out", c.Runner)
	case c.Most < 1:
		return usage("--nearest %d: must be at least 1", c.Most)
	}
	first := c.dedup()
	return first.Validate()
}

// dedup is the job whose first steps the query takes.
func (c *Config) dedup() dedup.Config {
	return dedup.Config{
		Input: c.Input, Similarity: c.Similarity, Search: c.Search, Running: c.Running,
		Method: "minhash", Cluster: "star", Keep: "first", Write: []string{"pairs"}, PairBudget: 1, DryRun: true,
	}
}

// Files of a run's temporary folder.
const (
	textFile    = "text"
	foundFile   = "found.json"
	queryFile   = "query.json"
	nearestFile = "nearest.json"
)

// Run does the whole job.
func Run(ctx context.Context, c Config, launch dedup.Launch) (answer *records.Answer, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := c.checkOutput(); err != nil {
		return nil, err
	}
	j := &job{config: c, launch: launch}
	if j.temp, err = storage.TempFolder(ctx, c.TempDir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(j.temp)) }()
	if j.plan, err = dedup.MakePlan(ctx, c.dedup(), j.temp); err != nil {
		return nil, err
	}
	if err := j.plan.Share(ctx, j.temp); err != nil {
		return nil, err
	}
	defer j.plan.Forget(j.temp)
	return j.run(ctx)
}

func (c *Config) checkOutput() error {
	if c.Output == "" {
		return nil
	}
	if _, err := os.Lstat(c.Output); !errors.Is(err, fs.ErrNotExist) {
		return &dedup.OutputExistsError{Reason: c.Output + " is there already; give another --output"}
	}
	return nil
}

// job is one query.
type job struct {
	config Config
	launch dedup.Launch
	temp   string
	plan   *dedup.Plan
	answer records.Answer
}

func (j *job) run(ctx context.Context) (*records.Answer, error) {
	j.answer = records.Answer{Of: j.config.Of, Asked: j.config.Most, Parameters: j.parameters(), Neighbours: []records.Neighbour{}}
	j.answer.Warnings = j.plan.Warnings()
	key, text, err := nearest.None, []byte(nil), error(nil)
	if j.config.File != "" {
		if text, err = j.readText(ctx); err != nil {
			return nil, err
		}
	}
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	if j.config.Of != "" {
		if key, text, err = j.document(ctx); err != nil {
			return nil, err
		}
	}
	found, err := j.search(ctx, key, text)
	if err != nil {
		return nil, err
	}
	if err := j.compare(ctx, text, found); err != nil {
		return nil, err
	}
	unreadable, err := j.plan.Unreadable(j.temp)
	if err != nil {
		return nil, err
	}
	if unreadable != "" {
		j.answer.Warnings = append(j.answer.Warnings, unreadable)
	}
	return &j.answer, j.write(ctx)
}

func (j *job) parameters() map[string]string {
	all := j.plan.Metadata()
	maps.DeleteFunc(all, func(name, _ string) bool { // what only the other job does
		return name == "neardup.cluster" || name == "neardup.keep" || name == "neardup.method"
	})
	return all
}

// readText reads the text that stands in a file, and leaves a copy for the workers.
func (j *job) readText(ctx context.Context) (text []byte, err error) {
	in := os.Stdin
	if j.answer.Of = j.config.File; j.config.File != "-" {
		if in, err = os.Open(j.config.File); err != nil {
			return nil, &dedup.UsageError{Err: err}
		}
		defer in.Close()
	}
	limit := int64(j.config.MaxDocBytes)
	if text, err = io.ReadAll(io.LimitReader(in, limit+1)); err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, usage("--file %s: more than --max-doc-bytes %d", j.config.File, limit)
	}
	if least := j.config.MinWords; least > 0 {
		if words := shingle.NewWordCounter(j.plan.Text.Normalize).Words(text); words < least {
			return nil, usage("--file %s: the text is not compared: %s, %d words, --min-words is %d", j.config.File, records.ReasonTooShort, words, least)
		}
	}
	_, err = storage.WriteFile(ctx, filepath.Join(j.temp, textFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return text, err
}

// prepare reads all documents once, if the id is still to be looked up or the shingles are to be
// numbered: those of the text in question, too.
func (j *job) prepare(ctx context.Context) error {
	numbered := j.config.Signature == string(signature.Classic)
	if j.config.Of == "" && !numbered {
		return nil
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, rejected := j.plan.Compared(scope, j.temp)
	if j.config.Of != "" {
		nearest.Lookup{
			Inputs: j.plan.Signature(j.temp).Inputs, ID: j.config.Of, Answer: filepath.Join(j.temp, foundFile),
		}.Find(scope, docs, rejected...)
	}
	if numbered {
		numbering := []flow.Documents{docs}
		if j.config.File != "" {
			numbering = append(numbering, nearest.Text(scope, filepath.Join(j.temp, textFile)))
		}
		j.plan.Dictionary(j.temp).Build(scope, j.plan.Text, numbering...)
	}
	if _, err := j.config.Execute(ctx, j.launch, pipeline, j.temp); err != nil {
		return err
	}
	if numbered {
		return j.plan.CheckDictionary(ctx, j.temp)
	}
	return nil
}

// document returns the one document of the id.
func (j *job) document(ctx context.Context) (blocks.Key, []byte, error) {
	path := filepath.Join(j.temp, foundFile)
	found, err := storage.Shared[nearest.Found](ctx, path)
	if err != nil {
		return 0, nil, err
	}
	defer storage.Forget(path)
	inputs := j.plan.Listing.Inputs
	switch {
	case found.Documents > 1:
		var places []string
		for _, key := range found.Keys {
			places = append(places, fmt.Sprintf("%s@%d", inputs.Source(key), key.Position()))
		}
		for _, row := range found.Rejected {
			places = append(places, fmt.Sprintf("%s@%d (not compared: %s)", row.Source, row.Position, row.Reason))
		}
		first := ""
		if int64(len(places)) < found.Documents {
			first = ", the first"
		}
		return 0, nil, usage("--of %s: %d documents have this id%s: %s; give the text of one by --file", j.config.Of, found.Documents, first, strings.Join(places, ", "))
	case len(found.Rejected) == 1:
		row := found.Rejected[0]
		return 0, nil, usage("--of %s: the document at byte %d of %s is not compared: %s", j.config.Of, row.Position, row.Source, strings.TrimSuffix(row.Reason+", "+row.Detail, ", "))
	case len(found.Keys) == 0:
		unreadable, err := j.plan.Unreadable(j.temp)
		if err != nil {
			return 0, nil, err
		}
		if unreadable != "" {
			unreadable = "; " + unreadable
		}
		closest := "; no id resembles it"
		if len(found.Closest) > 0 {
			var ids []string
			for _, c := range found.Closest {
				ids = append(ids, c.ID)
			}
			closest = "; the closest are " + strings.Join(ids, ", ")
		}
		return 0, nil, usage("--of %s: no document has this id%s%s", j.config.Of, closest, unreadable)
	}
	key := found.Keys[0]
	j.answer.Source, j.answer.Position = inputs.Source(key), key.Position()
	text, err := source.Text(ctx, inputs, key, j.plan.Config.Source())
	return key, []byte(text), err
}

// search finds the documents that share a bucket with the text.
func (j *job) search(ctx context.Context, key blocks.Key, text []byte) (*nearest.Nearest, error) {
	signing := j.plan.Signature(j.temp)
	values, err := signing.Of(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, usage("%s: the text has no token, so nothing resembles it", j.answer.Of)
	}
	query := filepath.Join(j.temp, queryFile)
	if err := storage.WriteShared(ctx, query, nearest.Query{Key: key, Values: values}); err != nil {
		return nil, err
	}
	defer storage.Forget(query)
	path := filepath.Join(j.temp, nearestFile)
	defer storage.Forget(path)
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := j.plan.Compared(scope, j.temp)
	signed, _ := signature.Values(scope, docs, signing)
	nearest.Find(scope, signed, nearest.Params{Banding: signing.Banding(), Query: query, Answer: path, Most: j.config.Most})
	if _, err := j.config.Execute(ctx, j.launch, pipeline, j.temp); err != nil {
		return nil, err
	}
	return storage.Shared[nearest.Nearest](ctx, path)
}

// compare reads the nearest documents, and finds how similar they are.
func (j *job) compare(ctx context.Context, text []byte, found *nearest.Nearest) error {
	shingler := j.plan.Text.New()
	own := shingle.Set(shingler.Shingles(nil, text))
	j.answer.Size, j.answer.Candidates = int32(len(own)), found.Candidates
	inputs := j.plan.Listing.Inputs
	var keys []blocks.Key
	for _, n := range found.Near {
		keys = append(keys, n.Key)
	}
	rows := map[blocks.Key]records.Neighbour{}
	err := source.Lookup(ctx, inputs, keys, j.plan.Config.Source(), func(doc blocks.Document) {
		set := shingle.Set(shingler.Shingles(nil, doc.Text))
		shared := setsim.Overlap(own, set)
		rows[doc.Key] = records.Neighbour{
			ID: inputs.ID(doc.Key, doc.ID, doc.HasID), Source: inputs.Source(doc.Key), Position: doc.Key.Position(),
			Similarity: setsim.Similarity(shared, len(own), len(set)), Shared: int32(shared), Size: int32(len(set)),
		}
	})
	if err != nil {
		return err
	}
	for _, n := range found.Near {
		row := rows[n.Key]
		row.Estimate = float64(n.Equal) / float64(j.plan.Choice.Signature)
		j.answer.Neighbours = append(j.answer.Neighbours, row)
	}
	return nil
}

// write writes the neighbours as Parquet.
func (j *job) write(ctx context.Context) error {
	if j.config.Output == "" {
		return nil
	}
	options := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.CreatedBy("neardup", records.Tables, "")}
	for _, name := range slices.Sorted(maps.Keys(j.answer.Parameters)) {
		options = append(options, parquet.KeyValueMetadata(name, j.answer.Parameters[name]))
	}
	options = append(options, parquet.KeyValueMetadata("neardup.of", j.answer.Of))
	_, err := storage.WriteFile(ctx, j.config.Output, func(w io.Writer) error {
		out := parquet.NewGenericWriter[records.Neighbour](w, options...)
		if _, err := out.Write(j.answer.Neighbours); err != nil {
			return err
		}
		return out.Close()
	})
	return err
}
