package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"

	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/runners/local"
)

// A line each ten seconds, with the stage that has most ahead of it: a quarter of it took 6 s, so
// 18 s are left.
func TestShowProgress(t *testing.T) {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(logging.Flags{}.Logger(&out))
	line := showProgress(io.Discard)
	show := func(p local.Progress) { line(p.Elapsed, p.Ended, describe(p)) }
	counters := map[metrics.StepKey]int64{
		{Step: "source.Read/readFn", Namespace: "read", Name: "records"}: 1200,
		{Step: "signature.Sign", Namespace: "sign", Name: "records"}:     7,
	}
	p := local.Progress{
		Done: 2, Stages: 20, Metrics: *metrics.NewResults(metrics.MergeCounters(counters, counters), nil, nil, nil, nil),
		Running: []local.StageProgress{
			{Name: "source.Read/readFn", Elapsed: 6 * time.Second, Fraction: 0.25},
			{Name: "candidates.Buckets/CoGBK", Elapsed: 9 * time.Second, Fraction: 0.9},
			{Name: "sink.Ledger/CoGBK", Elapsed: 9 * time.Second},
		},
	}
	for _, elapsed := range []time.Duration{9 * time.Second, 11 * time.Second, 12 * time.Second} {
		p.Elapsed = elapsed
		show(p)
	}
	p.Elapsed, p.Done, p.Ended = time.Minute, 20, true
	show(p)
	p.Elapsed, p.Ended = 11*time.Second, false // of a command's second pipeline
	show(p)
	want := "neardup: 11s, 1200 records read, 2 of 20 stages done; source.Read 25 %, about 18s left in it\n"
	if want += strings.Replace(want, "2 of 20", "20 of 20", 1); out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// With --log-format json progress is a line of JSON.
func TestShowProgressJSON(t *testing.T) {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(logging.Flags{LogFormat: "json"}.Logger(&out))
	showProgress(io.Discard)(11*time.Second, false, "7 records read")
	var line struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil || line.Level != "INFO" || line.Msg != "11s, 7 records read" {
		t.Errorf("%q: %v", out.String(), err)
	}
}

// The line of progress is no longer than the screen is wide, and lacks what matters least.
func TestFitted(t *testing.T) {
	const text = "1m0s, 1234567 records read, 12 of 31 stages done; verify.Large 50 %, about 1m5s left in it"
	for width, want := range map[int]string{
		100: text,
		79:  "1m0s, 1234567 records read, 12 of 31 stages done; verify.Large 50 %",
		60:  "1m0s, 1234567 records read, 12 of 31 stages done",
		39:  "1m0s, 1234567 records read",
		3:   "1…s",
	} {
		if got := fitted(text, width); got != want {
			t.Errorf("in %d columns: %s, want %s", width, got, want)
		}
	}
}
