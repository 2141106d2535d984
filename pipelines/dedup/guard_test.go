package dedup_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/pipelines/dedup"
)

// TestMaxRemoved: a source may lose the percentage of its documents that the limit sets, not counting unreadable
// records. Of several that lose more, the error names the first of those that lose most.
func TestMaxRemoved(t *testing.T) {
	in := t.TempDir()
	for name, content := range map[string]string{
		"a": "x\ny\n", "b": "x\nz\n", "c": "y\nw\n", "d": "v\n",
	} {
		var lines []byte
		for _, text := range content {
			if text != '\n' {
				lines = append(lines, `{"text": "`+string(text)+`"}`+"\n"...)
			}
		}
		if name == "c" {
			lines = append(lines, "no record\n"...)
		}
		if err := os.WriteFile(filepath.Join(in, name+".jsonl"), lines, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	removing := func(limit string) error {
		config := ask(t, in, "--method=exact", "--max-rejected=1", "--max-removed="+limit)
		_, err := runJob(t.Context(), config, launch(config))
		return err
	}
	if err := removing("50%"); err != nil {
		t.Error(err)
	}
	want := &dedup.RemovedError{Source: "b.jsonl", Removed: 1, Documents: 2, Limit: "49.9%", Sources: 2}
	for range 8 { // in whatever order maps are iterated
		var got *dedup.RemovedError
		if err := removing("49.9%"); !errors.As(err, &got) || !cmp.Equal(got, want) {
			t.Fatalf("error %v", err)
		}
	}
}
