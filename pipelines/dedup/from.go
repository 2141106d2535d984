package dedup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/replay"
	"github.com/neardup/neardup/transforms/sets"
)

// A run that decides again begins at the decision: it takes similar documents from the tables of a finished output.

// redecided lists the fields of phases before the decision that such a run may change, because nothing that is read
// depends on them.
var redecided = []string{"threshold", "cluster", "keep", "protect"}

// replayed lists the tables that such a run reads.
var replayed = []output.Part{output.Pairs, output.Clusters, output.Rejected}

// takeOver opens the output that c.From names, and sets c.Spec to the Spec of its run, except where c changes the
// decision.
func (c *Config) takeOver(ctx context.Context) (*output.Finished, error) {
	f, err := job.OpenOutput(ctx, c.From, "dedup")
	if err != nil {
		return nil, job.Usage("--from %s: %w", c.From, err)
	}
	asked, defaults := records.Fields(c.Spec), records.Fields(records.Default())
	was, phases := records.Fields(f.Run.Parameters), records.Phases()
	changed := map[string]any{ // settings that only a whole run supports
		"measure_recall": 0, "max_removed": "",
		"write": slices.DeleteFunc(slices.Clone(f.Run.Parameters.Write),
			func(part string) bool { return part == string(output.Documents) }),
	}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		value := asked[name].Interface()
		if !slices.Contains(c.Given, name) && same(value, defaults[name].Interface()) {
			continue
		}
		switch {
		case slices.Contains(redecided, name), phases[name] == "decide", phases[name] == "check":
			changed[name] = value
		case same(value, was[name].Interface()):
		case name == "input":
			refused = append(refused, "the input")
		default:
			refused = append(refused, "--"+strings.ReplaceAll(name, "_", "-"))
		}
	}
	if len(refused) > 0 {
		return nil, job.Usage("--from %s: cannot change %s; run dedup on the input instead",
			c.From, records.Or(refused...))
	}
	spec, err := replaced(f.Run.Parameters, changed)
	if err != nil {
		return nil, err
	}
	given := slices.DeleteFunc(slices.Clone(f.Run.Given), func(name string) bool { return name == "measure_recall" })
	c.Given = append(given, slices.Collect(maps.Keys(changed))...)
	c.Spec = spec
	if err := c.checkFrom(f); err != nil {
		return nil, err
	}
	return f, c.checkTables(ctx, f)
}

// same reports whether two values of a field are equal; nil equals an empty list.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Kind() == reflect.Slice && x.Len()+y.Len() == 0 || reflect.DeepEqual(a, b)
}

// replaced returns s with other values of some fields, by their names.
func replaced(s records.Spec, values map[string]any) (other records.Spec, err error) {
	for _, fields := range []any{s, values} {
		data, err := json.Marshal(fields)
		if err != nil {
			return other, err
		}
		if err := json.Unmarshal(data, &other); err != nil {
			return other, err
		}
	}
	return other, nil
}

// checkFrom returns a *job.UsageError for an output that cannot be decided again.
func (c *Config) checkFrom(f *output.Finished) error {
	refuse := func(format string, args ...any) error {
		return job.Usage("--from %s: %s; run dedup on the input instead", c.From, fmt.Sprintf(format, args...))
	}
	was, n := f.Run.Parameters, f.Run.Counts
	var lacking []string
	for _, part := range replayed {
		if !was.Wrote(string(part)) && (part != output.Rejected || n.Unreadable+n.NotCompared > 0) {
			lacking = append(lacking, "the "+string(part)+" table")
		}
	}
	switch {
	case c.DryRun:
		return job.Usage("--from %s: there is nothing to plan; run dedup without --dry-run", c.From)
	case c.Resume == job.ResumeAlways:
		return job.Usage("--from %s: such a run keeps nothing to continue from; drop --resume always", c.From)
	case f.Run.References != nil:
		return refuse("it was made with --against, and its tables have only the references similar to " +
			"a document of the input")
	case was.Compare == job.Containment:
		return refuse("its tables do not say which of two documents is larger")
	case c.Threshold < was.Threshold && was.Method == job.Exact:
		return refuse("it has only copies, because it was made with --method exact")
	case c.Threshold < was.Threshold:
		return job.Usage("--from %s: it has only pairs with a similarity of at least %v; use --threshold %[2]v or more, or "+
			"run dedup on the input instead", c.From, was.Threshold)
	case len(lacking) > 0:
		return refuse("it lacks %s", strings.Join(lacking, " and "))
	case n.PairsPartial > 0:
		return refuse("it may list only some pairs of groups that exceed --pair-budget")
	case slices.Contains(was.Inputs, "-"):
		return refuse("it was made from standard input, which cannot be read again")
	case slices.Contains(c.Write, string(output.Documents)):
		return job.Usage("--from %s: its tables do not list every record; leave documents out of --write, or run dedup on "+
			"the input instead", c.From)
	case c.MaxRemoved != "":
		return job.Usage("--from %s: its tables do not say how many documents a file has; drop --max-removed, or run dedup "+
			"on the input instead", c.From)
	}
	return nil
}

// checkTables returns a *job.UsageError unless each table of replayed is what the output's run wrote.
func (c *Config) checkTables(ctx context.Context, f *output.Finished) error {
	for _, file := range f.Manifest.Files {
		if !slices.Contains(replayed, output.PartOf(file.Path)) {
			continue
		}
		intact, err := output.Intact(ctx, f.Path(file.Path), file.SHA256)
		if err != nil {
			return err
		}
		if !intact {
			return job.Usage("--from %s: %s is missing or has changed since the run; run dedup on the "+
				"input instead", c.From, file.Path)
		}
	}
	return nil
}

// checkInput returns an error if the input is not what the run that wrote r.from read.
func (r *run) checkInput(ctx context.Context) error {
	was := r.from.Run.Input
	if err := sameInput(was, r.plan.Input()); err != nil {
		return job.Usage("--from %s: %w", r.config.From, err)
	}
	if !r.asked.Writes(output.Corpus) {
		return nil
	}
	versions, err := r.versions(ctx)
	if err == nil && versions != was.Versions {
		err = job.Usage("--from %s: the input has changed since the run; run dedup on the input instead, or leave corpus "+
			"out of --write", r.config.From)
	}
	return err
}

// replayed returns the collections of the first read and the search, from the tables of the finished output.
func (p *Plan) replayed(s beam.Scope, temp string) (keys, found) {
	params := replay.Params{
		Inputs: job.Inputs(temp), Tables: p.From.Folder, Shards: p.componentShards(), Measure: p.Verifier(temp),
		Lower: p.From.Run.Parameters.Threshold < p.Config.Threshold,
		Read: blocks.Fact{Kind: blocks.FactRead, Name: "0", Counts: map[string]int64{
			blocks.CountRecords:    p.From.Run.Counts.Records,
			blocks.CountUnreadable: p.From.Run.Counts.Unreadable,
			blocks.CountNoColumn:   p.From.Run.Counts.NoColumn,
		}},
		HasRejected: p.From.Run.Parameters.Wrote(string(output.Rejected)),
	}
	var k keys
	rejected, dropped, facts := replay.Rejected(s, params)
	k.rejected, k.dropped, k.facts = []flow.Rows[records.Rejected]{rejected}, dropped, facts
	similar := replay.Similar(s, params)
	return k, found{profiles: similar.Profiles, pairs: similar.Pairs, links: similar.Links, copies: similar.Copies}
}

// decidedShards returns the number of component shards for documents that are known to be similar.
func (p *Plan) decidedShards() sets.ComponentShards {
	n := p.From.Run.Counts
	return sets.ComponentShards(max(job.LeastGroups,
		min((n.Removed+n.Clusters)*decidedBytes/p.GroupBytes(), job.MostGroups)))
}

// decidedBytes is about the size of a document to decide again, with its pairs.
const decidedBytes = 400

// told returns the measure of such documents, whose similarities are known.
func (p *Plan) told() verifier.Spec {
	return verifier.Spec{Measure: verifier.Told, Threshold: p.Threshold}
}

// reads returns what each of the run's pipelines reads.
func (p *Plan) reads(asked *job.Asked) [][]job.Read {
	switch {
	case p.From == nil:
		return Reads(asked, p.Plan)
	case asked.Writes(output.Corpus):
		return [][]job.Read{p.Reads(job.Third)}
	default:
		return [][]job.Read{nil}
	}
}

// settle copies what the earlier run found out about the input.
func (r *run) settle() {
	was := &r.from.Run
	r.record.NoColumn, r.record.Input.Decoded = was.NoColumn, was.Input.Decoded
	r.record.Counts.AllPairs, r.record.Counts.ComparedPairs = was.Counts.AllPairs, was.Counts.ComparedPairs
	if was.Recall != nil && was.Recall.Exact {
		r.record.Recall = &records.Recall{Exact: true}
	}
	r.record.From = &records.From{Job: was.Job, Output: r.config.From}
}
