// Package replay reads documents and pairs from the tables of a finished run, so that they can be decided again.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/sets"
)

func init() {
	flow.Register[shardsFn]()
	flow.Register[similarFn]()
	flow.Register[profilesFn]()
	flow.Register[rejectedFn]()
}

// Params configure what is read.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs of the run that wrote the tables.
	Inputs string
	// Tables is the folder of the finished output.
	Tables output.Folder
	// Shards spreads documents for the decision.
	Shards sets.ComponentShards
	// Measure is the measure of the similarities in the tables, with the threshold that pairs must reach.
	Measure verifier.Spec
	// Lower says that the tables have a lower threshold than Measure; otherwise every pair reaches it.
	Lower bool
	// Read has the totals of the run that read the documents. HasRejected says whether it wrote rows of rejected.
	Read        blocks.Fact
	HasRejected bool
}

// Found is the content of the tables, as if a search had just found it.
type Found struct {
	Profiles flow.Profiles
	Pairs    flow.NearPairs
	Links    flow.Links // empty
	Copies   flow.Copies
}

// Similar reads the similar documents from the tables pairs and clusters. It omits near pairs below the threshold. The
// scores of the others are those of verifier.Told.
//
//	Impulse → KV<component shard, profiles>, KV<component shard, near pairs>, KV<component shard, links>, KV<copy shard, copies>
//
// The rows of a shard are streamed: a pair is in the component that clusters names for its document a. One GroupByKey
// merges the profiles of a document that several pairs supply; it holds the profiles of a component shard in memory.
func Similar(s beam.Scope, p Params) Found {
	s = s.Scope("replay.Similar")
	told, pairs, links, copies := beam.ParDo4(s, &similarFn{Params: p}, shards(s, p))
	return Found{
		Profiles: flow.Profiles(beam.ParDo(s, &profilesFn{}, beam.GroupByKey(s, told))),
		Pairs:    flow.NearPairs(pairs), Links: flow.Links(links), Copies: flow.Copies(copies),
	}
}

// Rejected reads the table rejected, and emits the totals of the run.
//
//	Impulse → KV<table shard, rows>, KV<corpus batch, keys>, facts
func Rejected(s beam.Scope, p Params) (flow.Rows[records.Rejected], flow.Dropped, flow.Facts) {
	s = s.Scope("replay.Rejected")
	rows, dropped, facts := beam.ParDo3(s, &rejectedFn{Params: p}, shards(s, p))
	return flow.Rows[records.Rejected](rows), flow.Dropped(dropped), flow.Facts(facts)
}

func shards(s beam.Scope, p Params) beam.PCollection {
	return beam.Reshuffle(s, beam.ParDo(s, &shardsFn{Inputs: p.Inputs}, beam.Impulse(s)))
}

// shardsFn emits the numbers of the tables' shards.
type shardsFn struct{ Inputs string }

func (f *shardsFn) ProcessElement(ctx context.Context, _ []byte, emit func(int64)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	for shard := range in.Shards {
		emit(int64(shard))
	}
	return nil
}

// unclear is the minimum difference between a cosine and a threshold that cannot be due to rounding.
const unclear = 1e-12

// reaches reports whether a near pair is at or above the threshold of a measure.
func reaches(p *records.Pair, m verifier.Spec) (bool, error) {
	switch t := m.Threshold; m.Measure {
	case verifier.Jaccard:
		return t.Reached(int(p.Shared), int(p.SizeA), int(p.SizeB)), nil
	case verifier.Overlap:
		return uint64(p.Shared)*t.Den >= t.Num*uint64(p.SizeA), nil
	default:
		if math.Abs(p.Similarity-t.Float()) < unclear {
			return false, blocks.Refuse("the cosine of %s at %d and %s at %d is too close to %v; use another threshold",
				p.SourceA, p.PositionA, p.SourceB, p.PositionB, t.Float())
		}
		return p.Similarity > t.Float(), nil
	}
}

// clustered has the columns that are read from clusters.
type clustered struct {
	Cluster  int64  `parquet:"cluster"`
	Source   string `parquet:"source"`
	Position int64  `parquet:"position"`
}

// similarFn reads the pairs of a table shard; see Similar for the shapes.
type similarFn struct {
	Params Params

	in                      *blocks.Inputs
	files                   func(source string) (int, bool)
	profiles, pairs, copies *blocks.Shards
	// told has the keys, plus 1, of documents whose profiles were emitted recently, indexed by hash.
	told []blocks.Key
}

// lately is the length of told, a power of 2.
const lately = 1 << 14

func (f *similarFn) Setup(ctx context.Context) (err error) {
	f.profiles, f.pairs, f.copies = f.Params.Shards.Buffers(), f.Params.Shards.Buffers(), f.Params.Shards.Buffers()
	f.told = make([]blocks.Key, lately)
	if f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err == nil {
		f.files = f.in.Finder()
	}
	return err
}

func (f *similarFn) ProcessElement(
	ctx context.Context, shard int64, toProfiles, toPairs, _, toCopies func(int64, []byte),
) error {
	file := func(table output.Part) string {
		return f.Params.Tables.Path(output.TableFile(table, shard, f.in.Shards))
	}
	next, stop := iter.Pull2(output.FileRows[clustered](ctx, file(output.Clusters)))
	defer stop()
	clear(f.told)
	g := group{in: f.in}
	profile := func(p *blocks.Profile) {
		at := &f.told[hash.Mix(uint64(p.Key))%lately]
		if *at == p.Key+1 && p.Copies == 0 {
			return
		}
		*at = p.Key + 1
		f.profiles.Add(g.shard, func(block []byte) []byte { return blocks.AppendProfile(block, p) }, toProfiles)
	}
	for row, err := range output.FileRows[records.Pair](ctx, file(output.Pairs)) {
		if err != nil {
			return err
		}
		a, b, err := f.documents(&row)
		if err != nil {
			return err
		}
		if a.Key != g.first.Key || !g.open {
			g.end(profile)
			component, err := f.component(next, a.Key)
			if err != nil {
				return fmt.Errorf("%s: %w", file(output.Clusters), err)
			}
			g.begin(a, f.Params.Shards.Shard(component))
		}
		if row.Same != nil {
			if err := g.copy(&b, *row.Same); err != nil {
				return err
			}
			send := func(c *blocks.Copy) {
				add := func(block []byte) []byte { return blocks.AppendCopy(block, c) }
				f.copies.Add(f.Params.Shards.Shard(a.Key), add, toCopies)
			}
			if g.first.Copies == 1 {
				send(&blocks.Copy{Of: a.Key, Profile: a})
			}
			send(&blocks.Copy{Of: a.Key, Profile: b})
			continue
		}
		reached := true
		if f.Params.Lower {
			var err error
			if reached, err = reaches(&row, f.Params.Measure); err != nil {
				return err
			}
		}
		if reached {
			g.near = true
			profile(&b)
			f.pairs.Add(g.shard, func(block []byte) []byte {
				return blocks.AppendNearPair(block, blocks.NearPair{
					A: a.Key, B: b.Key, Score: verifier.ScoreOf(row.Similarity), Shared: int(row.Shared), Matches: row.Matches,
				})
			}, toPairs)
		}
	}
	g.end(profile)
	return nil
}

func (f *similarFn) FinishBundle(toProfiles, toPairs, _, toCopies func(int64, []byte)) {
	f.profiles.Flush(toProfiles)
	f.pairs.Flush(toPairs)
	f.copies.Flush(toCopies)
}

// documents returns the two documents of a pair, with traits that differ from those of all other documents.
func (f *similarFn) documents(row *records.Pair) (a, b blocks.Profile, err error) {
	of := func(source string, position int64, id string, size int32) (blocks.Profile, error) {
		file, ok := f.files(source)
		if !ok {
			return blocks.Profile{}, fmt.Errorf("the pairs table names %s, which is not an input file", source)
		}
		key := blocks.NewKey(file, position)
		own := blocks.Hash{Hi: uint64(key) + 1} // none is zero
		return blocks.Profile{
			Key: key, Hash: own, Size: int(size), Words: int(size), ID: []byte(id), HasID: true,
			Traits: blocks.Traits{Text: own, Tokens: own},
		}, nil
	}
	a, errA := of(row.SourceA, row.PositionA, row.IDA, row.SizeA)
	b, errB := of(row.SourceB, row.PositionB, row.IDB, row.SizeB)
	return a, b, cmp.Or(errA, errB)
}

// component finds the component of a document in the rows of clusters, which come in the same order.
func (f *similarFn) component(next func() (clustered, error, bool), of blocks.Key) (blocks.Key, error) {
	for {
		row, err, ok := next()
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return 0, fmt.Errorf("it lacks %s at %d, which is in the pairs table", f.in.Source(of), of.Position())
		}
		if file, ok := f.files(row.Source); ok && blocks.NewKey(file, row.Position) == of {
			return blocks.Key(row.Cluster), nil
		}
	}
}

// group collects consecutive rows of pairs with the same document a, and its copies.
type group struct {
	in    *blocks.Inputs
	open  bool
	shard int64 // of the component
	first blocks.Profile
	near  bool
	// best is what the preferred document of the group has in common with the first, or "" if it is the first itself;
	// alike counts the copies by what they have in common with the first.
	best  string
	alike map[string]int
}

func (g *group) begin(first blocks.Profile, shard int64) {
	g.open, g.first, g.shard, g.near, g.best, g.alike = true, first, shard, false, "", map[string]int{}
}

// copy adds a copy, and sets its traits.
func (g *group) copy(c *blocks.Profile, same string) error {
	switch same {
	case records.ReasonIdentical:
		c.Traits = g.first.Traits
	case records.ReasonEqual:
		c.Traits.Tokens = g.first.Traits.Tokens
	}
	c.Hash = g.first.Hash
	g.first.Copies++
	g.alike[same]++
	if g.in.Preferred(c, g.first.Preferred()) < 0 {
		best := *c
		g.first.Best, g.best = &best, same
	}
	if g.best != "" && g.best != records.ReasonIdentical && g.alike[g.best] > 1 {
		best := g.first.Best
		return blocks.Refuse("cannot keep %s@%d instead of %s@%d: the tables do not say whether all copies of the "+
			"latter are also copies of the former; run dedup on the input again", g.in.Source(best.Key), best.Key.Position(),
			g.in.Source(g.first.Key), g.first.Key.Position())
	}
	return nil
}

// end yields the first document if it has a copy or a near pair.
func (g *group) end(yield func(*blocks.Profile)) {
	if g.open && (g.near || g.first.Copies > 0) {
		yield(&g.first)
	}
	g.open = false
}

// profilesFn keeps one profile per document, the one with copies if there is one.
//
//	KV<component shard, profiles> → KV<component shard, profiles>
type profilesFn struct{}

func (*profilesFn) ProcessElement(shard int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	copies := map[blocks.Key]int{}
	var all []blocks.Profile
	err := gather.Each(packed, func(d *blocks.Decoder) {
		p := d.Profile()
		at, seen := copies[p.Key]
		switch {
		case !seen:
			copies[p.Key] = len(all)
			all = append(all, p)
		case p.Copies > 0:
			all[at] = p
		}
	})
	if err != nil {
		return err
	}
	var out blocks.Buffers
	for i := range all {
		out.Add(shard, func(block []byte) []byte { return blocks.AppendProfile(block, &all[i]) }, emit)
	}
	out.Flush(emit)
	return nil
}

// rejectedFn reads the rejected rows of a table shard; see Rejected for the shapes.
type rejectedFn struct{ Params Params }

func (f *rejectedFn) ProcessElement(
	ctx context.Context, shard int64, rows, dropped func(int64, []byte), facts func([]byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	if shard == 0 {
		if err := f.Params.Read.Emit(facts); err != nil {
			return err
		}
	}
	if !f.Params.HasRejected {
		return nil
	}
	files := in.Finder()
	var out, drops blocks.Buffers
	file := f.Params.Tables.Path(output.TableFile(output.Rejected, shard, in.Shards))
	for row, err := range output.FileRows[records.Rejected](ctx, file) {
		if err != nil {
			return err
		}
		of, ok := files(row.Source)
		if !ok {
			return fmt.Errorf("%s names %s, which is not an input file", file, row.Source)
		}
		key := blocks.NewKey(of, row.Position)
		blocks.AddRow(&out, shard, key, key, &row, rows)
		if row.Unreadable() {
			drops.Add(in.Batch(key), func(block []byte) []byte { return blocks.AppendKey(block, key) }, dropped)
		}
	}
	out.Flush(rows)
	drops.Flush(dropped)
	return nil
}
