package passages_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// unit is a line or a paragraph of a document that has a word.
type unit struct {
	doc        *document
	start, end int
	words      []string
}

var betweenUnits = map[string]*regexp.Regexp{
	"lines":      regexp.MustCompile(`\n`),
	"paragraphs": regexp.MustCompile(`\n\s*\n`),
}

// oneLineEnd makes all line ends LF, and leaves everything where it is.
var oneLineEnd = strings.NewReplacer("\r\n", " \n", "\r", "\n")

// unitsIn are those of a document, in order.
func unitsIn(d *document, kind string) (all []unit) {
	base := 0
	for _, text := range d.columns {
		at := 0
		for _, gap := range append(betweenUnits[kind].FindAllStringIndex(oneLineEnd.Replace(text), -1), []int{len(text), len(text)}) {
			part := text[at:gap[0]]
			u := unit{doc: d, start: base + at + len(part) - len(strings.TrimLeft(part, " \t\r\n\u3000")), words: []string{}}
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

// A unit is repeated if an earlier one has the same words, however it is written; the first one of all is its first
// place, or the one of a copy's document. Cut, no line of an output stands twice.
func TestWholeUnitsAreThoseOfTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	found := 0
	for round := range 16 {
		kind := []string{"lines", "paragraphs"}[round%2]
		dir, docs := corpus(t, random, 30)
		firsts := map[string]unit{}
		var want []records.Passage
		left := 0 // words
		for i := range docs {
			d := &docs[i]
			var of []unit
			if d.copyOf >= 0 {
				of = unitsIn(&docs[d.copyOf], kind)
			}
			for n, u := range unitsIn(d, kind) {
				words := strings.Join(u.words, " ")
				first, repeated := firsts[words]
				switch {
				case of != nil:
					first = of[n]
				case !repeated:
					firsts[words] = u
					left += len(u.words)
					continue
				}
				want = append(want, records.Passage{
					ID: d.id, Source: d.source, Position: d.position, Start: int64(u.start), End: int64(u.end),
					Words: int64(len(u.words)), FromID: first.doc.id, FromSource: first.doc.source,
					FromPosition: first.doc.position, FromStart: int64(first.start), FromEnd: int64(first.end),
				})
			}
		}
		flags := []string{dir, "--text=title", "--text=body", "--whole=" + kind}
		config := ask(t, append(flags, "--cut=words")...)
		config.Workers, config.GroupBytes = 1+round%3, []int64{0, 2000}[round/2%2]
		finished := run(t, config)
		if diff := cmp.Diff(want, rows[records.Passage](t, finished, output.Passages)); diff != "" {
			t.Fatal(diff)
		}
		again := run(t, ask(t, append([]string{finished.Path("corpus")}, flags[1:]...)...))
		n := again.Run.Passages
		if n.Words != int64(left) || kind == "lines" && n.Repeated != 0 {
			t.Fatalf("%s: a second run reads %d words, of which %d are repeated; want %d", kind, n.Words, n.Repeated, left)
		}
		found += len(want)
	}
	if found < 500 {
		t.Errorf("only %d units are repeated", found)
	}
}

// The bytes are the same whatever the runner and the groups; and documents of which all lines stand in others go.
func TestSameBytesOfUnits(t *testing.T) {
	flags := []string{"../../testdata/tldr", "--whole=lines", "--drop-covered=.4"}
	finished := run(t, ask(t, flags...))
	removed := rows[records.Removed](t, finished, output.Removed)
	for _, c := range rows[records.Coverage](t, finished, output.Coverage) {
		gone := slices.ContainsFunc(removed, func(r records.Removed) bool { return r.ID == c.ID })
		if gone && c.Share < .4 {
			t.Errorf("%s is dropped, with a share of %v", c.ID, c.Share)
		}
	}
	if len(removed) == 0 {
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
