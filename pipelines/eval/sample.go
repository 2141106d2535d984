package eval

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/recall"
)

// mostPairs limits the memory to some GB: it is the maximum number of pairs of the documents drawn, and of documents in
// their clusters.
var mostPairs = 10_000_000 // a variable so that tests can change it

// bySample compares the pairs of a sample of distinct documents with the result of an exact join of the sample with all
// others. As in pairs/, copies are left out: the first document with a set of features stands for them.
func (e *evaluation) bySample(ctx context.Context) error {
	for _, table := range []output.Part{output.Clusters, output.Pairs} {
		if err := e.need(table); err != nil {
			return err
		}
	}
	if e.f.Run.Parameters.Method == job.Exact {
		return job.Usage("--sample: the run's --method exact looked only for copies, and found them all; use --truth " +
			"FILE instead")
	}
	return e.again(ctx, [][]job.Read{{job.First, job.Second}, {job.First}}, func(plan *job.Plan, temp string) error {
		if match.Pairwise(plan.Spec.Rules) {
			return job.Usage("--sample supports only the rule equal, but the run has --match %s; use --truth FILE "+
				"instead", strings.Join(e.f.Run.Parameters.Match, " --match "))
		}
		params := recall.Params{
			Inputs: job.Inputs(temp), Text: plan.Spec, Verifier: plan.Verifier(temp), Sample: e.Sample, Seed: e.Seed,
			Temp: temp, MostPairs: mostPairs,
		}
		pipeline, scope := beam.NewPipelineWithRoot()
		docs, _ := plan.ReadAlone(scope, temp)
		params.KeepAll(scope, source.Fetch(scope, params.Choose(scope, params.Draw(scope, docs)), plan.Source(temp)))
		if _, err := e.Execute(ctx, e.launch, pipeline, temp); err != nil {
			return err
		}
		drawn, err := params.Sampled(ctx)
		if err != nil {
			return err
		}
		s := newSample(drawn)
		if err := s.find(ctx, e.f, plan.Keys()); err != nil {
			return err
		}
		pipeline, scope = beam.NewPipelineWithRoot()
		docs, _ = plan.ReadAlone(scope, temp)
		params.Join(scope, docs)
		if _, err := e.Execute(ctx, e.launch, pipeline, temp); err != nil {
			return err
		}
		truth, err := params.Truth(ctx)
		if err != nil {
			return err
		}
		if s.join(truth); s.check() != nil {
			return s.check()
		}
		n := e.f.Run.Counts
		return e.tell(ctx, s, n.Records-n.Unreadable-n.NotCompared-n.Copies, plan, temp)
	})
}

// again plans the run's input again, and calls do with the plan and a folder that has what workers need. pipelines
// lists the reads of each pipeline that do runs.
func (e *evaluation) again(
	ctx context.Context, pipelines [][]job.Read, do func(plan *job.Plan, temp string) error,
) error {
	return job.InTempFolder(ctx, e.TempDir, func(temp string) error {
		plan, err := dedup.Again(ctx, e.f, e.Running, temp)
		if err != nil {
			return err
		}
		if err := plan.Share(ctx, temp); err != nil {
			return err
		}
		defer plan.Forget(temp)
		var reads [][]job.Read
		if plan.Request.Prepares() {
			reads = append(reads, plan.Reads(job.First))
		}
		for _, pipeline := range pipelines {
			reads = append(reads, plan.Reads(pipeline...))
		}
		e.Tell(reads...)
		if _, err := plan.Prepare(ctx, e.launch, temp); err != nil {
			return err
		}
		return do(plan, temp)
	})
}

// sample holds the pairs that have a drawn document.
type sample struct {
	drawn  []blocks.Key // sorted
	is     map[blocks.Key]bool
	within map[blocks.Key]int64 // cluster of each document that shares one with a drawn document
	pairs  map[blocks.Edge]state
}

// state says what is known about a pair.
type state struct{ similar, together, listed bool }

func newSample(drawn []blocks.Key) *sample {
	s := &sample{drawn: drawn, is: map[blocks.Key]bool{}, within: map[blocks.Key]int64{}, pairs: map[blocks.Edge]state{}}
	for _, key := range drawn {
		s.is[key] = true
	}
	return s
}

func (s *sample) set(pair blocks.Edge, to func(*state)) {
	state := s.pairs[pair]
	to(&state)
	s.pairs[pair] = state
}

// check returns a *job.UsageError if there is more than mostPairs allows.
func (s *sample) check() error {
	if len(s.pairs) > mostPairs {
		return job.Usage("--sample %d: the sampled documents are in more than %s pairs (similar, listed, or in one "+
			"cluster), which are too many to hold in memory; draw fewer documents",
			len(s.drawn), records.Count(int64(mostPairs)))
	}
	if len(s.within) > mostPairs {
		return job.Usage("--sample %d: the clusters of the sampled documents have more than %s documents, too many to hold "+
			"in memory; draw fewer documents", len(s.drawn), records.Count(int64(mostPairs)))
	}
	return nil
}

// find reads from the tables which pairs are in one cluster, and which are listed.
func (s *sample) find(
	ctx context.Context, f *output.Finished, key func(source string, position int64) blocks.Key,
) error {
	clusters := map[int64][]blocks.Key{} // members of the drawn documents' clusters
	for _, collect := range []bool{false, true} {
		for row, err := range output.Rows[records.Clustered](ctx, f, output.Clusters) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			at := key(row.Source, row.Position)
			_, wanted := clusters[row.Cluster]
			switch {
			case !collect && s.is[at]:
				clusters[row.Cluster] = nil
			case collect && wanted:
				clusters[row.Cluster] = append(clusters[row.Cluster], at)
				s.within[at] = row.Cluster
				if err := s.check(); err != nil {
					return err
				}
			}
		}
	}
	copies := map[blocks.Key]bool{}
	for row, err := range output.Rows[records.Pair](ctx, f, output.Pairs) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		a, b := key(row.SourceA, row.PositionA), key(row.SourceB, row.PositionB)
		if _, wanted := s.within[b]; wanted && row.Copy() {
			copies[b] = true
		} else if !row.Copy() && (s.is[a] || s.is[b]) {
			s.set(blocks.NewEdge(a, b), func(is *state) { is.listed = true })
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	for cluster, members := range clusters {
		members = slices.DeleteFunc(members, func(key blocks.Key) bool { return copies[key] })
		for _, a := range members {
			if !s.is[a] {
				continue
			}
			for _, b := range members {
				if a != b {
					s.set(blocks.NewEdge(a, b), func(is *state) { is.together = true })
				}
			}
			if err := s.check(); err != nil {
				return err
			}
		}
		clusters[cluster] = nil
	}
	return nil
}

// join adds the pairs that are similar.
func (s *sample) join(truth []blocks.Edge) {
	for _, pair := range truth {
		pair = blocks.NewEdge(pair.A, pair.B)
		a, in := s.within[pair.A]
		b, too := s.within[pair.B]
		s.set(pair, func(is *state) {
			is.similar = true
			is.together = in && too && a == b
		})
	}
}

// tell records how the pairs found agree with those that are similar. A unit is a drawn document with its pairs; a pair
// of two drawn documents counts half for each. documents is the number of distinct documents.
func (e *evaluation) tell(ctx context.Context, s *sample, documents int64, plan *job.Plan, temp string) error {
	units := map[blocks.Key]*[2]quality.Agreement{}
	for _, key := range s.drawn {
		units[key] = &[2]quality.Agreement{}
	}
	var missed, apart []blocks.Edge
	for _, pair := range slices.SortedFunc(maps.Keys(s.pairs), blocks.Edge.Compare) {
		is, share := s.pairs[pair], 1.
		if s.is[pair.A] && s.is[pair.B] {
			share = .5
		}
		for _, key := range []blocks.Key{pair.A, pair.B} {
			if s.is[key] {
				units[key][0] = plus(units[key][0], counted(is.together, is.similar, share))
				units[key][1] = plus(units[key][1], counted(is.listed, is.similar, share))
			}
		}
		if is.similar && !is.together && len(missed) < e.List {
			missed = append(missed, pair)
		}
		if is.together && !is.similar && len(apart) < e.List {
			apart = append(apart, pair)
		}
	}
	drawn := int64(len(s.drawn))
	agreement := func(by int) records.Agreement {
		// All counts the pairs with a drawn document.
		a := quality.Agreement{All: quality.Pairs(int(documents)) - quality.Pairs(int(documents-drawn))}
		var all []quality.Agreement
		for _, key := range s.drawn {
			a, all = plus(a, units[key][by]), append(all, units[key][by])
		}
		return agree(a, all)
	}
	listed := agreement(1)
	e.result = records.Evaluation{
		Kind: records.TruthSample, Documents: documents, Sample: drawn, Agreement: agreement(0), Listed: &listed,
		Crowds: e.f.Run.Counts.PairsPartial,
		Missed: [][2]string{}, False: [][2]string{},
	}
	return e.list(ctx, plan, temp, missed, apart)
}

func counted(found, similar bool, share float64) (a quality.Agreement) {
	if found {
		a.Found = share
	}
	if similar {
		a.True = share
	}
	if found && similar {
		a.Both = share
	}
	return a
}
