package dedup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
)

// failed runs a job that must fail, and checks what must then hold: the error contains text, and there is no mark of
// success, no lock and no temporary file.
func failed(t *testing.T, ctx context.Context, config dedup.Config, text string) error {
	t.Helper()
	_, err := runJob(ctx, config, launch(config))
	if err == nil {
		t.Fatal("the job did not fail")
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the error does not say %q: %v", text, err)
	}
	for _, folder := range []string{config.Output, filepath.Dir(config.Output)} {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if e.Name() == "_SUCCESS" || strings.HasPrefix(e.Name(), ".") {
				t.Errorf("%s is left in %s by a failed job", e.Name(), folder)
			}
		}
	}
	return err
}

func TestTruncatedGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(read(t, "../../testdata/tldr/linux.jsonl")))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.jsonl.gz")
	if err := os.WriteFile(path, packed.Bytes()[:packed.Len()/2], 0o666); err != nil {
		t.Fatal(err)
	}
	failed(t, context.Background(), ask(t, path), path)
}

// The error of a failed step is in its own words, however the runner wraps it; the input is a file truncated beyond
// what the planner's sample reads.
func TestErrorOfStep(t *testing.T) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(corpusgen.Write(w, corpusgen.Spec{Documents: 20_000}), w.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.jsonl.gz")
	if err := os.WriteFile(path, packed.Bytes()[:packed.Len()-100], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, runner := range []string{"local", "prism", "direct"} {
		err := failed(t, context.Background(), ask(t, "--runner="+runner, path), "fetch the file again")
		var pipeline *job.PipelineError
		if !errors.As(err, &pipeline) || !strings.HasPrefix(err.Error(), path+": at byte ") {
			t.Errorf("%s: not in the step's own words: %v", runner, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := failed(t, ctx, ask(t, "../../testdata/tldr", "--bands=1024", "--rows=1"), "context")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(folder, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	config := ask(t, "../../testdata/tldr")
	config.Output = filepath.Join(folder, "out")
	if _, err := runJob(context.Background(), config, launch(config)); err == nil {
		t.Error("wrote below a file")
	}
}

// A failed run leaves an output that the next run can use.
func TestRunAgainAfterFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	config := ask(t, "../../testdata/tldr")
	failed(t, ctx, config, "canceled")
	run(t, config)
}

// What a failed run leaves beside the output is not read as input by the next.
func TestFailuresAreNoInput(t *testing.T) {
	config := ask(t, "../../testdata/tldr")
	config.Inputs = []string{config.Output + ".failed"}
	if err := os.Mkdir(config.Inputs[0], 0o777); err != nil {
		t.Fatal(err)
	}
	if usage := (*job.UsageError)(nil); !errors.As(failure(t, config), &usage) || !strings.Contains(usage.Error(), "choose another") {
		t.Errorf("error %v", usage)
	}
}
