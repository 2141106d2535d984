// Package eval compares the clusters of a finished output with known ones, or with an exact join of a sample of its
// documents.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Config holds the settings of the job.
type Config struct {
	Output string `arg:"" name:"dir" help:"Output of a finished run of dedup."`
	Truth  string `placeholder:"FILE" help:"Truth file: CSV with a header, or JSON Lines. Columns id_a and id_b list every true pair; columns id and cluster list clusters, and only documents named in the file count. - is standard input." group:"Evaluation"`
	Sample int    `placeholder:"N" help:"Read the run's input again and exactly compare N distinct documents, drawn with --seed, with all others, instead of reading a truth file. Pairs at or above the threshold are the truth." group:"Evaluation"`
	Seed   uint64 `default:"1" placeholder:"N" help:"Seed of --sample (default: ${default})." group:"Evaluation"`
	List   int    `default:"20" placeholder:"N" help:"List at most N missed pairs and N false positives (default: ${default})." group:"Evaluation"`
	Texts  int    `default:"0" placeholder:"N" help:"Show the similarity and the differing words of the first N missed pairs and the first N false positives listed; this reads the run's input again (default: ${default})." group:"Evaluation"`
	job.Running
	// Content is the content of the truth file.
	Content io.Reader `kong:"-"`
}

// mostSampled is the maximum number of documents whose sets each worker can hold.
const mostSampled = 100_000

func (c *Config) validate() error {
	switch {
	case c.Truth == "" && c.Sample == 0:
		return job.Usage("%s: there is nothing to compare it with; use --truth FILE, or --sample N to compare N documents "+
			"with all others", c.Output)
	case c.Truth != "" && c.Sample != 0:
		return job.Usage("--truth and --sample cannot be used together; use one")
	case c.Sample < 0 || c.Sample > mostSampled:
		return job.Usage("--sample %d: must be between 1 and %d", c.Sample, mostSampled)
	case c.List < 0:
		return job.Usage("--list %d: must be at least 0", c.List)
	case c.Texts < 0:
		return job.Usage("--texts %d: must be at least 0", c.Texts)
	}
	return cmp.Or(c.Runner.CheckHere("eval"), job.CheckPath("--temp-dir", c.TempDir))
}

// Evaluate compares the output with the truth. Two documents are a found pair if they are in one cluster.
func Evaluate(ctx context.Context, c Config, launch job.Launch) (*records.Evaluation, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	e := &evaluation{Config: c, launch: launch}
	var known *truth
	var err error
	if c.Sample == 0 {
		if known, err = readTruth(job.Patient(ctx, c.Content), c.Truth); err != nil {
			return nil, err
		}
	}
	if e.f, err = job.OpenOutput(ctx, c.Output, "dedup"); err != nil {
		return nil, err
	}
	if known != nil {
		err = e.byTruth(ctx, known)
	} else {
		err = e.bySample(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := e.f.CheckUnchanged(ctx); err != nil {
		return nil, err
	}
	return &e.result, nil
}

// evaluation is one evaluation of a finished output.
type evaluation struct {
	Config
	launch job.Launch
	f      *output.Finished
	result records.Evaluation
}

// need returns a *job.UsageError if the output does not have the table.
func (e *evaluation) need(table output.Part) error {
	if e.f.Run.Parameters.Wrote(string(table)) {
		return nil
	}
	return job.Usage("%s has no %s table; run dedup again with %[2]s in --write", e.Output, table)
}

// byTruth compares all clusters with the truth.
func (e *evaluation) byTruth(ctx context.Context, known *truth) error {
	if err := e.need(output.Clusters); err != nil {
		return err
	}
	named := map[string]bool{}
	for id := range known.all() {
		named[id] = true
	}
	found := map[string]int64{} // the cluster of an id that the truth names
	var all []clustered
	for row, err := range output.Rows[records.Clustered](ctx, e.f, output.Clusters) {
		if err != nil {
			return err
		}
		if _, again := found[row.ID]; again {
			return job.Usage("several documents have the id %q, so the truth file cannot tell them apart; run dedup again, "+
				"with unique ids in the --id column", row.ID)
		}
		if named[row.ID] {
			found[row.ID] = row.Cluster
		}
		all = append(all, clustered{row.ID, row.Cluster})
	}
	e.result = records.Evaluation{Kind: known.kind, Missed: [][2]string{}, False: [][2]string{}}
	if len(all) > 0 {
		e.result.Warnings = known.strange(e.Truth, "a cluster", all[0].id,
			func(id string) bool { _, ok := found[id]; return ok })
	}
	if known.kind == records.TruthPairs {
		e.result.Documents = e.f.Run.Counts.Records - e.f.Run.Counts.Unreadable
		e.result.Agreement = e.pairs(&e.result, known.pairs, found, all)
	} else {
		e.result.Documents = int64(len(known.ids))
		e.result.Agreement = e.clusters(&e.result, known, found)
	}
	if e.Texts == 0 {
		return nil
	}
	err := e.textsOfIDs(ctx)
	// The input may have changed or been deleted.
	if unfit := (*job.UsageError)(nil); errors.As(err, &unfit) || errors.Is(err, fs.ErrNotExist) {
		e.result.Warnings = append(e.result.Warnings, fmt.Sprintf("cannot show texts: %v", err))
		return nil
	}
	return err
}

// clustered is a document of the table clusters.
type clustered struct {
	id      string
	cluster int64
}

// pairs compares the clusters with true pairs.
func (c *Config) pairs(
	e *records.Evaluation, pairs [][2]string, found map[string]int64, documents []clustered,
) records.Agreement {
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	pairs = slices.Compact(pairs)
	groups := group(pairs)
	units := newJoint()
	trueIn := map[int64]float64{}
	isTrue := map[[2]string]bool{}
	for _, pair := range pairs {
		isTrue[pair] = true
		group := -1 - groups(pair[0]) // negative, unlike cluster numbers
		a, okA := found[pair[0]]
		b, okB := found[pair[1]]
		if okA {
			units.groups.Union(group, a)
		}
		if okB {
			units.groups.Union(group, b)
		}
		counts := quality.Agreement{True: 1}
		if okA && okB && a == b {
			trueIn[a]++
			counts.Both = 1
		} else if len(e.Missed) < c.List {
			e.Missed = append(e.Missed, pair)
		}
		units.add(group, counts)
	}
	members := map[int64][]string{}
	var clusters []int64 // in the order of the table
	for _, d := range documents {
		if members[d.cluster] == nil {
			clusters = append(clusters, d.cluster)
		}
		members[d.cluster] = append(members[d.cluster], d.id)
	}
	for _, cluster := range clusters {
		all := members[cluster]
		total := quality.Pairs(len(all))
		units.add(cluster, quality.Agreement{Found: total})
		for j, b := range all {
			if len(e.False) >= c.List || trueIn[cluster] == total {
				break
			}
			for _, a := range all[:j] {
				if pair := [2]string{min(a, b), max(a, b)}; !isTrue[pair] && len(e.False) < c.List {
					e.False = append(e.False, pair)
				}
			}
		}
	}
	return units.agreement(e.Documents)
}

// group returns a function that returns the number of an id's group. Pairs connect the ids of a group.
func group(pairs [][2]string) func(id string) int64 {
	numbers := map[string]int64{}
	number := func(id string) int64 {
		if _, ok := numbers[id]; !ok {
			numbers[id] = int64(len(numbers))
		}
		return numbers[id]
	}
	var forest unionfind.Forest
	for _, pair := range pairs {
		forest.Union(number(pair[0]), number(pair[1]))
	}
	return func(id string) int64 { return forest.Find(number(id)) }
}

// clusters compares the clusters with true ones, on the ids that the truth names; a document in no cluster is alone.
func (c *Config) clusters(e *records.Evaluation, known *truth, found map[string]int64) records.Agreement {
	// A document that is alone has a negative cluster, since document keys are not negative.
	name := func(i int) int64 {
		if cluster, ok := found[known.ids[i]]; ok {
			return cluster
		}
		return -1 - int64(i)
	}
	byTruth, byFound := map[string][]int{}, map[int64][]int{}
	for i, id := range known.ids {
		byTruth[known.label[id]] = append(byTruth[known.label[id]], i)
		byFound[name(i)] = append(byFound[name(i)], i)
	}
	units := newJoint()
	for i, id := range known.ids { // in the order of the truth
		units.groups.Union(int64(i), int64(byTruth[known.label[id]][0]))
		units.groups.Union(int64(i), int64(byFound[name(i)][0]))
		if group := byTruth[known.label[id]]; group[0] == i {
			total, both := joined(group, name, func(a, b int) { e.Missed = c.upTo(e.Missed, known.ids[a], known.ids[b]) })
			units.add(int64(i), quality.Agreement{True: total, Both: both})
		}
		if group := byFound[name(i)]; group[0] == i {
			total, _ := joined(group, func(i int) string { return known.label[known.ids[i]] },
				func(a, b int) { e.False = c.upTo(e.False, known.ids[a], known.ids[b]) })
			units.add(int64(i), quality.Agreement{Found: total})
		}
	}
	return units.agreement(e.Documents)
}

func (c *Config) upTo(pairs [][2]string, a, b string) [][2]string {
	if len(pairs) < c.List {
		pairs = append(pairs, [2]string{a, b})
	}
	return pairs
}

// joined returns the number of pairs in a group, and of those with equal labels. It calls apart with the first member
// of the group and the first with each other label.
func joined[L comparable](group []int, label func(i int) L, apart func(a, b int)) (all, ofOne float64) {
	sizes := map[L]int{}
	for _, i := range group {
		l := label(i)
		if sizes[l] == 0 && l != label(group[0]) {
			apart(group[0], i)
		}
		ofOne += float64(sizes[l])
		sizes[l]++
	}
	return quality.Pairs(len(group)), ofOne
}
