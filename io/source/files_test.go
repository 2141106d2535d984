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

// optionsOf read a sample, in records of any length.
func optionsOf(s *codectest.Sample) Options {
	return Options{Format: s.Format, Fields: fields, MaxDocument: 1 << 20}
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
func inputs(t testing.TB, o Options, args ...string) *blocks.Inputs {
	t.Helper()
	listing, err := Plan(t.Context(), args, o)
	if err != nil {
		t.Fatal(err)
	}
	return listing.Inputs
}

// readAll returns the records of a span.
func readAll(t testing.TB, in *blocks.Inputs, span blocks.Span) (found []codectest.Planted) {
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
