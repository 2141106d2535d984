package dedup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Unreadable records are no documents, but rows of a table all the same.
func TestUnreadableRecordsSizeTheTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"text":"a b c d"`+"\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	plan, err := planOf(t, ask(t, path, "--shingle=word:1"))
	if err != nil {
		t.Fatal(err)
	}
	if plan.UnreadableRecords != 100 || plan.UnreadableBytes != 100*int64(len(`{"text":"a b c d"`+"\n")) {
		t.Errorf("about %d unreadable records of %d bytes", plan.UnreadableRecords, plan.UnreadableBytes)
	}
}

// What is read with --limit is what sizes the groups: of 100 equal documents, four shingles each.
func TestLimitScalesEstimates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(`{"text":"a b c d"}`+"\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]int64{0: 100, 1000: 100, 20: 20} {
		plan, err := planOf(t, ask(t, path, "--shingle=word:1", fmt.Sprintf("--limit=%d", limit)))
		if err != nil {
			t.Fatal(err)
		}
		if plan.Documents != want || plan.Shingles != 4*want {
			t.Errorf("--limit %d: about %d documents, %d shingles; want %d, %d", limit, plan.Documents, plan.Shingles, want, 4*want)
		}
	}
}
