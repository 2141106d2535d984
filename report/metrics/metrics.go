// Package metrics tells Prometheus of a run, by a file such as node_exporter's textfile collector reads.
package metrics

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/neardup/neardup/records"
)

// Write writes what is known of a run that has ended, well or not, to a file, which is whole at any time. All metrics are
// gauges of the last run, and have the name of the job as a label. Counts are those of a run that has come to them.
func Write(path string, run *records.Run, ended time.Time) error {
	registry := prometheus.NewRegistry()
	labels := prometheus.Labels{"job_name": cmp.Or(run.Parameters.JobName, "neardup")}
	gauge := func(name, help string, value float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "neardup_" + name, Help: help, ConstLabels: labels})
		g.Set(value)
		registry.MustRegister(g)
	}
	success := 0.
	if run.Exit == 0 {
		success = 1
	}
	gauge("last_run_success", "Whether the last run ended with status 0.", success)
	gauge("last_run_exit_status", "The exit status of the last run.", float64(run.Exit))
	gauge("last_run_start_timestamp_seconds", "When the last run began.", seconds(run.Started))
	gauge("last_run_end_timestamp_seconds", "When the last run ended.", seconds(ended))
	gauge("last_run_duration_seconds", "How long the last run took.", ended.Sub(run.Started).Seconds())
	if n := run.Counts; n.Records > 0 || run.Status == "done" {
		gauge("input_files", "Input files.", float64(run.Input.Files))
		gauge("input_bytes", "Bytes of the input files, as stored.", float64(run.Input.Bytes))
		gauge("records_read", "Records read, unreadable ones included.", float64(n.Records))
		gauge("records_unreadable", "Records that are no document.", float64(n.Unreadable))
		gauge("documents_not_compared", "Documents that are not compared, and stay in the corpus.", float64(n.NotCompared))
		gauge("pairs", "Pairs found, of copies and of near-duplicates.", float64(n.Pairs))
		gauge("near_pairs", "Pairs of near-duplicates.", float64(n.NearPairs))
		gauge("clusters", "Clusters of similar documents.", float64(n.Clusters))
		gauge("corpus_records", "Records in the corpus that is left.", float64(n.Corpus))
		removed := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "neardup_documents_removed", Help: "Documents removed, by reason.", ConstLabels: labels}, []string{"reason"})
		for reason, documents := range map[string]int64{
			records.ReasonIdentical: n.Identical, records.ReasonEqual: n.Equal, records.ReasonSameSet: n.SameSet, records.ReasonNear: n.Near,
		} {
			removed.WithLabelValues(reason).Set(float64(documents))
		}
		registry.MustRegister(removed)
	}
	if run.Recall != nil && run.Recall.Estimated != nil && run.Recall.Estimated.RecallInterval != nil {
		gauge("recall_estimate_ratio", "The estimated share of the near pairs that was found.", run.Recall.Estimated.Recall)
	}
	if run.Peak > 0 {
		gauge("cpu_seconds", "CPU time of the last run's process.", run.CPU)
		gauge("peak_memory_bytes", "Peak memory of the last run's process.", float64(run.Peak))
	}
	return prometheus.WriteToTextfile(path, registry)
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
