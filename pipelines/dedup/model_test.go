package dedup_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/records"
)

// family writes texts that copy and edit one another, from few words: chains, stars, copies of
// removed documents, permuted copies and short texts all occur.
func family(r *rand.Rand, n int) (texts []string) {
	word := func() string { return fmt.Sprintf("w%d", r.IntN(40)) }
	for len(texts) < n {
		switch k := r.IntN(10); {
		case k == 0 || len(texts) == 0:
			var words []string
			for range 1 + r.IntN(60) {
				words = append(words, word())
			}
			texts = append(texts, strings.Join(words, " "))
		case k < 3: // a copy that differs in what does not count
			texts = append(texts, strings.ToUpper(texts[r.IntN(len(texts))])+"!")
		default:
			words := strings.Fields(strings.ToLower(texts[r.IntN(len(texts))]))
			for range r.IntN(4) {
				words[r.IntN(len(words))] = word()
			}
			texts = append(texts, strings.Join(words, " "))
		}
	}
	return texts
}

// fate is what the tables say of a document.
type fate struct {
	Cluster, Members int
	KeptBy           int
	Similarity       float64
	Reason           string
}

// model decides from the oracle alone, by the definitions: in input order a document is kept
// unless an earlier kept one is t similar, and copies share the fate of their first; a cluster is
// what pairs connect.
func model(o *oracle, t float64) map[int]fate {
	n := len(o.sets)
	near := o.near(t)
	similar := func(i, j int) (float64, bool) {
		if o.copyOf[i] == o.copyOf[j] {
			return 1, true
		}
		i, j = o.copyOf[i], o.copyOf[j]
		s, ok := near[[2]int{min(i, j), max(i, j)}]
		return s, ok
	}
	cluster := make([]int, n)
	for i := range cluster {
		cluster[i] = i
	}
	for changed := true; changed; {
		changed = false
		for i := range n {
			for j := range n {
				if _, ok := similar(i, j); ok && cluster[j] < cluster[i] {
					cluster[i], changed = cluster[j], true
				}
			}
		}
	}
	members := map[int]int{}
	for _, c := range cluster {
		members[c]++
	}
	fates := map[int]fate{}
	kept := map[int]bool{}
	for j := range n {
		f := fate{Cluster: cluster[j], Members: members[cluster[j]], KeptBy: j, Similarity: 1}
		first := o.copyOf[j]
		for i := range first {
			if s, ok := similar(i, j); ok && kept[i] && (f.KeptBy == j || s > f.Similarity) {
				f.KeptBy, f.Similarity = i, s
			}
		}
		if f.KeptBy == j {
			f.KeptBy = first
		}
		kept[j] = f.KeptBy == j
		if !kept[j] {
			f.Reason = records.ReasonNear
			if f.Similarity == 1 {
				f.Reason = records.ReasonCopy
			}
		}
		if f.Members > 1 {
			fates[j] = f
		}
	}
	return fates
}

// TestAgainstModel compares every table with a plain model on small families, searched with so
// many bands that nothing at the threshold can be missed (probability below 2^-500 a pair).
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 1))
		texts := family(r, 20+r.IntN(120))
		threshold := []float64{0.5, 0.6, 0.8}[seed%3]
		path := filepath.Join(t.TempDir(), "family.jsonl")
		writeJSONL(t, path, texts)
		config := ask(t, path)
		config.Threshold, config.Bands, config.Rows = threshold, 1024, 1
		got := run(t, config)

		sets := make([]map[string]bool, len(texts))
		for i, text := range texts {
			sets[i] = wordShingles(text, 5)
		}
		o := newOracle(sets)
		want := model(o, threshold)
		index := map[string]int{}
		for i := range texts {
			index[fmt.Sprint(i)] = i
		}
		positions := map[int]int64{}
		fates := map[int]fate{}
		firstOf := map[int64]int{} // clusters are in input order
		for _, row := range rows[records.Clustered](t, got, "clusters") {
			i := index[row.ID]
			positions[i] = row.Position
			if _, ok := firstOf[row.Cluster]; !ok {
				firstOf[row.Cluster] = i
				if row.Cluster != row.Position { // the only file has ordinal 0
					t.Errorf("seed %d: cluster %d is not named by its first document at %d", seed, row.Cluster, row.Position)
				}
			}
			fates[i] = fate{Cluster: firstOf[row.Cluster], Members: int(row.Members), KeptBy: i, Similarity: 1}
		}
		for _, row := range rows[records.Removed](t, got, "removed") {
			f := fates[index[row.ID]]
			f.KeptBy, f.Similarity, f.Reason = index[row.KeptID], *row.Similarity, row.Reason
			fates[index[row.ID]] = f
		}
		if diff := cmp.Diff(want, fates); diff != "" {
			t.Errorf("seed %d, %d texts, threshold %v: model and tables differ:\n%s", seed, len(texts), threshold, diff)
		}
		pairs := map[[2]int]float64{}
		for j, i := range o.copyOf {
			if i != j {
				pairs[[2]int{i, j}] = 1
			}
		}
		for pair, s := range o.near(threshold) {
			pairs[pair] = s
		}
		gotPairs := map[[2]int]float64{}
		last := records.Edge{A: -1}
		for _, row := range rows[records.Pair](t, got, "pairs") {
			gotPairs[[2]int{index[row.IDA], index[row.IDB]}] = row.Similarity
			order := records.Edge{A: records.Key(row.PositionA), B: records.Key(row.PositionB)}
			if last.Compare(order) >= 0 || order.A >= order.B {
				t.Errorf("seed %d: pair %v after %v", seed, order, last)
			}
			last = order
		}
		if diff := cmp.Diff(pairs, gotPairs); diff != "" {
			t.Errorf("seed %d: pairs differ:\n%s", seed, diff)
		}
	}
}
