package baseline

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/runners/local"
	"github.com/neardup/neardup/transforms/signature"
)

// ran runs Buckets.
func ran(t *testing.T, signed, features [][]byte, banding lsh.Banding, p Params) ([]blocks.Edge, Counts) {
	t.Helper()
	p.Path = filepath.Join(storagetest.RunFolder(t), "pairs")
	pipeline, s := beam.NewPipelineWithRoot()
	Buckets(s, flow.Signatures(beam.CreateList(s, signed)), Features(beam.CreateList(s, features)), signature.Params{Banding: banding}, p)
	result, _, err := beamtest.Launch("local", local.Options{Workers: 2})(t.Context(), pipeline, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := Pairs(t.Context(), p.Path)
	if err != nil {
		t.Fatal(err)
	}
	return pairs, CountsOf(result)
}

// Each pair that shares a bucket is compared once, by its sets, however they are split and whatever the number of
// cells. Bands are equal if all their values are.
func TestBucketsEqualDefinition(t *testing.T) {
	threshold, err := setsim.ParseThreshold(0.6)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		const rows = 2
		bands := rapid.IntRange(1, 4).Draw(r, "bands")
		value := rapid.SliceOfN(rapid.Uint64Range(0, 2), bands*rows, bands*rows)
		signatures := rapid.SliceOfN(value, 1, 15).Draw(r, "signatures")
		var signed, features [][]byte
		sets := make([]map[uint64]bool, len(signatures))
		for i, signature := range signatures {
			key := blocks.NewKey(0, int64(i))
			signed = append(signed, blocks.AppendNumbers(nil, key, signature))
			set := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 5), 1, 6, rapid.ID).Draw(r, "set")
			cut := rapid.IntRange(1, len(set)).Draw(r, "cut")
			sets[i] = map[uint64]bool{}
			for part := range slices.Chunk(set, cut) {
				features = append(features, blocks.AppendNumbers(nil, key, part))
			}
			for _, v := range set {
				sets[i][v] = true
			}
		}
		var want []blocks.Edge
		counts := Counts{BucketBytes: int64(len(signatures) * bands * (4 + 8 + 8))}
		for i, a := range signatures {
			for j := i + 1; j < len(signatures); j++ {
				shared := int64(0)
				for at := 0; at < len(a); at += rows {
					if slices.Equal(a[at:at+rows], signatures[j][at:at+rows]) {
						shared++
					}
				}
				if shared == 0 {
					continue
				}
				counts.BucketPairs += shared
				counts.Candidates++
				counts.Compared++
				both := 0
				for v := range sets[i] {
					if sets[j][v] {
						both++
					}
				}
				if 5*both >= 3*(len(sets[i])+len(sets[j])-both) {
					want = append(want, blocks.Edge{A: blocks.NewKey(0, int64(i)), B: blocks.NewKey(0, int64(j))})
				}
			}
		}
		banding := lsh.Banding{Signature: bands * rows, Bands: bands, Rows: rows, AsText: rapid.Bool().Draw(r, "text")}
		cells := rapid.IntRange(1, 5).Draw(r, "cells")
		got, did := ran(t, signed, features, banding, Params{Verifier: jaccard(threshold), Cells: cells, Most: most})
		if !slices.Equal(got, want) {
			t.Fatalf("pairs %v, want %v", got, want)
		}
		did.PairBytes, did.SetBytes = 0, 0 // they depend on the cells of documents
		if did != counts {
			t.Fatalf("%+v, want %+v", did, counts)
		}
	})
}
