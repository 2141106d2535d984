package dedup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// planned returns a run that has listed its input, the files of a folder.
func planned(t *testing.T, in string) *run {
	t.Helper()
	listing, err := source.Plan(t.Context(), []string{in}, source.Options{Format: "lines"})
	if err != nil {
		t.Fatal(err)
	}
	return &run{plan: &Plan{Plan: &job.Plan{Listing: listing}}}
}

func fingerprint(t *testing.T, r *run) string {
	t.Helper()
	of, err := r.identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// inputOf makes a folder with one file.
func inputOf(t *testing.T, file, content string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A later run takes the place of a killed one if it has the same settings and input, however it runs.
func TestFingerprint(t *testing.T) {
	in := inputOf(t, "a", "x")
	want := fingerprint(t, planned(t, in))
	differs := func(what string, wanted bool, change func(*run)) {
		t.Helper()
		r := planned(t, in)
		if change(r); (fingerprint(t, r) != want) != wanted {
			t.Errorf("%s makes another run: %t", what, !wanted)
		}
	}
	differs("nothing", false, func(*run) {})
	differs("the job's id", false, func(r *run) { r.record.Job = "x" })
	differs("a warning", false, func(r *run) { r.warn("x") })
	differs("the version", true, func(r *run) { r.record.Version = "x" })
	differs("a format", true, func(r *run) { r.record.Formats.Tables = "x" })
	relisted := func(r *run) { r.plan.Listing = planned(t, in).plan.Listing }
	differs("a file's name", true, func(r *run) { r.plan.Listing = planned(t, inputOf(t, "b", "x")).plan.Listing })
	differs("a file more", true, func(r *run) {
		more := filepath.Join(in, "b")
		if err := os.WriteFile(more, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		relisted(r)
		if err := os.Remove(more); err != nil {
			t.Fatal(err)
		}
	})
	differs("nothing in the end", false, relisted)
	differs("a file's version", true, func(r *run) {
		file := filepath.Join(in, "a")
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		touch := func(at time.Time) {
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
		touch(info.ModTime().Add(time.Second))
		relisted(r)
		touch(info.ModTime())
	})
	differs("how it is done", false, func(r *run) { r.record.Running, r.record.Runner = []byte(`{"runner":"flink"}`), "flink" })
	differs("a default that was named", true, func(r *run) { r.record.Given = []string{"recall"} })
	for name := range records.Fields(records.Spec{}) {
		differs("--"+name, true, func(r *run) {
			another(t, fieldOf(reflect.ValueOf(&r.record.Parameters).Elem(), name))
		})
	}
}

// fieldOf returns the field of a Spec by its name in JSON.
func fieldOf(spec reflect.Value, name string) (found reflect.Value) {
	for field, value := range spec.Fields() {
		switch {
		case field.Anonymous:
			if inner := fieldOf(value, name); inner.IsValid() {
				found = inner
			}
		case field.Tag.Get("json") == name:
			found = value
		}
	}
	return found
}

// The error of a refused output has its exit status, wherever it is noticed.
func TestRefused(t *testing.T) {
	for err, want := range map[error]int{
		&commit.RefusedError{Reason: "x"}: 3, &storage.LockedError{}: 3, &storage.FencedError{}: 3,
		fmt.Errorf("a system call: %w", errors.ErrUnsupported): 1, errors.New("x"): 1,
	} {
		if got := job.Status(job.Refused(fmt.Errorf("in a step: %w", err))); got != want {
			t.Errorf("%T: exit status %d, want %d", err, got, want)
		}
	}
	if err := job.Refused(nil); err != nil {
		t.Error(err)
	}
}

// No task on Flink sends more than its runner can hold: with too few workers, a run in one job is refused and told the
// minimum, and so is one with a file that one task reads whole. In phases it runs, unless all documents are compared.
func TestTasksFit(t *testing.T) {
	give := regexp.MustCompile(`use --workers (\d+) or more`)
	rapid.Check(t, func(t *rapid.T) {
		p := &Plan{Plan: &job.Plan{
			Request:   job.Request{Asked: &job.Asked{Measure: job.Jaccard}},
			Documents: rapid.Int64Range(1, 1<<32).Draw(t, "documents"), Listing: &source.Listing{Inputs: &source.Inputs{Inputs: &blocks.Inputs{Root: "/in"}}},
		}}
		var whole, all int64 // bytes
		for i := range rapid.IntRange(1, 20).Draw(t, "files") {
			size := rapid.Int64Range(1, 1000).Draw(t, "size")
			var cuts []int64
			if cut := rapid.Bool().Draw(t, "cut"); cut && size > 1 {
				cuts = []int64{size / 2}
			} else {
				whole = max(whole, size)
			}
			p.Listing.Inputs.Add(&blocks.File{Path: fmt.Sprintf("/in/%03d", i), Source: fmt.Sprintf("%03d", i), Size: size}, cuts, nil)
			all += size
		}
		sent := p.Documents * 24
		switch rapid.IntRange(0, 2).Draw(t, "keys") {
		case 0:
			p.Choice.Bands = rapid.IntRange(1, 500).Draw(t, "bands")
			sent += p.Documents * 9 * int64(p.Choice.Bands)
		case 1:
			p.Pieces = simhash.Pieces{Bits: 64, Count: rapid.IntRange(1, 16).Draw(t, "pieces")}
			sent += p.Documents * 9 * int64(p.Pieces.Count)
		case 2:
			p.Complete, p.Sizes, p.Shingles = true, map[int]int64{100: 10}, p.Documents*100
			sent += p.Documents * 800
		}
		workers := rapid.IntRange(0, 1000).Draw(t, "workers")
		p.Config.Workers, p.Config.Resume = workers, job.ResumeNever
		if err := p.checkTasks(); err != nil {
			t.Fatalf("without Flink: %v", err)
		}
		p.Config.Runner = job.Flink
		err := p.checkTasks()
		p.Config.Resume = ""
		if phased := p.phased(); phased != (p.Documents >= mostConnected || err != nil && !p.Complete) {
			t.Fatalf("%d bytes, in phases: %t, in one job: %v", sent, phased, err)
		}
		if inPhases := p.checkTasks(); inPhases != nil && !p.Complete {
			t.Fatalf("%d bytes in phases: %v", sent, inPhases)
		}
		const least, most = 200 << 20, 400 << 20
		ofFile := float64(sent) * float64(whole) / float64(all)
		switch usage := (*job.UsageError)(nil); {
		case err == nil:
			if ofFile > most || sent/int64(max(workers, 1)) > most {
				t.Fatalf("%d bytes, %.0f of one file, pass with %d workers", sent, ofFile, workers)
			}
		case !errors.As(err, &usage):
			t.Fatal(err)
		case strings.Contains(err.Error(), "reads the whole file"):
			if ofFile < least {
				t.Fatalf("%.0f bytes of one file: %v", ofFile, err)
			}
		default:
			n, _ := strconv.Atoi(give.FindStringSubmatch(err.Error())[1])
			p.Config.Workers = n
			if n <= workers || sent/int64(n) > most || n > 1 && sent/int64(n-1) < least || p.checkTasks() != nil {
				t.Fatalf("%d bytes: %v", sent, err)
			}
		}
	})
}

// A run in one job that does not fit is refused before it starts, and a plan of it warns. With the number of workers in
// the message it starts, and so it does in phases.
func TestRefusedOnFlink(t *testing.T) {
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, "%d\n", i)
	}
	in := inputOf(t, "in.txt", lines.String())
	ask := func(workers string, more ...string) (config Config) {
		parser, err := kong.New(&config, kong.Vars(job.Vars()))
		if err == nil {
			_, err = parser.Parse(append(more, in, "--output="+t.TempDir(), "--format=lines", "--bands=500", "--rows=1", "--runner=flink", "--workers="+workers))
		}
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	started := errors.New("it is started")
	start := func(workers string, more ...string) error {
		task, err := New(t.Context(), ask(workers, more...))
		if err != nil {
			return err
		}
		_, err = task.Run(t.Context(), func(context.Context, *beam.Pipeline, string) (beam.PipelineResult, []records.Stage, error) {
			return nil, nil, started
		})
		return err
	}
	if err := start("2", "--resume=never"); !errors.Is(err, started) {
		t.Errorf("two workers: %v", err)
	}
	if err := start("1"); !errors.Is(err, started) {
		t.Errorf("one worker, in phases: %v", err)
	}
	const refused = "--workers 1: the first read sends about"
	usage := (*job.UsageError)(nil)
	if err := start("1", "--resume=never"); !errors.As(err, &usage) || !strings.Contains(err.Error(), refused) || !strings.Contains(err.Error(), "use --workers 2 or more") {
		t.Errorf("one worker: %v", err)
	}
	config := ask("1", "--resume=never")
	config.DryRun = true
	asked, err := config.compile()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := newRun(config, asked)
	if err != nil {
		t.Fatal(err)
	}
	plan.temp = t.TempDir()
	if err := plan.makePlan(t.Context()); err != nil || !strings.Contains(strings.Join(plan.record.Warnings, "\n"), "the run would be refused: "+refused) {
		t.Errorf("a plan: %v, warnings %q", err, plan.record.Warnings)
	}
}

// Reading texts ends at its time limit, and what was read until then is shown. An interrupted run says so itself.
func TestTextsTakeLimitedTime(t *testing.T) {
	slow := func(ctx context.Context, _ []records.Place) (map[records.Place]string, error) {
		<-ctx.Done()
		return map[records.Place]string{{}: "read"}, ctx.Err()
	}
	draw := func(ctx context.Context, _ io.Writer, _ *output.Finished, texts TextsOf) error {
		of, err := texts(ctx, nil)
		if of[records.Place{}] != "read" {
			t.Error("what was read is lost")
		}
		return err
	}
	if _, err := page(t.Context(), nil, draw, slow, time.Millisecond); err == nil || !strings.Contains(err.Error(), "run neardup report to include them all") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := page(ctx, nil, draw, slow, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
