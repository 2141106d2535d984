package dedup

import (
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/records"
)

// counters are the runner's, summed over transforms.
func counters(result beam.PipelineResult) map[string]int64 {
	steps := map[string]int64{}
	if result == nil {
		return steps
	}
	for _, c := range result.Metrics().AllMetrics().Counters() {
		steps[c.Key.Namespace+"/"+c.Key.Name] += c.Result()
	}
	for _, d := range result.Metrics().AllMetrics().Distributions() {
		name := d.Key.Namespace + "/" + d.Key.Name + "_max"
		steps[name] = max(steps[name], d.Result().Max)
	}
	return steps
}

// totals adds up what the facts say.
func totals(facts []blocks.Fact) map[string]int64 {
	n := map[string]int64{}
	for _, f := range facts {
		rows := f.Counts[records.CountRows]
		table, _, _ := strings.Cut(f.Name, "/")
		switch {
		case f.Kind == blocks.FactRead:
			n[records.CountRecords] += f.Counts[records.CountRecords]
			n[records.CountUnreadable] += f.Counts[records.CountUnreadable]
		case f.Kind == blocks.FactCorpus:
			n[records.CountCorpus] += rows
		case f.Kind == blocks.FactCrowd:
			n[records.CountPairsPartial]++
		case table == "rejected":
			n[records.CountNotCompared] += f.Counts[records.CountNotCompared]
		case table == "pairs":
			n[records.CountPairs] += rows
			n[records.CountNearPairs] += f.Counts[records.CountNear]
		case table == "clusters":
			n[records.CountClusters] += f.Counts[records.CountClusters]
		case table == "removed":
			n[records.CountRemoved] += rows
			n[records.CountCopies] += f.Counts[records.CountCopies]
			n[records.CountNear] += f.Counts[records.CountNear] + f.Counts[records.CountChained]
			n[records.CountChained] += f.Counts[records.CountChained]
		}
	}
	return n
}

// manifest lists the files that the facts tell of.
func manifest(facts []blocks.Fact) *records.Manifest {
	m := &records.Manifest{Version: 1}
	for _, f := range facts {
		if f.SHA256 != "" {
			m.Files = append(m.Files, records.ManifestFile{
				Path: f.Name, Bytes: f.Bytes, Rows: f.Counts[records.CountRows], SHA256: f.SHA256,
			})
		}
	}
	slices.SortFunc(m.Files, func(a, b records.ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	return m
}
