package dedup

import (
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// estimatedRecall returns the recall of the search for near pairs, as estimated from the facts.
func estimatedRecall(facts []blocks.Fact) *records.Recall {
	r := &records.Recall{}
	var sum blocks.Estimate
	for _, f := range facts {
		switch f.Kind {
		case blocks.FactEstimate:
			sum.Add(*f.Estimate)
		case blocks.FactCrowd:
			r.Crowds++
		}
	}
	r.Estimated = &records.EstimatedRecall{}
	if sum.Found > 0 {
		found := float64(sum.Found)
		counted := estimate.Sum{Found: sum.Found}
		copy(counted.Millionths[:], sum.Millionths)
		all, low, high, ok := counted.All()
		r.Estimated = &records.EstimatedRecall{Found: sum.Found, True: all,
			RecallInterval: &records.RecallInterval{Recall: found / all}}
		if ok {
			r.Estimated.Interval = &records.Interval{Low: found / high, High: found / low}
		}
	}
	return r
}

// confidence is the confidence level of the interval around the measured recall.
const confidence = 0.95

// measureRecall finds the true pairs of the sample that the main pipeline has drawn, and counts how many of them are in
// the table of pairs.
func (r *run) measureRecall(ctx context.Context, facts []blocks.Fact, files *records.Manifest) error {
	m := &records.MeasuredRecall{}
	for _, f := range facts {
		if f.Kind == blocks.FactSample {
			m.Sample, m.Crowded = f.Counts[blocks.CountRepresentatives], f.Counts[blocks.CountCrowded]
		}
	}
	var truth []blocks.Edge
	if m.Sample > 0 {
		pipeline, scope := beam.NewPipelineWithRoot()
		buildMeasurement(scope, r.plan, r.temp)
		_, err := r.execute(ctx, pipeline)
		if err != nil {
			return err
		}
		if truth, err = r.plan.measuring(r.temp).Truth(ctx); err != nil {
			return err
		}
	}
	found, err := r.found(ctx, truth, files)
	if err != nil {
		return err
	}
	units := drawn(truth, found)
	m.True = int64(len(found))
	for _, in := range found {
		if in {
			m.Found++
		}
	}
	if low, high, ok := quality.Interval(units, confidence); ok {
		m.RecallInterval = &records.RecallInterval{Recall: float64(m.Found) / float64(m.True)}
		if m.OneFamily = oneFamily(truth); !m.OneFamily {
			m.Interval = &records.Interval{Low: low, High: high}
		}
	}
	r.record.Recall.Measured = m
	return nil
}

// oneFamily reports whether pairs, of which there is at least one, connect all of their documents.
func oneFamily(pairs []blocks.Edge) bool {
	var families unionfind.Forest
	for _, p := range pairs {
		families.Union(int64(p.A), int64(p.B))
	}
	first := families.Find(int64(pairs[0].A))
	return !slices.ContainsFunc(pairs, func(p blocks.Edge) bool { return families.Find(int64(p.A)) != first })
}

// drawn returns a unit for each document drawn, in their order, with its number of pairs. A pair drawn from both sides
// counts half for each.
func drawn(truth []blocks.Edge, found map[blocks.Edge]bool) (units []quality.Unit) {
	both := map[blocks.Edge]int{}
	for _, p := range truth {
		both[blocks.NewEdge(p.A, p.B)]++
	}
	for i, p := range truth {
		if i == 0 || p.A != truth[i-1].A {
			units = append(units, quality.Unit{})
		}
		unit, share := &units[len(units)-1], 1/float64(both[blocks.NewEdge(p.A, p.B)])
		unit.Total += share
		if found[blocks.NewEdge(p.A, p.B)] {
			unit.Found += share
		}
	}
	return units
}

// found says for each pair whether it is in the table.
func (r *run) found(ctx context.Context, pairs []blocks.Edge, files *records.Manifest) (map[blocks.Edge]bool, error) {
	found := make(map[blocks.Edge]bool, len(pairs))
	for _, p := range pairs {
		found[blocks.NewEdge(p.A, p.B)] = false
	}
	key := r.plan.Keys()
	staged := &output.Finished{Folder: r.commit.Staged(), Manifest: *files}
	for row, err := range output.Rows[records.Pair](ctx, staged, output.Pairs) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		pair := blocks.Edge{A: key(row.SourceA, row.PositionA), B: key(row.SourceB, row.PositionB)}
		if _, ok := found[pair]; ok {
			found[pair] = true
		}
	}
	return found, nil
}
