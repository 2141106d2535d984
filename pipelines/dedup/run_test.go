package dedup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// howItIsDone are the parameters that do not change what a run makes.
var howItIsDone = map[string]bool{
	"DryRun": true, "Environment": true, "ForceUnlock": true, "JobServer": true, "Memory": true, "Output": true, "Overwrite": true,
	"Runner": true, "TempDir": true, "WaitLock": true, "WorkerBinary": true, "Workers": true,
	"MachineType": true, "MaxNumWorkers": true, "NumWorkers": true, "Project": true, "Region": true, "Staging": true,
	"EnvironmentConfig": true, "EnvironmentType": true, "JobName": true, "Labels": true, "TempLocation": true,
}

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

// inputOf makes a folder of one file.
func inputOf(t *testing.T, file, content string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A later run stands in for one that was killed if it was asked the same of the same input, however it is done.
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
	parameters := reflect.TypeOf(planned(t, in).record.Parameters)
	for i := range parameters.NumField() {
		name := parameters.Field(i).Name
		differs("--"+name, !howItIsDone[name], func(r *run) {
			field := reflect.ValueOf(&r.record.Parameters).Elem().Field(i)
			switch field.Kind() {
			case reflect.Bool:
				field.SetBool(true)
			case reflect.Int, reflect.Int64:
				field.SetInt(1)
			case reflect.Uint64:
				field.SetUint(1)
			case reflect.Float64:
				field.SetFloat(1)
			case reflect.String:
				field.SetString("x")
			case reflect.Slice:
				field.Set(reflect.ValueOf([]string{"x"}))
			case reflect.Map:
				field.Set(reflect.ValueOf(map[string]string{"x": "y"}))
			default:
				t.Fatalf("%s is a %v", name, field.Kind())
			}
		})
	}
}

// What the output is refused for has the exit status that tells of it, wherever it is noticed.
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

// No task on Flink sends as much as its runner holds, if there are as many workers as are asked for.
func TestFlinkWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Plan{Plan: &job.Plan{Documents: rapid.Int64Range(1, 1<<32).Draw(t, "documents")}, Config: Config{}}
		p.Choice.Bands = rapid.IntRange(1, 500).Draw(t, "bands")
		if n := p.flinkWorkers(); n != 0 {
			t.Fatalf("%d workers without Flink", n)
		}
		p.Config.Runner = job.Flink
		sent := p.Documents * int64(9*p.Choice.Bands+24)
		n := p.flinkWorkers()
		if each := sent / max(n, 1); each > 400<<20 || n > 1 && sent/(n-1) < 200<<20 {
			t.Fatalf("%d workers for %d bytes", n, sent)
		}
	})
}

// Reading texts ends with its time, and what was read until then is shown. A run that is interrupted says so itself.
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
	if _, err := page(t.Context(), nil, draw, slow, time.Millisecond); err == nil || !strings.Contains(err.Error(), "neardup report reads them all") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := page(ctx, nil, draw, slow, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
