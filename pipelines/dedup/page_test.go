package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
)

// drawTexts draws the texts of all near pairs.
func drawTexts(ctx context.Context, w io.Writer, f *output.Finished, texts dedup.TextsOf) error {
	var places []records.Place
	for pair, err := range output.Rows[records.Pair](ctx, f, output.Pairs) {
		if err != nil {
			return err
		}
		places = append(places, records.Place{Source: pair.SourceA, Position: pair.PositionA}, records.Place{Source: pair.SourceB, Position: pair.PositionB})
	}
	of, err := texts(ctx, places)
	for _, place := range places {
		fmt.Fprintln(w, of[place])
	}
	return err
}

// The page can read the tables and the texts before the output is published, on a disk and in a store, and afterwards.
// The manifest lists the same files as that of a run without a page.
func TestPage(t *testing.T) {
	storage.Register("pages://", &storagetest.Memory{})
	in := t.TempDir()
	texts := []string{"one two three four five six seven eight nine ten", "one two three four five six seven eight nine eleven", "quite another text that is like none of the others"}
	writeJSONL(t, filepath.Join(in, "a.jsonl"), texts)
	writeJSONL(t, filepath.Join(in, "b.jsonl"), texts[:1])
	plain := ask(t, in, "--threshold=0.5")
	want := promised(t, run(t, plain))
	page := strings.Join([]string{texts[0], texts[1], texts[0], texts[0], ""}, "\n")
	for _, dir := range []string{filepath.Join(t.TempDir(), "out"), "pages://lake/out"} {
		config := ask(t, in, "--threshold=0.5")
		config.Output, config.Draw = dir, drawTexts
		record, err := runJob(t.Context(), config, launch(config))
		if err != nil || len(record.Warnings) != 0 || !record.Page {
			t.Fatalf("%v, %q; a page: %t", err, record.Warnings, record.Page)
		}
		got, err := storage.ReadFile(t.Context(), storage.Join(dir, output.ReportFile))
		if err != nil || string(got) != page {
			t.Errorf("%s: %v, %q, want %q", dir, err, got, page)
		}
		if storage.IsLocal(dir) {
			sameOutput(t, "with a page", want, promised(t, opened(t, dir)))
		}
		var again strings.Builder
		if err := dedup.Page(t.Context(), dedup.Paging{Output: dir, W: &again, Draw: drawTexts}); err != nil || again.String() != page {
			t.Errorf("%s again: %v, %q", dir, err, again.String())
		}
		file := storage.Join(dir, "../page.html")
		paging := dedup.Paging{Output: dir, File: file, Draw: drawTexts}
		if err := dedup.Page(t.Context(), paging); err != nil {
			t.Error(err)
		}
		if err := dedup.Page(t.Context(), paging); err == nil || !strings.Contains(err.Error(), "--overwrite") {
			t.Errorf("a file is replaced unasked: %v", err)
		}
		paging.Overwrite = true
		if err := dedup.Page(t.Context(), paging); err != nil {
			t.Error(err)
		}
		if got, err := storage.ReadFile(t.Context(), file); err != nil || string(got) != page {
			t.Errorf("%s: %v, %q", file, err, got)
		}
		// The next output has no page, and the old one is removed.
		config.Draw, config.Overwrite = nil, true
		if _, err := runJob(t.Context(), config, launch(config)); err != nil {
			t.Error(err)
		}
		if names, err := storage.Names(t.Context(), dir); err != nil || slices.Contains(names, output.ReportFile) {
			t.Errorf("%v: %v has the page of another run", err, names)
		}
	}
}

func opened(t *testing.T, dir string) *output.Finished {
	t.Helper()
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A page that cannot be drawn only causes a warning; the run is complete without it.
func TestPageThatFails(t *testing.T) {
	for want, draw := range map[string]dedup.Draw{
		"no ink": func(_ context.Context, w io.Writer, _ *output.Finished, _ dedup.TextsOf) error {
			fmt.Fprint(w, "half")
			return errors.New("no ink")
		},
		"a panic": func(context.Context, io.Writer, *output.Finished, dedup.TextsOf) error { panic("a panic") },
	} {
		in := t.TempDir()
		writeJSONL(t, filepath.Join(in, "a.jsonl"), []string{"one two three four"})
		config := ask(t, in)
		config.Draw = draw
		f := run(t, config)
		if warnings := f.Run.Warnings; len(warnings) != 1 || f.Run.Page || warnings[0] != "report.html could not be written: "+want+"; run neardup report to write it" {
			t.Errorf("warnings %q; a page: %t", warnings, f.Run.Page)
		}
		if names, err := storage.Names(t.Context(), f.Dir); err != nil || slices.Contains(names, output.ReportFile) {
			t.Errorf("%v: %v has half a page", err, names)
		}
	}
}
