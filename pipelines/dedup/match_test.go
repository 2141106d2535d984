package dedup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// matched is a record with values for rules; nil if it lacks the column.
type matched struct {
	ID    string   `json:"id"`
	Text  string   `json:"text"`
	Title string   `json:"title"`
	Lang  *string  `json:"lang,omitempty"`
	Meta  meta     `json:"meta"`
	Words []string `json:"-"`
}

type meta struct {
	Year any `json:"year"`
}

// randomMatched returns records of few words, so that many are copies or similar, with few values, some without.
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
		for range r.IntN(4) {
			m.Title += string(rune('a'+r.IntN(4))) + " "
		}
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

// numbers returns the numbers in a text of randomMatched.
func (m *matched) numbers() string {
	_, numbers, _ := strings.Cut(m.Text, "no. ")
	return strings.ReplaceAll(numbers, ",", "")
}

// matchRule is a flag with its definition: whether it keeps two records apart.
type matchRule struct {
	flag   string
	apart  func(a, b *matched) bool
	spares bool // documents that it keeps apart are not compared
}

func lang(m *matched) string {
	if m.Lang == nil {
		return ""
	}
	return *m.Lang
}

func year(m *matched) string {
	if m.Meta.Year == nil {
		return ""
	}
	return fmt.Sprint(m.Meta.Year)
}

// Rules that are part of the key, and rules that are checked for each pair.
var byKeys = []matchRule{
	{"--match=lang=equal", func(a, b *matched) bool { return lang(a) == "" || lang(a) != lang(b) }, true},
	{"--match=meta.year=equal", func(a, b *matched) bool { return year(a) == "" || year(a) != year(b) }, true},
	{"--match-numbers", func(a, b *matched) bool { return a.numbers() != b.numbers() }, true},
}

var byPairs = []matchRule{
	{"--match=lang=equal,missing-ok", func(a, b *matched) bool { return lang(a) != "" && lang(b) != "" && lang(a) != lang(b) }, false},
	{"--match=lang=different", func(a, b *matched) bool { return lang(a) == "" || lang(b) == "" || lang(a) == lang(b) }, true},
	{"--match=lang=different,missing-ok", func(a, b *matched) bool { return lang(a) != "" && lang(a) == lang(b) }, true},
	{"--match=meta.year=within:1", func(a, b *matched) bool { return year(a) == "" || year(a) != year(b) }, false},
	{"--match=meta.year=within:2,missing-ok", func(*matched, *matched) bool { return false }, false},
	{"--match=title=word:1,.5", func(a, b *matched) bool { return !(jaccard(a.Title, b.Title) >= .5) }, false},
	{"--match=title=word:1,.5,missing-ok", func(a, b *matched) bool {
		return a.Title != "" && b.Title != "" && jaccard(a.Title, b.Title) < .5
	}, false},
	{"--match=meta.year=within:366d", func(a, b *matched) bool { return year(a) == "" || year(a) != year(b) }, false},
}

// apart reports whether some rule keeps two records apart.
func apart(rules []matchRule, a, b *matched) bool {
	return slices.ContainsFunc(rules, func(r matchRule) bool { return r.apart(a, b) })
}

func jaccard(a, b string) float64 {
	shared, x, y := inBoth(a, b)
	return float64(shared) / float64(x+y-shared)
}

func cosine(a, b string) float64 {
	shared, x, y := inBoth(a, b)
	return float64(shared) / math.Sqrt(float64(x*y))
}

// weightedCosine returns the cosine of the texts of records, whose frequencies are those in all records.
func weightedCosine(all []matched, weights string) func(a, b string) float64 {
	texts, vectors := make([]string, len(all)), map[string]weighted{}
	for i := range all {
		texts[i] = all[i].Text
	}
	for i, v := range vectorsOf(texts, 1, weights) {
		vectors[texts[i]] = v
	}
	return func(a, b string) float64 {
		x, y := vectors[a], vectors[b]
		product, _ := x.dot(y)
		xx, _ := x.dot(x)
		yy, _ := y.dot(y)
		return float64(product) / math.Sqrt(float64(xx)*float64(yy))
	}
}

func containment(a, b string) float64 {
	shared, x, y := inBoth(a, b)
	return float64(shared) / float64(min(x, y))
}

// inBoth returns how many words two texts share, and how many each has.
func inBoth(a, b string) (shared, inA, inB int) {
	words := func(text string) map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" .,", r) }) {
			set[w] = true
		}
		return set
	}
	x, y := words(a), words(b)
	for w := range x {
		if y[w] {
			shared++
		}
	}
	return shared, len(x), len(y)
}

// With rules, the pairs are those of the definition that no rule keeps apart; every removed record has a kept one that
// it may be removed for.
func TestMatchEqualsDefinition(t *testing.T) {
	const threshold = .7
	r := rand.New(rand.NewPCG(46, 1))
	for round := range nightly.Or(2, 1) {
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
		near := [][]string{
			{"--method=complete"}, {"--recall=0.999999"}, {"--method=complete", "--pair-budget=3"}, {"--bands=60", "--rows=1", "--pair-budget=3"},
			{"--runner=prism", "--method=complete"}, {"--signature=classic", "--bands=5", "--rows=3"}, {"--signature=salted", "--recall=0.99999"},
			{"--method=complete", "--compare=cosine"}, {"--method=simhash", "--compare=cosine", "--pieces=20"}, {"--compare=containment"},
			{"--compare=containment", "--pair-budget=3"},
			{"--method=complete", "--compare=cosine", "--weights=tf-idf", "--resume=always"},
			{"--method=simhash", "--compare=cosine", "--weights=tf-idf", "--pieces=20"},
		}
		exact := [][]string{{"--method=exact", "--same=set"}, {"--method=exact", "--same=tokens"}, {"--method=exact"}}
		asks := [][]matchRule{{byKeys[0]}, {byKeys[1]}, {byKeys[2]}, byKeys}
		for i := range byPairs {
			asks = append(asks, byPairs[i:i+1])
		}
		asks = append(asks, []matchRule{byKeys[2], byPairs[1], byPairs[3]})
		for i, rules := range asks {
			flags := []string{path, "--shingle=word:1", "--threshold=0.7", "--write=pairs,removed,corpus,rejected,clusters"}
			for _, r := range rules {
				flags = append(flags, r.flag)
			}
			methods := near
			if i < 4 {
				methods = slices.Concat(near, exact)
			}
			for _, method := range methods {
				t.Run(fmt.Sprint(round, flags[4:], method), func(t *testing.T) {
					config, finish := ask(t, append(slices.Clone(flags), method...)...), run
					if config.Compare == job.Containment { // containment has other promises
						finish = runOnly
					}
					checkMatched(t, finish(t, config), all, rules, threshold, method)
				})
			}
		}
	}
}

func checkMatched(t *testing.T, f *output.Finished, all []matched, rules []matchRule, threshold float64, method []string) {
	t.Helper()
	byID := map[string]*matched{}
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	exact := method[0] == "--method=exact"
	similar, contained := jaccard, slices.Contains(method, "--compare=containment")
	switch {
	case contained:
		similar = containment
	case slices.Contains(method, "--weights=tf-idf"):
		similar = weightedCosine(all, "tf-idf")
	case slices.Contains(method, "--compare=cosine"):
		similar = cosine
	}
	whole := len(method) == 1 || method[0] == "--method=complete" || method[0] == "--runner=prism" || contained
	for _, p := range rows[records.Pair](t, f, output.Pairs) {
		a, b := byID[p.IDA], byID[p.IDB]
		if apart(rules, a, b) || similar(a.Text, b.Text) < threshold {
			t.Fatalf("%+v and %+v are a pair", a, b)
		}
		if want := similar(a.Text, b.Text); math.Abs(p.Similarity-want) > 1e-12 {
			t.Fatalf("%+v and %+v have similarity %v, want %v", a, b, p.Similarity, want)
		}
	}
	removed := map[string]bool{}
	for _, row := range rows[records.Removed](t, f, output.Removed) {
		removed[row.ID] = true
		a, b := byID[row.ID], byID[row.KeptID]
		if apart(rules, a, b) || similar(a.Text, b.Text) < threshold {
			t.Fatalf("%+v is removed for %+v", a, b)
		}
		if _, size, keptSize := inBoth(a.Text, b.Text); contained && size > keptSize {
			t.Fatalf("%+v is removed for %+v, which is smaller", a, b)
		}
		if slices.Contains(row.Differs, records.DiffersNumbers) != (a.numbers() != b.numbers()) {
			t.Fatalf("%+v is removed for %+v, and differs in %v", a, b, row.Differs)
		}
	}
	spared := slices.DeleteFunc(slices.Clone(rules), func(r matchRule) bool { return !r.spares })
	compared := int64(0) // an upper bound
	for i := range all {
		for j := range i {
			a, b := &all[j], &all[i]
			if !apart(spared, a, b) {
				compared++
			}
			if apart(rules, a, b) {
				continue
			}
			same := a.Text == b.Text
			if (same && exact || similar(a.Text, b.Text) >= threshold && whole && !exact) && !removed[a.ID] && !removed[b.ID] {
				t.Fatalf("%+v and %+v are both kept", a, b)
			}
		}
	}
	if n := f.Run.Counts; n.ComparedPairs > compared {
		t.Errorf("%d pairs are compared, and rules leave %d", n.ComparedPairs, compared)
	}
}

// With rules of similarity and no text, the pairs are those that satisfy every rule; each has the similarities by rule,
// and the lowest is its similarity.
func TestMatchOfFields(t *testing.T) {
	r := rand.New(rand.NewPCG(46, 2))
	all := randomMatched(r, 150)
	path := filepath.Join(t.TempDir(), "in.jsonl")
	var lines bytes.Buffer
	for i := range all {
		if r.IntN(3) > 0 && i > 0 { // otherwise few are similar in both columns
			of := all[r.IntN(i)]
			all[i].Text, all[i].Title = of.Text, of.Title
			switch r.IntN(4) {
			case 0, 1:
				all[i].Title += "z"
			case 2:
				all[i].Title += " " // equal, but not identical
			}
		}
		if err := json.NewEncoder(&lines).Encode(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rules   []string
		missing bool // whether a title may be missing
		rest    []matchRule
	}{
		{rules: []string{"--match=text=word:1,.7"}},
		{rules: []string{"--match=text=word:1,.7", "--match=title=word:1,.6"}},
		{rules: []string{"--match=title=word:1,.6", "--match=text=word:1,.7"}, rest: byPairs[1:2]},
		{rules: []string{"--match=title=word:1,.6,missing-ok", "--match=text=word:1,.7"}, missing: true, rest: byKeys[1:2]},
	} {
		for _, method := range [][]string{
			{"--method=complete"}, {"--method=complete", "--pair-budget=3"}, {"--recall=0.999999"}, {"--bands=60", "--rows=1", "--pair-budget=3"},
			{"--runner=prism", "--method=complete"},
		} {
			flags := slices.Concat([]string{path, "--write=pairs,removed,corpus,clusters"}, tt.rules, method)
			for _, r := range tt.rest {
				flags = append(flags, r.flag)
			}
			t.Run(fmt.Sprint(flags[2:]), func(t *testing.T) {
				config := ask(t, flags...)
				config.Text = nil
				checkFields(t, runOnly(t, config), all, tt.rules, tt.missing, tt.rest, method[0] != "--bands=60")
			})
		}
	}
}

func checkFields(t *testing.T, f *output.Finished, all []matched, rules []string, missing bool, rest []matchRule, whole bool) {
	t.Helper()
	byID := map[string]*matched{}
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	near := func(a, b *matched) (matches []float64, least float64) {
		least = 1
		for _, rule := range rules {
			s, most := jaccard(a.Text, b.Text), .7
			if strings.HasPrefix(rule, "--match=title") {
				s, most = jaccard(a.Title, b.Title), .6
			}
			switch {
			case strings.HasPrefix(rule, "--match=title") && (a.Title == "" || b.Title == ""):
				if s = 0; !missing {
					return nil, 0
				}
			case s < most:
				return nil, 0
			default:
				least = min(least, s)
			}
			matches = append(matches, s)
		}
		return matches, least
	}
	listed := map[[2]string]bool{}
	removed := map[string]bool{}
	for _, p := range rows[records.Pair](t, f, output.Pairs) {
		a, b := byID[p.IDA], byID[p.IDB]
		want, least := near(a, b)
		if p.Copy() {
			want, least = nil, min(least, 1)
		}
		if apart(rest, a, b) || least == 0 || p.Similarity != least || !slices.Equal(p.Matches, want) {
			t.Fatalf("%+v, want %v and %v: %+v and %+v", p, least, want, a, b)
		}
		listed[[2]string{p.IDA, p.IDB}] = true
	}
	for _, row := range rows[records.Removed](t, f, output.Removed) {
		removed[row.ID] = true
		if a, b := byID[row.ID], byID[row.KeptID]; apart(rest, a, b) || near2(near(a, b)) == 0 {
			t.Fatalf("%+v is removed for %+v", a, b)
		} else if row.Reason == records.ReasonIdentical && (a.Text != b.Text || a.Title != b.Title && len(rules) > 1) {
			t.Fatalf("%+v and %+v are identical", a, b)
		}
	}
	if len(listed) < 10 {
		t.Fatalf("%d pairs", len(listed))
	}
	for i := range all {
		for j := range i {
			a, b := &all[j], &all[i]
			if whole && near2(near(a, b)) > 0 && !apart(rest, a, b) && !removed[a.ID] && !removed[b.ID] {
				t.Fatalf("%+v and %+v are both kept", a, b)
			}
		}
	}
}

func near2(_ []float64, least float64) float64 { return least }

// Rules read the same values whether the text is cut into words or items: an empty one is no value. Only the first of
// several copies has further pairs.
func TestMatchOfItems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	var lines strings.Builder
	for i, values := range []string{
		`"lang": "en", "title": ""`, `"lang": "en", "title": "abcd"`, `"lang": "", "title": "abcd"`, `"lang": "", "title": ["ab", "cd"]`,
		`"lang": ["de", "en"], "title": "ab cd"`, `"lang": "de en", "title": ["ab cde"]`, `"lang": [], "title": "abcd"`, `"lang": [""], "title": null`,
	} {
		fmt.Fprintf(&lines, `{"id": "%d", "text": ["one two", "three"], %s}`+"\n", i, values)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]string{
		"lang=equal": "0 1, 4 5", "lang=different": "0 4, 0 5, 1 4, 1 5", "title=char:3,1,lower": "1 2, 1 6, 3 4",
		"title=char:3,.7,lower": "1 2, 1 6, 3 4, 3 5",
	} {
		for _, shingles := range []string{"item", "word:1"} {
			f := runOnly(t, ask(t, path, "--shingle="+shingles, "--method=complete", "--match="+rule))
			var pairs []string
			for _, p := range rows[records.Pair](t, f, output.Pairs) {
				pairs = append(pairs, p.IDA+" "+p.IDB)
			}
			slices.Sort(pairs)
			if got := strings.Join(pairs, ", "); got != want {
				t.Errorf("%s, %s: pairs %s, want %s", shingles, rule, got, want)
			}
		}
	}
}

// The values of Parquet columns have the types of their columns.
func TestMatchParquet(t *testing.T) {
	type row struct {
		ID   string `parquet:"id"`
		Text string `parquet:"text"`
		Year *int32 `parquet:"year,optional"`
		Day  int32  `parquet:"day,date"`
		Meta struct {
			At *time.Time `parquet:"at,optional,timestamp"`
		} `parquet:"meta"`
	}
	var all []row
	for i, day := range []time.Time{
		time.Date(2024, 2, 26, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 4, 0, 0, 0, 0, time.UTC),
		time.Date(2024, 3, 20, 12, 0, 0, 0, time.UTC), {},
	} {
		r := row{ID: fmt.Sprint(i), Text: "one two three four five six"}
		if year := int32(2000 + i); i < 3 {
			r.Year, r.Day, r.Meta.At = &year, int32(day.Unix()/(24*60*60)), &day
		}
		all = append(all, r)
	}
	path := filepath.Join(t.TempDir(), "in.parquet")
	if err := parquet.WriteFile(path, all); err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]string{
		"year=within:1": "1", "year=equal": "", "day=within:7d": "1", "meta.at=within:7d": "1", "meta.at=within:6d": "",
		"meta.at=within:7d,missing-ok": "1 3", "day=different": "1 2 3",
	} {
		f := run(t, ask(t, path, "--match="+rule))
		var removed []string
		for _, r := range rows[records.Removed](t, f, output.Removed) {
			removed = append(removed, r.ID)
		}
		if got := strings.Join(removed, " "); got != want {
			t.Errorf("%s: removed %q, want %q", rule, got, want)
		}
	}
}
