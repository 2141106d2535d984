package baseline

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// groups gathers what a DoFn emits, as a GroupByKey would.
type groups map[int64][][]byte

func (g groups) emit(key int64, block []byte) { g[key] = append(g[key], block) }

func (g groups) each(t *testing.T, do func(key int64, packed func(*[]byte) bool) error) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(g)) {
		if err := do(key, beamtest.Values(g[key]...)); err != nil {
			t.Fatal(err)
		}
	}
}

// most exceeds the number of pairs of any test.
const most = 1000

func jaccard(threshold setsim.Threshold) verifier.Spec {
	return verifier.Spec{Measure: verifier.Jaccard, Threshold: threshold}
}

// count counts the edges.
func (g groups) count(t *testing.T) (n int) {
	t.Helper()
	for _, packed := range g {
		for _, b := range packed {
			edges, err := blocks.DecodeEdges(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			n += len(edges)
		}
	}
	return n
}

// written returns the pairs that writePairsFn writes.
func written(t *testing.T, edges groups) []blocks.Edge {
	t.Helper()
	path := filepath.Join(storagetest.RunFolder(t), "pairs")
	edges.each(t, func(key int64, packed func(*[]byte) bool) error {
		return (&writePairsFn{Params{Path: path, Most: most}}).ProcessElement(t.Context(), key, packed)
	})
	pairs, err := Pairs(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

// Each pair that reaches the threshold is found once, whatever the number of cells.
func TestBruteForceEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	text := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}}
	threshold, err := setsim.ParseThreshold(0.5)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 30 {
		var block []byte
		var sets []map[string]bool
		for i := range r.IntN(25) {
			set := map[string]bool{}
			for range r.IntN(6) {
				set[fmt.Sprintf("w%d", r.IntN(7))] = true
			}
			sets = append(sets, set)
			words := strings.Join(slices.Sorted(maps.Keys(set)), " ")
			block = blocks.AppendDocument(block, &blocks.Document{Key: blocks.NewKey(0, int64(i)), Text: []byte(words)})
		}
		var want []blocks.Edge
		for i, a := range sets {
			for j, b := range sets[i+1:] {
				shared := 0
				for w := range a {
					if b[w] {
						shared++
					}
				}
				if union := len(a) + len(b) - shared; shared > 0 && 2*shared >= union {
					want = append(want, blocks.Edge{A: blocks.NewKey(0, int64(i)), B: blocks.NewKey(0, int64(i+1+j))})
				}
			}
		}
		for _, cells := range []int{1, 2, 5} {
			parts, edges := groups{}, groups{}
			p := Params{Verifier: jaccard(threshold), Cells: cells, Most: most}
			sets := &setsFn{Text: text, Verifier: p.Verifier}
			if err := sets.Setup(t.Context()); err != nil {
				t.Fatal(err)
			}
			send := &sendFn{Params: p}
			err := sets.ProcessElement(block, func(features []byte) {
				if err := send.ProcessElement(features, parts.emit); err != nil {
					t.Error(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			send.FinishBundle(parts.emit)
			parts.each(t, func(key int64, packed func(*[]byte) bool) error {
				return (&bruteFn{p}).ProcessElement(t.Context(), key, packed, edges.emit)
			})
			if got := written(t, edges); !slices.Equal(got, want) || edges.count(t) != len(want) {
				t.Fatalf("round %d, %d cells: %d pairs in %d edges, want %d", round, cells, len(got), edges.count(t), len(want))
			}
		}
	}
}

// Features that are not sets are ordered, and are not split into parts, whatever their number.
func TestVectorsAreWhole(t *testing.T) {
	var words strings.Builder
	for i := range 2 * maxNumbers {
		fmt.Fprintf(&words, "w%d ", i)
	}
	block := blocks.AppendDocument(nil, &blocks.Document{Key: blocks.NewKey(0, 1), Text: []byte(words.String())})
	for measure, want := range map[string]int{verifier.Jaccard: 2, verifier.Cosine: 1} {
		f := &setsFn{Text: shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}}, Verifier: verifier.Spec{Measure: measure, Weights: vector.TF}}
		if err := f.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		parts := 0
		err := f.ProcessElement(block, func(block []byte) {
			for d := blocks.NewDecoder(block); !d.Done(); parts++ {
				d.Numbers(nil)
			}
		})
		if err != nil || parts != want {
			t.Errorf("%s: %d parts, want %d; %v", measure, parts, want, err)
		}
	}
}

// One pair too many fails the job, in one call or in all together, and Pairs reports the reason.
func TestTooManyPairs(t *testing.T) {
	threshold, err := setsim.ParseThreshold(1)
	if err != nil {
		t.Fatal(err)
	}
	var block []byte
	for i := range 4 { // gives six pairs
		block = blocks.AppendNumbers(block, blocks.NewKey(0, int64(i)), []uint64{1, 2})
	}
	for most, want := range map[int]error{5: ErrTooMany, 6: nil} {
		none := func(int64, []byte) {}
		calls := map[string]func(p Params) error{
			"bruteFn": func(p Params) error {
				return (&bruteFn{p}).ProcessElement(t.Context(), 0, beamtest.Values(block), none)
			},
			"pairsFn": func(p Params) error {
				var bucket []byte
				for i := range 4 {
					bucket = blocks.AppendKey(bucket, blocks.NewKey(0, int64(i)))
				}
				return (&pairsFn{p}).ProcessElement(t.Context(), nil, beamtest.Values(bucket), none)
			},
			"verifyFn": func(p Params) error {
				var edges []byte
				for i := range 4 {
					for j := range i {
						edges = blocks.AppendEdge(edges, blocks.Edge{A: blocks.NewKey(0, int64(j)), B: blocks.NewKey(0, int64(i))})
					}
				}
				return (&verifyFn{p}).ProcessElement(t.Context(), 0, beamtest.Values(block), beamtest.Values(edges), none)
			},
			"writePairsFn": func(p Params) error {
				var three []byte
				for i := range 3 {
					three = blocks.AppendEdge(three, blocks.Edge{A: 0, B: blocks.NewKey(0, int64(i+1))})
				}
				return (&writePairsFn{p}).ProcessElement(t.Context(), gather.Key, beamtest.Values(three, three))
			},
		}
		for name, call := range calls {
			p := Params{Verifier: jaccard(threshold), Cells: 1, Most: most, Path: filepath.Join(storagetest.RunFolder(t), "pairs")}
			if err := call(p); !errors.Is(err, want) {
				t.Errorf("%s, at most %d pairs: %v, want %v", name, most, err, want)
			}
			if _, err := Pairs(t.Context(), p.Path); !errors.Is(err, want) {
				t.Errorf("%s, at most %d pairs: Pairs returns %v, want %v", name, most, err, want)
			}
		}
	}
}
