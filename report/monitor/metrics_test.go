package monitor

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/records"
)

func written(t *testing.T, name string, run *records.Run) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "neardup.prom")
	if err := WriteMetrics(t.Context(), path, name, run, run.Started.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, family := range strings.SplitAfter("\n"+string(text), "\n# HELP ")[1:] {
		found := familyForm.FindStringSubmatch(strings.TrimSuffix(family, "# HELP "))
		if found == nil || found[1] != found[2] || seen[found[1]] {
			t.Fatalf("%q is no family of its own in\n%s", family, text)
		}
		seen[found[1]] = true
		for line := range strings.Lines(found[3]) {
			sample := sampleForm.FindStringSubmatch(line)
			if sample == nil || sample[1] != found[1] {
				t.Fatalf("%q is no sample of %s", line, found[1])
			}
		}
	}
	if len(seen) == 0 {
		t.Errorf("no metrics in %q", text)
	}
	return string(text)
}

// The text format of Prometheus, as far as gauges need it:
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
var (
	familyForm = regexp.MustCompile(`^([a-z_]+) [^\\\n]+\n# TYPE ([a-z_]+) gauge\n((?:[^#\n][^\n]*\n)+)$`)
	labelForm  = `[a-z_]+="(?:[^"\\\n]|\\["\\n])*"`
	sampleForm = regexp.MustCompile(`^([a-z_]+)\{` + labelForm + `(?:,` + labelForm + `)*\} -?[0-9.]+(?:e[+-][0-9]+)?\n$`)
)

// The file written is in the format that Prometheus reads.
func TestMetrics(t *testing.T) {
	run := &records.Run{
		Status: "done", Started: time.Unix(1000, 500_000_000), CPU: 7, Peak: 64e6,
		Input: records.RunInput{Files: 3, Bytes: 12345},
		Counts: records.Counts{
			Records: 100, Unreadable: 2, NotCompared: 5, Pairs: 31, NearPairs: 20, Clusters: 11, Corpus: 70,
			Identical: 6, Equal: 4, SameSet: 1, Near: 17,
		},
		Recall: &records.Recall{Estimated: &records.EstimatedRecall{RecallInterval: &records.RecallInterval{Recall: 0.75}}},
	}
	text := written(t, "night\"l\\y\n\xff", run)
	const job = `job_name="night\"l\\y\n�"`
	for _, want := range []string{
		"# TYPE neardup_records_read gauge\n", "neardup_last_run_success{" + job + "} 1\n", "neardup_last_run_exit_status{" + job + "} 0\n",
		"neardup_last_run_start_timestamp_seconds{" + job + "} 1000.5\n", "neardup_last_run_end_timestamp_seconds{" + job + "} 1090.5\n",
		"neardup_last_run_duration_seconds{" + job + "} 90\n", "neardup_input_files{" + job + "} 3\n", "neardup_input_bytes{" + job + "} 12345\n",
		"neardup_records_read{" + job + "} 100\n", "neardup_records_unreadable{" + job + "} 2\n", "neardup_documents_not_compared{" + job + "} 5\n",
		"neardup_pairs{" + job + "} 31\n", "neardup_near_pairs{" + job + "} 20\n", "neardup_clusters{" + job + "} 11\n", "neardup_corpus_records{" + job + "} 70\n",
		"neardup_documents_removed{" + job + `,reason="identical"} 6` + "\n", "neardup_documents_removed{" + job + `,reason="near"} 17` + "\n",
		"neardup_recall_estimate_ratio{" + job + "} 0.75\n", "neardup_cpu_seconds{" + job + "} 7\n", "neardup_peak_memory_bytes{" + job + "} 6.4e+07\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A run that failed before it read anything has no counts: zeros would look like those of an empty input.
func TestFailed(t *testing.T) {
	text := written(t, "", &records.Run{Status: "failed", Exit: 3, Started: time.Unix(1000, 0)})
	if !strings.Contains(text, `neardup_last_run_success{job_name="neardup"} 0`) || !strings.Contains(text, `neardup_last_run_exit_status{job_name="neardup"} 3`) || strings.Contains(text, "records_read") {
		t.Error(text)
	}
	if text = written(t, "", &records.Run{Status: "failed", Exit: 5, Counts: records.Counts{Records: 7}}); !strings.Contains(text, "neardup_records_read") {
		t.Error(text)
	}
}

// TestWhole checks that an existing file is replaced by one that everyone may read.
func TestWhole(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "neardup.prom")
	if err := os.WriteFile(path, []byte(strings.Repeat("before ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteMetrics(t.Context(), path, "", &records.Run{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "before") {
		t.Errorf("%v, %s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", err, info.Mode())
	}
	if err := WriteMetrics(t.Context(), folder, "", &records.Run{}, time.Now()); err == nil {
		t.Error("a folder is replaced")
	}
	if left, err := filepath.Glob(folder + "*"); err != nil || len(left) != 1 {
		t.Errorf("%v, %q are left", err, left)
	}
}
