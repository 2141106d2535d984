package monitor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

// WriteMetrics writes the metrics of a run that has ended, successfully or not, to a file, which is whole at any time.
// All metrics are gauges about the last run, with the job's name as a label. Counts are written only if the run got as
// far as having them.
func WriteMetrics(ctx context.Context, path, name string, run *records.Run, ended time.Time) error {
	_, err := storage.WriteFile(ctx, path, func(w io.Writer) error {
		_, err := io.WriteString(w, text(name, run, ended))
		return err
	})
	return err
}

// escape escapes the value of a label for Prometheus' text format.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace

func text(name string, run *records.Run, ended time.Time) string {
	job := `job_name="` + escape(strings.ToValidUTF8(cmp.Or(name, "neardup"), "\uFFFD")) + `"`
	var families []string
	family := func(name, help string) {
		families = append(families, fmt.Sprintf("# HELP neardup_%s %s\n# TYPE neardup_%[1]s gauge\n", name, help))
	}
	add := func(name, labels string, value float64) {
		families[len(families)-1] += fmt.Sprintf("neardup_%s{%s} %v\n", name, labels, value)
	}
	gauge := func(name, help string, value float64) {
		family(name, help)
		add(name, job, value)
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
		gauge("records_unreadable", "Records that are not documents.", float64(n.Unreadable))
		gauge("documents_not_compared", "Documents that are not compared, and stay in the corpus.", float64(n.NotCompared))
		gauge("pairs", "Pairs found, of copies and of near-duplicates.", float64(n.Pairs))
		gauge("near_pairs", "Pairs of near-duplicates.", float64(n.NearPairs))
		gauge("clusters", "Clusters of similar documents.", float64(n.Clusters))
		gauge("corpus_records", "Records in the deduplicated corpus.", float64(n.Corpus))
		family("documents_removed", "Documents removed, by reason.")
		for _, removed := range []struct {
			reason string
			count  int64
		}{
			{records.ReasonEqual, n.Equal}, {records.ReasonIdentical, n.Identical},
			{records.ReasonNear, n.Near}, {records.ReasonSameSet, n.SameSet},
		} {
			add("documents_removed", job+`,reason="`+removed.reason+`"`, float64(removed.count))
		}
	}
	if run.Recall != nil && run.Recall.Estimated != nil && run.Recall.Estimated.RecallInterval != nil {
		gauge("recall_estimate_ratio", "The estimated share of the near pairs that was found.", run.Recall.Estimated.Recall)
	}
	if run.Peak > 0 {
		gauge("cpu_seconds", "CPU time of the last run's process.", run.CPU)
		gauge("peak_memory_bytes", "Peak memory of the last run's process.", float64(run.Peak))
	}
	slices.Sort(families)
	return strings.Join(families, "")
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
