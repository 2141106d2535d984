package dedup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// weighted is a text as a vector: weights by the string of a shingle.
type weighted map[string]int64

// vectorsOf returns the vectors of texts, by k consecutive words; nil for a text without words.
func vectorsOf(texts []string, k int, weights string) []weighted {
	counts, having, documents := make([]weighted, len(texts)), weighted{}, 0
	for i, text := range texts {
		words := words(normalised(text))
		if len(words) == 0 {
			continue
		}
		documents++
		counts[i] = weighted{}
		for at := 0; at == 0 || at+k <= len(words); at++ {
			counts[i][strings.Join(words[at:min(at+k, len(words))], " ")]++
		}
		for shingle := range counts[i] {
			having[shingle]++
		}
	}
	for _, v := range counts {
		for shingle, n := range v {
			switch weights {
			case "1":
				v[shingle] = 1
			case "tf-idf":
				v[shingle] = n * int64(4096*math.Log2(1+float64(documents)/float64(having[shingle])))
			}
		}
	}
	return counts
}

func (v weighted) dot(w weighted) (sum int64, shared int) {
	for shingle, n := range v {
		if m, ok := w[shingle]; ok {
			sum += n * m
			shared++
		}
	}
	return sum, shared
}

// asked returns the parsed settings of a job.
func asked(t *testing.T, c dedup.Config) *job.Asked {
	t.Helper()
	asked, err := job.Compile(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

func sizeOf(t *testing.T, c dedup.Config) int { return asked(t, c).Texts.Shingle.K }

// signed returns the signatures of vectors, with one byte per bit.
func signed(t *testing.T, c dedup.Config, vectors []weighted) []string {
	t.Helper()
	entries := map[string]simhash.Entries{job.Normal: simhash.Normal, job.Sign: simhash.Sign}
	signer := simhash.New(c.Bits, entries[c.Vectors], c.Seed)
	shingler := asked(t, c).Texts.New()
	all := make([]string, len(vectors))
	for i, v := range vectors {
		if v == nil {
			continue
		}
		weights := map[uint64]uint32{}
		for shingle, n := range v {
			hashes := shingler.Shingles(nil, []byte(shingle))
			if len(hashes) != 1 {
				t.Fatalf("%q has %d shingles", shingle, len(hashes))
			}
			weights[hashes[0]] = uint32(n)
		}
		var of vector.Vector
		for _, hash := range slices.Sorted(maps.Keys(weights)) {
			of.Features, of.Weights = append(of.Features, hash), append(of.Weights, weights[hash])
		}
		var bits strings.Builder
		sig := signer.Sign(nil, of)
		for bit := range c.Bits {
			bits.WriteByte('0' + byte(sig[bit/64]>>(bit%64)&1))
		}
		all[i] = bits.String()
	}
	return all
}

// paired is the content of a row of pairs.
type paired struct {
	Similarity           float64
	Shared, SizeA, SizeB int
}

// bruteForce compares all texts by definition. same has the texts with the features of an earlier one.
func bruteForce(t *testing.T, c dedup.Config, texts []string, k int) (pairs map[[2]int]paired, same map[int]int, signatures []string) {
	t.Helper()
	vectors := vectorsOf(texts, k, c.Weights)
	signatures = signed(t, c, vectors)
	least := asked(t, c).Threshold
	similar := func(i, j int) (p paired, similar, equal bool) {
		if c.Compare == job.Overlap {
			agree := 0
			for bit := range c.Bits {
				if signatures[i][bit] == signatures[j][bit] {
					agree++
				}
			}
			atLeast := least.Num*uint64(c.Bits) <= uint64(agree)*least.Den
			return paired{float64(agree) / float64(c.Bits), agree, c.Bits, c.Bits}, atLeast, agree == c.Bits
		}
		dot, shared := vectors[i].dot(vectors[j])
		a, _ := vectors[i].dot(vectors[i])
		b, _ := vectors[j].dot(vectors[j])
		product := func(x, y int64, z uint64) *big.Int {
			p := new(big.Int).Mul(big.NewInt(x), big.NewInt(y))
			return p.Mul(p, new(big.Int).SetUint64(z*z))
		}
		atLeast := dot > 0 && product(dot, dot, least.Den).Cmp(product(a, b, least.Num)) >= 0
		return paired{float64(dot) / math.Sqrt(float64(a)*float64(b)), shared, len(vectors[i]), len(vectors[j])}, atLeast, maps.Equal(vectors[i], vectors[j])
	}
	pairs, same = map[[2]int]paired{}, map[int]int{}
	for j := range texts {
		if vectors[j] == nil {
			continue
		}
		near := map[[2]int]paired{}
		for i := range j {
			if _, copied := same[i]; copied || vectors[i] == nil {
				continue
			}
			p, similar, equal := similar(i, j)
			if equal {
				same[j] = i
				near = map[[2]int]paired{{i, j}: p}
				break
			}
			if similar {
				near[[2]int{i, j}] = p
			}
		}
		maps.Copy(pairs, near)
	}
	return pairs, same, signatures
}

// shortTexts are texts of one to three words, and of repeated words.
var shortTexts = []string{
	"alpha", "alpha!", "alpha beta", "alpha gamma", "alpha beta gamma", "alpha alpha alpha beta", "delta epsilon", "beta alpha",
	"alpha beta alpha beta", "...", "delta", "delta delta delta epsilon", "zeta eta theta iota kappa", "zeta eta theta iota", "eta zeta theta iota kappa",
}

// pagesAndShort writes short texts, and the given number of pages of each of two folders.
func pagesAndShort(t *testing.T, pages int) (path string, texts []string) {
	t.Helper()
	texts = slices.Clone(shortTexts)
	for _, name := range []string{"osx", "windows"} {
		for i, line := range slices.Collect(strings.Lines(read(t, filepath.Join("../../testdata/tldr", name+".jsonl"))))[:pages] {
			var page struct{ Text string }
			if err := json.Unmarshal([]byte(line), &page); err != nil {
				t.Fatal(i, err)
			}
			texts = append(texts, page.Text)
		}
	}
	path = filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, texts)
	return path, texts
}

// pairsOf returns a run's table of pairs, by index, which is the id.
func pairsOf(t *testing.T, r *output.Finished) map[[2]int]paired {
	t.Helper()
	all := map[[2]int]paired{}
	for _, p := range rows[records.Pair](t, r, "pairs") {
		var a, b int
		if _, err := fmt.Sscan(p.IDA+" "+p.IDB, &a, &b); err != nil {
			t.Fatal(err)
		}
		all[[2]int{a, b}] = paired{p.Similarity, int(p.Shared), int(p.SizeA), int(p.SizeB)}
	}
	return all
}

// checkRemoved checks that no two kept documents are similar, and that each removed one is similar to a kept one as its
// row says.
func checkRemoved(t *testing.T, r *output.Finished, pairs map[[2]int]paired, same map[int]int) {
	t.Helper()
	first := func(i int) int {
		if of, ok := same[i]; ok {
			return of
		}
		return i
	}
	kept := map[int]bool{}
	removed := rows[records.Removed](t, r, "removed")
	for _, row := range removed {
		var id, by int
		if _, err := fmt.Sscan(row.ID+" "+row.KeptID, &id, &by); err != nil {
			t.Fatal(err)
		}
		kept[id] = false
		i, j := min(first(id), first(by)), max(first(id), first(by))
		p, ok := pairs[[2]int{i, j}]
		if i == j {
			p, ok = paired{Similarity: 1}, true
		}
		if !ok || row.Similarity == nil || math.Abs(*row.Similarity-p.Similarity) > 1e-12 || (row.Reason == records.ReasonNear) != (i != j) {
			t.Errorf("%d was removed for %d as %s, similarity %v, want %v", id, by, row.Reason, row.Similarity, p)
		}
	}
	for pair := range pairs {
		_, a := kept[pair[0]]
		_, b := kept[pair[1]]
		if !a && !b {
			t.Errorf("%v are both kept", pair)
		}
	}
	if len(removed) == 0 {
		t.Error("nothing is removed, which tests little")
	}
}

// checkMetadata checks that the table of pairs says how documents were compared.
func checkMetadata(t *testing.T, r *output.Finished, c dedup.Config) {
	t.Helper()
	file := []byte(read(t, filepath.Join(r.Dir, output.TableFile(output.Pairs, 0, r.Run.Input.Files))))
	table, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	measures := map[string]string{"": "simhash-overlap", job.Overlap: "simhash-overlap", job.Cosine: "cosine"}
	for key, want := range map[string]string{
		"measure": measures[c.Compare], "neardup.method": "simhash", "neardup.weights": c.Weights, "neardup.bits": fmt.Sprint(c.Bits),
		"neardup.vectors": string(c.Vectors), "neardup.pieces": fmt.Sprint(c.Pieces), "neardup.signature": "simhash", "neardup.format.signature": "simhash-1",
	} {
		if got, ok := table.Lookup(key); !ok || got != want {
			t.Errorf("metadata %s is %q, want %q", key, got, want)
		}
	}
}

var aboutEqual = cmpopts.EquateApprox(0, 1e-12)

// For any bits, pieces, vectors, weights and measure, complete finds the pairs of brute force, and simhash those of
// them that share a piece at the same position; neither finds a pair that is not similar.
func TestSimHashEqualsBruteForce(t *testing.T) {
	path, texts := pagesAndShort(t, 150)
	for _, flags := range []string{
		"--compare=overlap",
		"--compare=overlap --weights=tf --bits=199 --pieces=37 --shingle=word:1",
		"--compare=overlap --weights=tf-idf --bits=64 --pieces=5 --vectors=sign --threshold=.7",
		"--compare=overlap --weights=1 --bits=1 --pieces=1 --shingle=word:1",
		"--compare=overlap --bits=1021 --pieces=63 --vectors=sign --threshold=.65 --shingle=word:3",
		"--compare=cosine",
		"--compare=cosine --bits=131 --pieces=17 --shingle=word:1",
		"--compare=cosine --weights=tf --bits=255 --pieces=41 --vectors=sign --shingle=word:1 --threshold=.9",
		"--compare=cosine --weights=tf-idf --pieces=23 --seed=7 --shingle=word:2 --threshold=.6",
		"--compare=cosine --weights=tf-idf --bits=500 --pieces=499 --shingle=word:1 --threshold=1",
	} {
		t.Run(flags, func(t *testing.T) {
			config := ask(t, append(strings.Fields(flags), "--method=simhash", path)...)
			pairs, same, signatures := bruteForce(t, config, texts, sizeOf(t, config))
			for _, cell := range []int{0, 5000} {
				config.CellBytes, config.Output = cell, filepath.Join(t.TempDir(), "out")
				r := run(t, config)
				got := pairsOf(t, r)
				for pair, p := range got {
					if want, ok := pairs[pair]; !ok || !cmp.Equal(want, p, aboutEqual) {
						t.Errorf("%v is paired as %v, brute force says %v", pair, p, want)
					}
				}
				for pair, p := range pairs {
					_, copied := same[pair[1]]
					if _, ok := got[pair]; !ok && (config.Pieces == 0 || copied || shareAPiece(signatures[pair[0]], signatures[pair[1]], config.Pieces)) {
						t.Errorf("%v is not paired, %v", pair, p)
					}
				}
				if config.Pieces > 0 && (r.Run.Chosen.Pieces != config.Pieces || r.Run.Chosen.Signature != config.Bits) {
					t.Errorf("chosen %+v", r.Run.Chosen)
				}
				checkRemoved(t, r, got, same)
				checkMetadata(t, r, config)
			}

			complete := ask(t, append(strings.Fields(flags), "--method=complete", path)...)
			complete.Pieces, complete.Seed = 0, config.Seed
			if config.Compare == job.Cosine { // cosine needs no signatures
				usual := records.Default()
				complete.Bits, complete.Vectors, complete.Seed = usual.Bits, usual.Vectors, usual.Seed
			}
			r := run(t, complete)
			if diff := cmp.Diff(pairs, pairsOf(t, r), aboutEqual); diff != "" {
				t.Errorf("complete: %s", diff)
			}
			checkRemoved(t, r, pairs, same)
			if recall := r.Run.Recall; recall == nil || !recall.Exact || recall.Estimated != nil || r.Run.Chosen.ExpectedRecall != 1 {
				t.Errorf("complete: recall %+v, chosen %+v", recall, r.Run.Chosen)
			}
		})
	}
}

// Parallel vectors have similarity 1, but are near pairs, not copies, and are counted so. run checks that the tables
// agree.
func TestOneDirection(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var texts []string
	for range 60 {
		text := strings.Join([]string{"alpha", "beta", "gamma", "delta"}[:1+r.IntN(4)], " ")
		if r.IntN(2) == 0 {
			text = strings.ToUpper(text)
		}
		texts = append(texts, strings.TrimSpace(strings.Repeat(text+" ", 1+r.IntN(3))))
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, texts)
	for _, flags := range []string{
		"--method=simhash --compare=cosine --weights=tf", "--method=complete --compare=cosine --weights=tf-idf", "--method=complete --compare=cosine --weights=1",
		"--method=simhash --compare=overlap --weights=tf", "--method=minhash", "--method=complete", "--method=exact --same=set", "--method=exact --same=tokens", "--method=exact",
		"--method=complete --compare=cosine --weights=tf --cluster=components --keep=longest",
	} {
		config := ask(t, append(strings.Fields(flags), "--shingle=word:1", path)...)
		finished := run(t, config)
		counts, one := finished.Run.Counts, 0
		for _, pair := range rows[records.Pair](t, finished, output.Pairs) {
			if pair.Similarity == 1 && !pair.Copy() {
				one++
			}
		}
		if directed := config.Compare == job.Cosine && config.Weights != "1"; (one > 0) != directed || counts.Copies == 0 {
			t.Errorf("%s: %d pairs of one direction, %d copies", flags, one, counts.Copies)
		}
		if (counts.NearPairs > 0) != (counts.Near > 0) {
			t.Errorf("%s: %d near pairs, and %d documents were removed as near", flags, counts.NearPairs, counts.Near)
		}
		if example, err := dedup.Example(t.Context(), finished, dedup.Texts(finished)); err != nil || (example != nil) != (counts.NearPairs > 0) {
			t.Errorf("%s: of %d near pairs the example is %+v, %v", flags, counts.NearPairs, example, err)
		}
	}
}

// shareAPiece reports whether signatures have a piece in common.
func shareAPiece(a, b string, pieces int) bool {
	for p := range pieces {
		if from, to := p*len(a)/pieces, (p+1)*len(a)/pieces; a[from:to] == b[from:to] {
			return true
		}
	}
	return false
}

// The bytes do not depend on the runner, splits, memory, cells, and the number of ranges in which frequencies are
// counted.
func TestSameBytesOfSimHash(t *testing.T) {
	for _, flags := range []string{
		"--pieces=19 --weights=tf-idf --compare=cosine",
		"--bits=301 --recall=.9 --threshold=.97 --vectors=sign",
		"--weights=tf --threshold=.7 --pair-budget=100 --cluster=components --keep=longest",
	} {
		var first map[string]string
		for i, how := range []string{"", "--memory=256MB", "--runner=prism", "--runner=direct"} {
			for j, split := range []int64{0, 100_001} {
				if (i+1)/2%2 != j && !nightly.On() {
					continue
				}
				config := ask(t, append(strings.Fields(flags+" "+how), "--method=simhash", "../../testdata/tldr")...)
				if config.SplitBytes = split; split > 0 {
					config.CellBytes, config.Workers = 20_000, 3
				}
				got := promised(t, run(t, config))
				if first == nil {
					first = got
				}
				sameOutput(t, fmt.Sprint(flags, how, split), first, got)
			}
		}
	}
}

// If documents are a crowd, the same ones are removed for the same kept ones, and the clusters are the same.
func TestCrowdsOfSimHash(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	for _, flags := range []string{
		"--keep=longest", "--cluster=components --compare=cosine --weights=tf-idf", "--pieces=16 --threshold=.8", "--pieces=11 --compare=cosine --weights=tf --cluster=components",
	} {
		made := func(budget int) *output.Finished {
			config := ask(t, append(strings.Fields(flags), "--method=simhash", c.config.Inputs[0])...)
			config.PairBudget = budget
			return run(t, config)
		}
		whole, part := made(math.MaxInt), made(500)
		if a, b := whole.Run.Counts, part.Run.Counts; a.PairsPartial != 0 || b.PairsPartial == 0 || a.NearPairs <= b.NearPairs {
			t.Errorf("%v: %d and %d crowds, %d and %d near pairs", flags, a.PairsPartial, b.PairsPartial, a.NearPairs, b.NearPairs)
		}
		sameClusters(t, flags, whole, part)
		folders := []string{"removed", "corpus"}
		sameOutput(t, flags, tables(promised(t, whole), folders...), tables(promised(t, part), folders...))
	}
}

// The recall measured on all documents is that of brute force.
func TestMeasuredRecallOfSimHash(t *testing.T) {
	path, texts := pagesAndShort(t, 200)
	for _, flags := range []string{"--compare=overlap --weights=tf-idf", "--compare=cosine --weights=tf", "--compare=cosine"} {
		config := ask(t, append(strings.Fields(flags), "--method=simhash", "--pieces=20", "--threshold=.6", "--shingle=word:2", fmt.Sprint("--measure-recall=", len(texts)), path)...)
		pairs, same, _ := bruteForce(t, config, texts, 2)
		r := run(t, config)
		got := r.Run.Recall.Measured
		found := len(pairsOf(t, r)) - len(same)
		if got.Found != int64(found) || got.True != int64(len(pairs)-len(same)) || found == 0 || got.Found == got.True {
			t.Errorf("%s: measured %+v, want %d of %d", flags, got, found, len(pairs)-len(same))
		}
	}
}

// Over many seeds, the recall of pairs is what their similarity predicts.
func TestExpectedRecallOfSimHash(t *testing.T) {
	path, texts := pagesAndShort(t, 200)
	for _, flags := range []string{
		"--compare=cosine --pieces=30", "--compare=cosine --weights=tf --pieces=21 --bits=200", "--compare=cosine --weights=tf-idf --pieces=27", "--compare=overlap --pieces=31",
	} {
		config := ask(t, append(strings.Fields(flags), "--method=simhash", "--threshold=.7", "--shingle=word:1", path)...)
		checkRecall(t, flags, config, texts, 15)
	}
}

// checkRecall compares the share of near pairs that share a piece, over some seeds, with what their similarity
// predicts.
func checkRecall(t *testing.T, name string, config dedup.Config, texts []string, seeds int) {
	t.Helper()
	config.Seed = 1
	pairs, same, _ := bruteForce(t, config, texts, sizeOf(t, config))
	vectors := vectorsOf(texts, sizeOf(t, config), config.Weights)
	sum, squares := 0., 0. // of the differences, found minus expected
	expected := 0.
	for seed := range seeds {
		config.Seed = uint64(seed + 1)
		signatures := signed(t, config, vectors)
		if config.Compare == job.Overlap { // its pairs also depend on the seed
			pairs, same, _ = bruteForce(t, config, texts, sizeOf(t, config))
		}
		n, found, share := 0., 0., 0.
		for pair, p := range pairs {
			if _, copied := same[pair[1]]; copied {
				continue
			}
			agree := p.Similarity
			if config.Compare == job.Cosine {
				agree = 1 - math.Acos(min(1, p.Similarity))/math.Pi
			}
			n++
			share += simhash.Pieces{Bits: config.Bits, Count: config.Pieces}.Sharing(agree)
			if shareAPiece(signatures[pair[0]], signatures[pair[1]], config.Pieces) {
				found++
			}
		}
		difference := (found - share) / n
		sum, squares, expected = sum+difference, squares+difference*difference, expected+share/n/float64(seeds)
	}
	mean := sum / float64(seeds)
	deviation := math.Sqrt(max(0, squares/float64(seeds)-mean*mean) / float64(seeds-1))
	t.Logf("%s: expected %.4f, found %+.4f ± %.4f of %d pairs", name, expected, mean, deviation, len(pairs)-len(same))
	// For a given overlap, pieces agree slightly more often than independent bits would.
	if slack := map[bool]float64{true: 0.02}[config.Compare == job.Overlap]; mean < -4*deviation || mean > 4*deviation+slack || expected > .995 {
		t.Errorf("%s: of %.4f expected, %+.4f ± %.4f are found", name, expected, mean, deviation)
	}
}

// The same holds on real corpora, including short texts.
func TestRecallOfSimHashOnCorpora(t *testing.T) {
	if !nightly.On() {
		t.Skip("nightly")
	}
	const most = 2000 // brute force compares all pairs
	for _, load := range []func(*testing.T) corpus{messages, bbc, reuters} {
		t.Run("", func(t *testing.T) {
			c := load(t)
			texts := c.texts[:min(most, len(c.texts))]
			path := filepath.Join(t.TempDir(), "in.jsonl")
			writeJSONL(t, path, texts)
			for _, weights := range []string{"1", "tf", "tf-idf"} {
				config := ask(t, "--method=simhash", "--compare=cosine", "--pieces=29", "--threshold=.7", "--shingle=word:1", "--weights="+weights, path)
				checkRecall(t, c.name+" "+weights, config, texts, 20)
			}
		})
	}
}

// Pieces are chosen by the flags: as given; by recall, if unrelated documents seldom share one; else 32, or none if
// unrelated documents share one too often.
func TestChosenPieces(t *testing.T) {
	for _, c := range []struct {
		flags         string
		pieces        int // 0 if all documents are compared
		least, most   float64
		warning, fail string
	}{
		{"", 0, 1, 1, "all documents are compared", ""},
		{"--compare=cosine", 0, 1, 1, "all documents are compared", ""},
		{"--bits=1024 --threshold=.95", 32, .99, 1, "with the default of 32 pieces, a pair at the threshold", ""}, // 32 bits each, so .95^32
		{"--bits=1024 --threshold=.95 --compare=cosine", 32, .6, .7, "with the default of 32 pieces, a pair at the threshold", ""},
		{"--bits=1024 --threshold=.96", 32, .999, 1, "", ""},
		{"--pieces=3 --compare=cosine --vectors=sign", 3, 0, .01, "that of --vectors normal; --vectors sign does not guarantee it for cosine", ""},
		{"--pieces=3 --vectors=sign", 3, 0, .01, "", ""},
		{"--pieces=40", 40, .99, 1, "with 256-bit signatures in 40 pieces", ""},
		{"--pieces=3", 3, 0, .01, "", ""},
		{"--pieces=3 --recall=.5", 3, 0, .01, "", ""},
		{"--recall=.9 --threshold=.95 --bits=1024 --compare=cosine", 39, .9, .92, "", ""}, // as docs/algorithms/simhash.md says
		{"--recall=.9", 0, 0, 0, "", "--method complete --compare overlap"},
		{"--recall=.99 --compare=cosine --bits=64", 0, 0, 0, "", "--method complete --compare cosine"},
		{"--recall=.999999 --compare=cosine --threshold=.01 --bits=2", 0, 0, 0, "", "--method complete --compare cosine"}, // no pieces
	} {
		config := ask(t, append(strings.Fields(c.flags), "--method=simhash", "--dry-run", "../../testdata/tldr")...)
		r, err := runJob(t.Context(), config, launch(config))
		if (err != nil) != (c.fail != "") || err != nil && (!strings.Contains(err.Error(), c.fail) || job.Status(err) != 2) {
			t.Errorf("%s: error %v, want %q", c.flags, err, c.fail)
		}
		if err != nil {
			continue
		}
		chosen := r.Chosen
		if chosen.Pieces != c.pieces || chosen.ExpectedRecall < c.least || chosen.ExpectedRecall > c.most || (chosen.JoinBytes > 0) != (c.pieces == 0) {
			t.Errorf("%s: chosen %+v", c.flags, chosen)
		}
		if warnings := strings.Join(r.Warnings, ""); !strings.Contains(warnings, c.warning) || c.warning == "" && warnings != "" {
			t.Errorf("%s: warnings %q, want %q", c.flags, warnings, c.warning)
		}
	}
}
