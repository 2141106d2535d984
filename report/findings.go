package report

import (
	"cmp"
	"context"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// findings holds what the tables of an output say beyond run.json. Each table is read once, and the memory does not
// grow with pairs or clusters.
type findings struct {
	sources    map[string]*tally
	partitions map[string]*tally
	totals     bool // the documents of sources are known, because there is a corpus
	unreadable map[string]int64
	members    map[int32]int64 // documents by the size of their cluster
	largest    []*cluster
	nearest    []records.Pair            // pairs to check: those that differ in numbers, then the nearest to the threshold
	numbered   int                       // number of the former
	endings    map[records.Place]*ending // by document of these pairs
	ladder     *ladder
	below      []int64 // near pairs per step
}

// ending says what happened to a document of a shown pair.
type ending struct {
	removed bool
	keptID  string
	cluster int64 // or none
}

// none is the cluster number of a document without a cluster.
const none = -1

// tally counts the documents of a source by what happened to them.
type tally struct{ Kept, Exact, Near int64 }

// Removed returns how many documents are not in the corpus.
func (t *tally) Removed() int64 { return t.Exact + t.Near }

// Documents returns the total number, if all are known.
func (t *tally) Documents() int64 { return t.Kept + t.Removed() }

// Share returns the share that was removed.
func (t *tally) Share() float64 { return float64(t.Removed()) / math.Max(1, float64(t.Documents())) }

func (t *tally) add(other tally) {
	t.Kept, t.Exact, t.Near = t.Kept+other.Kept, t.Exact+other.Exact, t.Near+other.Near
}

// cluster is one of the largest clusters.
type cluster struct {
	Name    int64
	Number  int   // in their list
	Pairs   []int // numbers of its shown pairs
	Members int32
	Kept    int
	First   []records.Clustered // the first documents, and a kept one if none of them is
}

// Limits of what is shown.
const (
	mostClusters = 20
	mostMembers  = 5
	mostNearest  = 20
	mostNumbered = 10
	// mostChecked is the number of pairs from which pairs with different documents are chosen.
	mostChecked = 400
)

// launcherMemory is the memory that a page may use if the run states no limit, as on a cluster.
const launcherMemory = 1 << 30

func find(ctx context.Context, f *output.Finished) (*findings, error) {
	found := &findings{
		sources: map[string]*tally{}, partitions: map[string]*tally{}, unreadable: map[string]int64{},
		members: map[int32]int64{},
		ladder: newLadder(f.Run.Parameters.Threshold, f.Run.Parameters.Cluster == "star", keptNone(&f.Run),
			cmp.Or(memory.Budget{Bytes: f.Run.InForce.Memory}.Exchange(), launcherMemory)),
		endings: map[records.Place]*ending{},
	}
	found.below = make([]int64, len(found.ladder.at))
	for _, read := range []func(context.Context, *output.Finished) error{
		found.pairs, found.clusters, found.rejected, found.removed, // the last when pairs are chosen and have clusters
	} {
		if err := read(ctx, f); err != nil {
			return nil, err
		}
	}
	if wrote(&f.Run, output.Corpus) && wrote(&f.Run, output.Removed) {
		found.totals = true
		found.corpus(f)
	}
	for i, c := range found.largest {
		c.Number = i + 1
	}
	found.partition()
	return found, nil
}

// keptNone reports whether a run kept no document of a cluster.
func keptNone(run *records.Run) bool { return slices.Contains(run.Parameters.Keep, "none") }

// wrote reports whether a run wrote a part of its output.
func wrote(run *records.Run, part output.Part) bool {
	return slices.Contains(run.Parameters.Write, string(part))
}

// each takes the rows of a table, if it is written.
func each[T any](ctx context.Context, f *output.Finished, part output.Part, take func(T)) error {
	if !wrote(&f.Run, part) {
		return nil
	}
	for row, err := range output.Rows[T](ctx, f, part) {
		if err != nil {
			return err
		}
		take(row)
	}
	return nil
}

func (found *findings) pairs(ctx context.Context, f *output.Finished) error {
	err := each(ctx, f, output.Pairs, func(pair records.Pair) {
		found.ladder.add(pair.SourceA, pair.PositionA, pair.SourceB, pair.PositionB, pair.Similarity, pair.Copy())
		if !pair.Copy() {
			found.near(pair)
		}
	})
	found.nearest = apart(found.nearest, mostNearest)
	slices.SortStableFunc(found.nearest, func(a, b records.Pair) int { return cmp.Compare(a.Similarity, b.Similarity) })
	for _, pair := range found.nearest {
		a, b := places(pair)
		found.endings[a], found.endings[b] = &ending{cluster: none}, &ending{cluster: none}
	}
	return err
}

// near counts a near pair, and remembers it if few others are nearer to the threshold.
func (found *findings) near(pair records.Pair) {
	found.below[found.ladder.step(pair.Similarity)]++
	remember(&found.nearest, pair, mostChecked,
		func(a, b records.Pair) int { return cmp.Compare(a.Similarity, b.Similarity) })
}

// remember inserts one after its equals if it belongs to the first most.
func remember[T any](first *[]T, one T, most int, order func(a, b T) int) {
	if n := len(*first); n == most && order(one, (*first)[n-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(*first, one, func(a, b T) int { return cmp.Or(order(a, b), -1) })
	*first = slices.Insert(*first, at, one)
	*first = (*first)[:min(len(*first), most)]
}

// apart chooses up to most pairs such that no document appears twice and, if there are too few, adds others.
func apart(pairs []records.Pair, most int) (chosen []records.Pair) {
	listed := map[records.Place]bool{}
	var others []records.Pair
	for _, p := range pairs {
		a, b := places(p)
		if len(chosen) < most && !listed[a] && !listed[b] {
			chosen = append(chosen, p)
			listed[a], listed[b] = true, true
		} else {
			others = append(others, p)
		}
	}
	return append(chosen, others[:min(len(others), most-len(chosen))]...)
}

// removal is a removed document, b, with the document kept in its place.
type removal struct {
	records.Pair
	cluster int64
}

// ahead moves removed documents that differ in numbers from their kept one before the pairs nearest to the threshold.
func (found *findings) ahead(removals []removal, keepNone bool) {
	clusters := map[records.Place]int64{}
	var pairs []records.Pair
	for _, r := range removals {
		_, b := places(r.Pair)
		clusters[b] = r.cluster
		pairs = append(pairs, r.Pair)
	}
	first := apart(pairs, mostNumbered)
	among := map[[2]records.Place]bool{}
	for _, p := range first {
		a, b := places(p)
		among[[2]records.Place{a, b}], among[[2]records.Place{b, a}] = true, true
		found.endings[a] = &ending{removed: keepNone, keptID: p.IDB, cluster: clusters[b]}
		found.endings[b] = &ending{removed: true, keptID: p.IDA, cluster: clusters[b]}
	}
	others := slices.DeleteFunc(found.nearest, func(p records.Pair) bool {
		a, b := places(p)
		return among[[2]records.Place{a, b}]
	})
	found.nearest, found.numbered = append(first, others[:min(len(others), mostNearest-len(first))]...), len(first)
}

func places(p records.Pair) (a, b records.Place) {
	return records.Place{Source: p.SourceA, Position: p.PositionA}, records.Place{Source: p.SourceB, Position: p.PositionB}
}

func (found *findings) clusters(ctx context.Context, f *output.Finished) error {
	return each(ctx, f, output.Clusters, found.clustered)
}

func (found *findings) clustered(row records.Clustered) {
	found.members[row.Members]++
	if e := found.endings[records.Place{Source: row.Source, Position: row.Position}]; e != nil {
		e.cluster = row.Cluster
	}
	c := found.among(&row)
	if c == nil {
		return
	}
	if row.Kept {
		c.Kept++
	}
	if len(c.First) < mostMembers || row.Kept &&
		!slices.ContainsFunc(c.First, func(r records.Clustered) bool { return r.Kept }) {
		c.First = append(c.First, row)
	}
}

// among returns the cluster of a row if it is one of the largest so far; others cannot be among the largest in the end.
func (found *findings) among(row *records.Clustered) *cluster {
	at, is := slices.BinarySearchFunc(found.largest, row, func(c *cluster, row *records.Clustered) int {
		return cmp.Or(cmp.Compare(row.Members, c.Members), cmp.Compare(c.Name, row.Cluster))
	})
	if is {
		return found.largest[at]
	}
	if at == mostClusters {
		return nil
	}
	c := &cluster{Name: row.Cluster, Members: row.Members}
	found.largest = slices.Insert(found.largest, at, c)
	found.largest = found.largest[:min(len(found.largest), mostClusters)]
	return c
}

func (found *findings) removed(ctx context.Context, f *output.Finished) error {
	type row struct {
		ID           string   `parquet:"id"`
		Source       string   `parquet:"source,dict"`
		Position     int64    `parquet:"position"`
		Cluster      int64    `parquet:"cluster"`
		Reason       string   `parquet:"reason,dict"`
		KeptID       string   `parquet:"kept_id"`
		KeptSource   string   `parquet:"kept_source,dict"`
		KeptPosition int64    `parquet:"kept_position"`
		Similarity   *float64 `parquet:"similarity,optional"`
		Differs      []string `parquet:"differs,optional,list"`
	}
	var numbered []removal // the most similar first
	err := each(ctx, f, output.Removed, func(r row) {
		place := records.Place{Source: r.Source, Position: r.Position}
		if e := found.endings[place]; e != nil {
			e.removed, e.keptID = true, r.KeptID
		}
		if r.Similarity != nil && slices.Contains(r.Differs, records.DiffersNumbers) {
			remember(&numbered, removal{records.Pair{
				IDA: r.KeptID, SourceA: r.KeptSource, PositionA: r.KeptPosition,
				IDB: r.ID, SourceB: r.Source, PositionB: r.Position, Similarity: *r.Similarity,
			}, r.Cluster}, mostChecked, func(a, b removal) int { return cmp.Compare(b.Similarity, a.Similarity) })
		}
		if t := found.of(sourceOf(&f.Run, r.Source)); r.Reason == records.ReasonNear {
			t.Near++
		} else {
			t.Exact++
		}
	})
	found.ahead(numbered, keptNone(&f.Run))
	return err
}

func (found *findings) of(source string) *tally { return tallyOf(found.sources, source) }

func tallyOf(tallies map[string]*tally, name string) *tally {
	if tallies[name] == nil {
		tallies[name] = &tally{}
	}
	return tallies[name]
}

// sourceOf returns the source that a document is counted under: its file, or the folder of a file that is a document.
func sourceOf(run *records.Run, file string) string {
	if run.Parameters.Format == "files" {
		return path.Dir(file)
	}
	return file
}

func (found *findings) rejected(ctx context.Context, f *output.Finished) error {
	type row struct {
		Reason string `parquet:"reason,dict"`
	}
	return each(ctx, f, output.Rejected, func(r row) {
		if _, is := notCompared[r.Reason]; !is {
			found.unreadable[r.Reason]++
		}
	})
}

// pieceName matches the name of a piece of a large file in the corpus.
var pieceName = regexp.MustCompile(`^(.*)-\d{5}-of-\d{5}((?:\.[^/.]*)*)$`)

// wholeOf returns the source of which a corpus file is a piece, judging by its name.
func wholeOf(name string) (source string, is bool) {
	parts := pieceName.FindStringSubmatch(name)
	if parts == nil {
		return "", false
	}
	return parts[1] + parts[2], true
}

// corpus counts the documents left of each source. Large sources are in pieces, and a source may have a name like that
// of a piece. A file is a piece if documents of its source were removed; if none were, it is one if there are more
// files than the run has read. An error there changes names in the report, but no share.
func (found *findings) corpus(f *output.Finished) {
	rows := map[string]int64{}
	for _, file := range f.Manifest.Files {
		if output.PartOf(file.Path) == output.Corpus {
			rows[strings.TrimPrefix(file.Path, string(output.Corpus)+"/")] = file.Rows
		}
	}
	cut := len(rows) > f.Run.Input.Files
	removed, alike := maps.Clone(found.sources), map[string]bool{}
	for name := range removed {
		if whole, is := wholeOf(name); is {
			alike[whole] = true // files of such names are sources
		}
	}
	for name, n := range rows {
		whole, is := wholeOf(name)
		_, uncut := rows[whole]
		if is && !uncut && removed[name] == nil && (removed[whole] != nil || cut && !alike[whole]) {
			name = whole
		}
		found.of(sourceOf(&f.Run, name)).Kept += n
	}
}

// partition adds up sources by their folders with names such as dt=2026-11-20.
func (found *findings) partition() {
	for source, t := range found.sources {
		for part := range strings.SplitSeq(path.Dir(source), "/") {
			if strings.Index(part, "=") > 0 {
				tallyOf(found.partitions, part).add(*t)
			}
		}
	}
}
