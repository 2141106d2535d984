package dedup_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// decidedAgain runs from a finished output.
func decidedAgain(t *testing.T, from *output.Finished, flags ...string) (*output.Finished, error) {
	t.Helper()
	config := ask(t, append(flags, "--from="+from.Dir)...)
	for _, flag := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		config.Given = append(config.Given, strings.ReplaceAll(name, "-", "_"))
	}
	if _, err := runJob(t.Context(), config, launch(config)); err != nil {
		return nil, err
	}
	return output.Open(t.Context(), config.Output)
}

// finished runs, and opens the output.
func finished(t *testing.T, flags ...string) *output.Finished {
	t.Helper()
	config := ask(t, flags...)
	if _, err := runJob(t.Context(), config, launch(config)); err != nil {
		t.Fatal(err)
	}
	f, err := output.Open(t.Context(), config.Output)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Deciding again gives the same bytes as a whole run with the same bands.
func TestDecideAgain(t *testing.T) {
	mixed := t.TempDir()
	for name, text := range map[string]string{
		"a.jsonl": read(t, "../../testdata/tldr/osx.jsonl"),
		"b.jsonl": `{"id": 7}` + "\n" + `{"text": "..."}` + "\n" + `not JSON` + "\n" + read(t, "../../testdata/tldr/linux.jsonl"),
		"c.jsonl": read(t, "../../testdata/tldr/osx.jsonl")[:100_000],
	} {
		if err := os.WriteFile(filepath.Join(mixed, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	generated := generatedFile(t, corpusgen.Spec{Documents: 3000, Seed: 5, Copies: .3, Near: .4, Edits: .05})
	for _, c := range []struct {
		input, first string
		again        []string
	}{
		{"../../testdata/tldr", "--threshold=.5 --bands=30 --rows=3", []string{
			"--threshold=.5", "--threshold=.51", "--threshold=.6", "--threshold=.7", "--threshold=.75", "--threshold=.8",
			"--threshold=.9", "--threshold=.95", "--threshold=1", "--cluster=components",
			"--threshold=.6 --cluster=components --keep=prefer:windows*,linux.jsonl", "--threshold=.7 --protect=osx.jsonl", "--write=removed",
		}},
		{mixed, "--threshold=.6 --bands=25 --rows=3 --max-rejected=2", []string{
			"--threshold=.8", "--threshold=.8 --drop-not-compared", "--keep=prefer:b*", "--protect=b.jsonl --protect=c.jsonl",
		}},
		{generated, "--threshold=.5 --bands=25 --rows=3 --cluster=components", []string{"--threshold=.7 --cluster=star", "--threshold=.9"}},
		{"../../testdata/tldr", "--threshold=.4 --compare=cosine --weights=tf --method=complete", []string{"--threshold=.6", "--threshold=.81"}},
		{"../../testdata/tldr", "--threshold=.4 --compare=cosine --weights=tf-idf --method=simhash --bits=128", []string{"--threshold=.5"}},
		{"../../testdata/tldr", "--threshold=.7 --method=simhash --bits=64 --pieces=8", []string{"--threshold=.8", "--threshold=.796875"}},
		{"../../testdata/tldr", "--threshold=.6 --method=complete", []string{"--threshold=.85"}},
		{generated, "--method=exact --same=tokens", []string{"--keep=prefer:none*", "--cluster=components"}},
	} {
		first := finished(t, append(strings.Fields(c.first), c.input)...)
		if first.Run.Counts.Removed == 0 {
			t.Fatalf("%s %s: nothing is removed", c.input, c.first)
		}
		for _, flags := range c.again {
			name := fmt.Sprintf("%s %s, then %s", c.input, c.first, flags)
			whole := finished(t, append(strings.Fields(c.first+" "+flags), c.input)...)
			again, err := decidedAgain(t, first, strings.Fields(flags)...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			sameButDiffers(t, name, whole, again)
			want, got := whole.Run.Counts, again.Run.Counts
			want.Symbols, want.Numbers = 0, 0 // no table has these
			if want.ComparedPairs, want.AllPairs = got.ComparedPairs, got.AllPairs; got != want {
				t.Errorf("%s: counts %+v, want %+v", name, got, want)
			}
			if !maps.Equal(again.Run.NotCompared, whole.Run.NotCompared) {
				t.Errorf("%s: not compared %v, want %v", name, again.Run.NotCompared, whole.Run.NotCompared)
			}
			if again.Run.From == nil || again.Run.From.Job != first.Run.Job {
				t.Errorf("%s: from %v", name, again.Run.From)
			}
		}
	}
}

// sameButDiffers compares an output with one decided again, which does not know in what removed documents differ.
func sameButDiffers(t *testing.T, name string, whole, again *output.Finished) {
	t.Helper()
	unknown := rows[records.Removed](t, whole, output.Removed)
	for i := range unknown {
		unknown[i].Differs = nil
	}
	if diff := cmp.Diff(unknown, rows[records.Removed](t, again, output.Removed)); diff != "" {
		t.Errorf("%s: removed (-want +got)\n%s", name, diff)
	}
	others := func(f *output.Finished) map[string]string {
		files := promised(t, f)
		maps.DeleteFunc(files, func(path, _ string) bool {
			return path == "manifest.json" || output.PartOf(path) == output.Removed
		})
		return files
	}
	sameOutput(t, name, others(whole), others(again))
}

// This holds on every runner, and with little memory.
func TestDecideAgainOnRunners(t *testing.T) {
	first := run(t, ask(t, "../../testdata/tldr", "--threshold=.5"))
	var want map[string]string
	for _, flags := range []string{"--workers=1", "--workers=8 --memory=256MB", "--runner=direct", "--runner=prism"} {
		again, err := decidedAgain(t, first, append(strings.Fields(flags), "--threshold=.8")...)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = promised(t, again)
		}
		sameOutput(t, flags, want, promised(t, again))
	}
}

// Settings that need more than the tables have are refused by name.
func TestDecideAgainRefuses(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(input, []byte(read(t, "../../testdata/tldr/osx.jsonl")), 0o666); err != nil {
		t.Fatal(err)
	}
	whole := run(t, ask(t, input, "--threshold=.6"))
	crowd := run(t, ask(t, input, "--threshold=.2", "--pair-budget=1", "--method=complete"))
	copies := finished(t, input, "--method=exact", "--threshold=.6")
	lean := finished(t, input, "--write=pairs,removed,corpus")
	beside := finished(t, input, "--against=../../testdata/tldr/linux.jsonl")
	for _, c := range []struct {
		from        *output.Finished
		flags, want string
	}{
		{whole, "--threshold=.5", "it has only pairs with a similarity of at least 0.6"},
		{whole, "--shingle=char:9 --seed=2 --threshold=.7", "cannot change --seed or --shingle; run dedup on the input instead"},
		{whole, "../../testdata/tldr", ": cannot change the input; run dedup"},
		{whole, "--keep=longest", "--keep longest ranks documents by"},
		{whole, "--keep=foo", "--keep foo: must be first"},
		{whole, "--max-removed=10%", "drop --max-removed, or run dedup on the input instead"},
		{whole, "--dry-run", "run dedup without --dry-run"},
		{whole, "--resume=always", "drop --resume always"},
		{crowd, "--threshold=.7", "it may list only some pairs of groups that exceed --pair-budget"},
		{beside, "--threshold=.9", "made with --against"},
		{lean, "--threshold=.9", "it lacks the clusters table"},
		{copies, "--threshold=.5", "it has only copies"},
	} {
		_, err := decidedAgain(t, c.from, strings.Fields(c.flags)...)
		if job.Status(err) != 2 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.flags, err, c.want)
		}
	}
	if err := os.WriteFile(input, []byte(strings.Replace(read(t, input), "e", "o", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := decidedAgain(t, whole, "--threshold=.7"); job.Status(err) != 2 || !strings.Contains(err.Error(), "the input has changed since the run") {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := decidedAgain(t, whole, "--threshold=.7", "--write=removed"); err != nil {
		t.Errorf("tables alone: %v", err)
	}
}

// In another folder than that of the run, a relative input is not found, and the error says where to go.
func TestDecideAgainElsewhere(t *testing.T) {
	there := t.TempDir()
	if err := os.WriteFile(filepath.Join(there, "in.jsonl"), []byte(read(t, "../../testdata/tldr/osx.jsonl")), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(there)
	first := run(t, ask(t, "in.jsonl"))
	t.Chdir(t.TempDir())
	const want = "that run found its input below its working folder; run this command there"
	if _, err := decidedAgain(t, first, "--threshold=.9"); job.Status(err) != 2 || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A copy removed for another copy has a reason only if the tables say what they have in common.
func TestDecideAgainAmongCopies(t *testing.T) {
	folder := t.TempDir()
	const words = "one two three four five six seven eight nine ten"
	for name, text := range map[string]string{
		"a": words, "b": strings.ToUpper(words), "c": words + ".", // each equal to the first, but not to each other
	} {
		if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), fmt.Appendf(nil, "{\"text\":%q}\n", text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	first := run(t, ask(t, folder))
	for _, runner := range []string{"local", "prism", "direct"} {
		_, err := decidedAgain(t, first, "--keep=prefer:b*", "--runner="+runner)
		if job.Status(err) != 2 || !strings.HasPrefix(err.Error(), "cannot keep b.jsonl@0 instead of a.jsonl@0:") {
			t.Errorf("%s: %v", runner, err)
		}
	}
}

// A cosine that rounding may have put on the other side of a higher threshold is refused; at the threshold of the tables,
// every pair reaches it.
func TestDecideAgainAtTheThreshold(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(input, []byte(`{"text":"one two three four"}`+"\n"+`{"text":"one two three five"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	settings := []string{input, "--method=complete", "--compare=cosine", "--shingle=word:1"}
	lower := finished(t, append(settings, "--threshold=.5")...)
	_, err := decidedAgain(t, lower, "--threshold=.75")
	if job.Status(err) != 2 || !strings.Contains(err.Error(), "too close to 0.75; use another threshold") {
		t.Error(err)
	}
	again, err := decidedAgain(t, finished(t, append(settings, "--threshold=.75")...), "--keep=none")
	if err != nil || again.Run.Counts.Removed != 2 { // both, since they are similar
		t.Errorf("at the threshold of the tables: %v", err)
	}
}

// TestChangedTables: an output with a table that is not what its run wrote is not decided again.
func TestChangedTables(t *testing.T) {
	for _, table := range []output.Part{output.Pairs, output.Clusters, output.Rejected} {
		for name, change := range map[string]func(string) error{
			"missing": os.Remove,
			"another": func(path string) error { return os.WriteFile(path, []byte("PAR1"), 0o666) },
		} {
			f := finished(t, "../../testdata/tldr/osx.jsonl", "--write=pairs,clusters,removed,rejected")
			for _, file := range f.Manifest.Files {
				if output.PartOf(file.Path) == table {
					if err := change(f.Path(file.Path)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := decidedAgain(t, f, "--threshold=.9"); job.Status(err) != 2 || !strings.Contains(err.Error(), string(table)+"/") {
				t.Errorf("%s, %s: error %v", table, name, err)
			}
		}
	}
}
