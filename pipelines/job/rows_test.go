package job

import (
	"os"
	"path/filepath"
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
	plan, err := NewPlan(t.Context(), requestOf(records.Input{Inputs: []string{file}, Text: []string{"text"}}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	splits := plan.Listing.Inputs.Splits
	for i := range splits.Len() {
		if span := splits.At(i); min(span.End, rows)-span.Start > 3*mostMembers/memberBytes/2 {
			t.Errorf("rows %d to %d of %d bytes are one split", span.Start, span.End, plan.Listing.Inputs.Bytes())
		}
	}
}
