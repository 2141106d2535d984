package passages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/passages"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// leastItem is the minimum number of words of an item that is searched for.
const leastItem = 8

// benchmark makes items of the first file of a random corpus.
func benchmark(t *testing.T, random *rand.Rand, documents int) (dir, bench string, docs, items []document) {
	t.Helper()
	dir, all := corpus(t, random, documents)
	bench = filepath.Join(t.TempDir(), "bench.jsonl")
	if err := os.Rename(filepath.Join(dir, "0.jsonl"), bench); err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.source == "0.jsonl" {
			d.source = bench
			items = append(items, d)
		} else {
			docs = append(docs, d)
		}
	}
	return dir, bench, docs, items
}

// columnsOf returns where the words of each column begin and end.
func columnsOf(d *document) [2][2]int {
	border := slices.IndexFunc(d.words, func(w string) bool { return strings.HasPrefix(w, "border") })
	return [2][2]int{{0, border}, {border + 1, len(d.words)}}
}

// looked reports whether a column is searched for.
func looked(column [2]int, length int) bool { return column[1]-column[0] >= min(length, leastItem) }

// itemOf returns the row of a document and an item by definition, and the places of the item's words, if the document
// has any.
func itemOf(d, item *document, length int) (row records.Contaminated, in []records.Passage) {
	row = records.Contaminated{
		ID: d.id, Source: d.source, Position: d.position, ItemID: item.id, ItemSource: item.source, ItemPosition: item.position,
		ItemWords: int64(item.size()), Start: 1 << 30, ItemStart: 1 << 30,
	}
	covered := make([]bool, len(item.words))
	for _, column := range columnsOf(item) {
		if !looked(column, length) {
			continue
		}
		for at := column[0]; at < column[1]; at++ {
			for i := range d.words {
				if i > 0 && at > column[0] && d.words[i-1] == item.words[at-1] {
					continue
				}
				n := 0
				for i+n < len(d.words) && at+n < column[1] && d.words[i+n] == item.words[at+n] {
					n++
				}
				if n < min(length, column[1]-column[0]) {
					continue
				}
				for k := range n {
					covered[at+k] = true
				}
				start, end := int64(d.spans[i].Start), int64(d.spans[i+n-1].End)
				row.Start, row.End = min(row.Start, start), max(row.End, end)
				row.ItemStart, row.ItemEnd = min(row.ItemStart, int64(item.spans[at].Start)), max(row.ItemEnd, int64(item.spans[at+n-1].End))
				in = append(in, records.Passage{ID: d.id, Start: start, End: end})
			}
		}
	}
	for _, c := range covered {
		if c {
			row.Words++
		}
	}
	row.Share = float64(row.Words) / float64(row.ItemWords)
	return row, in
}

// Rows are those of the definition, which compares words: for items with several columns, some too short, with other
// spellings. A corpus without these documents has all others, and a cut one the words that are in no run.
func TestItemsAreThoseOfTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	found := 0
	for round := range 60 {
		dir, bench, docs, items := benchmark(t, random, 30)
		length, share := 1+random.IntN(12), []float64{.2, .5, 1}[round%3]
		var want []records.Contaminated
		runs, short := map[string][]records.Passage{}, int64(0)
		for _, item := range items {
			if columns := columnsOf(&item); !looked(columns[0], length) && !looked(columns[1], length) {
				short++
			}
		}
		for _, d := range docs {
			for _, item := range items {
				if row, in := itemOf(&d, &item, length); row.Words > 0 && float64(row.Words) >= share*float64(row.ItemWords) {
					want = append(want, row)
					runs[d.id] = append(runs[d.id], in...)
				}
			}
		}
		flags := []string{dir, "--text=title", "--text=body", "--against=" + bench, fmt.Sprint("--length=", length), fmt.Sprint("--item-share=", share)}
		config := ask(t, append(flags, "--drop-contaminated")...)
		if round%2 == 0 {
			config.SplitBytes, config.Workers = 300, 4
		}
		f := run(t, config)
		got := rows[records.Contaminated](t, f, output.Contaminated)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("round %d, L = %d, share %v: %s", round, length, share, diff)
		}
		found += len(got)
		if of := f.Run.Passages.Items; of.Items != int64(len(items)) || of.Short != short || of.Pairs != int64(len(got)) ||
			of.Dropped != int64(len(runs)) || f.Run.Passages.Documents != int64(len(runs)) {
			t.Fatalf("items %+v, %d documents; want %d items, %d short, %d pairs of %d documents", of, f.Run.Passages.Documents, len(items), short, len(got), len(runs))
		}
		var kept []string
		for _, d := range docs {
			if runs[d.id] == nil {
				kept = append(kept, d.id)
			}
		}
		if got := idsOf(t, corpusLines(t, f)); !slices.Equal(got, kept) {
			t.Fatalf("%q are left, want %q", got, kept)
		}
		cut := run(t, ask(t, append(flags, "--cut=words")...))
		for i, line := range corpusLines(t, cut) {
			var record struct{ Title, Body string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			want := left(&docs[i], runs[docs[i].id])
			for c, text := range []string{record.Title, record.Body} {
				var words document
				words.add(text, 0)
				if !slices.Equal(words.words, want[c]) {
					t.Fatalf("round %d: %q has left %q, want %q", round, docs[i].columns[c], words.words, want[c])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d rows", found)
	}
}

func idsOf(t *testing.T, lines []string) (ids []string) {
	t.Helper()
	for _, line := range lines {
		var record struct{ ID string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, record.ID)
	}
	return ids
}

// The bytes do not depend on the runner, the workers, the memory and the splits.
func TestSameBytesOfItems(t *testing.T) {
	flags := []string{"../../testdata/tldr/osx.jsonl", "--against=../../testdata/tldr/linux.jsonl", "--length=10", "--item-share=.3", "--drop-contaminated"}
	first := run(t, ask(t, flags...))
	if first.Run.Passages.Items.Dropped == 0 {
		t.Fatal("no document contains an item")
	}
	want := files(t, first)
	for name, change := range map[string]func(*passages.Config){
		"direct": func(c *passages.Config) { c.Runner, c.SplitBytes = job.Direct, 50_001 }, "prism": func(c *passages.Config) { c.Runner = job.Prism },
		"together": func(c *passages.Config) { c.Runner, c.SplitBytes = job.Flink, 50_001 },
		"1 worker": func(c *passages.Config) { c.Workers = 1 }, "8 workers": func(c *passages.Config) { c.Workers, c.Memory, c.SplitBytes = 8, 256_000_000, 50_001 },
	} {
		config := ask(t, flags...)
		change(&config)
		if diff := cmp.Diff(want, files(t, run(t, config))); diff != "" {
			t.Errorf("%s: the files differ", name)
		}
	}
}

// A document has the least share of an item's words if it has exactly that share: .55 of 100 words are 55, although
// their product is larger in floating point.
func TestItemShareIsReached(t *testing.T) {
	words := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("w%d ", i)
		}
		return text
	}
	dir := t.TempDir()
	in, bench := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "bench.jsonl")
	for file, text := range map[string]string{in: words(55), bench: words(100)} {
		if err := os.WriteFile(file, fmt.Appendf(nil, "{\"text\":%q}\n", text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for share, want := range map[string]int64{"0.55": 1, "0.551": 0} {
		f := run(t, ask(t, in, "--against="+bench, "--item-share="+share))
		if got := f.Run.Passages.Items.Pairs; got != want {
			t.Errorf("share %s: %d pairs, want %d", share, got, want)
		}
	}
}

// Items that are too short, or too many for the memory, end a run with advice.
func TestItemsThatCannotBeLookedFor(t *testing.T) {
	for name, bench := range map[string]struct{ text, says string }{
		"short": {"seven words are too few for it", "every item has fewer than 8 words in every column"},
		"large": {strings.Repeat("many words ", 700_000), "raise --memory"},
	} {
		file := filepath.Join(t.TempDir(), "bench.jsonl")
		if err := os.WriteFile(file, fmt.Appendf(nil, "{\"text\":%q}\n", bench.text), 0o666); err != nil {
			t.Fatal(err)
		}
		config := ask(t, "../../testdata/tldr/osx.jsonl", "--against="+file)
		config.Memory = 256_000_000
		task, err := passages.New(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = task.Run(t.Context(), beamtest.Launch("local", local.Options{}))
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), bench.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestItemFlags(t *testing.T) {
	in := "../../testdata/tldr/osx.jsonl"
	for name, args := range map[string][]string{
		"items without --against":   {in, "--drop-contaminated"},
		"a share without --against": {in, "--item-share=.4"},
		"a share of nothing":        {in, "--against=" + in, "--item-share=0"},
		"cut and dropped":           {in, "--against=" + in, "--cut=words", "--drop-contaminated"},
	} {
		_, err := passages.New(ask(t, args...))
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
