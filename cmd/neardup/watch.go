package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report/monitor"
)

// watching has the flags for monitoring jobs that run every night. A dry run writes no such files.
type watching struct {
	MetricsFile string `placeholder:"FILE" help:"Write metrics to this file in Prometheus' text format, for a textfile collector (which reads *.prom), when the run ends, successfully or not." group:"Output"`
	LineageFile string `placeholder:"FILE" help:"Append OpenLineage events to this file, one line of JSON each: START, and COMPLETE or FAIL. OPENLINEAGE_NAMESPACE sets the job's namespace; without it, the namespace is neardup." group:"Output"`
}

// watch monitors one run.
type watch struct {
	watching
	config  *dedup.Config
	started time.Time
	lineage monitor.Run
}

// watch reports that a run begins. It fails if the end could not be recorded.
func (c *dedupCmd) watch() (*watch, error) {
	w := &watch{watching: c.Watching, config: &c.Config, started: time.Now()}
	if c.DryRun {
		w.watching = watching{}
	}
	for _, file := range [][2]string{{"--metrics-file", w.MetricsFile}, {"--lineage-file", w.LineageFile}} {
		if err := checkFolder(file[0], file[1]); err != nil {
			return nil, err
		}
	}
	if w.LineageFile == "" {
		return w, nil
	}
	w.lineage = monitor.Run{ID: uuid.NewString(), Namespace: cmp.Or(os.Getenv("OPENLINEAGE_NAMESPACE"), "neardup"),
		Job: cmp.Or(c.JobName, "neardup")}
	for _, input := range slices.Concat(c.Inputs, c.Against) {
		w.lineage.Inputs = append(w.lineage.Inputs, absolute(input))
	}
	if c.Output != "" {
		w.lineage.Output = absolute(c.Output)
	}
	if err := w.event(monitor.Start, w.started, nil); err != nil {
		return nil, job.Usage("--lineage-file: %w", err)
	}
	return w, nil
}

// absolute returns the absolute path on this machine, or a URL or - as it is.
func absolute(path string) string {
	if path == "-" || strings.Contains(path, "://") {
		return path
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// end reports how the run ended. If that fails, it only warns: the run may be committed.
func (w *watch) end(ctx context.Context, run *records.Run, err error) {
	record := records.Run{Version: dedup.Version(), Started: w.started, Parameters: w.config.Spec,
		Running: w.config.Record()}
	if run != nil {
		record = *run
	}
	kind := monitor.Complete
	if err != nil {
		kind = monitor.Fail
		record.Status, record.Error, record.Exit = "failed", cmp.Or(record.Error, err.Error()), job.Status(err)
	}
	ended := time.Now()
	if w.LineageFile != "" {
		if err := w.event(kind, ended, &record); err != nil {
			slog.Warn(fmt.Sprintf("--lineage-file: %v", err))
		}
	}
	if w.MetricsFile != "" {
		record.Started = w.started // the start in a recovered run's record is another process's
		if err := monitor.WriteMetrics(ctx, w.MetricsFile, w.config.JobName, &record, ended); err != nil {
			slog.Warn(fmt.Sprintf("--metrics-file: %v", err))
		}
	}
}

// event appends an event to the file, in one write.
func (w *watch) event(kind string, at time.Time, run *records.Run) (err error) {
	line, err := json.Marshal(w.lineage.Event(kind, at, run))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(w.LineageFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(append(line, '\n'))
	return err
}
