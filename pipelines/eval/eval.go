// Package eval compares the clusters of a finished output with known ones.
package eval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Config says what is compared.
type Config struct {
	Output string `arg:"" name:"dir" help:"Output of a finished run of dedup."`
	Truth  string `required:"" placeholder:"FILE" help:"The truth, as CSV with a line of column names or as JSON Lines. Columns id_a and id_b list every true pair; columns id and cluster list clusters, and only documents named there count. - is standard input." group:"Evaluation"`
	List   int    `default:"20" placeholder:"N" help:"List at most N missed pairs, and N false ones (default: ${default})." group:"Evaluation"`
	// Content is what the truth's file holds.
	Content io.Reader `kong:"-"`
}

const confidence = .95

// Evaluate compares the output with the truth. Two documents are a found pair if they are in one cluster.
func Evaluate(ctx context.Context, c Config) (*records.Evaluation, error) {
	if c.List < 0 {
		return nil, job.Usage("--list %d: must be at least 0", c.List)
	}
	known, err := readTruth(job.Patient(ctx, c.Content), c.Truth)
	if err != nil {
		return nil, err
	}
	f, err := output.Open(ctx, c.Output)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(f.Run.Parameters.Write, string(output.Clusters)) {
		return nil, job.Usage("%s has no table clusters: run dedup again, and have --write name it", c.Output)
	}
	found := map[string]int64{} // the cluster of an id
	var ids []string
	for row, err := range output.Rows[records.Clustered](ctx, f, output.Clusters) {
		if err != nil {
			return nil, err
		}
		if _, again := found[row.ID]; again {
			return nil, job.Usage("several documents have the id %s: the truth cannot tell them apart; give unique ids by --id", row.ID)
		}
		found[row.ID], ids = row.Cluster, append(ids, row.ID)
	}
	same, err := f.Unchanged(ctx)
	if err == nil && !same {
		err = fmt.Errorf("%s was replaced while it was read; run the same command again", c.Output)
	}
	if err != nil {
		return nil, err
	}
	e := &records.Evaluation{Kind: known.kind, Missed: [][2]string{}, False: [][2]string{}}
	var ofTruth, ofFound []quality.Unit
	if known.kind == records.TruthPairs {
		e.Documents = f.Run.Counts.Records - f.Run.Counts.Unreadable
		ofTruth, ofFound = c.pairs(e, known.pairs, found, ids)
	} else {
		e.Documents = int64(len(known.ids))
		ofTruth, ofFound = c.clusters(e, known, found)
	}
	a := quality.Agreement{Both: e.Both, Found: e.Found, True: e.True, All: quality.Pairs(int(e.Documents))}
	e.Precision, e.Recall = shared(a.Precision(), ofFound), shared(a.Recall(), ofTruth)
	e.F1, e.Rand = a.F1(), a.AdjustedRand()
	return e, nil
}

// shared is a share with its interval. Pairs of one cluster may be found or missed together, so it is that of clusters drawn.
func shared(value float64, units []quality.Unit) records.EvaluatedShare {
	s := records.EvaluatedShare{Value: value}
	if low, high, ok := quality.Interval(units, confidence); ok {
		s.Low, s.High = &low, &high
	}
	return s
}

// pairs compares with pairs. It returns how many were found of each group that true pairs connect, and how many of each found cluster
// are true.
func (c *Config) pairs(e *records.Evaluation, pairs [][2]string, found map[string]int64, ids []string) (ofTruth, ofFound []quality.Unit) {
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	pairs = slices.Compact(pairs)
	groups := group(pairs)
	units := map[string]*quality.Unit{}
	var roots []string
	trueIn := map[int64]float64{}
	isTrue := map[[2]string]bool{}
	for _, pair := range pairs {
		isTrue[pair] = true
		root := groups(pair[0])
		if units[root] == nil {
			units[root] = &quality.Unit{}
			roots = append(roots, root)
		}
		units[root].Total++
		e.True++
		a, okA := found[pair[0]]
		b, okB := found[pair[1]]
		if okA && okB && a == b {
			units[root].Found++
			trueIn[a]++
			e.Both++
		} else if len(e.Missed) < c.List {
			e.Missed = append(e.Missed, pair)
		}
	}
	for _, root := range roots {
		ofTruth = append(ofTruth, *units[root])
	}
	members := map[int64][]string{}
	for _, id := range ids {
		members[found[id]] = append(members[found[id]], id)
	}
	for _, id := range ids { // clusters in the order of the table
		cluster := found[id]
		all := members[cluster]
		if all[0] != id {
			continue
		}
		total := quality.Pairs(len(all))
		ofFound = append(ofFound, quality.Unit{Found: trueIn[cluster], Total: total})
		e.Found += total
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
	return ofTruth, ofFound
}

// group returns a name for the group of an id: ids are in one if pairs connect them.
func group(pairs [][2]string) func(id string) string {
	above := map[string]string{}
	root := func(id string) string {
		for above[id] != "" && above[id] != id {
			id = above[id]
		}
		return id
	}
	for _, pair := range pairs {
		a, b := root(pair[0]), root(pair[1])
		above[max(a, b)] = min(a, b)
		above[pair[1]] = min(a, b)
	}
	return root
}

// clusters compares with clusters, of the ids that the truth names; a document in no cluster is alone.
func (c *Config) clusters(e *records.Evaluation, known *truth, found map[string]int64) (ofTruth, ofFound []quality.Unit) {
	// alone is a cluster of one: no key of a document is negative.
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
	for i, id := range known.ids { // in the order of the truth
		if group := byTruth[known.label[id]]; group[0] == i {
			u := unit(group, name, func(a, b int) { e.Missed = c.list(e.Missed, known.ids[a], known.ids[b]) })
			ofTruth = append(ofTruth, u)
			e.True += u.Total
			e.Both += u.Found
		}
		if group := byFound[name(i)]; group[0] == i {
			u := unit(group, func(i int) string { return known.label[known.ids[i]] }, func(a, b int) { e.False = c.list(e.False, known.ids[a], known.ids[b]) })
			ofFound = append(ofFound, u)
			e.Found += u.Total
		}
	}
	return ofTruth, ofFound
}

func (c *Config) list(pairs [][2]string, a, b string) [][2]string {
	if len(pairs) < c.List {
		pairs = append(pairs, [2]string{a, b})
	}
	return pairs
}

// unit counts the pairs of a group, and those of one label; apart is called with the first of the group and the first of each other label.
func unit[L comparable](group []int, label func(i int) L, apart func(a, b int)) quality.Unit {
	sizes := map[L]int{}
	u := quality.Unit{Total: quality.Pairs(len(group))}
	for _, i := range group {
		l := label(i)
		if sizes[l] == 0 && l != label(group[0]) {
			apart(group[0], i)
		}
		u.Found += float64(sizes[l])
		sizes[l]++
	}
	return u
}
