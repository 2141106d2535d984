// Package passages finds the passages of a collection: runs of words that also occur earlier.
// docs/algorithms/passages.md defines them.
package passages

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	steps "github.com/neardup/neardup/transforms/passages"
)

// Config holds the settings of the job.
type Config struct {
	records.Input
	records.Tolerance
	records.Normalizing

	Whole       string  `enum:",lines,paragraphs" default:"" placeholder:"UNIT" help:"Find whole lines or paragraphs (separated by blank lines) of any length, instead of runs of --length words." group:"Passages"`
	Length      *int    `placeholder:"WORDS" help:"Minimum length of a passage, in words (default: 50, or 13 with --against)." group:"Passages"`
	Cut         string  `default:"none" enum:"none,words,sentences" placeholder:"WHAT" help:"Also write corpus/, the input without its passages: words (cut passages as they are), sentences (cut only sentences whose words are all in passages) or none (write tables only). Other fields of a record do not change. The input must be Parquet, or JSON, CSV, TSV or text files in UTF-8 (default: ${default})." group:"Passages"`
	DropCovered float64 `placeholder:"SHARE" help:"Also write removed/, and corpus/ without each document that has at least this share of its words in passages that earlier kept documents also contain." group:"Passages"`
	Items
	Output string `short:"o" placeholder:"DIR" help:"Folder for the results: new or empty; with --overwrite also a finished output. Required except with --dry-run." group:"Output"`
	NoText bool   `help:"Leave the texts of documents out of report.html." group:"Output"`
	DryRun bool   `help:"Print the plan and exit." group:"Running"`
	job.Running
	job.Remote
	job.Replacing

	// Draw writes the HTML report; nil writes none.
	Draw dedup.Draw `kong:"-"`
	// InForce holds the limits under which the chosen runner works, for run.json.
	InForce records.InForce `kong:"-"`
}

// Items says what to look for in the input instead of its own passages.
type Items struct {
	Against          []string `sep:"none" placeholder:"PATH" help:"Find the documents that contain an item of these files, folders or patterns (a benchmark, for example), instead of repeated passages. Repeat for several." group:"Items"`
	AgainstText      []string `sep:"none" placeholder:"COLUMN" help:"Text column of --against; repeat to join several (default: those of --text)." group:"Items"`
	AgainstID        string   `placeholder:"COLUMN" help:"Id column of --against (default: that of --id)." group:"Items"`
	ItemShare        float64  `default:"0.5" placeholder:"SHARE" help:"Share of an item's words that a document must contain, in runs of --length words (default: ${default})." group:"Items"`
	DropContaminated bool     `help:"Also write corpus/, the input without the documents that contain an item." group:"Items"`
}

// Default minimum lengths of a passage.
const (
	usualLength     = 50
	usualItemLength = 13
)

// mostLength is longer than any useful minimum: each L-gram is hashed as a whole.
const mostLength = 1 << 12

// Job is one run of the job.
type Job struct {
	config Config
	asked  *job.Asked
	launch job.Launch
	plan   *job.Plan
	record records.Run
}

// New checks the config; the error is a *job.UsageError.
func New(c Config) (*Job, error) {
	if c.Whole != "" && c.Length != nil {
		return nil, job.Usage("--whole %s: a line or paragraph may have any length; drop --length", c.Whole)
	}
	if c.Length == nil {
		usual := usualLength
		if len(c.Against) > 0 {
			usual = usualItemLength
		}
		if c.Whole != "" {
			usual = 1
		}
		c.Length = &usual
	}
	asked, err := c.validate()
	if err != nil {
		return nil, err
	}
	return &Job{config: c, asked: asked}, nil
}

// validate returns the parsed settings, or a *job.UsageError.
func (c *Config) validate() (*job.Asked, error) {
	spec := records.Default()
	spec.Input, spec.Tolerance, spec.Normalizing = c.Input, c.Tolerance, c.Normalizing
	spec.References = records.References{Against: c.Against, AgainstText: c.AgainstText, AgainstID: c.AgainstID}
	asked, err := job.Compile(spec)
	if err != nil {
		return nil, err
	}
	switch {
	case *c.Length < 1 || *c.Length > mostLength:
		return nil, job.Usage("--length %d: must be between 1 and %d", *c.Length, mostLength)
	case c.DropCovered != 0 && !(c.DropCovered > 0 && c.DropCovered <= 1):
		return nil, job.Usage("--drop-covered %v: must be above 0 and at most 1", c.DropCovered)
	case c.Whole != "" && len(c.Against) > 0:
		return nil, job.Usage("--whole %s: with --against, neardup looks for runs of --length words; drop --whole",
			c.Whole)
	case c.DropCovered != 0 && len(c.Against) > 0:
		return nil, job.Usage("--drop-covered: with --against, neardup looks for items only; use --drop-contaminated, or " +
			"drop --against")
	case len(c.Against) == 0 && (c.DropContaminated || c.ItemShare != usualShare):
		return nil, job.Usage("--item-share and --drop-contaminated apply only to items; name the items with --against")
	case !(c.ItemShare > 0 && c.ItemShare <= 1):
		return nil, job.Usage("--item-share %v: must be above 0 and at most 1", c.ItemShare)
	case c.DropContaminated && c.Cut != string(steps.None):
		return nil, job.Usage("--drop-contaminated: --cut %s keeps these documents; drop one of these flags", c.Cut)
	case asked.Texts.Normalize.JoinsWords():
		return nil, job.Usage("--normalize %s: no-space joins all words into one, but passages are runs of words; "+
			"drop no-space", c.Normalize)
	case asked.Texts.Normalize.StripsMarkup() && (c.Cut != string(steps.None) || c.Whole != ""):
		return nil, job.Usage("--normalize %s: in marked-up text, neardup finds only runs of words, and cutting one would "+
			"also cut tags; drop --whole or --cut", c.Normalize)
	case c.Output == "" && !c.DryRun:
		return nil, job.Usage("no output; add --output DIR")
	}
	return asked, cmp.Or(c.Runner.CheckAnswers("passages", c.TempDir), c.Check(asked),
		job.CheckPath("--output", c.Output), c.CheckRemote(c.Runner))
}

// Names of files in a run's temporary folder.
const (
	ledgerFile  = "ledger.jsonl"
	filterFile  = "repeated"
	itemsFile   = "items"
	itemsLedger = "items.jsonl"
)

// usualShare is the default of --item-share.
const usualShare = .5

// parts returns the tables to write, and the corpus.
func (r *Job) parts() []output.Part {
	parts := []output.Part{output.Passages, output.Coverage, output.Repeats, output.Rejected}
	if r.searches() {
		parts = []output.Part{output.Contaminated, output.Rejected}
	}
	if r.config.DropCovered > 0 {
		parts = append(parts, output.Removed)
	}
	if r.writes() {
		parts = append(parts, output.Corpus)
	}
	return parts
}

// cuts reports whether texts are cut.
func (r *Job) cuts() bool { return r.config.Cut != string(steps.None) }

// writes reports whether a corpus is written.
func (r *Job) writes() bool {
	return r.cuts() || r.config.DropContaminated || r.config.DropCovered > 0
}

// searches reports whether the run looks for items.
func (r *Job) searches() bool { return len(r.config.Against) > 0 }

// Run does the whole job: plan, lock, build, run, check, commit. With DryRun it only plans.
func (r *Job) Run(ctx context.Context, launch job.Launch) (*records.Run, error) {
	r.launch = launch
	r.record = records.Run{
		Version: dedup.Version(), InForce: r.config.InForce,
		Parameters: r.asked.Spec, Formats: job.Formats(r.asked.Texts, r.asked.Family),
		Passages: &records.PassagesFound{Length: *r.config.Length},
	}
	r.record.Parameters.NoText = r.config.NoText
	r.record.Passages.Whole = r.config.Whole
	r.record.Passages.Cut, r.record.Passages.DropCovered = r.config.Cut, r.config.DropCovered
	if r.searches() {
		r.record.Passages.Items = &records.ItemsFound{Share: r.config.ItemShare}
	}
	r.record.Parameters.Method, r.record.Parameters.Write = Method, job.Strings(r.parts()...)
	if r.config.DryRun {
		r.record.Status = "planned"
		return &r.record, job.InTempFolder(ctx, r.config.TempDir, func(temp string) error { return r.makePlan(ctx, temp) })
	}
	to := job.Publishing{
		Dir: r.config.Output, Inputs: r.config.Inputs, Running: r.config.Running, Replacing: r.config.Replacing,
	}
	fill := func(temp string, staged output.Folder) (*records.Manifest, error) { return r.do(ctx, temp, staged) }
	warnings, err := to.Publish(ctx, &r.record, fill)
	r.record.Warnings = append(r.record.Warnings, warnings...)
	return &r.record, err
}

// Method is the method in run.json of this job.
const Method = "passages"

func (r *Job) makePlan(ctx context.Context, temp string) (err error) {
	request := job.NewRequest(r.asked, r.config.Running, r.config.DryRun)
	request.Unsigned, request.Reread = true, !r.config.DryRun && (!r.searches() || r.writes())
	if r.plan, err = job.NewPlan(ctx, request, temp); err != nil {
		return err
	}
	if err := job.CheckInputNotInOutput(r.plan.Listing.Inputs.Paths(), r.config.Output, temp); err != nil {
		return err
	}
	if r.writes() {
		if err := job.CheckCorpusNames(r.plan.Listing.Inputs.Inputs, r.config.Output); err != nil {
			return err
		}
	}
	if r.cuts() {
		if err := source.CheckEdits(ctx, r.plan.Listing.Inputs, r.plan.Reading()); err != nil {
			return job.Usage("--cut %s: %w, or drop --cut", r.config.Cut, err)
		}
	}
	r.record.Input, r.record.References, r.record.Chosen = r.plan.Input(), r.plan.References(), r.plan.Chosen()
	r.record.Warnings = append(r.record.Warnings, r.plan.Warnings()...)
	if !r.searches() {
		r.record.Passages.PlannedBytes, r.record.Passages.MostBytes = r.chosen(), r.most()
	} else if r.itemSplits() == 0 {
		return job.Usage("--against %s: no file is left to read items from; name another "+
			"file", strings.Join(r.config.Against, " "))
	}
	return r.checkSpace()
}

// do runs the pipeline, and checks its facts.
func (r *Job) do(ctx context.Context, temp string, staged output.Folder) (*records.Manifest, error) {
	if err := r.makePlan(ctx, temp); err != nil {
		return nil, err
	}
	if err := r.plan.Share(ctx, temp); err != nil {
		return nil, err
	}
	defer r.plan.Forget(temp)
	if r.searches() {
		if err := r.readItems(ctx, temp); err != nil {
			return nil, err
		}
	}
	params := r.params(temp)
	if err := params.Share(ctx); err != nil {
		return nil, err
	}
	defer params.Forget()
	pipeline, scope := beam.NewPipelineWithRoot()
	var reads []job.Read
	if r.searches() {
		reads = r.plan.Reads(job.First)
		r.buildSearch(scope, temp, staged)
	} else {
		reads = r.plan.Reads(job.First, job.Second)
		reads[1].Bytes *= rereads
		r.build(scope, temp, staged)
	}
	if r.writes() {
		reads = append(reads, r.plan.Reads(job.Third)...)
	}
	r.config.Tell(reads)
	ended, err := r.config.Execute(ctx, r.launch, pipeline, temp)
	if err != nil {
		if read := job.Exceeded(ctx, temp); read != nil {
			err = &tooManyUnreadableError{*read}
		}
		return nil, err
	}
	r.record.Stages = append(r.record.Stages, ended.Stages...)
	facts, err := job.Ledger(ctx, storage.Join(temp, ledgerFile))
	if err != nil {
		return nil, err
	}
	files := job.Manifest(facts)
	if err := r.account(facts); err != nil {
		return nil, err
	}
	dedup.WritePage(ctx, &r.record, staged, files, r.config.Draw, r.texts, dedup.PageTexts)
	return files, nil
}

// tooManyUnreadableError ends a run whose input has more unreadable records than it accepts.
type tooManyUnreadableError struct{ sink.ReadTotals }

func (e *tooManyUnreadableError) Error() string {
	if e.Whole > 0 {
		return fmt.Sprintf("no text column in %s of %s: %s; %s, or add --max-rejected %d", records.Count(e.Whole),
			records.Plural(e.Records, "record"), job.NoColumn(e.NoColumn), job.NameColumn, e.Unreadable+e.Whole)
	}
	if e.Unreadable == e.Records { // accepting them would leave nothing
		return e.String() + "; fix the input, or use a different one"
	}
	return fmt.Sprintf("%v; fix the input, or add --max-rejected %d", e.ReadTotals, e.Unreadable)
}

// Status returns the exit status.
func (*tooManyUnreadableError) Status() int { return 4 }

// account records the pipeline's results, and returns an error if records are lost.
func (r *Job) account(facts []blocks.Fact) error {
	n, found := &r.record.Counts, r.record.Passages
	counts := map[string]int64{}
	sources := map[string]*records.SourceRepeated{}
	for _, f := range facts {
		switch rows := f.Counts[blocks.CountRows]; f.Kind {
		case blocks.FactRead:
			n.Records += f.Counts[blocks.CountRecords]
			n.Unreadable += f.Counts[blocks.CountUnreadable]
			n.NoColumn += f.Counts[blocks.CountNoColumn]
			r.record.Input.Decoded += f.Counts[blocks.CountDecoded]
		case blocks.FactPassages:
			for name, of := range f.Counts {
				counts[name] += of
			}
			if err := r.addSource(sources, f); err != nil {
				return err
			}
		case blocks.FactCorpus:
			n.Corpus += rows
			found.Seams += f.Counts[blocks.CountSeams]
			found.Uncut += f.Counts[blocks.CountUncut]
		case blocks.FactTable:
			switch output.PartOf(f.Name) {
			case output.Passages:
				found.Passages += rows
			case output.Coverage:
				found.Documents += rows
			case output.Contaminated:
				found.Items.Pairs += rows
			case output.Removed:
				n.Removed += rows
				found.Dropped += rows
			case output.Rejected:
				n.NotCompared += rows - f.Counts[blocks.CountUnreadable]
			}
		}
	}
	found.Sources = mostRepeated(sources)
	found.Words, found.Repeated = counts[steps.CountWords], counts[steps.CountRepeated]
	found.Short, found.Copies = counts[steps.CountShort], counts[steps.CountCopies]
	found.Broken = counts[steps.CountBroken]
	if items := found.Items; items != nil {
		found.Documents, items.Dropped = counts[steps.CountContaminated], counts[steps.CountDropped]
	}
	if counts[steps.CountDocuments] == 0 && !r.asked.AllowEmpty {
		reason := "no document contains any words"
		if n.Records == 0 {
			reason = "the input contains no records"
		}
		return &job.NothingReadError{Reason: reason + "; use a different input, or add --allow-empty"}
	}
	dropped := counts[steps.CountDropped]
	if r.writes() && n.Corpus+n.Unreadable+dropped != n.Records {
		const lost = "lost records: %s were read, but %s are in corpus + %s unreadable + %s left out; " +
			"this is an error in neardup; please report it"
		return fmt.Errorf(lost, records.Count(n.Records), records.Count(n.Corpus), records.Count(n.Unreadable),
			records.Count(dropped))
	}
	if all := counts[steps.CountDocuments] + n.NotCompared + n.Unreadable; all != n.Records {
		const lost = "lost records: %s were read, but %s are accounted for; this is an error in neardup; please report it"
		return fmt.Errorf(lost, records.Count(n.Records), records.Count(all))
	}
	return nil
}

// addSource adds the counts of a file, from a fact, to its source.
func (r *Job) addSource(sources map[string]*records.SourceRepeated, f blocks.Fact) error {
	number, err := strconv.Atoi(f.Name)
	if err != nil {
		return err
	}
	file := r.plan.Listing.Inputs.File(number)
	name := file.Source
	if file.IDIsSource {
		name = path.Dir(name)
	}
	if sources[name] == nil {
		sources[name] = &records.SourceRepeated{Source: name}
	}
	sources[name].Words += f.Counts[steps.CountWords]
	sources[name].Repeated += f.Counts[steps.CountRepeated]
	return nil
}

// mostRepeated returns the sources with the most words in passages.
func mostRepeated(sources map[string]*records.SourceRepeated) (most []records.SourceRepeated) {
	for _, s := range sources {
		if s.Repeated > 0 {
			most = append(most, *s)
		}
	}
	slices.SortFunc(most, func(a, b records.SourceRepeated) int {
		return cmp.Or(cmp.Compare(b.Repeated, a.Repeated), cmp.Compare(a.Source, b.Source))
	})
	return most[:min(len(most), records.MostSources)]
}

// texts reads the texts of documents.
func (r *Job) texts(ctx context.Context, of []records.Place) (map[records.Place]string, error) {
	found, keys := map[records.Place]string{}, r.plan.Keys()
	in := r.plan.Listing.Inputs
	var wanted []blocks.Key
	for _, p := range of {
		wanted = append(wanted, keys(p.Source, p.Position))
	}
	err := source.Lookup(ctx, in, wanted, r.plan.Reading(), func(doc blocks.Document) {
		found[records.Place{Source: in.Source(doc.Key), Position: doc.Key.Position()}] = string(doc.Text)
	})
	return found, err
}
