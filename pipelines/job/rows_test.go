package job

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/records"
)

// A Parquet file of a few bytes may have millions of rows: the second read holds only some of them.
func TestManyRowsInFewBytes(t *testing.T) {
	const rows = 2_000_000
	file := filepath.Join(t.TempDir(), "equal.parquet")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Text string `parquet:"text,dict,zstd"`
	}
	w := parquet.NewGenericWriter[row](f)
	equal := make([]row, 10_000)
	for i := range equal {
		equal[i].Text = "the same words again and again in every row"
	}
	for range rows / len(equal) {
		if _, err := w.Write(equal); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// The same holds beside a file of many bytes and few rows.
	large := filepath.Join(filepath.Dir(file), "large.jsonl")
	line := []byte(`{"text":"` + strings.Repeat("other words ", 10_000) + "\"}\n")
	if err := os.WriteFile(large, bytes.Repeat(line, 100), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, inputs := range [][]string{{file}, {file, large}} {
		plan, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: inputs, Text: []string{"text"}}), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		in := plan.Listing.Inputs
		for i := range in.Splits.Len() {
			span := in.Splits.At(i)
			if in.Name(span.File) == "equal.parquet" && min(span.End, rows)-span.Start > 3*mostMembers/memberBytes/2 {
				t.Errorf("%d inputs: rows %d to %d of %d bytes are one split", len(inputs), span.Start, span.End, in.Size(span.File))
			}
		}
	}
}
