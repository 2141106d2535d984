// Package metrics tells Prometheus of a run, by a file such as node_exporter's textfile collector reads.
package metrics

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/records"
)

// A metric is a line of the file, and those before it that tell of its name. All are gauges.
type metric struct {
	name, help, reason string // reason "" is no label
	value              float64
}

// Write writes what is known of a run that has ended, well or not, to a file, which is whole at any time. All metrics are
// gauges of the last run, and have the name of the job as a label. Counts are those of a run that has come to them.
func Write(path string, run *records.Run, ended time.Time) error {
	var all []metric
	gauge := func(name, help string, value float64) { all = append(all, metric{name, help, "", value}) }
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
		for reason, documents := range map[string]int64{
			records.ReasonIdentical: n.Identical, records.ReasonEqual: n.Equal, records.ReasonSameSet: n.SameSet, records.ReasonNear: n.Near,
		} {
			all = append(all, metric{"documents_removed", "Documents removed, by reason.", reason, float64(documents)})
		}
	}
	if run.Recall != nil && run.Recall.Estimated != nil && run.Recall.Estimated.RecallInterval != nil {
		gauge("recall_estimate_ratio", "The estimated share of the near pairs that was found.", run.Recall.Estimated.Recall)
	}
	if run.Peak > 0 {
		gauge("cpu_seconds", "CPU time of the last run's process.", run.CPU)
		gauge("peak_memory_bytes", "Peak memory of the last run's process.", float64(run.Peak))
	}
	return replace(path, text(all, cmp.Or(run.Parameters.JobName, "neardup")))
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// escaper is for values of labels (https://prometheus.io/docs/instrumenting/exposition_formats).
var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// text is metrics in Prometheus' text format.
func text(all []metric, job string) []byte {
	slices.SortFunc(all, func(a, b metric) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.reason, b.reason)) })
	var text bytes.Buffer
	last := ""
	for _, m := range all {
		if m.name != last {
			fmt.Fprintf(&text, "# HELP neardup_%s %s\n# TYPE neardup_%[1]s gauge\n", m.name, m.help)
			last = m.name
		}
		labels := `job_name="` + escaper.Replace(strings.ToValidUTF8(job, "\uFFFD")) + `"`
		if m.reason != "" {
			labels += `,reason="` + m.reason + `"`
		}
		fmt.Fprintf(&text, "neardup_%s{%s} %s\n", m.name, labels, strconv.FormatFloat(m.value, 'g', -1, 64))
	}
	return text.Bytes()
}

// replace writes a file, whose earlier content can be read until all of the new one can.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
