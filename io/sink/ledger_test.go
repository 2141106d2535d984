package sink

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func lines(t *testing.T, facts ...blocks.Fact) (lines [][]byte) {
	t.Helper()
	for _, fact := range facts {
		line, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestLedger(t *testing.T) {
	facts := []blocks.Fact{ // by kind and name
		{Kind: blocks.FactCorpus, Name: "corpus/a\n.jsonl", Bytes: 7, SHA256: "ab", Counts: map[string]int64{"rows": 1}},
		{Kind: blocks.FactRead, Name: "9", Bytes: 5, Counts: map[string]int64{"records": 1, "unreadable": 1}, Note: "later in the input"},
		{Kind: blocks.FactRead, Name: "1", Bytes: 7, Counts: map[string]int64{"records": 2}},
		{Kind: blocks.FactRead, Name: "8", Bytes: 9, Counts: map[string]int64{"records": 4, "unreadable": 1}, Note: "the first"},
		{Kind: blocks.FactTable, Name: "pairs/part-00000-of-00001.parquet"},
	}
	path := filepath.Join(storagetest.RunFolder(t), "ledger")
	f := &ledgerFn{Path: path}
	shuffled := lines(t, facts[2], facts[1], facts[4], facts[3], facts[0])
	if err := f.ProcessElement(t.Context(), 0, iterate(shuffled...)); err != nil {
		t.Fatal(err)
	}
	ledger, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	read := blocks.Fact{Kind: blocks.FactRead, Name: "8", Bytes: 21, Counts: map[string]int64{"records": 7, "unreadable": 2}, Note: "the first"}
	want := []blocks.Fact{facts[0], read, facts[4]}
	if got, err := ReadLedger(ledger); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := ReadLedger(strings.NewReader(`{"kind":"read"}` + "\n" + `{"kind":`)); err == nil {
		t.Error("a ledger that is cut short: no error")
	}
	if got, err := ReadLedger(strings.NewReader("")); err != nil || len(got) != 0 {
		t.Errorf("an empty ledger: %v, %v", got, err)
	}
}

func TestFailOnUnreadable(t *testing.T) {
	facts := func(total, unreadable int64) []blocks.Fact {
		return []blocks.Fact{
			{Kind: blocks.FactRead, Name: "0", Counts: map[string]int64{"records": total - 1, "unreadable": unreadable}},
			{Kind: blocks.FactRead, Name: "1", Counts: map[string]int64{"records": 1}},
			// The table counts the same records once more.
			{Kind: blocks.FactTable, Name: "rejected", Counts: map[string]int64{"rows": 99, "unreadable": unreadable}},
		}
	}
	root := t.TempDir()
	for _, name := range []string{"a.jsonl", "b.jsonl"} { // one split each
		if err := os.WriteFile(filepath.Join(root, name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listing, err := source.Plan(t.Context(), []string{root}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inputs := share(t, listing.Inputs)
	for _, tt := range []struct {
		limit               Limit
		records, unreadable int64
		passes              bool
	}{
		{Limit{}, 10, 0, true},
		{Limit{}, 10, 1, false},
		{Limit{Records: 1}, 10, 1, true},
		{Limit{Records: 1}, 10, 2, false},
		{Limit{Percent: 10}, 10, 1, true},
		{Limit{Percent: 10}, 10, 2, false},
		{Limit{Percent: 10}, 9, 1, false},
		{Limit{Percent: 100}, 10, 10, true},
	} {
		path := filepath.Join(storagetest.RunFolder(t), "exceeded")
		f := &failOnUnreadableFn{Inputs: inputs, Path: path, Limit: tt.limit}
		err := f.ProcessElement(t.Context(), 0, iterate(lines(t, facts(tt.records, tt.unreadable)...)...))
		data, readErr := os.ReadFile(path)
		if tt.passes {
			if err != nil || readErr == nil {
				t.Errorf("%+v, %d of %d: error %v, file %q", tt.limit, tt.unreadable, tt.records, err, data)
			}
			continue
		}
		var got ReadTotals
		if !errors.Is(err, errUnreadable) || readErr != nil || json.Unmarshal(data, &got) != nil ||
			!reflect.DeepEqual(got, ReadTotals{Records: tt.records, Unreadable: tt.unreadable}) {
			t.Errorf("%+v, %d of %d: error %v, file %q", tt.limit, tt.unreadable, tt.records, err, data)
		}
	}
	f := &failOnUnreadableFn{Inputs: inputs, Path: filepath.Join(storagetest.RunFolder(t), "exceeded")}
	if err := f.ProcessElement(t.Context(), 0, iterate([]byte("{"))); err == nil || errors.Is(err, errUnreadable) {
		t.Errorf("a fact that is cut short: error %v", err)
	}
}

// TestFirstUnreadable checks that the first unreadable record is taken from the first split that has one, whatever
// order facts arrive in.
func TestFirstUnreadable(t *testing.T) {
	facts := []blocks.Fact{
		{Kind: blocks.FactRead, Name: "10", Note: "in 10"}, {Kind: blocks.FactRead, Name: "9", Note: "in 9"},
		{Kind: blocks.FactRead, Name: "2"}, {Kind: blocks.FactRead, Name: "11", Note: "in 11"},
	}
	for range facts {
		facts = append(facts[1:], facts[0])
		var totals ReadTotals
		for _, fact := range facts {
			if err := totals.Add(fact); err != nil {
				t.Fatal(err)
			}
		}
		if totals.First != "in 9" {
			t.Errorf("%v: the first is %q", facts, totals.First)
		}
	}
}
