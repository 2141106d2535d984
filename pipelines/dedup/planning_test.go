package dedup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/corpusgen"
)

// Unreadable records are not documents, but count as rows of a table.
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

// Groups are sized by what is read with --limit: of 100 equal documents, with four shingles each.
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

// The plan of --method complete says the maximum of bytes of sets that are sent and read, and refuses none.
func TestJoinBytes(t *testing.T) {
	c := generate(t, corpusgen.Spec{Documents: 3000, Seed: 6, Near: 0.9, Edits: 0.02}).corpus(t) // families: few sets are left out
	for _, cell := range []int{1000, 50_000, 0} {
		config := ask(t, "--method=complete", c.config.Inputs[0])
		config.CellBytes = cell
		r := run(t, config)
		moved := r.Run.Steps["cells/bytes"] + r.Run.Steps["cells/read_bytes"]
		if got := r.Run.Chosen.JoinBytes; moved == 0 || got < moved || r.Run.Chosen.Bands != 0 {
			t.Errorf("cells of %d bytes: %d bytes are planned, %d moved", cell, got, moved)
		}
	}
}
