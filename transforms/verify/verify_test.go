package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
)

// jaccard is the verifier of Jaccard similarities of at least t.
func jaccard(t setsim.Threshold) verifier.Spec {
	return verifier.Spec{Measure: verifier.Jaccard, Threshold: t}
}

// noReferences shares inputs without references.
func noReferences(t testing.TB) string { return withReferences(t, 0) }

// withReferences shares inputs with this many references, and one input that is none.
func withReferences(t testing.TB, references int) string {
	t.Helper()
	in := &blocks.Inputs{Shards: 1}
	for i := range references + 1 {
		standing := blocks.Reference
		if i == references {
			standing = blocks.Input
		}
		in.Add(&blocks.File{Source: fmt.Sprint(i), Standing: standing}, nil, nil)
	}
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := storage.WriteShared(t.Context(), path, in); err != nil {
		t.Fatal(err)
	}
	return path
}

func setUp(t *testing.T, setup func(context.Context) error) {
	t.Helper()
	if err := setup(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// appendComponentPart appends an encoded part of a set, preceded by the component of its document.
func appendComponentPart(block []byte, component blocks.Key, part []byte) []byte {
	return blocks.AppendBytes(blocks.AppendKey(block, component), part)
}

// joined joins a group of several components that all have the same parts.
func joined(t *testing.T, parts [][]byte, threshold setsim.Threshold) (pairs []blocks.NearPair) {
	t.Helper()
	f := &joinFn{Params: Params{Inputs: noReferences(t), Verifier: jaccard(threshold), CellBytes: 1 << 30}}
	setUp(t, f.Setup)
	passedOn := func(int64, []byte) { t.Error("a component that one call can hold was passed on") }
	const components = 3
	packed := make([][]byte, 5)
	for i, part := range parts {
		for c := range components {
			b := &packed[(i+c)%len(packed)]
			*b = appendComponentPart(*b, blocks.Key(c), part)
		}
	}
	err := f.ProcessElement(context.Background(), 1, beamtest.Values(packed...), func(group int64, block []byte) {
		if group != 1 {
			t.Errorf("pairs for group %d", group)
		}
		var err error
		if pairs, err = blocks.DecodeNearPairs(pairs, block); err != nil {
			t.Fatal(err)
		}
	}, passedOn, passedOn, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Each component has all pairs, and none with another component.
	if len(pairs)%components != 0 {
		t.Fatalf("%d pairs of %d components", len(pairs), components)
	}
	each := len(pairs) / components
	for c := range components {
		if !reflect.DeepEqual(pairs[c*each:][:each], pairs[:each]) {
			t.Fatalf("component %d has other pairs than the first", c)
		}
	}
	pairs = pairs[:each]
	slices.SortFunc(pairs, func(a, b blocks.NearPair) int {
		return blocks.Edge{A: a.A, B: a.B}.Compare(blocks.Edge{A: b.A, B: b.B})
	})
	return pairs
}

// Parts may come in any order, and a set may come from several of its documents. Pairs are between the first documents
// of distinct sets, and equal those of two nested loops.
func TestJoinOfParts(t *testing.T) {
	threshold := setsim.Threshold{Num: 1, Den: 2}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var parts [][]byte
		first := map[blocks.Hash]blocks.Key{}
		sets := map[blocks.Key]map[uint64]bool{}
		for i := range 40 {
			key := blocks.NewKey(0, int64(i))
			set := map[uint64]bool{}
			for len(set) < 8 {
				set[uint64(r.IntN(14))<<60|1] = true
			}
			var sorted []uint64
			for s := range set {
				sorted = append(sorted, s)
			}
			slices.Sort(sorted)
			hash := blocks.Hash{}
			for _, s := range sorted {
				hash.Lo = hash.Lo*31 + s>>60
			}
			if _, ok := first[hash]; !ok {
				first[hash] = key
				sets[key] = set
			}
			blocks.SetParts(nil, key, hash, sorted, func(part []byte) { parts = append(parts, part) })
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var want []blocks.NearPair
		for a := range sets {
			for b := range sets {
				shared := 0
				for s := range sets[a] {
					if sets[b][s] {
						shared++
					}
				}
				if a < b && 2*shared >= 16-shared {
					want = append(want, blocks.NearPair{A: a, B: b, Score: shared, Shared: shared})
				}
			}
		}
		slices.SortFunc(want, func(a, b blocks.NearPair) int {
			return blocks.Edge{A: a.A, B: a.B}.Compare(blocks.Edge{A: b.A, B: b.B})
		})
		if diff := cmp.Diff(want, joined(t, parts, threshold)); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	}
}

// A set above 512 KB travels in parts of at most that and arrives whole.
func TestLargeSetsTravelInParts(t *testing.T) {
	large := make([]uint64, 200_000)
	for i := range large {
		large[i] = uint64(i) << 40
	}
	var parts [][]byte
	for i, set := range [][]uint64{large, large[1:]} {
		blocks.SetParts(nil, blocks.NewKey(0, int64(i)), blocks.Hash{Lo: uint64(i)}, set, func(part []byte) {
			if len(part) > 1<<20 {
				t.Errorf("a part of %d bytes", len(part))
			}
			parts = append(parts, part)
		})
	}
	if len(parts) < 4 {
		t.Fatalf("%d parts", len(parts))
	}
	slices.Reverse(parts)
	want := []blocks.NearPair{{A: blocks.NewKey(0, 0), B: blocks.NewKey(0, 1), Score: 199_999, Shared: 199_999}}
	if diff := cmp.Diff(want, joined(t, parts, setsim.Threshold{Num: 99, Den: 100})); diff != "" {
		t.Error(diff)
	}
}

// Components that are larger than a cell are passed on whole, whatever comes between their parts, and the others of the
// group are joined.
func TestLargeComponentsArePassedOn(t *testing.T) {
	const documents = 20
	r := rand.New(rand.NewPCG(1, 1))
	var entries [][]byte
	for c := range 3 {
		for i := range documents {
			set := make([]uint64, 10+90*(c%2)) // those of component 1 are large
			for k := range set {
				set[k] = uint64(k)
			}
			key := blocks.NewKey(c, int64(i))
			blocks.SetParts(nil, key, blocks.Hash{Hi: uint64(c), Lo: uint64(i)}, set, func(part []byte) {
				entries = append(entries, appendComponentPart(nil, blocks.Key(c), part))
			})
		}
	}
	r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	f := &joinFn{Params: Params{Inputs: noReferences(t), Verifier: jaccard(setsim.Threshold{Num: 1, Den: 2}), CellBytes: 5000}}
	setUp(t, f.Setup)
	var pairs []blocks.NearPair
	profiles, sets := 0, map[int64]bool{}
	err := f.ProcessElement(context.Background(), 0, beamtest.Values(entries...), func(_ int64, block []byte) {
		var err error
		if pairs, err = blocks.DecodeNearPairs(pairs, block); err != nil {
			t.Fatal(err)
		}
	}, func(document int64, block []byte) {
		if part := blocks.NewDecoder(block).SetPart(); int64(part.Key) != document || part.Key.File() != 1 {
			t.Errorf("part of %v for %d", part.Key, document)
		}
		sets[document] = true
	}, func(component int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); profiles++ {
			if p := d.Profile(); component != 1 || p.Key.File() != 1 || p.Words != 100 {
				t.Errorf("profile %+v of component %d", p, component)
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * documents * (documents - 1) / 2; len(pairs) != want || profiles != documents || len(sets) != documents {
		t.Errorf("%d pairs, %d profiles, %d sets; want %d, %d, %d", len(pairs), profiles, len(sets), want, documents, documents)
	}
}

// A component that is slightly larger than a cell is passed on whole, even if some of its sets fill the cell exactly,
// and one that fills it exactly is joined.
func TestComponentsThatFillACell(t *testing.T) {
	const documents = 4
	set := []uint64{1, 2, 3, 4, 5}
	var entries [][]byte
	size := 0
	for i := range documents {
		blocks.SetParts(nil, blocks.NewKey(0, int64(i)), blocks.Hash{Lo: uint64(i)}, set, func(part []byte) {
			size = len(part)
			entries = append(entries, appendComponentPart(nil, 0, part))
		})
	}
	for cell := range documents + 1 {
		f := &joinFn{Params: Params{Inputs: noReferences(t), Verifier: jaccard(setsim.Threshold{Num: 1, Den: 2}), CellBytes: cell * size}}
		setUp(t, f.Setup)
		var pairs []blocks.NearPair
		passed := 0
		err := f.ProcessElement(t.Context(), 0, beamtest.Values(entries...), func(_ int64, block []byte) {
			var err error
			if pairs, err = blocks.DecodeNearPairs(pairs, block); err != nil {
				t.Fatal(err)
			}
		}, func(int64, []byte) { passed++ }, func(int64, []byte) {}, nil)
		wantPairs, wantPassed := 0, documents
		if cell == documents {
			wantPairs, wantPassed = documents*(documents-1)/2, 0
		}
		if err != nil || len(pairs) != wantPairs || passed != wantPassed {
			t.Errorf("cells of %d sets: %d pairs, %d sets passed on, want %d, %d; error %v", cell, len(pairs), passed, wantPairs, wantPassed, err)
		}
	}
}
