package dedup_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// reasonOfCopies returns why a text with the set of the kept one is removed.
func reasonOfCopies(text, kept string) string {
	switch {
	case text == kept:
		return records.ReasonIdentical
	case slices.Equal(words(normalised(text)), words(normalised(kept))):
		return records.ReasonEqual
	default:
		return records.ReasonSameSet
	}
}

// symbolsOf returns the symbols of a text.
func symbolsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.P, unicode.S) {
			return r
		}
		return -1
	}, text)
}

// variants returns short texts of few words, cases and symbols in any order, so that many are copies of each kind, and
// some have no word.
func variants(r *rand.Rand, n int) (texts []string) {
	pieces := []string{"a", "A", "b", "B", "é", "2", "+", "-", "+", "中"}
	for len(texts) < n {
		var text []string
		for range r.IntN(4) {
			text = append(text, pieces[r.IntN(len(pieces))])
		}
		texts = append(texts, strings.Join(text, []string{" ", "  "}[r.IntN(8)/7]))
	}
	return texts
}

// keys returns what copies have in common, "" for texts without a word.
var keys = map[string]func(text string) string{
	"bytes":  func(text string) string { return text },
	"tokens": func(text string) string { return fmt.Sprintf("%q", words(normalised(text))) },
	"set":    func(text string) string { return fmt.Sprintf("%q", slices.Sorted(maps.Keys(wordShingles(text, 1)))) },
}

// For each kind of copies and each policy, documents are removed for the same kept ones, and for the same reason, as by
// a map keyed by what copies have in common.
func TestCopiesAgainstMap(t *testing.T) {
	for _, way := range []struct{ flags, same string }{
		{"--method=exact", "bytes"},
		{"--method=exact --same=bytes", "bytes"},
		{"--method=exact --same=tokens", "tokens"},
		{"--method=exact --same=set", "set"},
		{"--method=minhash --threshold=1", "set"},
	} {
		for seed, policy := range []string{"--keep=first", "--keep=longest", "--keep=longest --cluster=components --pair-budget=1"} {
			copiesAgainstMap(t, strings.Fields(way.flags+" --shingle=word:1 "+policy), way.same, uint64(seed))
		}
	}
}

func copiesAgainstMap(t *testing.T, flags []string, same string, seed uint64) {
	texts := variants(rand.New(rand.NewPCG(seed, 2)), 300)
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, texts)
	r := run(t, ask(t, append(flags, path)...))

	byKey := map[string][]int{}
	notCompared := int64(0)
	for i, text := range texts {
		if same == "bytes" && text == "" || same != "bytes" && len(words(normalised(text))) == 0 {
			notCompared++
			continue
		}
		key := keys[same](text)
		byKey[key] = append(byKey[key], i)
	}
	want := map[string][2]string{}
	counts := map[string]int64{}
	symbols, pairs := int64(0), 0
	for _, group := range byKey {
		pairs += len(group) - 1
		kept := group[0]
		if slices.Contains(flags, "--keep=longest") {
			kept = slices.MaxFunc(group, func(i, j int) int { return len(texts[i]) - len(texts[j]) }) // the first of equals
		}
		for _, i := range group {
			if i == kept {
				continue
			}
			reason := reasonOfCopies(texts[i], texts[kept])
			want[fmt.Sprint(i)] = [2]string{fmt.Sprint(kept), reason}
			counts[reason]++
			if symbolsOf(texts[i]) != symbolsOf(texts[kept]) {
				symbols++
			}
		}
	}
	got := outcomeOf(t, r)
	if diff := cmp.Diff(want, got.Removed); diff != "" {
		t.Errorf("%v: removed (-want +got)\n%s", flags, diff)
	}
	if len(got.Pairs) != pairs {
		t.Errorf("%v: %d pairs, want %d", flags, len(got.Pairs), pairs)
	}
	for pair, n := range got.Pairs {
		if size := len(wordShingles(texts[index(t, pair[0])], 1)); n != [3]int32{int32(size), int32(size), int32(size)} {
			t.Errorf("%v: the pair %v has sizes %v, want %d", flags, pair, n, size)
		}
	}
	for _, row := range rows[records.Removed](t, r, output.Removed) {
		differs := symbolsOf(texts[index(t, row.ID)]) != symbolsOf(texts[index(t, row.KeptID)])
		if row.Differs == nil || slices.Contains(row.Differs, records.DiffersSymbols) != differs {
			t.Errorf("%v: %s is removed for %s, and differs in %v", flags, row.ID, row.KeptID, row.Differs)
		}
	}
	n := r.Run.Counts
	gotCounts := map[string]int64{}
	for reason, documents := range map[string]int64{
		records.ReasonIdentical: n.Identical, records.ReasonEqual: n.Equal, records.ReasonSameSet: n.SameSet, records.ReasonNear: n.Near,
	} {
		if documents > 0 {
			gotCounts[reason] = documents
		}
	}
	if diff := cmp.Diff(counts, gotCounts); diff != "" || n.Copies != n.Removed || n.Symbols != symbols || n.NotCompared != notCompared {
		t.Errorf("%v: counts %+v, want %d that differ in symbols and %d not compared:\n%s", flags, n, symbols, notCompared, diff)
	}
	if same := r.Run.Parameters.Same; (same != "") != slices.Contains(flags, "--method=exact") {
		t.Errorf("%v: run.json has same = %q", flags, same)
	}
	if same != "bytes" && (counts[records.ReasonEqual] == 0 || symbols == 0) || same == "set" && counts[records.ReasonSameSet] == 0 {
		t.Errorf("%v: %v removed, %d differ in symbols: this shows little", flags, counts, symbols)
	}
}

func index(t *testing.T, id string) (i int) {
	t.Helper()
	if _, err := fmt.Sscan(id, &i); err != nil {
		t.Fatal(err)
	}
	return i
}

// Texts that differ only in symbols, which matter to a programmer, a lawyer or a chemist, are copies in the search for
// near-duplicates, which rows and counts say, but not by --method exact.
func TestSymbolsTellApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, []string{
		"return a + b", "return a - b", "C++", "C#", "GPL-2.0", "GPL-2.0+", "H2O", "H2O2", "Na+", "Na-",
	})
	exact := run(t, ask(t, path, "--method=exact"))
	if n := exact.Run.Counts; n.Removed != 0 || n.Pairs != 0 || n.Corpus != 10 || n.NotCompared != 0 {
		t.Errorf("exact: counts %+v, want all in the corpus", n)
	}
	for _, flags := range [][]string{{}, {"--method=exact", "--same=tokens"}} {
		r := run(t, ask(t, append(flags, path)...))
		want := map[string][2]string{
			"1": {"0", records.ReasonEqual}, "3": {"2", records.ReasonEqual}, "5": {"4", records.ReasonEqual}, "9": {"8", records.ReasonEqual},
		}
		if diff := cmp.Diff(want, outcomeOf(t, r).Removed); diff != "" {
			t.Errorf("%v: removed (-want +got)\n%s", flags, diff)
		}
		if n := r.Run.Counts; n.Equal != 4 || n.Symbols != 4 {
			t.Errorf("%v: counts %+v, want 4 equal that differ in symbols", flags, n)
		}
		if c := r.Run.Chosen; c.Copies != 4 || c.Symbols != 4 {
			t.Errorf("%v: the plan has %d copies and %d that differ in symbols, want 4 and 4", flags, c.Copies, c.Symbols)
		}
	}
}

// --method exact sends and joins no set, however many and large the copies are.
func TestExactShipsNoSet(t *testing.T) {
	text := strings.Join(strings.Fields(fmt.Sprint(rand.New(rand.NewPCG(1, 1)).Perm(500))), " ")
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, slices.Repeat([]string{text, text + "!"}, 1500))
	config := ask(t, path, "--method=exact", "--pair-budget=1")
	config.CellBytes = 1000
	r := run(t, config)
	if n := r.Run.Counts; n.Removed != 2998 || n.Identical != 2998 || n.Clusters != 2 || n.PairsPartial != 0 {
		t.Errorf("counts %+v, want 2998 identical in 2 clusters", n)
	}
	for step := range r.Run.Steps {
		if namespace, _, _ := strings.Cut(step, "/"); slices.Contains([]string{"verify", "cells", "crowds"}, namespace) {
			t.Errorf("a step counts %s", step)
		}
	}
	if n := r.Run.Steps["sets/documents"]; n != 3000 || r.Run.Steps["shuffled/sets"] != 0 {
		t.Errorf("steps %v, want 3000 documents read again and no set", r.Run.Steps)
	}
	for _, row := range rows[records.Clustered](t, r, output.Clusters) {
		if row.Size != 496 || row.Members != 1500 {
			t.Fatalf("row %+v, want 496 shingles and 1500 members", row)
		}
	}
}

// An output with an older format of tables is not read, but recognised as one that --overwrite replaces.
func TestOlderTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, []string{"one", "two", "one"})
	config := ask(t, path)
	r := run(t, config)
	file := r.Path(output.RunFile)
	older := strings.Replace(read(t, file), records.Tables, "neardup-tables-1", 1)
	if err := os.WriteFile(file, []byte(older), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Open(t.Context(), config.Output); err == nil || !strings.Contains(err.Error(), "run dedup again with --overwrite") {
		t.Errorf("opened: error %v", err)
	}
	if _, err := runJob(t.Context(), config, launch(config)); job.Status(err) != 3 {
		t.Errorf("without --overwrite: error %v, want status 3", err)
	}
	config.Overwrite = true
	if got := run(t, config).Run.Counts; got != r.Run.Counts {
		t.Errorf("replaced: counts %+v, want %+v", got, r.Run.Counts)
	}
}
