package dedup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// tampered runs the job and changes its facts before the launcher sees them.
func tampered(t *testing.T, config dedup.Config, change func(*blocks.Fact)) error {
	t.Helper()
	start := launch(config)
	_, err := runJob(context.Background(), config, func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		result, stages, err := start(ctx, p, temp)
		if err != nil {
			return result, stages, err
		}
		path := filepath.Join(temp, "ledger.jsonl")
		var changed bytes.Buffer
		for line := range strings.Lines(read(t, path)) {
			var fact blocks.Fact
			if err := json.Unmarshal([]byte(line), &fact); err != nil {
				t.Fatal(err)
			}
			change(&fact)
			data, err := json.Marshal(fact)
			if err != nil {
				t.Fatal(err)
			}
			changed.Write(append(data, '\n'))
		}
		return result, stages, os.WriteFile(path, changed.Bytes(), 0o666)
	})
	return err
}

// A run that loses a record does not look finished, whichever of the counts reveals it.
func TestLostRecordsEndTheRun(t *testing.T) {
	config := ask(t, "../../testdata/tldr")
	if err := tampered(t, config, func(*blocks.Fact) {}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*blocks.Fact){
		"a corpus file is a record short": func(f *blocks.Fact) {
			if f.Kind == blocks.FactCorpus && f.Name == "corpus/osx.jsonl" {
				f.Counts[blocks.CountRows]--
			}
		},
		"removed/ is a row short": func(f *blocks.Fact) {
			if output.PartOf(f.Name) == output.Removed && f.Counts[blocks.CountRows] > 0 {
				f.Counts[blocks.CountRows]--
			}
		},
		"documents/ is a row short": func(f *blocks.Fact) {
			if output.PartOf(f.Name) == output.Documents && f.Counts[blocks.CountRows] > 0 {
				f.Counts[blocks.CountRows]--
			}
		},
		"a split read one more": func(f *blocks.Fact) {
			if f.Kind == blocks.FactRead && f.Name == "0" {
				f.Counts[blocks.CountRecords]++
			}
		},
	} {
		config := ask(t, "../../testdata/tldr", allParts)
		if err := tampered(t, config, change); err == nil || !strings.Contains(err.Error(), "lost records") {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(config.Output, output.SuccessFile)); err == nil {
			t.Errorf("%s: the output looks finished", name)
		}
	}
}

// The example shows the texts that were compared: from the columns, the format and the file that the run read.
func TestExampleHasTheTextsThatWereCompared(t *testing.T) {
	folder := t.TempDir()
	words := "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
	for name, content := range map[string]string{
		"a.data": `{"id": "x", "text": "decoy x", "head": "alpha", "body": "` + words + `"}` + "\n",
		"b.data": `{"id": "y", "text": "decoy y", "head": "alpha", "body": "` + words + ` more"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, ask(t, folder, "--format=jsonl", "--text=head", "--text=body"))
	example, err := dedup.Example(t.Context(), r, dedup.Texts(r))
	if err != nil || example == nil {
		t.Fatalf("%v, %v", example, err)
	}
	if a, b := "alpha "+words, "alpha "+words+" more"; example.TextA != a || example.TextB != b {
		t.Errorf("the texts are %q and %q, want %q and %q", example.TextA, example.TextB, a, b)
	}
}

// A Job is a Config that New has checked.
func TestNewRefusesWhatCannotBeMeant(t *testing.T) {
	for flags, want := range map[string]string{
		"--method=exact --bands=5 --rows=2":     "--bands 5: --method exact uses no bands",
		"--method=complete --bands=5 --rows=2":  "--bands 5: --method complete uses no bands",
		"--method=complete --signature=salted":  "--signature salted: --method complete makes no signatures",
		"--method=complete --recall=.9":         "--recall 0.9: --method complete finds every near pair",
		"--method=complete --measure-recall=10": "--measure-recall 10: --method complete finds every near pair",
		"--method=complete --same=set":          "--same set: only --method exact takes this flag",
		"--recall=0":                            "--recall 0", "--bands=3": "--bands and --rows go together", "--pair-budget=0": "--pair-budget 0",
		"--measure-recall=-1": "--measure-recall -1", "--workers=-1": "--workers -1", "--job-server=x:1": "add --runner flink",
		"--memory=1MB": "at least 256MB", "--limit=-1": "--limit -1", "--max-doc-bytes=0": "--max-doc-bytes 0", "--max-window=1MB": "--max-window 1MB: must be between", "--min-words=-1": "--min-words -1",
	} {
		_, err := dedup.New(t.Context(), ask(t, append(strings.Fields(flags), "in.jsonl")...))
		if usage, ok := err.(*job.UsageError); !ok || !strings.Contains(usage.Error(), want) { //nolint:errorlint // the error itself, not one it wraps
			t.Errorf("%s: error %v, want one that says %s", flags, err, want)
		}
	}
}
