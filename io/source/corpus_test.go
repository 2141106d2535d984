package source_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// TestCorpusOfGroups reads and copies a format with row groups along with a format of bytes, as a job does: the corpus
// has everything but the unreadable records, in the format of each source.
func TestCorpusOfGroups(t *testing.T) {
	root, folder := t.TempDir(), storagetest.RunFolder(t)
	var groups [][]readertest.Row
	var want strings.Builder
	for g := range 5 {
		var rows []readertest.Row
		for i := range 4 {
			row := readertest.Row{ID: fmt.Sprintf("%d-%d", g, i), Text: "a text", List: i == g}
			rows = append(rows, row)
			if !row.List {
				want.WriteString(row.String())
			}
		}
		groups = append(groups, rows)
	}
	var stored bytes.Buffer
	if err := readertest.WriteGroups(&stored, groups...); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.groups": stored.String(), "b.jsonl": "{\"text\":1}\nbroken\n{\"text\":2}\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := source.Options{Fields: codec.Fields{Text: []string{"text"}, ID: "id"}, MaxDocument: 1000, SplitBytes: 100}
	listing, err := source.Plan(t.Context(), []string{root + "/a.groups", root + "/b.jsonl"}, o)
	if err != nil {
		t.Fatal(err)
	}
	shared, ledger := filepath.Join(storagetest.RunFolder(t), "inputs"), filepath.Join(folder, "ledger")
	if err := listing.Inputs.Share(t.Context(), shared); err != nil {
		t.Fatal(err)
	}

	p, s := beam.NewPipelineWithRoot()
	docs := source.Read(s, source.Params{Inputs: shared, Options: o, Workers: 2, Spread: true})
	written := sink.Corpus(s, 1, sink.Params{Inputs: shared, Output: output.Folder{Dir: folder}}, o, blocks.Range{}, docs.Dropped)
	sink.Ledger(s, ledger, docs.Facts, written)
	if _, _, err := beamtest.Launch("local", local.Options{Workers: 2})(t.Context(), p, storagetest.RunFolder(t)); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{"a.groups": want.String(), "b.jsonl": "{\"text\":1}\n{\"text\":2}\n"} {
		content, err := os.ReadFile(filepath.Join(folder, "corpus", name))
		if err != nil {
			t.Fatal(err)
		}
		got := string(content)
		if name == "a.groups" {
			got = readertest.ReadGroups(content)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	f, err := os.Open(ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	facts, err := sink.ReadLedger(f)
	if err != nil {
		t.Fatal(err)
	}
	read, kept := int64(0), int64(0)
	for _, fact := range facts {
		switch fact.Kind {
		case blocks.FactRead:
			read += fact.Counts[blocks.CountRecords]
		case blocks.FactCorpus:
			kept += fact.Counts[blocks.CountRows]
		}
	}
	if read != 23 || kept != 18 {
		t.Errorf("%d records are read and %d kept, want 23 and 18", read, kept)
	}
}
