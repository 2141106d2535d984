package compare_test

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

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// fewWords writes texts of few words from a small vocabulary, so that many are copies, parallel, or near.
func fewWords(t *testing.T, documents int) (path string, texts []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 7))
	var lines strings.Builder
	for range documents {
		words := make([]string, 1+r.IntN(7))
		for i := range words {
			words[i] = string(rune('a' + r.IntN(9)))
		}
		text := strings.Join(words, " ")
		line, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
		texts = append(texts, text)
	}
	path = filepath.Join(t.TempDir(), "few.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path, texts
}

// cosineOfFour reports whether the cosine of two texts as vectors of words is at least 4/5.
func cosineOfFour(a, b string, weights string) bool {
	count := func(text string) map[string]int {
		counts := map[string]int{}
		for _, word := range strings.Fields(text) {
			if counts[word]++; weights == "1" {
				counts[word] = 1
			}
		}
		return counts
	}
	dot := func(x, y map[string]int) (sum int) {
		for word, n := range x {
			sum += n * y[word]
		}
		return sum
	}
	x, y := count(a), count(b)
	return 25*dot(x, y)*dot(x, y) >= 16*dot(x, x)*dot(y, y)
}

// Brute force and complete search find the pairs of the definition, and pieces those of them that share one: the bits
// are the labels in the table of buckets, and these or the words decide similarity.
func TestSimHashByDefinition(t *testing.T) {
	path, texts := fewWords(t, 250)
	for _, flags := range []string{
		"--compare=cosine --bits=37 --pieces=6", "--compare=cosine --weights=tf --bits=70 --pieces=9 --vectors=sign", "--bits=45 --pieces=7 --weights=tf", "--compare=overlap --weights=tf-idf --bits=130 --pieces=11",
	} {
		out := filepath.Join(t.TempDir(), "out")
		c := run(t, append(strings.Fields(flags), path, "--shingle=word:1", "--threshold=.8", "--methods=brute-force,complete,simhash,pieces", "-o", out)...)
		rows, candidates := tables(t, out)
		at := map[int64]int{} // documents by position
		labels := make([][]string, len(texts))
		for _, row := range rows {
			if _, ok := at[row.Position]; !ok && row.Band == 0 {
				at[row.Position] = len(at) // the rows of a band are in input order
			}
			labels[at[row.Position]] = append(labels[at[row.Position]], row.Label)
		}
		measure, weights := "simhash-overlap", "1"
		if strings.Contains(flags, "cosine") {
			measure = "cosine"
		}
		if strings.Contains(flags, "tf") {
			weights = "tf"
		}
		pairs, distinct, sharing, inBuckets := 0, 0, 0, int64(0)
		for i, a := range labels {
			if len(a) != c.Pieces || c.Bits != len(strings.Join(a, "")) {
				t.Fatalf("%s: %d pieces of %q, and %d bits; the comparison says %d of %d", flags, len(a), a, len(strings.Join(a, "")), c.Pieces, c.Bits)
			}
			for j, b := range labels[:i] {
				shared := 0
				for p := range a {
					if a[p] == b[p] {
						shared++
					}
				}
				similar := cosineOfFour(texts[i], texts[j], weights)
				if measure == "simhash-overlap" {
					x, y, equal := strings.Join(a, ""), strings.Join(b, ""), 0
					for bit := range x {
						if x[bit] == y[bit] {
							equal++
						}
					}
					similar = 5*equal >= 4*c.Bits
				}
				inBuckets += int64(shared)
				if shared > 0 {
					distinct++
				}
				if similar {
					pairs++
					if shared > 0 {
						sharing++
					}
				}
			}
		}
		brute, complete, simHash, pieces := c.Methods[0], c.Methods[1], c.Methods[2], c.Methods[3]
		if sharing == 0 || sharing == pairs || distinct != len(candidates) {
			t.Fatalf("%s: %d of %d pairs share a piece; %d candidates, want %d", flags, sharing, pairs, len(candidates), distinct)
		}
		for _, m := range c.Methods {
			if m.Measure != measure {
				t.Errorf("%s: %s compares by %s, want %s", flags, m.Name, m.Measure, measure)
			}
		}
		for _, m := range []records.Method{brute, complete} {
			if m.Pairs != pairs || m.Common != pairs {
				t.Errorf("%s: %s finds %d pairs, %d common, want %d", flags, m.Name, m.Pairs, m.Common, pairs)
			}
		}
		if pieces.Pairs != sharing || pieces.Common != sharing {
			t.Errorf("%s: pieces find %d pairs, %d common, want %d", flags, pieces.Pairs, pieces.Common, sharing)
		}
		if b := pieces.Buckets; b.Pairs != inBuckets || b.Distinct != int64(distinct) || b.Compared != b.Distinct || *b.True != int64(sharing) || b.Refuted != int64(distinct-sharing) {
			t.Errorf("%s: %+v, want %d pairs in buckets, %d distinct, %d of them true", flags, *b, inBuckets, distinct, sharing)
		}
		if simHash.Precision != 1 || simHash.Common < sharing || simHash.Candidates == nil {
			t.Errorf("%s: %+v, of %d pairs that share a piece", flags, simHash, sharing)
		}
	}
}

// In a comparison by several measures, each method is measured against the first of its measure, and methods that
// support all measures run for each.
func TestSeveralMeasures(t *testing.T) {
	path, _ := fewWords(t, 100)
	c := run(t, path, "--shingle=word:1", "--bands=20", "--rows=1", "--methods=pieces,brute-force,minhash,complete", "--compare=cosine", "--pieces=200")
	var got []string
	for _, m := range c.Methods {
		got = append(got, m.Name+" "+m.Measure)
	}
	want := []string{"brute-force jaccard", "minhash jaccard", "complete jaccard", "pieces cosine", "brute-force cosine", "complete cosine"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	sets, vectors := c.Methods[0], c.Methods[4]
	if sets.Pairs == 0 || sets.Pairs >= vectors.Pairs {
		t.Errorf("%d pairs of sets and %d of vectors", sets.Pairs, vectors.Pairs)
	}
	for i, m := range c.Methods {
		if of := c.Methods[i/3*3]; m.Recall != 1 || m.Precision != float64(of.Pairs)/float64(m.Pairs) {
			t.Errorf("%+v, measured by %+v", m, of)
		}
	}
	if c.Bands != 20 || c.Rows != 1 || c.Pieces != 200 || c.Bits != 256 {
		t.Errorf("%+v", c)
	}
}

// Without --pieces, pieces are the default of 32, however many documents share one; simhash then compares all
// documents, like dedup.
func TestUsualPieces(t *testing.T) {
	path, _ := fewWords(t, 100)
	c := run(t, path, "--shingle=word:1", "--methods=complete,simhash,pieces")
	if simHash := c.Methods[1]; c.Pieces != 32 || c.Methods[2].Buckets == nil || simHash.Candidates != nil || simHash.Recall != 1 {
		t.Errorf("%d pieces, %+v", c.Pieces, c.Methods)
	}
}

// Wrong settings of SimHash are refused, and the message says what to give.
func TestRefusalsOfSimHash(t *testing.T) {
	for flags, want := range map[string]string{
		"--methods=minhash,simhash":                                                   "no other method listed compares by jaccard, so there is nothing to compare minhash with; add complete",
		"--methods=complete,minhash,simhash --compare=jaccard":                        "supports only cosine and overlap; use --compare cosine or overlap",
		"--methods=complete,minhash --compare=cosine":                                 "none of --methods complete,minhash uses this measure; add simhash or pieces",
		"--methods=complete,minhash --pieces=3":                                       "--pieces 3: these methods compute no SimHash signatures; add simhash or pieces to --methods",
		"--methods=complete,brute-force --compare=cosine --bits=8":                    "compute no SimHash signatures",
		"--methods=complete,minhash --vectors=sign":                                   "compute no SimHash signatures",
		"--methods=complete,minhash --weights=tf":                                     "--weights tf: sets have no weights",
		"--methods=complete,pieces --bits=1025":                                       "must be between 1 and 1024",
		"--methods=complete,pieces --bits=8 --pieces=9":                               "number of bits, 8",
		"--methods=complete,bands,pieces --output=out":                                "pieces and bands have different buckets",
		"--methods=complete,simhash --recall=.9 --memory=256MB":                       "--method complete --compare overlap",
		"--methods=complete,pieces --weights=tf --memory=256MB --max-doc-bytes=32MiB": "--max-doc-bytes",
		"--methods=complete,simhash --compare=cosine --recall=.9 --vectors=sign":      "--vectors sign cannot guarantee a recall for cosine",
	} {
		_, err := try(t, append(strings.Fields(flags), "../../testdata/tldr/osx.jsonl")...)
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
	for _, flags := range []string{"--compare=cosine --weights=tf-idf", "--compare=overlap --bits=64 --vectors=sign"} {
		if c := run(t, append(strings.Fields(flags), "../../testdata/tldr/osx.jsonl", "--methods=brute-force,complete")...); c.Methods[0].Pairs != c.Methods[1].Common {
			t.Errorf("%s: %+v", flags, c.Methods)
		}
	}
}

// run.json says what was compared, and tables of pieces say how they were made.
func TestOutputOfPieces(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, "../../testdata/tldr/osx.jsonl", "--methods=complete,pieces,minhash", "--bits=60", "--pieces=7", "--weights=tf", "-o", out)
	data, err := os.ReadFile(filepath.Join(out, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"method": "complete,pieces,minhash"`, `"compare": "jaccard,overlap"`, `"weights": "tf"`, `"bits": 60`, `"pieces": 7`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("run.json has no %s", want)
		}
	}
	for part, want := range map[string]string{"buckets": "neardup.pieces", "candidates": "neardup.weights"} {
		file := filepath.Join(out, part, fmt.Sprintf("part-%05d-of-%05d.parquet", 0, 1))
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s does not say %s: %v", file, want, err)
		}
	}
}
