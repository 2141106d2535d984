// Package metrics tells Prometheus of a run, by a file such as node_exporter's textfile collector reads.
package metrics

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"github.com/neardup/neardup/records"
)

// Write writes what is known of a run that has ended, well or not, to a file, which is whole at any time. All metrics
// are gauges of the last run, and have the name of the job as a label. Counts are those of a run that has come to them.
func Write(path, name string, run *records.Run, ended time.Time) error {
	job := label("job_name", strings.ToValidUTF8(cmp.Or(name, "neardup"), "\uFFFD"))
	var families []*dto.MetricFamily
	family := func(name, help string) *dto.MetricFamily {
		f := &dto.MetricFamily{Name: proto.String("neardup_" + name), Help: &help, Type: dto.MetricType_GAUGE.Enum()}
		families = append(families, f)
		return f
	}
	add := func(f *dto.MetricFamily, value float64, labels ...*dto.LabelPair) {
		f.Metric = append(f.Metric, &dto.Metric{Label: append([]*dto.LabelPair{job}, labels...),
			Gauge: &dto.Gauge{Value: &value}})
	}
	gauge := func(name, help string, value float64) { add(family(name, help), value) }
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
		removed := family("documents_removed", "Documents removed, by reason.")
		add(removed, float64(n.Equal), label("reason", records.ReasonEqual))
		add(removed, float64(n.Identical), label("reason", records.ReasonIdentical))
		add(removed, float64(n.Near), label("reason", records.ReasonNear))
		add(removed, float64(n.SameSet), label("reason", records.ReasonSameSet))
	}
	if run.Recall != nil && run.Recall.Estimated != nil && run.Recall.Estimated.RecallInterval != nil {
		gauge("recall_estimate_ratio", "The estimated share of the near pairs that was found.", run.Recall.Estimated.Recall)
	}
	if run.Peak > 0 {
		gauge("cpu_seconds", "CPU time of the last run's process.", run.CPU)
		gauge("peak_memory_bytes", "Peak memory of the last run's process.", float64(run.Peak))
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return err
		}
	}
	return replace(path, text.Bytes())
}

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

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
