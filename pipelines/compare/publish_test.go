package compare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// A published output is finished: its manifest lists the tables, and run.json has the comparison.
func TestOutputIsFinished(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	c := run(t, "../../testdata/tldr/osx.jsonl", "--bands=12", "--rows=3", "--methods=bands,minhash", "-o", out)
	finished, err := output.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	var parts []output.Part
	for _, f := range finished.Manifest.Files {
		parts = append(parts, output.PartOf(f.Path))
	}
	if parts = slices.Compact(parts); !slices.Equal(parts, []output.Part{output.Buckets, output.Candidates, output.Pairs}) {
		t.Errorf("the manifest has %q", parts)
	}
	rows := int64(0)
	for _, err := range output.Rows[records.Candidate](t.Context(), finished, output.Candidates) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if kept := finished.Run.Comparison; kept == nil || len(kept.Methods) != 2 || kept.Methods[0].Buckets.Distinct != rows || c.Methods[0].Buckets.Distinct != rows || rows == 0 {
		t.Errorf("%d candidates; run.json has %+v", rows, kept)
	}
	if p := finished.Run.Parameters; p.Method != "bands,minhash" || !slices.Equal(p.Write, []string{"pairs", "buckets", "candidates"}) {
		t.Errorf("parameters %+v", p)
	}
}

// A run that fails after its tables are written leaves none of them, and an existing output unchanged.
func TestNothingHalfWritten(t *testing.T) {
	input := "../../testdata/tldr/osx.jsonl"
	folder := t.TempDir()
	before, after := filepath.Join(folder, "before"), filepath.Join(folder, "after")
	run(t, input, "--bands=12", "--rows=3", "--methods=bands,minhash", "-o", before)
	mark, err := os.ReadFile(filepath.Join(before, output.SuccessFile))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("out of luck")
	for _, out := range []string{before, after} {
		config := parsed(t, input, "--bands=12", "--rows=3", "--methods=bands,signatures", "-o", out, "--overwrite")
		task, err := compare.New(config)
		if err != nil {
			t.Fatal(err)
		}
		pipelines := 0
		launch := beamtest.Launch(string(config.Runner), local.Options{})
		_, err = task.Run(t.Context(), func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
			if pipelines++; pipelines == 2 { // the first one writes the tables
				return nil, nil, broken
			}
			return launch(ctx, p, temp)
		})
		if !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	if now, err := os.ReadFile(filepath.Join(before, output.SuccessFile)); err != nil || string(now) != string(mark) {
		t.Errorf("the mark of the earlier output is %s, was %s; %v", now, mark, err)
	}
}

// A foreign folder is refused, and so is an output that would replace an input.
func TestOutputIsRefused(t *testing.T) {
	folder := t.TempDir()
	input := filepath.Join(folder, "in.jsonl")
	if err := os.WriteFile(input, []byte(`{"text": "one"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := try(t, input, "--methods=bands,minhash", "-o", folder)
	if exists := (*job.OutputExistsError)(nil); !errors.As(err, &exists) || !strings.Contains(err.Error(), "was not written by neardup") {
		t.Error(err)
	}
	_, err = try(t, folder, "--methods=bands,minhash", "-o", filepath.Join(folder, "out"))
	if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "is inside the input") {
		t.Error(err)
	}
}
