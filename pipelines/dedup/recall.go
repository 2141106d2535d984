package dedup

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// estimatedRecall is what the facts tell of the recall of a search for near pairs.
func estimatedRecall(facts []blocks.Fact) *records.Recall {
	e, r := &records.EstimatedRecall{Recall: 1}, &records.Recall{}
	millionths := int64(0)
	for _, f := range facts {
		switch f.Kind {
		case blocks.FactEstimate:
			e.Found += f.Counts[blocks.CountNear]
			millionths += f.Counts[blocks.CountMillionths]
		case blocks.FactCrowd:
			r.Crowds++
		}
	}
	e.True = max(float64(e.Found), float64(millionths)/1e6)
	if e.Found > 0 {
		e.Recall = float64(e.Found) / e.True
	}
	r.Estimated = e
	return r
}

// confidence is that of the interval around the measured recall.
const confidence = 0.95

// measureRecall finds the true pairs of the sample that the main pipeline has drawn, and how many of
// them are in its table of pairs.
func (r *run) measureRecall(ctx context.Context, launch job.Launch, facts []blocks.Fact, files *records.Manifest) error {
	m := &records.MeasuredRecall{Recall: 1}
	for _, f := range facts {
		if f.Kind == blocks.FactSample {
			m.Sample, m.Crowded = f.Counts[blocks.CountRepresentatives], f.Counts[blocks.CountCrowded]
		}
	}
	var truth []blocks.Edge
	if m.Sample > 0 {
		pipeline, scope := beam.NewPipelineWithRoot()
		buildMeasurement(scope, r.plan, r.temp)
		_, err := r.execute(ctx, launch, pipeline)
		if err != nil {
			return err
		}
		if truth, err = r.plan.measuring(r.temp).Truth(ctx); err != nil {
			return err
		}
	}
	found, err := r.countFound(ctx, truth, files)
	if err != nil {
		return err
	}
	m.True, m.Found = int64(len(truth)), int64(found)
	if m.True > 0 {
		m.Recall = float64(m.Found) / float64(m.True)
	}
	m.Low, m.High = quality.Wilson(found, len(truth), confidence)
	r.record.Recall.Measured = m
	return nil
}

// countFound counts those of the pairs that are in the table.
func (r *run) countFound(ctx context.Context, pairs []blocks.Edge, files *records.Manifest) (found int, err error) {
	wanted := make(map[blocks.Edge]bool, len(pairs))
	for _, p := range pairs {
		wanted[p] = true
	}
	key := r.plan.Keys()
	staged := &output.Finished{Folder: r.commit.Staged(), Manifest: *files}
	for row, err := range output.Rows[records.Pair](ctx, staged, output.Pairs) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		if wanted[blocks.Edge{A: key(row.SourceA, row.PositionA), B: key(row.SourceB, row.PositionB)}] {
			found++
		}
	}
	return found, nil
}
