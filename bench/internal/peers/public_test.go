package peers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/bench/internal/process"
)

// The page of a run and the page made of its lines are the same, and compare each tool's cost with neardup's.
func TestPublicPage(t *testing.T) {
	took := func(cpu float64) []process.Taken { return []process.Taken{{CPU: cpu, Wall: cpu, Peak: 1 << 20}} }
	us := tool{Name: "neardup", ours: true, installed: installed{Peer: "neardup", Bytes: 2e6}}
	all := tool{Name: "neardup, all", ours: true, installed: us.installed}
	daft := tool{Name: "daft", installed: installed{Peer: "daft", Bytes: 1e6}}
	cells := func(cpu float64, failed string) []cell {
		q := &quality{Pairs: 4, PairsFound: 3, Near: 2, NearFound: 1, Removed: 2, RemovedRightly: 2}
		whole := &quality{Pairs: 4, PairsFound: 4, Near: 2, NearFound: 2, Removed: 2, RemovedRightly: 2}
		return []cell{{Tool: us.Name, Runs: took(1), Quality: whole, OnOurs: whole, tool: us},
			{Tool: all.Name, Runs: took(2), Quality: whole, OnOurs: whole, tool: all},
			{Tool: daft.Name, Runs: took(cpu), Failed: failed, Quality: q, OnOurs: q, tool: daft}}
	}
	of := table{Machine: "here", Tools: []tool{us, all, daft}, Corpora: []measured{{corpus{Name: "a"}, cells(.5, "")},
		{corpus{Name: "b"}, cells(9, "")}, {corpus{Name: "c"}, cells(1, "stopped")}}}
	path := filepath.Join(t.TempDir(), "public.jsonl")
	if err := of.writeAll(path); err != nil {
		t.Fatal(err)
	}
	again, err := readLinesOf(path)
	if err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	if err := writePublic(&want, []table{of}); err != nil {
		t.Fatal(err)
	}
	if err := writePublic(&got, []table{again}); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("the page of the lines differs:\n%s\n%s", got.String(), want.String())
	}
	for _, line := range []string{"- a, CPU s: neardup 1.00; daft 0.50\n", "- installed, MB: neardup 2; daft 1\n",
		"| 2 of 3 | 0.5 to 9 | 0.5 to 9 | 1 | 0 | 0.7500 | 0.5000 | 1.0000 |", "- daft, c: stopped\n"} {
		if !strings.Contains(got.String(), line) {
			t.Errorf("the page lacks %q:\n%s", line, got.String())
		}
	}
}

// The second program finds the same pairs as the first. The test needs .cache/peers.
func TestJoinedTwice(t *testing.T) {
	t.Chdir("../../..")
	if _, err := os.Stat(environment); err != nil {
		t.Skip("bench/public has not installed its peers: ", err)
	}
	if err := os.MkdirAll(workFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	var sets [][]uint64
	for n := range uint64(60) { // most are similar to their neighbours, some at exactly 0.8
		var set []uint64
		for e := range 9 + n%3 {
			set = append(set, (n/3+e)<<40)
		}
		sets = append(sets, set)
	}
	if err := joinedTwice(append(sets, nil, []uint64{1})); err != nil {
		t.Error(err)
	}
}
