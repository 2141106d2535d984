package passages_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// unit is a line or a paragraph of a document that has a word.
type unit struct {
	doc        *document
	column     int
	start, end int
	words      []string
}

var betweenUnits = map[string]*regexp.Regexp{
	"lines":      regexp.MustCompile(`\n`),
	"paragraphs": regexp.MustCompile(`\n\s*\n`),
}

// oneLineEnd converts line ends to LF, without moving anything.
var oneLineEnd = strings.NewReplacer("\r\n", " \n", "\r", "\n")

// unitsIn returns the units of a document, in order.
func unitsIn(d *document, kind string) (all []unit) {
	base := 0
	for column, text := range d.columns {
		at := 0
		for _, gap := range append(betweenUnits[kind].FindAllStringIndex(oneLineEnd.Replace(text), -1), []int{len(text), len(text)}) {
			part := text[at:gap[0]]
			u := unit{doc: d, column: column, start: base + at + len(part) - len(strings.TrimLeft(part, " \t\r\n\u3000")), words: []string{}}
			u.end = u.start + len(strings.TrimSpace(part))
			var of document
			of.add(part, 0)
			if u.words = of.words; len(u.words) > 0 {
				all = append(all, u)
			}
			at = gap[1]
		}
		base += len(text) + 1
	}
	return all
}

// unitPassages returns the passages of units if dropped documents are not first places and copies are documents like
// any other, and the words of each unit that is in none. If dropped is nil, none is dropped, and copies are left out
// first.
func unitPassages(docs []document, kind string, dropped []bool) (all []records.Passage, left []string) {
	firsts := map[string]unit{}
	for i := range docs {
		d := &docs[i]
		var of []unit
		if d.copyOf >= 0 && dropped == nil {
			of = unitsIn(&docs[d.copyOf], kind)
		}
		goesOn, column := false, -1
		for n, u := range unitsIn(d, kind) {
			words := strings.Join(u.words, " ")
			first, repeated := firsts[words]
			if of != nil {
				first, repeated = of[n], true
			}
			if goesOn = goesOn && u.column == column; !repeated {
				if dropped == nil || !dropped[i] {
					firsts[words] = u
				}
				left, goesOn = append(left, words), false
				continue
			}
			column = u.column
			if last := len(all) - 1; goesOn && all[last].FromID == first.doc.id {
				all[last].End, all[last].Words = int64(u.end), all[last].Words+int64(len(u.words))
				all[last].FromStart = min(all[last].FromStart, int64(first.start))
				all[last].FromEnd = max(all[last].FromEnd, int64(first.end))
				continue
			}
			all, goesOn = append(all, records.Passage{
				ID: d.id, Source: d.source, Position: d.position, Start: int64(u.start), End: int64(u.end),
				Words: int64(len(u.words)), FromID: first.doc.id, FromSource: first.doc.source,
				FromPosition: first.doc.position, FromStart: int64(first.start), FromEnd: int64(first.end),
			}), true
		}
	}
	return all, left
}

// A unit is repeated if an earlier one has the same words, however it is written; the first one of all is its first
// place, or the one in a copy's document. After cutting, the other units remain, each separately, and none occurs
// twice.
func TestWholeUnitsAreThoseOfTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	found := 0
	for round := range 16 {
		kind := []string{"lines", "paragraphs"}[round%2]
		dir, docs := corpus(t, random, 30)
		want, left := unitPassages(docs, kind, nil)
		flags := []string{dir, "--text=title", "--text=body", "--whole=" + kind}
		config := ask(t, append(flags, "--cut=words")...)
		config.Workers, config.GroupBytes = 1+round%3, []int64{0, 2000}[round/2%2]
		finished := run(t, config)
		if diff := cmp.Diff(want, rows[records.Passage](t, finished, output.Passages)); diff != "" {
			t.Fatal(diff)
		}
		var got []string
		for _, line := range corpusLines(t, finished) {
			var record struct{ Title, Body string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			for _, u := range unitsIn(&document{columns: [2]string{record.Title, record.Body}}, kind) {
				got = append(got, strings.Join(u.words, " "))
			}
		}
		if diff := cmp.Diff(left, got); diff != "" {
			t.Fatalf("%s: left: %s", kind, diff)
		}
		again := run(t, ask(t, append([]string{finished.Path("corpus")}, flags[1:]...)...)).Run.Passages
		if again.Repeated != 0 {
			t.Fatalf("%s: of %d words that are left %d are repeated", kind, again.Words, again.Repeated)
		}
		found += len(want)
	}
	if found < 400 {
		t.Errorf("only %d passages", found)
	}
}

// A document is dropped if the units that it shares with earlier kept documents have the given share of its words.
func TestWholeUnitsDropDocuments(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	gone := 0
	for round := range 12 {
		kind := []string{"lines", "paragraphs"}[round%2]
		dir, docs := corpus(t, random, 30)
		const share = .5
		stay, dropped := map[string]bool{}, make([]bool, len(docs))
		for i := range docs {
			covered := 0
			for _, u := range unitsIn(&docs[i], kind) {
				if stay[strings.Join(u.words, " ")] {
					covered += len(u.words)
				}
			}
			if dropped[i] = covered > 0 && float64(covered)/float64(docs[i].size()) >= share; dropped[i] {
				gone++
				continue
			}
			for _, u := range unitsIn(&docs[i], kind) {
				stay[strings.Join(u.words, " ")] = true
			}
		}
		config := ask(t, dir, "--text=title", "--text=body", "--whole="+kind, fmt.Sprint("--drop-covered=", share))
		config.Workers, config.GroupBytes = 1+round%3, []int64{0, 2000}[round/2%2]
		finished := run(t, config)
		want, _ := unitPassages(docs, kind, dropped)
		if diff := cmp.Diff(want, rows[records.Passage](t, finished, output.Passages)); diff != "" {
			t.Fatal(diff)
		}
		var ids []string
		for i, d := range docs {
			if dropped[i] {
				ids = append(ids, d.id)
			}
		}
		var got []string
		for _, r := range rows[records.Removed](t, finished, output.Removed) {
			got = append(got, r.ID)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Fatal(diff)
		}
	}
	if gone < 50 {
		t.Errorf("only %d documents are dropped", gone)
	}
}

// The bytes do not depend on the runner and the groups.
func TestSameBytesOfUnits(t *testing.T) {
	flags := []string{"../../testdata/tldr", "--whole=lines", "--drop-covered=.4"}
	finished := run(t, ask(t, flags...))
	if len(rows[records.Removed](t, finished, output.Removed)) == 0 {
		t.Error("no document is dropped")
	}
	first := files(t, finished)
	for i, launch := range []string{"direct", "prism", "flink"} {
		config := ask(t, append(flags, "--runner="+launch, fmt.Sprint("--workers=", i+1))...)
		config.GroupBytes = []int64{0, 2000, 0}[i]
		if diff := cmp.Diff(first, files(t, run(t, config))); diff != "" {
			t.Errorf("%s: the files differ", launch)
		}
	}
}
