// Package query finds the documents nearest to a given one. It compares all documents by their shingle set, vector or
// SimHash signature or, as textbooks do, only those that share a bucket with it.
package query

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/nearest"
	"github.com/neardup/neardup/transforms/signature"
)

// Config holds the settings of the job.
type Config struct {
	records.Input

	Of            string   `placeholder:"ID" help:"Id of the document to find neighbours of, or its place: SOURCE@POSITION, as in the tables." group:"Query"`
	File          string   `placeholder:"FILE" help:"Find the neighbours of the text in this file; - is standard input." group:"Query"`
	Against       string   `placeholder:"INDEX" help:"Search the documents that an index lists as kept, by its buckets, instead of an input." group:"Query"`
	Most          int      `name:"nearest" short:"n" default:"10" placeholder:"N" help:"Maximum number of documents to list (default: ${default})." group:"Query"`
	MinSimilarity *float64 `placeholder:"X" help:"List only documents of at least this similarity, in (0, 1]: up to --nearest of them, and their total number." group:"Query"`
	Sort          Sort     `default:"similarity" enum:"${sorts}" placeholder:"KEY" help:"Ranking of the documents: similarity or, only in a search by buckets, estimate (the share of equal signature values or bits) (default: ${default})." group:"Query"`
	Output        string   `short:"o" placeholder:"FILE" help:"Parquet file for the result; must be new." group:"Query"`
	// Given lists the flags that were given, in the form that files use: some conflict with an index.
	Given []string `kong:"-"`
	// Content is the content of File.
	Content io.Reader `kong:"-"`

	records.Shingles
	Method string `enum:"${ways}" default:"${d_method}" placeholder:"METHOD" help:"Way to compare documents: minhash (by Jaccard similarity, unless --compare names another measure) or simhash (by overlap, or by cosine with --compare cosine; with --pieces, only documents that share a piece) (default: ${default})." group:"Similarity"`
	records.Comparing
	Buckets
	job.Running

	// Rules compare columns of two documents, and a text has none. The flags exist so that the error can say so.
	Match        []string `hidden:"" sep:"none"`
	MatchNumbers bool     `hidden:""`
}

// byBuckets reports whether only documents that share a bucket are compared.
func (c *Config) byBuckets() bool { return c.asked() || c.Pieces != 0 }

// Buckets restricts the comparison to documents that share a bucket, if it names a kind of signature or bands and rows.
// A field that is nil or 0 is not given.
type Buckets struct {
	Signature *string  `enum:"${signatures}" placeholder:"KIND" help:"Compare only documents that share a bucket, by signatures of this kind: fss, classic or salted, as for dedup. Without --signature, --bands or --rows, neardup compares all documents (default with --bands and --rows: fss)." group:"By buckets"`
	Bands     int      `placeholder:"B" help:"Number of bands, with --rows, instead of the number that --recall would choose." group:"By buckets"`
	Rows      int      `placeholder:"R" help:"Rows per band, with --bands." group:"By buckets"`
	Threshold *float64 `short:"t" placeholder:"T" help:"Jaccard similarity that determines bands and rows, in (0, 1]; to shorten the list, use --min-similarity (default: ${d_threshold})." group:"By buckets"`
	Recall    *float64 `placeholder:"R" help:"Minimum probability of finding a document at --threshold (default: ${d_recall})." group:"By buckets"`
	Seed      *uint64  `placeholder:"N" help:"Seed of the signature (default: ${d_seed})." group:"By buckets"`
}

// asked reports whether buckets of bands are requested.
func (b *Buckets) asked() bool { return b.Signature != nil || b.Bands != 0 || b.Rows != 0 }

// checkIdle returns a *job.UsageError for flags that have no effect if all documents are compared. If signatures are
// compared, the seed has one.
func (b *Buckets) checkIdle(signed bool) error {
	const instead = "applies only to a search by buckets, but this query compares all documents"
	switch {
	case b.Threshold != nil:
		return job.Usage("--threshold %[1]v %[2]s; use --min-similarity %[1]v to list only documents at least that "+
			"similar, or --signature fss to search by buckets", *b.Threshold, instead)
	case b.Recall != nil:
		return job.Usage("--recall %v %s, so none is missed; drop this flag, or use --signature fss to search by "+
			"buckets", *b.Recall, instead)
	case b.Seed != nil && !signed:
		return job.Usage("--seed %d %s; drop this flag, or use --signature fss to search by buckets", *b.Seed, instead)
	}
	return nil
}

// of sets the given fields in a Spec.
func (b *Buckets) of(s *records.Spec) {
	s.Bands, s.Rows = b.Bands, b.Rows
	if b.Threshold != nil {
		s.Threshold = *b.Threshold
	}
	if b.Signature != nil {
		s.Signature = *b.Signature
	}
	if b.Recall != nil {
		s.Recall = *b.Recall
	}
	if b.Seed != nil {
		s.Seed = *b.Seed
	}
}

// Sort says how documents are ranked.
type Sort string

// Values of --sort.
const (
	bySimilarity Sort = "similarity"
	byEstimate   Sort = "estimate"
)

// Vars returns the values of variables in the tags of flags, with those of package job.
func Vars() map[string]string {
	vars := job.Vars()
	vars["sorts"] = job.Names(bySimilarity, byEstimate)
	vars["ways"] = job.Names(job.MinHash, job.SimHash)
	return vars
}

// validate returns the parsed settings, or a *job.UsageError.
func (c *Config) validate() (*job.Asked, error) {
	switch {
	case c.Of == "" && c.File == "":
		return nil, job.Usage("nothing to look for; use --of ID, or --file FILE for a text (- is standard input)")
	case c.Of != "" && c.File != "":
		return nil, job.Usage("--of and --file cannot be used together; use one")
	case c.File == "-" && slices.Contains(c.Inputs, "-"):
		return nil, job.Usage("standard input is both an input and --file; give one of them as a file")
	case len(c.Match) > 0 || c.MatchNumbers:
		return nil, job.Usage("--match: query ranks documents by similarity and does not support rules; " +
			"run dedup FILE --against FILES with this --match")
	case c.Sort == byEstimate && !c.byBuckets():
		return nil, job.Usage("--sort estimate: nothing is estimated if all documents are compared; use --signature, " +
			"or drop --sort")
	case c.Sort == byEstimate && c.MinSimilarity != nil:
		return nil, job.Usage("--sort estimate and --min-similarity, which needs exact similarities, cannot " +
			"be used together; use one")
	case c.Method == job.SimHash && c.Compare == job.Jaccard:
		return nil, job.Usage("--compare jaccard: --method simhash supports only cosine and overlap; use --compare " +
			"cosine or overlap, or drop --method")
	case c.asked() && (c.Method == job.SimHash || c.Compare != "" && c.Compare != job.Jaccard):
		return nil, job.Usage("--signature, --bands and --rows apply only to --compare jaccard, but this query compares "+
			"by %s; drop them, or use --method simhash with --pieces to compare fewer documents", cmp.Or(c.Compare, job.Overlap))
	}
	if err := c.checkListed(); err != nil {
		return nil, err
	}
	spec := c.spec()
	if !c.byBuckets() {
		if err := c.checkIdle(spec.Compare == job.Overlap); err != nil {
			return nil, err
		}
	}
	asked, err := job.Compile(spec)
	if err != nil {
		return nil, err
	}
	return asked, cmp.Or(c.Check(asked), c.Runner.CheckHere("query"), job.CheckPath("--output", c.Output))
}

// checkListed returns a *job.UsageError for a wrong --nearest or --min-similarity.
func (c *Config) checkListed() error {
	if c.Most < 1 {
		return job.Usage("--nearest %d: must be at least 1", c.Most)
	}
	if c.MinSimilarity == nil {
		return nil
	}
	if _, err := setsim.ParseThreshold(*c.MinSimilarity); err != nil {
		return job.Usage("--min-similarity %v: %w", *c.MinSimilarity, err)
	}
	return nil
}

// spec returns the settings as a Spec of dedup. A search of all documents is a complete one.
func (c *Config) spec() records.Spec {
	s := records.Default()
	s.Input, s.Shingles, s.Comparing = c.Input, c.Shingles, c.Comparing
	if s.Method = c.Method; c.Method == job.SimHash {
		s.Compare = cmp.Or(c.Compare, job.Overlap)
	}
	if c.of(&s); !c.byBuckets() {
		s.Method = job.Complete
	}
	return s
}

// verifier returns the spec of the verifier that compares listed documents. Its threshold is Any unless a minimum
// similarity is given.
func (r *Job) verifier() verifier.Spec {
	spec := r.plan.Verifier(r.temp)
	spec.Threshold = setsim.Any
	if least := r.config.MinSimilarity; least != nil {
		spec.Threshold, _ = setsim.ParseThreshold(*least) // validate has parsed it
	}
	return spec
}

// Names of files in a run's temporary folder.
const (
	textFile    = "text"
	foundFile   = "found.json"
	queryFile   = "query.json"
	nearestFile = "nearest.json"
)

// Job is one query.
type Job struct {
	config Config
	asked  *job.Asked
	index  *index.Index // searched in place of inputs, or nil
	launch job.Launch
	temp   string
	plan   *job.Plan
	answer records.Answer
}

// New checks the config, and opens an index; the error of a wrong config is a *job.UsageError.
func New(ctx context.Context, c Config) (r *Job, err error) {
	r = &Job{config: c}
	if c.Against != "" {
		r.asked, r.index, err = c.openIndex(ctx)
	} else {
		r.asked, err = r.config.validate()
	}
	return r, err
}

// Run finds the nearest documents.
func (r *Job) Run(ctx context.Context, launch job.Launch) (*records.Answer, error) {
	if r.index != nil {
		return r.ofIndex(ctx)
	}
	if err := r.config.checkOutput(ctx); err != nil {
		return nil, err
	}
	r.launch = launch
	err := job.InTempFolder(ctx, r.config.TempDir, func(temp string) (err error) {
		r.temp = temp
		if r.plan, err = job.NewPlan(ctx, job.Request{Asked: r.asked, Running: r.config.Running,
			Unsigned: !r.config.byBuckets(), Strict: true}, temp); err != nil {
			return err
		}
		if err := r.plan.Share(ctx, temp); err != nil {
			return err
		}
		defer r.plan.Forget(temp)
		return r.do(ctx)
	})
	return &r.answer, err
}

func (c *Config) checkOutput(ctx context.Context) error {
	if c.Output == "" {
		return nil
	}
	there, err := storage.Exists(ctx, c.Output)
	if err == nil && there {
		return &job.OutputExistsError{Reason: c.Output + " already exists; choose another --output"}
	}
	return err
}

func (r *Job) do(ctx context.Context) error {
	r.answer = records.Answer{
		Of: r.config.Of, Buckets: r.config.byBuckets(), Asked: r.config.Most, Neighbours: []records.Neighbour{},
		Parameters: r.plan.Metadata(map[string]string{"neardup.sort": string(r.config.Sort)}),
	}
	if least := r.config.MinSimilarity; least != nil {
		r.answer.MinSimilarity = *least
		r.answer.Parameters["neardup.min-similarity"] = strconv.FormatFloat(*least, 'g', -1, 64)
	}
	key, text, err := nearest.None, []byte(nil), error(nil)
	if r.config.File != "" {
		if text, err = r.textOfFile(ctx); err == nil { // workers need a copy
			err = storage.WriteBytes(ctx, storage.Join(r.temp, textFile), text)
		}
	} else {
		key, text, err = r.atPlace(ctx)
	}
	if err != nil {
		return err
	}
	byID := r.config.File == "" && text == nil
	if err := r.prepare(ctx, byID); err != nil {
		return err
	}
	if byID {
		if key, text, err = r.document(ctx); err != nil {
			return err
		}
	}
	if key != nearest.None {
		r.answer.Source, r.answer.Position = r.plan.Listing.Inputs.Source(key), key.Position()
	}
	query, err := r.query(ctx, key, text)
	if err != nil {
		return err
	}
	found, err := r.search(ctx, query)
	if err != nil {
		return err
	}
	r.answer.Candidates = found.Candidates
	keys := make([]blocks.Key, len(found.Near))
	for i, n := range found.Near {
		keys[i] = n.Key
	}
	if err := r.list(ctx, query, keys); err != nil {
		return err
	}
	if r.answer.Warnings, err = r.plan.ReadWarnings(ctx, r.temp); err != nil {
		return err
	}
	return r.write(ctx)
}

// textOfFile returns the text of the file.
func (r *Job) textOfFile(ctx context.Context) (text []byte, err error) {
	r.answer.Of = r.config.File
	most := int64(r.plan.Reading().MaxRecord())
	content, err := io.ReadAll(io.LimitReader(job.Patient(ctx, r.config.Content), most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, job.Usage("--file %s: the text is larger than --max-doc-bytes %d; raise the "+
			"limit", r.config.File, int64(r.config.MaxDocBytes))
	}
	if text, err = r.plan.Reading().Text(content); err != nil {
		return nil, job.Usage("--file %s: %w", r.config.File, err)
	}
	return text, r.fits("--file "+r.config.File, text)
}

// fits returns a *job.UsageError if the text that a flag names is not compared.
func (r *Job) fits(named string, text []byte) error {
	if int64(len(text)) > int64(r.config.MaxDocBytes) || r.plan.Spec.TooLarge(text) {
		return job.Usage("%s: the text is larger than --max-doc-bytes %d; raise the "+
			"limit", named, int64(r.config.MaxDocBytes))
	}
	if least := r.config.MinWords; least > 0 {
		if words := len(r.plan.Spec.OfWords().New().Tokenise(text)); words < least {
			return job.Usage("%s: the text is not compared, because it has %s; lower --min-words (now "+
				"%d)", named, records.Plural(words, "word"), least)
		}
	}
	return nil
}

// atPlace returns the document that --of names by its place. The text is nil if --of is not a place.
func (r *Job) atPlace(ctx context.Context) (blocks.Key, []byte, error) {
	key, text, err := job.AtPlace(ctx, r.plan, r.config.Of)
	if text == nil || err != nil {
		return 0, nil, err
	}
	return key, text, r.fits("--of "+r.config.Of, text)
}

// prepare reads all documents once if --of names an id, or shingles must be counted or numbered, including those of the
// query's text.
func (r *Job) prepare(ctx context.Context, byID bool) error {
	search := r.plan.Reads(job.First)
	if r.config.byBuckets() && r.config.Sort == bySimilarity {
		search = r.plan.Reads(job.First, job.Second)
	}
	if !byID && !r.plan.Request.Prepares() {
		r.config.Tell(search)
		return nil
	}
	r.config.Tell(r.plan.Reads(job.First), search)
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, rejected := r.plan.ReadAlone(scope, r.temp)
	if byID {
		nearest.Lookup{
			Inputs: r.plan.Signature(r.temp).Inputs, ID: r.config.Of, Answer: storage.Join(r.temp, foundFile),
		}.Find(scope, docs, rejected...)
	}
	var text []flow.Documents
	if r.config.File != "" && r.plan.Request.NeedsDictionary() {
		text = append(text, nearest.Text(scope, storage.Join(r.temp, textFile)))
	}
	r.plan.Preparing(scope, r.temp, docs, text...)
	if _, err := r.config.Execute(ctx, r.launch, pipeline, r.temp); err != nil {
		return err
	}
	return r.plan.CheckDictionary(ctx, r.temp)
}

// document returns the only document with the id that --of names.
func (r *Job) document(ctx context.Context) (blocks.Key, []byte, error) {
	return job.Document(ctx, r.plan, r.temp, storage.Join(r.temp, foundFile), "--of "+r.config.Of)
}

// search finds the nearest documents.
func (r *Job) search(ctx context.Context, query nearest.Query) (*nearest.Nearest, error) {
	path := storage.Join(r.temp, queryFile)
	if err := storage.WriteShared(ctx, path, query); err != nil {
		return nil, err
	}
	defer storage.Forget(path)
	answer := storage.Join(r.temp, nearestFile)
	defer storage.Forget(answer)

	params := nearest.Params{Answer: answer, Most: r.config.Most}
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, _ := r.plan.ReadAlone(scope, r.temp)
	if r.config.byBuckets() {
		signing := r.plan.Signature(r.temp)
		buckets := nearest.Buckets{Query: path, Signing: signing}
		signed, _ := signature.Values(scope, docs, signing)
		if r.config.Sort == byEstimate {
			nearest.ByEstimate(scope, signed, buckets, params)
		} else {
			docs = flow.Documents(source.Fetch(scope, nearest.InBuckets(scope, signed, buckets), r.plan.Source(r.temp)))
		}
	}
	if r.config.Sort == bySimilarity {
		nearest.BySimilarity(scope, docs, nearest.Sets{Query: path, Text: r.plan.Spec, Verifier: r.verifier()}, params)
	}
	if _, err := r.config.Execute(ctx, r.launch, pipeline, r.temp); err != nil {
		return nil, err
	}
	return storage.Shared[nearest.Nearest](ctx, answer)
}

// query returns what documents are compared with: the features of the text and, in a search by buckets, its signature.
func (r *Job) query(ctx context.Context, key blocks.Key, text []byte) (query nearest.Query, err error) {
	features, err := frequencies.Features(ctx, r.verifier())
	if err != nil {
		return query, err
	}
	query = nearest.Query{Key: key, Features: features(r.plan.Spec.New().Shingles(nil, text))}
	if len(query.Features) == 0 {
		return query, job.Usage("%s: the text has no tokens, so no document is similar to it", r.answer.Of)
	}
	if r.config.byBuckets() {
		signing := r.plan.Signature(r.temp)
		query.Values, err = signing.Of(ctx, text)
	}
	return query, err
}

// list reads documents again, and lists those that reach the minimum similarity, in the order of keys.
func (r *Job) list(ctx context.Context, query nearest.Query, keys []blocks.Key) error {
	compare, err := r.comparer(ctx, query.Features)
	if err != nil {
		return err
	}
	inputs := r.plan.Listing.Inputs
	rows := map[blocks.Key]records.Neighbour{}
	var failed error
	err = source.Lookup(ctx, inputs, keys, r.plan.Reading(), func(doc blocks.Document) {
		row, ok := compare(doc.Text)
		if !ok {
			return
		}
		row.ID, row.Source, row.Position = inputs.ID(doc.Key, doc.ID, doc.HasID), inputs.Source(doc.Key), doc.Key.Position()
		if r.index != nil {
			name, err := inputs.Stored(doc.Key, doc.ID)
			failed = errors.Join(failed, err)
			row.ID, row.Source, row.Position = name.ID, name.Source, name.Position
		} else if r.config.byBuckets() {
			failed = errors.Join(failed, r.tellSigned(ctx, query, doc.Text, &row))
		}
		rows[doc.Key] = row
	})
	for _, key := range keys {
		if row, ok := rows[key]; ok {
			r.answer.Neighbours = append(r.answer.Neighbours, row)
		}
	}
	return errors.Join(err, failed)
}

// comparer returns a function that compares texts with the document of the query, which has the features own. The
// function returns false if a text is not similar enough to be listed.
func (r *Job) comparer(ctx context.Context, own []uint64) (func(text []byte) (records.Neighbour, bool), error) {
	features, err := frequencies.Features(ctx, r.verifier())
	if err != nil {
		return nil, err
	}
	verifier, shingler := r.verifier().New(), r.plan.Spec.New()
	size := verifier.Size(own)
	r.answer.Size = int32(verifier.Len(len(own)))
	return func(text []byte) (n records.Neighbour, ok bool) {
		its := features(shingler.Shingles(nil, text))
		score, ok := verifier.Compare(own, its)
		if !ok {
			return n, false
		}
		return records.Neighbour{
			Similarity: verifier.Similarity(score, size, verifier.Size(its)),
			Shared:     int32(verifier.Shared(score, own, its)), Size: int32(verifier.Len(len(its))),
		}, true
	}, nil
}

// tellSigned adds what the signatures of the query and of a neighbour's text have in common.
func (r *Job) tellSigned(ctx context.Context, query nearest.Query, text []byte, row *records.Neighbour) error {
	signing := r.plan.Signature(r.temp)
	values, err := signing.Of(ctx, text)
	if err != nil {
		return err
	}
	estimate := float64(signing.Equal(query.Values, values)) / float64(signing.Banding.Signature)
	row.Estimate = &estimate
	keyer := signing.Keyer()
	own := keyer.Keys(nil, query.Values)
	for band, key := range keyer.Keys(nil, values) {
		if key == own[band] {
			row.Buckets = append(row.Buckets, records.Bucket{Band: int32(band), Bucket: keyer.Bucket(key)})
		}
	}
	return nil
}

// write writes the neighbours as Parquet.
func (r *Job) write(ctx context.Context) error {
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
