package dedup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// matched is a record with values that rules ask for; nil: it lacks the column.
type matched struct {
	ID    string   `json:"id"`
	Text  string   `json:"text"`
	Lang  *string  `json:"lang,omitempty"`
	Meta  meta     `json:"meta"`
	Words []string `json:"-"`
}

type meta struct {
	Year any `json:"year"`
}

// randomMatched are records of few words, so that many are copies or similar, with few values, some without.
func randomMatched(r *rand.Rand, n int) (all []matched) {
	for i := range n {
		m := matched{ID: fmt.Sprint(i), Meta: meta{[]any{nil, 1999, "1999", 2001, ""}[r.IntN(5)]}}
		for range 4 + r.IntN(6) {
			m.Words = append(m.Words, string(rune('a'+r.IntN(3+r.IntN(8)))))
		}
		if i > 0 && r.IntN(2) == 0 {
			m.Words = slices.Clone(all[r.IntN(i)].Words)
			if r.IntN(2) == 0 {
				m.Words[r.IntN(len(m.Words))] = "z"
			}
		}
		m.Text = strings.Join(m.Words, " ")
		if k := r.IntN(6); k > 0 {
			m.Text += fmt.Sprintf(", no. %s", []string{"1000", "1,000", "7"}[r.IntN(3)])
			m.Words = append(m.Words, "no", "n")
		}
		if lang := []string{"en", "de", ""}[r.IntN(3)]; r.IntN(8) > 0 {
			m.Lang = &lang
		}
		all = append(all, m)
	}
	return all
}

// numbers are those of a text of randomMatched.
func (m *matched) numbers() string {
	_, numbers, _ := strings.Cut(m.Text, "no. ")
	return strings.ReplaceAll(numbers, ",", "")
}

// apart tells by definition whether a rule keeps two records apart.
func apart(a, b *matched, lang, year, numbers bool) bool {
	no := func(m *matched) bool { return m.Lang == nil || *m.Lang == "" }
	empty := func(m *matched) bool { return m.Meta.Year == nil || m.Meta.Year == "" }
	return lang && (no(a) || no(b) || *a.Lang != *b.Lang) ||
		year && (empty(a) || empty(b) || fmt.Sprint(a.Meta.Year) != fmt.Sprint(b.Meta.Year)) ||
		numbers && a.numbers() != b.numbers()
}

func jaccard(a, b string) float64 {
	words := func(text string) map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" .,", r) }) {
			set[w] = true
		}
		return set
	}
	x, y := words(a), words(b)
	shared := 0
	for w := range x {
		if y[w] {
			shared++
		}
	}
	return float64(shared) / float64(len(x)+len(y)-shared)
}

// With rules, all pairs are those by definition that no rule keeps apart; every record has a kept one that it may be
// removed for, or stays.
func TestMatchEqualsDefinition(t *testing.T) {
	const threshold = .7
	r := rand.New(rand.NewPCG(46, 1))
	for round := range 2 {
		all := randomMatched(r, 120)
		path := filepath.Join(t.TempDir(), "in.jsonl")
		var lines bytes.Buffer
		for _, m := range all {
			if err := json.NewEncoder(&lines).Encode(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, rules := range [][3]bool{{true}, {false, true}, {false, false, true}, {true, true, true}} {
			flags := []string{path, "--shingle=word:1", "--threshold=0.7", "--write=pairs,removed,corpus,rejected,clusters"}
			if rules[0] {
				flags = append(flags, "--match=lang=equal")
			}
			if rules[1] {
				flags = append(flags, "--match=meta.year=equal")
			}
			if rules[2] {
				flags = append(flags, "--match-numbers")
			}
			for _, method := range [][]string{
				{"--method=complete"}, {"--recall=0.999999"}, {"--method=complete", "--pair-budget=3"},
				{"--method=exact", "--same=set"}, {"--method=exact", "--same=tokens"}, {"--method=exact"}, {"--runner=prism", "--method=complete"},
				{"--signature=classic", "--bands=5", "--rows=3"}, {"--signature=salted", "--recall=0.99999"},
			} {
				t.Run(fmt.Sprint(round, rules, method), func(t *testing.T) {
					checkMatched(t, run(t, ask(t, append(slices.Clone(flags), method...)...)), all, rules, threshold, method)
				})
			}
		}
	}
}

func checkMatched(t *testing.T, f *output.Finished, all []matched, rules [3]bool, threshold float64, method []string) {
	t.Helper()
	byID := map[string]*matched{}
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	exact, whole := method[0] == "--method=exact", len(method) == 1 || method[0] == "--runner=prism"
	found := map[[2]string]bool{}
	for _, p := range rows[records.Pair](t, f, output.Pairs) {
		a, b := byID[p.IDA], byID[p.IDB]
		if apart(a, b, rules[0], rules[1], rules[2]) || jaccard(a.Text, b.Text) < threshold {
			t.Fatalf("%+v and %+v are a pair", a, b)
		}
		found[[2]string{p.IDA, p.IDB}] = true
	}
	removed := map[string]bool{}
	for _, row := range rows[records.Removed](t, f, output.Removed) {
		removed[row.ID] = true
		if a, b := byID[row.ID], byID[row.KeptID]; apart(a, b, rules[0], rules[1], rules[2]) || jaccard(a.Text, b.Text) < threshold {
			t.Fatalf("%+v is removed for %+v", a, b)
		}
	}
	for i := range all {
		for j := range i {
			a, b := &all[j], &all[i]
			if apart(a, b, rules[0], rules[1], rules[2]) {
				continue
			}
			same := a.Text == b.Text
			if (same && exact || jaccard(a.Text, b.Text) >= threshold && whole && !exact) && !removed[a.ID] && !removed[b.ID] {
				t.Fatalf("%+v and %+v are both kept", a, b)
			}
		}
	}
}
