package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading"
)

var fields = codec.Fields{Text: []string{"text"}, ID: "id"}

// optionsOf returns options to read a sample, with records of any length.
func optionsOf(s *codectest.Sample) Options {
	o := Options{Format: s.Format, Fields: fields, MaxDocument: 1 << 20}
	if s.Text != "" {
		o.Fields.Text = []string{s.Text}
	}
	return o
}

// write writes a file below folder and returns its path.
func write(t testing.TB, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// inputs plans args, which must succeed.
func inputs(t testing.TB, o Options, args ...string) *Inputs {
	t.Helper()
	listing, err := Plan(t.Context(), args, o)
	if err != nil {
		t.Fatal(err)
	}
	return listing.Inputs
}

// listedFiles returns what the plan says about the files of in.
func listedFiles(t testing.TB, in *Inputs) (files []*blocks.File) {
	t.Helper()
	for i := range in.Len() {
		f, _, err := in.Listed(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// opened returns file i of in as readers see it.
func opened(t testing.TB, in *Inputs, i int, o Options) *blocks.File {
	t.Helper()
	f, _, _, err := in.open(t.Context(), i, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// spansOf returns the spans of a table.
func spansOf(table *blocks.Spans) (spans []blocks.Span) {
	for i := range table.Len() {
		spans = append(spans, table.At(i))
	}
	return spans
}

// readAll returns the records of a span.
func readAll(t testing.TB, in *Inputs, span blocks.Span) (found []codectest.Planted) {
	t.Helper()
	_, err := Records(t.Context(), in, []blocks.Span{span}, Options{Fields: fields, MaxDocument: 1 << 20}, func(record *reading.Record) error {
		found = append(found, codectest.Planted{Position: record.Position, Text: string(record.Doc.Text), Unreadable: record.Err != nil})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
