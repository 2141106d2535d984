package study_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/study"
	"github.com/neardup/neardup/records"
)

// A published output is finished: its manifest lists all files with their sums, and tables with their rows.
func TestOutputIsFinished(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	config := parsed(t, files(t, texts), "--format=files", "--drop-copies", "-o", out)
	config.Draw = drawing("page", nil)
	found, err := runOf(t, config)
	if err != nil {
		t.Fatal(err)
	}
	finished, err := output.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, f := range finished.Manifest.Files {
		data, err := os.ReadFile(filepath.Join(out, f.Path))
		if sum := sha256.Sum256(data); err != nil || int64(len(data)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%+v has %d bytes of sum %x, %v", f, len(data), sum, err)
		}
		rows[f.Path] = f.Rows
	}
	if diff := cmp.Diff(map[string]int64{study.CSVFile: 3, study.ParquetFile: 3, study.StudyFile: 0, "page": 0}, rows); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(filepath.Join(out, study.StudyFile))
	if err != nil {
		t.Fatal(err)
	}
	var kept records.Study
	if err := json.Unmarshal(data, &kept); err != nil || kept.Pairs != 3 || !cmp.Equal(&kept, found) {
		t.Errorf("%v\n%s", err, cmp.Diff(found, &kept))
	}
	if run := finished.Run; run.Status != "done" || run.Parameters.Method != "study" || run.Input.Files != 4 {
		t.Errorf("%+v", run)
	}
}

// drawing returns a function that draws a file and returns err.
func drawing(name string, err error) func(*records.Study, func(string, func(io.Writer) error) error) error {
	return func(_ *records.Study, write func(string, func(io.Writer) error) error) error {
		return errors.Join(write(name, func(w io.Writer) error {
			_, err := io.WriteString(w, "a page")
			return err
		}), err)
	}
}

// A run that fails after its tables and pages are written leaves none of them, and an existing output unchanged.
func TestNothingHalfWritten(t *testing.T) {
	input, folder := files(t, texts), t.TempDir()
	before, after := filepath.Join(folder, "before"), filepath.Join(folder, "after")
	run(t, input, "--format=files", "-o", before)
	was := contents(t, before)
	broken := errors.New("out of luck")
	for _, out := range []string{before, after} {
		config := parsed(t, input, "--format=files", "--k=2", "-o", out, "--overwrite")
		config.Draw = drawing("page", broken)
		if _, err := runOf(t, config); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	if diff := cmp.Diff(was, contents(t, before)); diff != "" {
		t.Error(diff)
	}
	// A successful run replaces all of it.
	if s := run(t, input, "--format=files", "--k=2", "-o", before, "--overwrite"); len(s.Settings) != 8 {
		t.Errorf("%d settings", len(s.Settings))
	}
	now := contents(t, before)
	if slices.ContainsFunc([]string{study.CSVFile, study.ParquetFile, study.StudyFile, output.SuccessFile}, func(name string) bool { return now[name] == was[name] }) {
		t.Error("a file of the earlier output is there")
	}
	if lines := bytes.Count([]byte(now[study.CSVFile]), []byte("\n")); lines != 7 {
		t.Errorf("%d lines", lines)
	}
}

// contents returns the files of a folder by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// A finished output is only replaced on request, and never one that contains the input.
func TestOutputIsRefused(t *testing.T) {
	input := files(t, texts)
	out := filepath.Join(t.TempDir(), "out")
	run(t, input, "--format=files", "-o", out)
	_, err := try(t, input, "--format=files", "-o", out)
	if exists := (*job.OutputExistsError)(nil); !errors.As(err, &exists) {
		t.Error(err)
	}
	_, err = try(t, filepath.Join(out, study.CSVFile), "--format=files", "-o", out, "--overwrite")
	if usage := (*job.UsageError)(nil); !errors.As(err, &usage) {
		t.Error(err)
	}
}
