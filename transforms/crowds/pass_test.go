package crowds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/survivors/survivorstest"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/spool"
	"github.com/neardup/neardup/transforms/verify"
)

// TestListedOnce: if a document is similar to n kept ones, the first maxListed pairs and the one with the most similar
// are listed, once each.
func TestListedOnce(t *testing.T) {
	const shared, own = 80, 70
	for _, tt := range []struct{ kept, best, want int }{
		{maxListed, maxListed - 1, maxListed}, {maxListed + 1, maxListed - 1, maxListed}, {maxListed + 1, maxListed, maxListed + 1}, {maxListed - 1, 0, maxListed - 1},
	} {
		var sets blocks.Sets
		add := func(number, own int) {
			var set []uint64
			for i := range uint64(shared) {
				set = append(set, i)
			}
			for i := range own {
				set = append(set, uint64(1+number)<<32|uint64(i))
			}
			sets.Keys, sets.Sets = append(sets.Keys, blocks.NewKey(0, int64(number))), append(sets.Sets, set)
		}
		for i := range tt.kept {
			if i == tt.best {
				add(i, own-10)
			} else {
				add(i, own)
			}
		}
		add(tt.kept, 0)
		var pairs []blocks.NearPair
		p := pass{verifier: jaccard(half).New(), Params: Params{ChunkBytes: 1 << 30}}
		p.out.Emit = func(_ int64, block []byte) {
			var err error
			if pairs, err = blocks.DecodeNearPairs(pairs, block); err != nil {
				t.Fatal(err)
			}
		}
		for _, set := range sets.Sets {
			p.common.Count(set)
		}
		p.chunk = p.newChunk(blocks.Sets{})
		if err := p.batch(t.Context(), sets, false); err != nil {
			t.Fatal(err)
		}
		p.out.Flush()
		type pair struct {
			a, b          blocks.Key
			score, shared int
		}
		distinct := map[pair]bool{}
		for _, p := range pairs {
			distinct[pair{p.A, p.B, p.Score, p.Shared}] = true
		}
		best := pair{sets.Keys[tt.best], sets.Keys[tt.kept], shared, shared}
		if len(pairs) != tt.want || len(distinct) != len(pairs) || !distinct[best] || len(p.kept) != tt.kept {
			t.Errorf("%+v: %d pairs, %d distinct, the best among them: %v, %d kept", tt, len(pairs), len(distinct), distinct[best], p.kept)
		}
	}
}

// TestHitsAreBounded: sets that are similar to everything are compared few at a time, each once.
func TestHitsAreBounded(t *testing.T) {
	p := pass{verifier: jaccard(half).New()}
	const kept, most = 500, 1000
	c := p.newChunk(blocks.Sets{})
	sets := make([][]uint64, 10*aheadPerCore*len(c.finders))
	for i := range sets {
		sets[i] = numbers(i%5, 20)
	}
	for i := range kept {
		c.add(blocks.NewKey(0, int64(i)), numbers(i%5, 20))
	}
	seen := 0
	for start, some := range c.similar(sets, most) {
		if start != seen || len(some) > most/kept+len(c.finders) {
			t.Fatalf("%d sets from %d on have hits at a time, %d were seen", len(some), start, seen)
		}
		for _, hits := range some {
			if len(hits) != kept {
				t.Fatalf("%d hits of %d", len(hits), kept)
			}
		}
		seen += len(some)
	}
	if seen != len(sets) {
		t.Errorf("%d of %d sets were compared", seen, len(sets))
	}
	if hits := c.bytes() - c.index.Bytes(); hits < len(c.finders)*kept*hitBytes {
		t.Errorf("finders and their hits count for %d bytes", hits)
	}
}

// failing is a verifier with a bug.
type failing struct{ verifier.Verifier }

func (failing) Compare(_, _ []uint64) (score int, ok bool) { panic("planted") }

// TestPanic: the caller of the step can recover a panic that occurs while all cores compare.
func TestPanic(t *testing.T) {
	defer func() {
		if p, ok := recover().(*parallel.Panic); !ok || p.Value != "planted" {
			t.Errorf("the pass panics with %v", p)
		}
	}()
	p := pass{verifier: failing{jaccard(half).New()}}
	c := p.newChunk(blocks.Sets{Keys: make([]blocks.Key, 1), Sets: corpus{numbers(0, 20)}})
	for range c.similar(corpus{numbers(0, 20)}, 1) {
	}
}

// corpus is sets in the order of preference.
type corpus [][]uint64

// similar returns the pairs by brute force, of each set with those before it.
func (c corpus) similar(t setsim.Threshold) (pairs []blocks.NearPair) {
	for j, b := range c {
		for i, a := range c[:j] {
			if shared := setsim.Overlap(a, b); t.Reached(shared, len(a), len(b)) {
				pairs = append(pairs, blocks.NearPair{A: c.key(i), B: c.key(j), Score: shared, Shared: shared})
			}
		}
	}
	return pairs
}

// key returns the key of a set; the order of preference differs from that of keys.
func (c corpus) key(i int) blocks.Key { return blocks.NewKey(0, int64(len(c)-1-i)) }

// star returns the decision that all those pairs imply.
func (c corpus) star(near []blocks.NearPair) []survivors.Choice {
	var pairs []survivors.Pair
	for _, p := range near {
		i, j := len(c)-1-int(p.A.Position()), len(c)-1-int(p.B.Position())
		pairs = append(pairs, survivors.Pair{I: i, J: j, Similarity: setsim.Similarity(p.Score, len(c[i]), len(c[j]))})
	}
	return survivorstest.Star(len(c), 0, pairs)
}

// nearest returns the highest similarity in some pairs of each set that is kept. These are all near pairs, or links.
func (c corpus) nearest(near, some []blocks.NearPair) map[blocks.Key]float64 {
	choices, all := c.star(near), map[blocks.Key]float64{}
	for _, p := range some {
		i, j := len(c)-1-int(p.A.Position()), len(c)-1-int(p.B.Position())
		similarity := verifier.SimilarityOf(p.Score)
		if p.Shared > 0 {
			similarity = setsim.Similarity(p.Score, len(c[i]), len(c[j]))
		}
		for _, of := range []int{i, j} {
			if choices[of].By == of {
				all[c.key(of)] = max(all[c.key(of)], similarity)
			}
		}
	}
	return all
}

// listed returns those of the pairs that a crowd lists.
func (c corpus) listed(near []blocks.NearPair) (pairs []blocks.NearPair) {
	choices, of := c.star(near), map[blocks.Key][]blocks.NearPair{}
	for _, p := range near {
		if a := len(c) - 1 - int(p.A.Position()); choices[a].By == a {
			of[p.B] = append(of[p.B], p)
		}
	}
	for i := range c {
		all := of[c.key(i)]
		first := all[:min(len(all), maxListed)]
		pairs = append(pairs, first...)
		if by := choices[i].By; by != i && !slices.ContainsFunc(first, func(p blocks.NearPair) bool { return p.A == c.key(by) }) {
			at := slices.IndexFunc(all, func(p blocks.NearPair) bool { return p.A == c.key(by) })
			pairs = append(pairs, all[at])
		}
	}
	return pairs
}

// numbers are n elements from first on.
func numbers(first, n int) (set []uint64) {
	for i := range n {
		set = append(set, uint64(first+i))
	}
	return set
}

// chainOf returns n sets, each of which shares nine tenths with the next.
func chainOf(first, n int) (c corpus) {
	for i := range n {
		c = append(c, numbers(first+2*i, 20))
	}
	return c
}

// passThrough lets the pass visit a corpus in batches, and returns what it emits and the number of chunks written of
// each kind.
func passThrough(t *testing.T, c corpus, threshold setsim.Threshold, batch, chunkBytes int) (pairs, links []blocks.NearPair, chunks map[string]int) {
	t.Helper()
	temp := storagetest.RunFolder(t)
	f := &passFn{Params: Params{Params: verify.Params{Verifier: jaccard(threshold), Shards: 3, Temp: temp}, ChunkBytes: chunkBytes, Nearest: true}}
	const crowd = 77
	var batches [][]byte
	for first := 0; first < len(c); first += batch {
		var s blocks.Sets
		for i := first; i < min(len(c), first+batch); i++ {
			s.Keys, s.Sets = append(s.Keys, c.key(i)), append(s.Sets, c[i])
		}
		n := len(batches)
		if err := spool.Write(t.Context(), temp, spool.BatchFile(temp, crowd, n), s); err != nil {
			t.Fatal(err)
		}
		batches = append([][]byte{blocks.AppendBatch(nil, spool.Describe(n, s))}, batches...)
	}
	emit := func(to *[]blocks.NearPair) func(int64, []byte) {
		return func(shard int64, block []byte) {
			var err error
			if *to, err = blocks.DecodeNearPairs(*to, block); err != nil || shard != f.Params.Shards.Shard(crowd) {
				t.Errorf("shard %d, error %v", shard, err)
			}
		}
	}
	order := func(block *[]byte) bool {
		if len(batches) == 0 {
			return false
		}
		*block, batches = batches[0], batches[1:]
		return true
	}
	if err := f.ProcessElement(t.Context(), crowd, order, emit(&pairs), emit(&links)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join(temp, "sets"))
	if err != nil {
		t.Fatal(err)
	}
	chunks = map[string]int{}
	for _, file := range files {
		for _, kind := range []string{"kept", "removed"} {
			if strings.Contains(file.Name(), kind) {
				chunks[kind]++
			}
		}
	}
	return pairs, links, chunks
}

// The pass lists what brute force lists, and pairs and links have the clusters of all pairs, however a crowd is cut.
func TestPassEqualsBruteForce(t *testing.T) {
	corpora := map[string]corpus{
		"one set":   {numbers(0, 20)},
		"all alike": slices.Concat(corpus{numbers(0, 20)}, corpus{numbers(1, 20), numbers(0, 19), numbers(0, 21)}),
		"unlike":    {numbers(0, 20), numbers(100, 20), numbers(200, 20)},
		"chain":     chainOf(0, 150),
	}
	// Every third set is kept, and only removed sets link their clusters.
	links := chainOf(0, 240)
	var removed corpus
	for i, set := range links {
		if i%3 == 0 {
			corpora["removed links"] = append(corpora["removed links"], set)
		} else {
			removed = append(removed, set)
		}
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(removed), func(i, j int) { removed[i], removed[j] = removed[j], removed[i] })
	corpora["removed links"] = append(corpora["removed links"], removed...)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var c corpus
		for family := range 12 {
			first := family * 1000
			if family%3 == 0 {
				c = append(c, chainOf(first, 5+rng.IntN(30))...)
				continue
			}
			for range 1 + rng.IntN(20) { // a template, and shorter and longer variants
				set := numbers(first+rng.IntN(4), 15+rng.IntN(10))
				c = append(c, append(set, uint64(first+500+rng.IntN(5))))
			}
		}
		rng.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
		corpora[fmt.Sprint("families ", seed)] = c
	}
	// Two large trees, which only two removed sets connect: one in the first file, and one in the last.
	two := corpus{numbers(0, 20), numbers(6, 20), numbers(2, 20)}
	for own := range 3 * smallTree {
		two = append(two, append(numbers(6*(own%2), 20), uint64(1000+own)))
	}
	corpora["large trees"] = append(two, numbers(4, 20))
	spooled, atOnce := map[string]int{}, 0
	for name, c := range corpora {
		for _, threshold := range []setsim.Threshold{{Num: 1, Den: 2}, {Num: 4, Den: 5}} {
			near := c.similar(threshold)
			want, together := c.listed(near), clusters(near)
			if diff := cmp.Diff(c.star(near), c.star(want)); diff != "" {
				t.Fatalf("%s: what is listed decides otherwise: %s", name, diff)
			}
			for i, p := range want { // written with the smaller key first
				want[i].A, want[i].B = min(p.A, p.B), max(p.A, p.B)
			}
			slices.SortFunc(want, comparePairs)
			for _, cut := range []struct{ batch, chunk int }{{len(c), 1 << 20}, {1, 1 << 20}, {9, 1500}, {50, 1}, {len(c), 1500}} {
				got, links, chunks := passThrough(t, c, threshold, cut.batch, cut.chunk)
				trees, scored := links[:0:0], links[:0:0]
				for _, p := range links {
					if p.Score > 0 {
						scored = append(scored, p)
					} else {
						trees = append(trees, p)
					}
				}
				if diff := cmp.Diff(c.nearest(near, near), c.nearest(near, scored)); diff != "" {
					t.Fatalf("%s, t = %v, %+v: nearest: %s", name, threshold, cut, diff)
				}
				slices.SortFunc(got, comparePairs)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, t = %v, %+v: pairs: %s", name, threshold, cut, diff)
				}
				for _, found := range [][]blocks.NearPair{trees, slices.Concat(got, trees)} {
					if diff := cmp.Diff(together, clusters(found)); diff != "" {
						t.Fatalf("%s, t = %v, %+v: clusters: %s", name, threshold, cut, diff)
					}
				}
				if cut.chunk == 1500 {
					for kind, n := range chunks {
						spooled[kind] = max(spooled[kind], n)
					}
					if cut.batch == len(c) {
						atOnce = max(atOnce, chunks["kept"])
					}
				}
			}
		}
	}
	if spooled["kept"] < 3 || spooled["removed"] < 3 || atOnce < 3 {
		t.Errorf("few chunks went to files: %v; of one batch: %d", spooled, atOnce)
	}
	// Without links the chain would fall apart.
	near := corpora["removed links"].similar(setsim.Threshold{Num: 4, Den: 5})
	if all, listed := clusterCount(near), clusterCount(corpora["removed links"].listed(near)); all != 1 || listed < 50 {
		t.Errorf("%d clusters, %d of pairs with kept ones", all, listed)
	}
}

func clusterCount(pairs []blocks.NearPair) int {
	distinct := map[int64]bool{}
	for root := range maps.Values(clusters(pairs)) {
		distinct[root] = true
	}
	return len(distinct)
}
