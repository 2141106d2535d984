package study_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// Every matrix equals its definition, from the texts under the first setting.
func TestMatricesEqualDefinition(t *testing.T) {
	for unit, tokens := range map[string]func(string) map[string]int{
		"char": func(text string) map[string]int { return characters(text, 2) },
		"word": func(text string) map[string]int { return pairs(strings.Fields(text)) },
	} {
		m := run(t, files(t, texts), "--format=files", "--unit="+unit, "--k=2", "--show-matrices", "--bands=2", "--rows=3").Matrices
		var counts []map[string]int
		for _, text := range made[""] {
			counts = append(counts, tokens(text))
		}
		distinct := map[string]bool{}
		for _, s := range m.Shingles {
			having, occurrences := 0, 0
			for d, count := range counts {
				if in := min(count[s.Text], 1); s.In[d] != in {
					t.Errorf("%s: %q of document %d: %d, want %d", unit, s.Text, d, s.In[d], in)
				}
				having += s.In[d]
				occurrences += count[s.Text]
			}
			if having != s.Documents || occurrences != s.Occurrences || having == 0 || distinct[s.Text] {
				t.Errorf("%s: %+v", unit, s)
			}
			distinct[s.Text] = true
		}
		for _, count := range counts {
			for text := range count {
				if !distinct[text] {
					t.Errorf("%s: %q is not in the dictionary", unit, text)
				}
			}
		}
		functions(t, m)
	}
}

// pairs counts pairs of consecutive words.
func pairs(words []string) map[string]int {
	counts := map[string]int{}
	for i := range words[1:] {
		counts[words[i]+" "+words[i+1]]++
	}
	return counts
}

// functions checks permutations and signatures against a, b and c.
func functions(t *testing.T, m *records.StudyMatrices) {
	t.Helper()
	prime := uint64(len(m.Shingles)) + 1
	for !new(big.Int).SetUint64(prime).ProbablyPrime(20) {
		prime++
	}
	if len(m.Functions) != 6 {
		t.Fatalf("%d functions", len(m.Functions))
	}
	for i, f := range m.Functions {
		if f.C != prime || len(f.Values) != len(m.Shingles) {
			t.Fatalf("%+v of %d shingles", f, len(m.Shingles))
		}
		for x, value := range f.Values {
			if want := (f.A*uint64(x) + f.B) % f.C; value != want {
				t.Errorf("h%d(%d) = %d, want %d", i+1, x, value, want)
			}
		}
		for d := range m.Documents {
			least := f.C
			for x, s := range m.Shingles {
				if s.In[d] == 1 {
					least = min(least, f.Values[x])
				}
			}
			if m.Signatures[d][i] != least {
				t.Errorf("h%d of document %d: %d, want %d", i+1, d, m.Signatures[d][i], least)
			}
		}
	}
}

// tf and idf by words, in real numbers: weights are rounded down to multiples of 1/4096.
func TestWordWeights(t *testing.T) {
	more := map[string]string{"e.txt": "!", "f.txt": "a a another network"}
	for name, text := range texts {
		more[name] = text
	}
	m := run(t, files(t, more), "--format=files", "--show-matrices").Matrices
	plain := made[""]
	words := append(plain[:], "", more["f.txt"])
	var last string
	for _, w := range m.Words {
		having := 0
		for d, text := range words {
			n := 0
			for word := range strings.FieldsSeq(text) {
				if word == w.Text {
					n++
				}
			}
			if w.TF[d] != n || math.Abs(w.TFIDF[d]-float64(n)*w.IDF) > 1e-12 {
				t.Errorf("%s in document %d: %+v, want %d", w.Text, d, w, n)
			}
			having += min(n, 1)
		}
		// Five documents have a word.
		if idf := math.Log2(1 + 5/float64(having)); w.Documents != having || w.IDF > idf || w.IDF < idf-1./4096 || w.Text <= last {
			t.Errorf("%+v, want %d documents, idf %v", w, having, idf)
		}
		last = w.Text
	}
	if len(m.Words) != 11 || m.Signatures[4] != nil || m.Labels[4] != nil || len(m.Signatures[5]) != 6 {
		t.Errorf("%d words, signatures %v", len(m.Words), m.Signatures)
	}
}

// Labels and buckets are those by which compare finds candidates.
func TestMatricesEqualBuckets(t *testing.T) {
	const input = "../../testdata/tldr/osx.jsonl"
	out := filepath.Join(t.TempDir(), "out")
	var config compare.Config
	parser, err := kong.New(&config, kong.Vars(compare.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{input, "--limit=20", "--signature=classic", "--shingle=char:5", "--bands=4", "--rows=2", "--methods=bands,minhash", "-o", out}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	task, err := compare.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Run(t.Context(), beamtest.Launch(string(config.Runner), local.Options{})); err != nil {
		t.Fatal(err)
	}
	finished, err := output.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, input, "--limit=20", "--show-matrices", "--bands=4")
	shown := map[string]string{}
	for column, d := range s.Matrices.Documents {
		for band, label := range s.Matrices.Labels[column] {
			shown[fmt.Sprint(s.Documents[d].ID, band)] = label + " " + s.Matrices.Buckets[column][band]
		}
	}
	rows := 0
	for row, err := range output.Rows[records.Bucketed](t.Context(), finished, output.Buckets) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if got, want := shown[fmt.Sprint(row.ID, row.Band)], row.Label+" "+row.Bucket; got != want {
			t.Errorf("%s, band %d: %s, want %s", row.ID, row.Band, got, want)
		}
	}
	if rows != 80 || len(shown) != 80 {
		t.Errorf("%d rows, %d labels", rows, len(shown))
	}
}

// A matrix that is too large to read is refused, with advice. Copies that are left out do not count.
func TestMatricesTooLarge(t *testing.T) {
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprintf("%02d.txt", i)] = fmt.Sprintf("text of number %d", i%20)
	}
	input := files(t, many)
	for want, args := range map[string][]string{
		"has 21 documents with 262 shingles, but at most 20 documents with 10,000 shingles": {input, "--show-matrices"},
		"fewer (--limit 20) or shorter documents":                                           {input, "--show-matrices"},
		"use lower --bands and --rows":                                                      {input, "--show-matrices", "--limit=1", "--bands=20"},
		"1 document with 10,001 shingles":                                                   {files(t, map[string]string{"long.txt": long(10_005)}), "--show-matrices"},
		"standard input can be read only once":                                              {"-", "--show-matrices"},
		"their product must be at most 1024":                                                {input, "--bands=1024"},
		"--bands 0":                                                                         {input, "--bands=0"},
	} {
		_, err := try(t, append(args, "--format=files")...)
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
	if m := run(t, input, "--format=files", "--show-matrices", "--drop-copies").Matrices; len(m.Documents) != 20 || m.Documents[19] != 19 {
		t.Errorf("%v", m.Documents)
	}
	if m := run(t, files(t, map[string]string{"long.txt": long(10_004)}), "--format=files", "--show-matrices").Matrices; len(m.Shingles) != 10_000 {
		t.Errorf("%d shingles", len(m.Shingles))
	}
}

// long returns a text of n characters in which no five occur twice.
func long(n int) string {
	var text strings.Builder
	for r := rune(0x4e00); text.Len() < 3*n; r++ {
		text.WriteRune(r)
	}
	return text.String()
}
