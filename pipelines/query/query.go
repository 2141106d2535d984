// Package query finds the documents nearest to one: it reads, signs and makes keys as the job dedup
// does, and nothing more.
package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/nearest"
	"github.com/neardup/neardup/transforms/signature"
)

// Config is what a user asks of the job.
type Config struct {
	job.Input

	Of     string `placeholder:"ID" help:"Id of the document whose nearest are sought." group:"Query"`
	File   string `placeholder:"FILE" help:"File with a text whose nearest are sought, instead of a document's; - is standard input." group:"Query"`
	Most   int    `name:"nearest" short:"n" default:"10" placeholder:"N" help:"How many to list at most, of those that share a bucket (default: ${default})." group:"Query"`
	Output string `short:"o" placeholder:"FILE" help:"Parquet file for the result; must be new." group:"Query"`
	// Content is what File holds.
	Content io.Reader `kong:"-"`

	job.Similarity
	job.Search
	job.Running
}

// validate returns a *job.UsageError for what cannot be meant.
func (c *Config) validate() error {
	shared := c.shared()
	if err := shared.Validate(); err != nil {
		return err
	}
	if _, err := storage.At(c.Output); err != nil {
		return job.Usage("--output %w", err)
	}
	switch {
	case c.Of == "" && c.File == "":
		return job.Usage("nothing to look for: give --of ID, or a text by --file FILE (- is standard input)")
	case c.Of != "" && c.File != "":
		return job.Usage("--of and --file exclude each other: give one")
	case c.File == "-" && slices.Contains(c.Inputs, "-"):
		return job.Usage("standard input is both an input and --file; give one of them as a file")
	case c.Runner.OnCluster():
		return job.Usage("--runner %s: query runs on this machine; leave it out", c.Runner)
	case c.Most < 1:
		return job.Usage("--nearest %d: must be at least 1", c.Most)
	}
	return nil
}

// shared is what every job is asked.
func (c *Config) shared() job.Config {
	return job.Config{Input: c.Input, Similarity: c.Similarity, Search: c.Search, Running: c.Running}
}

// Files of a run's temporary folder.
const (
	textFile    = "text"
	foundFile   = "found.json"
	queryFile   = "query.json"
	nearestFile = "nearest.json"
)

// Job is a Config that can be meant.
type Job struct{ config Config }

// New checks what is asked; the error is a *job.UsageError.
func New(c Config) (*Job, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Job{c}, nil
}

// Run does the whole job.
func (j *Job) Run(ctx context.Context, launch job.Launch) (answer *records.Answer, err error) {
	if err := j.config.checkOutput(ctx); err != nil {
		return nil, err
	}
	err = job.InTempFolder(ctx, j.config.TempDir, func(temp string) (err error) {
		r := &run{config: j.config, launch: launch, temp: temp}
		if r.plan, err = job.NewPlan(ctx, job.Request{Config: j.config.shared()}, temp); err != nil {
			return err
		}
		if err := r.plan.Share(ctx, temp); err != nil {
			return err
		}
		defer r.plan.Forget(temp)
		answer, err = r.do(ctx)
		return err
	})
	return answer, err
}

func (c *Config) checkOutput(ctx context.Context) error {
	if c.Output == "" {
		return nil
	}
	there, err := storage.Exists(ctx, c.Output)
	if err == nil && there {
		return &job.OutputExistsError{Reason: c.Output + " is there already; give another --output"}
	}
	return err
}

// run is one query.
type run struct {
	config Config
	launch job.Launch
	temp   string
	plan   *job.Plan
	answer records.Answer
}

func (r *run) do(ctx context.Context) (*records.Answer, error) {
	r.answer = records.Answer{Of: r.config.Of, Asked: r.config.Most, Parameters: r.plan.Metadata(nil), Neighbours: []records.Neighbour{}}
	r.answer.Warnings = r.plan.Warnings()
	key, text, err := nearest.None, []byte(nil), error(nil)
	if r.config.File != "" {
		if text, err = r.readText(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if r.config.Of != "" {
		if key, text, err = r.document(ctx); err != nil {
			return nil, err
		}
	}
	found, err := r.search(ctx, key, text)
	if err != nil {
		return nil, err
	}
	if err := r.compare(ctx, text, found); err != nil {
		return nil, err
	}
	unreadable, err := r.plan.Unreadable(ctx, r.temp)
	if err != nil {
		return nil, err
	}
	if unreadable != "" {
		r.answer.Warnings = append(r.answer.Warnings, unreadable)
	}
	return &r.answer, r.write(ctx)
}

// readText reads the text that stands in a file, and leaves a copy for the workers.
func (r *run) readText(ctx context.Context) (text []byte, err error) {
	r.answer.Of = r.config.File
	limit := int64(r.config.MaxDocBytes)
	if text, err = io.ReadAll(io.LimitReader(job.Patient(ctx, r.config.Content), limit+1)); err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, job.Usage("--file %s: more than --max-doc-bytes %d", r.config.File, limit)
	}
	if err := r.plan.Reading().CheckText(text); err != nil {
		return nil, job.Usage("--file %s: %w", r.config.File, err)
	}
	if least := r.config.MinWords; least > 0 {
		if words := shingle.NewWordCounter(r.plan.Spec.Normalize).Words(text); words < least {
			return nil, job.Usage("--file %s: the text is not compared: %s, %d words, --min-words is %d", r.config.File, records.ReasonTooShort, words, least)
		}
	}
	_, err = storage.WriteBelow(ctx, r.temp, storage.Join(r.temp, textFile), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return text, err
}

// prepare reads all documents once, if the id is still to be looked up or the shingles are to be
// numbered: those of the text in question, too.
func (r *run) prepare(ctx context.Context) error {
	numbered := r.plan.NeedsDictionary()
	if r.config.Of == "" && !numbered {
		return nil
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, rejected := r.plan.ReadAlone(scope, r.temp)
	if r.config.Of != "" {
		nearest.Lookup{
			Inputs: r.plan.Signature(r.temp).Inputs, ID: r.config.Of, Answer: storage.Join(r.temp, foundFile),
		}.Find(scope, docs, rejected...)
	}
	if numbered {
		numbering := []flow.Documents{docs}
		if r.config.File != "" {
			numbering = append(numbering, nearest.Text(scope, storage.Join(r.temp, textFile)))
		}
		r.plan.Dictionary(r.temp).Build(scope, r.plan.Spec, numbering...)
	}
	if _, err := r.config.Execute(ctx, r.launch, pipeline, r.temp); err != nil {
		return err
	}
	if numbered {
		return r.plan.CheckDictionary(ctx, r.temp)
	}
	return nil
}

// document returns the one document of the id.
func (r *run) document(ctx context.Context) (blocks.Key, []byte, error) {
	path := storage.Join(r.temp, foundFile)
	found, err := storage.Shared[nearest.Found](ctx, path)
	if err != nil {
		return 0, nil, err
	}
	defer storage.Forget(path)
	inputs := r.plan.Listing.Inputs
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
		return 0, nil, job.Usage("--of %s: %d documents have this id%s: %s; give the text of one by --file", r.config.Of, found.Documents, first, strings.Join(places, ", "))
	case len(found.Rejected) == 1:
		row := found.Rejected[0]
		_, err := source.Text(ctx, inputs, r.plan.Keys()(row.Source, row.Position), r.plan.Reading())
		if unreadable := (*codec.Error)(nil); errors.As(err, &unreadable) {
			return 0, nil, job.Usage("--of %s: the document is unreadable: %w", r.config.Of, err)
		}
		if err != nil {
			return 0, nil, err
		}
		return 0, nil, job.Usage("--of %s: the document at byte %d of %s is not compared: %s", r.config.Of, row.Position, row.Source, strings.TrimSuffix(row.Reason+", "+row.Detail, ", "))
	case len(found.Keys) == 0:
		unreadable, err := r.plan.Unreadable(ctx, r.temp)
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
		return 0, nil, job.Usage("--of %s: no document has this id%s%s", r.config.Of, closest, unreadable)
	}
	key := found.Keys[0]
	r.answer.Source, r.answer.Position = inputs.Source(key), key.Position()
	text, err := source.Text(ctx, inputs, key, r.plan.Reading())
	return key, []byte(text), err
}

// search finds the documents that share a bucket with the text.
func (r *run) search(ctx context.Context, key blocks.Key, text []byte) (*nearest.Nearest, error) {
	signing := r.plan.Signature(r.temp)
	values, err := signing.Of(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, job.Usage("%s: the text has no token, so nothing resembles it", r.answer.Of)
	}
	query := storage.Join(r.temp, queryFile)
	if err := storage.WriteShared(ctx, query, nearest.Query{Key: key, Values: values}); err != nil {
		return nil, err
	}
	defer storage.Forget(query)
	path := storage.Join(r.temp, nearestFile)
	defer storage.Forget(path)
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(scope, r.temp)
	signed, _ := signature.Values(scope, docs, signing)
	nearest.Find(scope, signed, nearest.Params{Banding: signing.Banding, Query: query, Answer: path, Most: r.config.Most})
	if _, err := r.config.Execute(ctx, r.launch, pipeline, r.temp); err != nil {
		return nil, err
	}
	return storage.Shared[nearest.Nearest](ctx, path)
}

// compare reads the nearest documents, and finds how similar they are.
func (r *run) compare(ctx context.Context, text []byte, found *nearest.Nearest) error {
	shingler := r.plan.Spec.New()
	own := shingle.Set(shingler.Shingles(nil, text))
	r.answer.Size, r.answer.Candidates = int32(len(own)), found.Candidates
	inputs := r.plan.Listing.Inputs
	var keys []blocks.Key
	for _, n := range found.Near {
		keys = append(keys, n.Key)
	}
	rows := map[blocks.Key]records.Neighbour{}
	err := source.Lookup(ctx, inputs, keys, r.plan.Reading(), func(doc blocks.Document) {
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
		row.Estimate = float64(n.Equal) / float64(r.plan.Choice.Signature)
		r.answer.Neighbours = append(r.answer.Neighbours, row)
	}
	return nil
}

// write writes the neighbours as Parquet.
func (r *run) write(ctx context.Context) error {
	if r.config.Output == "" {
		return nil
	}
	options := append(output.WriterOptions(r.answer.Parameters), parquet.KeyValueMetadata("neardup.of", r.answer.Of))
	_, err := storage.WriteFile(ctx, r.config.Output, func(w io.Writer) error {
		out := parquet.NewGenericWriter[records.Neighbour](w, options...)
		if _, err := out.Write(r.answer.Neighbours); err != nil {
			return err
		}
		return out.Close()
	})
	return err
}
