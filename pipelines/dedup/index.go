package dedup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/segment"
	"github.com/neardup/neardup/transforms/signature"
)

const segmentFile = "segment.jsonl"

// shared returns the fields of a Spec that all runs of an index have in common: what is compared, and how.
func shared() (names []string) {
	for name, phase := range records.Phases() {
		if name == "text" || (phase == "keys" || phase == "verify") && name != "measure_recall" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkIndexed returns a *job.UsageError, with the reason, for settings that cannot be used with an index.
func checkIndexed(a *job.Asked) error {
	refused := func(flag, why string) error { return job.Usage("%s cannot be used with an index: %s", flag, why) }
	const later = "a later document could replace one that has already been kept; drop this flag"
	switch {
	case a.Cluster != records.Default().Cluster:
		return refused("--cluster "+a.Cluster,
			"a later document may join two clusters that have each kept a document; drop this flag")
	case !slices.Equal(a.Keep, records.Default().Keep):
		return refused("--keep "+strings.Join(a.Keep, " --keep "), later)
	case len(a.Protect) > 0:
		return refused("--protect", later)
	case a.MatchNumbers:
		return refused("--match-numbers", "an index does not store the numbers of texts; drop this flag")
	case len(a.Match) > 0:
		return refused("--match", "an index does not store the columns that rules compare; drop this flag")
	case a.Method == job.SimHash:
		return refused("--method simhash", "an index has only shingle sets; use --method minhash, complete or exact")
	case a.Method != job.Exact && a.Measure != job.Jaccard:
		return refused("--compare "+a.Measure, "an index has only shingle sets; drop this flag")
	case a.Prepares():
		return refused("--signature "+a.Signature, "such signatures depend on all documents of a run; drop this flag")
	case a.Texts.Shingle.Kind == shingle.Item:
		return refused("--shingle item", "an index stores one text per document, and no list; use another --shingle")
	case a.Limit > 0:
		return refused("--limit", "the index would lack the documents that this run leaves out; drop this flag")
	case a.MeasureRecall > 0:
		return refused("--measure-recall", "only the documents of this run are compared; drop this flag")
	case len(a.AgainstText)+len(a.AgainstID) > 0:
		return refused("--against-text and --against-id", "the columns of an index are fixed; drop these flags")
	}
	return nil
}

// takeIndex opens the index that Against names, or returns nil, and takes the settings that all of its runs share from
// it. Flags that are given must agree with them.
func (c *Config) takeIndex(ctx context.Context) (*index.Index, error) {
	var found *index.Index
	for _, path := range c.Against {
		if storage.IsPattern(path) || path == "-" {
			continue
		}
		is, err := index.Is(ctx, path)
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		if len(c.Against) > 1 {
			return nil, job.Usage("--against %s is an index; drop the other --against", path)
		}
		dir, err := job.OutputPath(path)
		if err != nil {
			return nil, err
		}
		if found, err = index.Open(ctx, dir); err != nil {
			return nil, err
		}
	}
	switch {
	case found != nil:
		return found, c.follow(found)
	case c.Append && len(c.Against) > 0:
		return nil, job.Usage("--append: %s is not an index; create an index in a new folder with neardup "+
			"index create", c.Against[0])
	case c.Append:
		return nil, job.Usage("--append needs --against INDEX; create an index with neardup index create")
	default:
		return nil, nil
	}
}

// follow takes the settings that the index fixes.
func (c *Config) follow(x *index.Index) error {
	own, err := job.Compile(c.Spec, c.Given...)
	if own == nil { // else the error may be gone once the index says what is compared
		return err
	}
	if err := checkIndexed(own); err != nil {
		return err
	}
	asked, given, defaults := records.Fields(own.Spec), records.Fields(c.Spec), records.Fields(records.Default())
	changed := map[string]any{}
	var differ, flags []string
	for _, name := range shared() {
		value, ok := x.Asked[name]
		if !ok {
			continue
		}
		changed[name] = value
		mine, err := json.Marshal(asked[name].Interface())
		if err != nil {
			return err
		}
		if string(mine) == string(value) || !slices.Contains(c.Given, name) &&
			same(given[name].Interface(), defaults[name].Interface()) {
			continue
		}
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		flags = append(flags, flag)
		differ = append(differ, fmt.Sprintf("%s %s (this run: %s)", flag, bytes.Trim(value, "[]"), bytes.Trim(mine, "[]")))
	}
	if len(differ) > 0 {
		return job.Usage("--against %s: the index was made with %s; drop %s, or create another index",
			x.Dir, strings.Join(differ, ", "), strings.Join(flags, " and "))
	}
	spec, err := replaced(c.Spec, changed)
	if err != nil {
		return err
	}
	spec.NamedInputs = c.NamedInputs
	c.Spec = spec
	if own, err = job.Compile(c.Spec, c.Given...); err != nil {
		return err
	}
	if formats := job.Formats(own.Texts, own.Family); formats.Text != x.Formats.Text ||
		formats.Signature != x.Formats.Signature {
		return job.Usage("--against %s: the index has keys of another version of neardup (%s, %s); create it again", x.Dir,
			x.Formats.Text, x.Formats.Signature)
	}
	return nil
}

// lockIndex takes the index's lock, if the run adds to it.
func (r *run) lockIndex(ctx context.Context) (err error) {
	if r.index == nil || !r.asked.Append {
		return nil
	}
	if r.adding, err = index.Lock(ctx, r.index.Dir, r.record.Job, r.config.lock()); err != nil {
		return job.Refused(err)
	}
	*r.index = *r.adding.Index
	return nil
}

// resumeIndex completes what earlier runs left unfinished in the index, and plans again if that changed it. warnings is
// how many of the record's warnings are not from the plan. By now the output is locked, and any earlier run in it has
// been published.
func (r *run) resumeIndex(ctx context.Context, warnings int) (err error) {
	if r.adding == nil {
		return nil
	}
	if err := r.adding.Recover(ctx); err != nil {
		return err
	}
	if r.adding.Number != r.index.Number {
		*r.index, r.record.Warnings = *r.adding.Index, r.record.Warnings[:warnings]
		if err := r.makePlan(ctx); err != nil {
			return err
		}
		if r.fingerprint, err = r.identify(ctx); err != nil {
			return err
		}
	}
	return r.checkBatch(ctx)
}

// CheckAdded returns a *job.UsageError if the published output of a run is not in the index yet.
func CheckAdded(ctx context.Context, x *index.Index) error {
	waiting, err := x.Waiting(ctx)
	if err != nil || len(waiting) == 0 {
		return err
	}
	first, more := waiting[0], ""
	if n := len(waiting) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return job.Usage("%s lacks the documents of %s, which was published by run %s%s while the index could not be "+
		"changed; run neardup index prune %s to add them",
		x.Dir, first.Output, first.Run, more, x.Dir)
}

// checkBatch returns an *InIndexError if the index already has the batch.
func (r *run) checkBatch(ctx context.Context) error {
	if r.adding == nil {
		return nil
	}
	sum, in := newDigest(), r.plan.Listing.Inputs
	if err := sum.addFiles(ctx, in, in.References()); err != nil {
		return err
	}
	r.batch = sum.String()
	if s, ok := r.adding.Has(r.batch); ok {
		return &InIndexError{r.index.Dir, s}
	}
	return nil
}

// InIndexError says that an index already has a batch.
type InIndexError struct {
	Dir   string
	Added index.Added
}

func (e *InIndexError) Error() string {
	return fmt.Sprintf("%s already has this batch, from run %s with the output %s; nothing was added; to add it again, "+
		"first run: neardup index drop %s --run %[2]s",
		e.Dir, e.Added.Run, e.Added.Output, e.Dir)
}

// Status returns the exit status.
func (*InIndexError) Status() int { return 3 }

// addSegment writes the run's segment, which becomes part of the index once the output is published.
func (r *run) addSegment(ctx context.Context) error {
	if r.adding == nil {
		return nil
	}
	folder, err := r.adding.Begin(ctx)
	if err != nil {
		return err
	}
	r.segment = index.Segment{Name: r.record.Job, Runs: []index.Added{
		{Run: r.record.Job, Output: r.output, Batch: r.batch, Input: r.record.Input, Made: r.record.Started},
	}}
	in := r.plan.Listing.Inputs
	if in.Len() > in.References() {
		if err := r.storeDocuments(ctx, folder); err != nil {
			return err
		}
	}
	if r.index.HasKeys() && r.segment.Runs[0].Kept+r.segment.Runs[0].Removed > 0 {
		if err := r.storeKeys(ctx, folder); err != nil {
			return err
		}
	}
	return r.adding.Pend(ctx, r.segment)
}

// storeDocuments writes the segment's tables, using the output's table removed, which is already written.
func (r *run) storeDocuments(ctx context.Context, folder output.Folder) error {
	p := r.plan
	return r.store(ctx, r.temp, folder, func(s beam.Scope, writing sink.Params) []flow.Facts {
		in := p.Listing.Inputs
		_, compared, _ := p.Read(s, r.temp, in.SplitsOfInputs())
		kept, removed := segment.Rows(s, compared, segment.Params{Inputs: job.Inputs(r.temp), Output: r.commit.Staged()})
		slices := p.Slices(float64(p.Documents), float64(in.BytesOfInputs()))
		return []flow.Facts{sink.Table(s, output.Kept, slices, writing, kept),
			sink.Table(s, output.Removed, slices, writing, removed)}
	})
}

// storeKeys reads the tables of the segment, as later runs do, and writes the keys of their documents.
func (r *run) storeKeys(ctx context.Context, folder output.Folder) error {
	own := *r.index
	own.Segments = []index.Segment{r.segment}
	plan, err := r.plan.OfSegment(ctx, &own)
	if err != nil {
		return err
	}
	temp := storage.Join(r.temp, "segment")
	if err := storage.Begin(ctx, temp, !r.config.Runner.Traits().OnCluster); err != nil {
		return err
	}
	if err := plan.Listing.Inputs.Share(ctx, job.Inputs(temp)); err != nil {
		return err
	}
	defer plan.Listing.Inputs.Forget(job.Inputs(temp))
	r.segment.ShardBits = plan.Layout.ShardBits
	return r.store(ctx, temp, folder, func(s beam.Scope, writing sink.Params) []flow.Facts {
		docs := source.Read(s, plan.Source(temp))
		signed := signature.Sign(s, docs.Blocks, plan.Signature(temp))
		return []flow.Facts{docs.Facts, sink.Keys(s, signed.Bands, plan.Layout.ShardBits, r.segment.Starts(), writing)}
	})
}

// store runs a pipeline that writes files of the segment.
func (r *run) store(
	ctx context.Context, temp string, folder output.Folder, build func(beam.Scope, sink.Params) []flow.Facts,
) error {
	writing := r.plan.writing(folder, temp)
	writing.Write, writing.Sync, writing.Stored = []output.Part{output.Kept, output.Removed}, true, true
	pipeline, scope := beam.NewPipelineWithRoot()
	sink.Ledger(scope, storage.Join(temp, segmentFile), build(scope, writing)...)
	if _, err := r.execute(ctx, pipeline); err != nil {
		return err
	}
	facts, err := job.Ledger(ctx, storage.Join(temp, segmentFile))
	if err != nil {
		return err
	}
	for _, file := range job.Manifest(facts).Files {
		switch output.PartOf(file.Path) {
		case output.Kept:
			r.segment.Runs[0].Kept += file.Rows
		case output.Removed:
			r.segment.Runs[0].Removed += file.Rows
		}
		file.Path = index.FileOf(r.record.Job, file.Path)
		r.segment.Files = append(r.segment.Files, file)
	}
	return nil
}

// closeIndex adds the segment to the index, if the output is published, and releases the index.
func (r *run) closeIndex(ctx context.Context) error {
	if r.adding == nil {
		return nil
	}
	return r.adding.Close(ctx)
}
