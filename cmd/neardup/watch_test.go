package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
)

// TestWatch: metrics and events describe this process's run, even if its record is from an earlier one that was
// recovered, and the error that ended it first.
func TestWatch(t *testing.T) {
	metrics, events := filepath.Join(t.TempDir(), "run.prom"), filepath.Join(t.TempDir(), "events")
	w := &watch{watching: watching{MetricsFile: metrics, LineageFile: events}, config: &dedup.Config{}, started: time.Unix(2000, 0)}
	w.lineage.ID = "some"
	for _, c := range []struct {
		run  *records.Run
		err  error
		want [2]string // in the metrics, and in the event
	}{
		{&records.Run{Status: "done", Started: time.Unix(1000, 0)}, nil, [2]string{"start_timestamp_seconds{job_name=\"neardup\"} 2000\n", `"COMPLETE"`}},
		{&records.Run{Started: time.Unix(1000, 0), Error: "what came first"}, errors.New("what followed"), [2]string{"start_timestamp_seconds{job_name=\"neardup\"} 2000\n", "what came first"}},
		{nil, errors.New("before all"), [2]string{"start_timestamp_seconds{job_name=\"neardup\"} 2000\n", "before all"}},
	} {
		w.end(t.Context(), c.run, c.err)
		for i, path := range []string{metrics, events} {
			data, err := os.ReadFile(path)
			lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
			said := string(data)
			if i == 1 { // the file is appended to
				said = lines[len(lines)-1]
			}
			if err != nil || !strings.Contains(said, c.want[i]) {
				t.Errorf("%q, error %v, want %s in it", said, err, c.want[i])
			}
		}
	}
	if data, err := os.ReadFile(events); strings.Count(string(data), "\n") != 3 {
		t.Errorf("%q, error %v, want three events", data, err)
	}
}

// URLs and - are unchanged.
func TestAbsolute(t *testing.T) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"-": "-", "gs://b/a": "gs://b/a", "a/b": filepath.Join(folder, "a", "b"), "/a/../b": "/b"} {
		if got := absolute(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
