package dedup

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// estimates reports whether the recall is estimated: the joins sign sets of shingle hashes again,
// which no other signature is made of.
func (c *Config) estimates() bool { return c.Method == "minhash" && c.Signature == "fss" }

// estimatedRecall is what the facts tell of the recall of a search for near pairs.
func estimatedRecall(facts []blocks.Fact) *records.Recall {
	e, r := &records.EstimatedRecall{Recall: 1}, &records.Recall{}
	millionths := int64(0)
	for _, f := range facts {
		switch f.Kind {
		case blocks.FactEstimate:
			e.Found += f.Counts[records.CountNear]
			millionths += f.Counts[records.CountMillionths]
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

// measure finds the true pairs of the sample that the main pipeline has drawn, and how many of them
// are in its table of pairs.
func (j *job) measure(ctx context.Context, launch Launch, facts []blocks.Fact, files *records.Manifest) error {
	m := &records.MeasuredRecall{Recall: 1}
	for _, f := range facts {
		if f.Kind == blocks.FactSample {
			m.Sample, m.Crowded = f.Counts[records.CountRepresentatives], f.Counts[records.CountCrowded]
		}
	}
	var truth []blocks.Edge
	if m.Sample > 0 {
		pipeline, scope := beam.NewPipelineWithRoot()
		buildMeasurement(scope, j.plan, j.temp)
		ended, err := j.launch(ctx, launch, pipeline)
		if err != nil {
			return err
		}
		j.record.Stages = append(j.record.Stages, ended.stages...)
		if truth, err = j.plan.measuring(j.temp).Truth(ctx); err != nil {
			return err
		}
	}
	found, err := j.found(ctx, truth, files)
	if err != nil {
		return err
	}
	m.True, m.Found = int64(len(truth)), int64(found)
	if m.True > 0 {
		m.Recall = float64(m.Found) / float64(m.True)
	}
	m.Low, m.High = quality.Wilson(found, len(truth), confidence)
	j.record.Recall.Measured = m
	return nil
}

// found counts those of the pairs that are in the table.
func (j *job) found(ctx context.Context, pairs []blocks.Edge, files *records.Manifest) (found int, err error) {
	wanted := make(map[blocks.Edge]bool, len(pairs))
	for _, p := range pairs {
		wanted[p] = true
	}
	ordinals := map[string]int{}
	for i, file := range j.plan.Listing.Inputs.Files {
		ordinals[file.Source] = i
	}
	made := &output.Finished{Dir: j.made(), Manifest: *files}
	for row, err := range output.Rows[records.Pair](made, "pairs") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		if wanted[blocks.Edge{
			A: blocks.NewKey(ordinals[row.SourceA], row.PositionA),
			B: blocks.NewKey(ordinals[row.SourceB], row.PositionB),
		}] {
			found++
		}
	}
	return found, nil
}
