package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/runners/local"
)

// ofBytes returns the reads of a pipeline, with these bytes.
func ofBytes(bytes ...int64) (reads []job.Read) {
	for i, n := range bytes {
		read := []job.Read{job.First, job.Second, job.Third}[i]
		read.Bytes = n
		reads = append(reads, read)
	}
	return reads
}

// localSight returns the report of the local runner when its reads have passed so many bytes, and the named steps run
// or are ahead.
func localSight(elapsed time.Duration, records, first, second, third int64, open ...string) sight {
	counters := map[metrics.StepKey]int64{
		{Step: "source.Read/readFn", Namespace: "read", Name: "records"}:    records,
		{Step: "signature.Sign", Namespace: "sign", Name: "records"}:        7,
		{Step: "source.Read/readFn", Namespace: "read", Name: "stored"}:     first,
		{Step: "source.Fetch/fetchFn", Namespace: "fetch", Name: "stored"}:  second,
		{Step: "sink.Corpus/corpusFn", Namespace: "corpus", Name: "stored"}: third,
	}
	p := local.Progress{Elapsed: elapsed, Done: 2, Stages: 2 + len(open), Metrics: *metrics.NewResults(metrics.MergeCounters(counters, counters), nil, nil, nil, nil)}
	for i, name := range open {
		if i == 0 {
			p.Running = append(p.Running, local.StageProgress{Name: name + "/CoGBK", Elapsed: 6 * time.Second, Fraction: 0.25})
		} else {
			p.Ahead = append(p.Ahead, name+"/CoGBK")
		}
	}
	p.Ended = len(open) == 0
	return sightOf(p)
}

// A job of three reads of 100 MB, by the clock of the runner. The second skips half of them.
func TestProgress(t *testing.T) {
	const mb = 1_000_000
	var p progress
	p.reads = [][]job.Read{ofBytes(100*mb, 100*mb, 100*mb)}
	const s = time.Second
	for _, c := range []struct {
		sight sight
		want  string
	}{
		{localSight(0, 0, 0, 0, 0, "source.Read", "source.Fetch", "verify.Small", "sink.Corpus"), "0s, 0 %, read and sign 25 %, 0.0 of 300.0 MB"},
		{localSight(1*s, 10_000, 10*mb, 0, 0, "source.Read", "source.Fetch", "verify.Small", "sink.Corpus"), "1s, 3 %, 10.0 of 300.0 MB, pass 1 of 3"},
		// 30 MB and 30,000 records in 3 s, with 260 MB to go.
		{localSight(4*s, 40_000, 40*mb, 0, 0, "source.Read", "source.Fetch", "verify.Small", "sink.Corpus"), "4s, 13 %, 10.0k documents/s, 26s left, 40.0 of 300.0 MB, pass 1 of 3"},
		{localSight(9*s, 100_000, 100*mb, 0, 0, "candidates.Buckets", "source.Fetch", "verify.Small", "sink.Corpus"), "9s, 33 %, find candidates 25 %, 100.0 of 300.0 MB"},
		{localSight(20*s, 100_000, 100*mb, 10*mb, 0, "source.Fetch", "verify.Small", "sink.Corpus"), "20s, 36 %, 110.0 of 300.0 MB, pass 2 of 3"},
		{localSight(22*s, 100_000, 100*mb, 50*mb, 0, "source.Fetch", "verify.Small", "sink.Corpus"), "22s, 50 %, 20.0k documents/s, 8s left, 150.0 of 300.0 MB, pass 2 of 3"},
		{localSight(30*s, 100_000, 100*mb, 50*mb, 0, "verify.Small", "sink.Corpus"), "30s, 60 %, verify 25 %, 150.0 of 250.0 MB"},
		{localSight(31*s, 100_000, 100*mb, 50*mb, 60*mb, "sink.Corpus"), "31s, 84 %, 210.0 of 250.0 MB, pass 3 of 3"},
		{localSight(32*s, 100_000, 100*mb, 50*mb, 100*mb, "sink.Ledger"), "32s, 99 %, write tables 25 %, all read"},
		{localSight(33*s, 100_000, 100*mb, 50*mb, 100*mb), "33s, 100 %, all read"},
	} {
		v := p.see(c.sight)
		if got := v.text(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A dictionary is built in a pipeline before, whose bytes count too. One that failed has not read everything.
func TestProgressOfPipelines(t *testing.T) {
	var p progress
	p.reads = [][]job.Read{ofBytes(100), ofBytes(100, 100)}
	for _, c := range []struct {
		sight sight
		want  float64
	}{
		{localSight(time.Second, 1, 90, 0, 0, "source.Read"), 0.3},
		{localSight(2*time.Second, 1, 100, 0, 0), 1. / 3},
		{localSight(time.Second, 1, 50, 0, 0, "source.Read", "source.Fetch"), 0.5},
		{localSight(2*time.Second, 1, 100, 100, 0, "sink.Ledger"), almost},
		{localSight(3*time.Second, 1, 100, 100, 0), 1},
	} {
		if v := p.see(c.sight); v.fraction != c.want {
			t.Errorf("%v, want %v", v.fraction, c.want)
		}
	}
	if p.before != 5*time.Second {
		t.Errorf("the pipelines took %v", p.before)
	}
}

// If bytes are not known, the line counts finished stages or tasks, and has the state of a job on a cluster.
func TestProgressWithoutBytes(t *testing.T) {
	running := [2]string{"the job on flink:8099 is RUNNING", "RUNNING"}
	for _, c := range []struct {
		sight        sight
		text, narrow string
	}{
		{localSight(time.Second, 1200, 90, 0, 0, "source.Read", "sink.Ledger"), "1s, 50 %, read and sign 25 %, 2 of 4 stages", "[===>   ]  50 %, read and sign 25 %"},
		{sight{elapsed: time.Minute, state: running}, "1m0s, the job on flink:8099 is RUNNING", "1m0s, the job on fl…nk:8099 is RUNNING"},
		{sight{elapsed: time.Minute, state: running, done: 3, of: 4, unit: "tasks"}, "1m0s, 75 %, the job on flink:8099 is RUNNING, 3 of 4 tasks", "[=====> ]  75 % RUNNING"},
		{sight{elapsed: time.Minute, state: running, counts: map[string]int64{"read/records": 1200}}, "1m0s, the job on flink:8099 is RUNNING, 1,200 records read", "1m0s, the job on …, 1,200 records read"},
	} {
		var p progress
		v := p.see(c.sight)
		if got := v.text(); got != c.text {
			t.Errorf("%s, want %s", got, c.text)
		}
		if got := v.line(39); c.sight.of > 0 && got != c.narrow {
			t.Errorf("%q, want %q", got, c.narrow)
		}
	}
}

// Whatever a runner reports, the bar never goes back, and no line is wider than the screen.
func TestProgressProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p progress
		for range rapid.IntRange(0, 3).Draw(t, "pipelines") {
			p.reads = append(p.reads, ofBytes(rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, math.MaxInt64/100)), 1, 3).Draw(t, "reads")...))
		}
		planned := len(p.reads)
		last, elapsed := view{}, time.Duration(0)
		var counts [4]int64
		for range rapid.IntRange(1, 30).Draw(t, "sights") {
			elapsed += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "later"))
			for i := range counts {
				counts[i] += rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(0, math.MaxInt64/1000)).Draw(t, "more")
			}
			s := sight{elapsed: elapsed, ended: rapid.IntRange(0, 9).Draw(t, "ended") == 0}
			if rapid.Bool().Draw(t, "counts") {
				s.counts = map[string]int64{"read/records": counts[0], "read/stored": counts[1], "fetch/stored": counts[2], "corpus/stored": counts[3]}
			}
			if rapid.Bool().Draw(t, "tells steps") {
				open := rapid.SliceOf(rapid.SampledFrom([]string{"source.Read", "source.Fetch", "sink.Corpus"})).Draw(t, "open")
				s.open = func(step string) bool { return strings.Contains(strings.Join(open, ","), step) }
			}
			if rapid.Bool().Draw(t, "has stages") {
				s.of = rapid.IntRange(1, 50).Draw(t, "stages")
				s.done, s.unit = rapid.IntRange(0, s.of).Draw(t, "done"), "stages"
			}
			if rapid.Bool().Draw(t, "has a step") {
				s.step, s.share = "crowds.Pass", rapid.Float64Range(0, 1).Draw(t, "share")
			}
			if rapid.Bool().Draw(t, "has a state") {
				s.state = [2]string{"the Dataflow job is running", "running"}
			}
			before := p.fraction
			v := p.see(s)
			if v.fraction >= 0 && (v.fraction > 1 || v.fraction < before) || math.IsNaN(v.fraction) || p.at < planned && v.fraction >= 0 && v.fraction < last.fraction {
				t.Fatalf("%v after %v", v.fraction, before)
			}
			if v.documents < 0 || math.IsNaN(v.documents) || math.IsInf(v.documents, 0) || v.left < -1 {
				t.Fatalf("%v documents/s, %v left", v.documents, v.left)
			}
			if v.left >= 0 && v.reading == 0 {
				t.Fatalf("%v left of no read", v.left)
			}
			for _, width := range []int{79, 39, rapid.IntRange(1, 200).Draw(t, "width")} {
				if line := v.line(width); utf8.RuneCountInString(line) > width || strings.ContainsAny(line, "\r\n\x1b") {
					t.Fatalf("%d columns: %q", width, line)
				}
			}
			if strings.Contains(v.text(), "NaN") || strings.Contains(v.text(), "Inf") || strings.Contains(v.text(), "-") {
				t.Fatal(v.text())
			}
			if _, err := json.Marshal([]any{v.fraction, v.documents, v.left.Seconds()}); err != nil {
				t.Fatal(err)
			}
			last = v
			if s.ended {
				elapsed, counts = 0, [4]int64{}
			}
		}
	})
}

// A narrow screen shows the most important: bar, documents per second, and the time left.
func TestLine(t *testing.T) {
	v := view{fraction: 0.345, bytes: 1_240_000_000, all: 3_600_000_000, reading: 1, reads: 3, documents: 12_345, left: 130 * time.Second, sight: sight{counts: map[string]int64{}}}
	for width, want := range map[int]string{
		99: "[=======>              ]  34 %, 12.3k documents/s, 2m10s left, 1.2 of 3.6 GB, pass 1 of 3",
		79: "[=====>           ]  34 %, 12.3k documents/s, 2m10s left, 1.2 of 3.6 GB",
		39: "[==>    ]  34 % 12.3k docs/s 2m10s left",
		30: "[==>    ]  34 % 12.3k docs/s",
		20: "[==>    ]  34 %",
		10: "34 %",
		2:  "3…",
	} {
		if got := v.line(width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
	v.fraction, v.left = 0.9999, 90*time.Hour+30*time.Minute
	if got, want := v.line(39), "[======>]  99 % 12.3k docs/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A step that has not ended is below 100 %, and has the name that report.html gives it.
func TestStepNotEnded(t *testing.T) {
	v := view{fraction: 0.5, left: -1, sight: sight{step: "sink.Table.clusters", share: 1}}
	if got, want := v.text(), "0s, 50 %, write tables 99 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Without a terminal, a line is logged every 10 seconds in the first minute of the job, and then every minute.
func TestShowLines(t *testing.T) {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(logging.Flags{}.Logger(&out))
	d := newDisplay(io.Discard)
	d.plan([][]job.Read{ofBytes(450), ofBytes(450)})
	for elapsed := time.Duration(0); elapsed < 90*time.Second; elapsed += 500 * time.Millisecond {
		d.show(localSight(elapsed, 1, 10, 0, 0, "source.Read"))
	}
	d.show(localSight(90*time.Second, 1, 450, 0, 0))
	for elapsed := time.Duration(0); elapsed < 90*time.Second; elapsed += 500 * time.Millisecond {
		d.show(localSight(elapsed, 1, 10, 0, 0, "source.Read"))
	}
	d.show(localSight(10*time.Minute, 1, 450, 0, 0)) // the summary reports the end
	var got []string
	for line := range strings.Lines(out.String()) {
		at, rest, _ := strings.Cut(line, ", ")
		got = append(got, strings.TrimPrefix(at, "neardup: "))
		if at == "neardup: 10s" && rest != "1 %, 10 of 900 B, pass 1 of 2\n" {
			t.Errorf("%q", line)
		}
	}
	if want := "10s 20s 30s 40s 50s 1m0s 2m0s"; strings.Join(got, " ") != want {
		t.Errorf("lines at %s, want %s", got, want)
	}
}

// With --log-format json, progress is a line of JSON, with numbers beside the text.
func TestShowJSON(t *testing.T) {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(logging.Flags{LogFormat: "json"}.Logger(&out))
	d := newDisplay(io.Discard)
	d.plan([][]job.Read{ofBytes(1000, 1000)})
	d.show(localSight(6*time.Second, 10, 100, 0, 0, "source.Read", "source.Fetch"))
	d.show(localSight(11*time.Second, 60, 600, 0, 0, "source.Read", "source.Fetch"))
	var line struct {
		Level, Msg string
		Progress   map[string]any
	}
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if line.Level != "INFO" || line.Msg != "11s, 30 %, 10 documents/s, 14s left, 0.6 of 2.0 kB, pass 1 of 2" {
		t.Errorf("%q", out.String())
	}
	for name, want := range map[string]any{
		"elapsed_seconds": 11., "fraction": 0.3, "bytes": 600., "bytes_of_all_reads": 2000., "read": 1., "reads": 2.,
		"documents_per_second": 10., "seconds_left": 14., "stages_ended": 2., "stages": 4., "step": "source.Read",
	} {
		if line.Progress[name] != want {
			t.Errorf("%s is %v, want %v", name, line.Progress[name], want)
		}
	}
}
