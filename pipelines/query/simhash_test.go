package query_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/simhash"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// vectors returns the vectors of words of documents.
func vectors(t *testing.T, docs []document, weights string) []vector.Vector {
	t.Helper()
	normalize, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	shingler, having := shingle.New(shingle.Config{Kind: shingle.Word, K: 1}, normalize), map[uint64]uint64{}
	all := make([]vector.Vector, len(docs))
	for i, d := range docs {
		counts := map[uint64]uint32{}
		for _, x := range shingler.Shingles(nil, []byte(d.Text)) {
			counts[x]++
		}
		for _, x := range d.set {
			having[x]++
			if weights == "1" {
				counts[x] = 1
			}
			all[i].Features, all[i].Weights = append(all[i].Features, x), append(all[i].Weights, counts[x])
		}
	}
	if weights == "tf-idf" {
		for _, v := range all {
			for k, x := range v.Features {
				v.Weights[k] *= vector.InverseFrequency(uint64(len(docs)), having[x])
			}
		}
	}
	return all
}

// cosine returns the cosine of two vectors, and the number of features they share.
func cosine(a, b vector.Vector) (similarity float64, shared int) {
	dot, x, y := uint64(0), uint64(0), uint64(0)
	for i, w := range a.Weights {
		x += uint64(w) * uint64(w)
		if k, ok := slices.BinarySearch(b.Features, a.Features[i]); ok {
			dot += uint64(w) * uint64(b.Weights[k])
			shared++
		}
	}
	for _, w := range b.Weights {
		y += uint64(w) * uint64(w)
	}
	return float64(dot) / math.Sqrt(float64(x)*float64(y)), shared
}

// The nearest documents by cosine and by overlap, of all documents or of those that share a piece, are those that a
// plain loop finds.
func TestNearestVectorsAndSignatures(t *testing.T) {
	docs := read(t, pages)
	const size = 75
	for _, tt := range []struct {
		flags, weights string
		overlap        bool
		pieces         int // 0 if all documents are compared
		min            float64
		estimate       bool
	}{
		{flags: "--compare=cosine", weights: "1"},
		{flags: "--method=simhash --compare=cosine --min-similarity=.4", weights: "tf", min: .4},
		{flags: "--compare=cosine", weights: "tf-idf"},
		{flags: "--method=simhash --seed=7 --bits=75", weights: "1", overlap: true},
		{flags: "--compare=overlap --seed=7 --bits=75 --min-similarity=.6", weights: "tf-idf", overlap: true, min: .6},
		{flags: "--method=simhash --seed=7 --bits=75 --pieces=11", weights: "tf", overlap: true, pieces: 11},
		{flags: "--method=simhash --compare=cosine --seed=7 --bits=75 --pieces=11", weights: "tf-idf", pieces: 11},
		{flags: "--method=simhash --compare=cosine --seed=7 --bits=75 --pieces=10 --sort=estimate", weights: "1", pieces: 10, estimate: true},
	} {
		all, signer := vectors(t, docs, tt.weights), simhash.New(size, simhash.Normal, 7)
		bit := func(sig []uint64, i int) uint64 { return sig[i/64] >> (i % 64) & 1 }
		for _, at := range []int{3, 100, 250} {
			own := signer.Sign(nil, all[at])
			var want []records.Neighbour
			for i, d := range docs {
				if i == at {
					continue
				}
				sig := signer.Sign(nil, all[i])
				n := records.Neighbour{ID: d.ID, Source: "osx.jsonl"}
				n.Similarity, _ = cosine(all[at], all[i])
				_, shared := cosine(all[at], all[i])
				n.Shared, n.Size = int32(shared), int32(len(d.set))
				equal := 0
				for k := range size {
					equal += int(1 ^ bit(own, k) ^ bit(sig, k))
				}
				if distance := bits.OnesCount64(own[0]^sig[0]) + bits.OnesCount64(own[1]^sig[1]); distance != size-equal {
					t.Fatalf("%d bits are equal, and %d not", equal, distance)
				}
				overlap := float64(equal) / size
				if tt.overlap {
					n.Similarity, n.Shared, n.Size = overlap, int32(equal), size
				}
				for p := range tt.pieces {
					same := true
					for k := p * size / tt.pieces; k < (p+1)*size/tt.pieces; k++ {
						same = same && bit(own, k) == bit(sig, k)
					}
					if same {
						n.Estimate = &overlap
						n.Buckets = append(n.Buckets, records.Bucket{Band: int32(p)})
					}
				}
				if n.Similarity > 0 && n.Similarity >= tt.min && (tt.pieces == 0 || n.Buckets != nil) || tt.estimate && n.Buckets != nil {
					want = append(want, n)
				}
			}
			candidates := len(want)
			slices.SortStableFunc(want, func(a, b records.Neighbour) int {
				if tt.estimate {
					return cmp.Compare(*b.Estimate, *a.Estimate)
				}
				return cmp.Compare(b.Similarity, a.Similarity)
			})
			want = want[:min(len(want), 5)]
			name := fmt.Sprintf("%s --weights=%s of %s", tt.flags, tt.weights, docs[at].ID)
			got, err := run(t, append(strings.Fields(tt.flags), pages, "--of="+docs[at].ID, "-n5", "--shingle=word:1", "--weights="+tt.weights)...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range got.Neighbours {
				got.Neighbours[i].Position = 0
				for k := range got.Neighbours[i].Buckets {
					got.Neighbours[i].Buckets[k].Bucket = ""
				}
			}
			if got.Candidates != int64(candidates) || got.Buckets != (tt.pieces > 0) || candidates == 0 && tt.min == 0 {
				t.Errorf("%s: %+v, want %d candidates", name, got, candidates)
			}
			if diff := gocmp.Diff(want, got.Neighbours, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// Wrong settings of SimHash are refused, and the message says what to give.
func TestRefusalsOfSimHash(t *testing.T) {
	for flags, want := range map[string]string{
		"--method=simhash --compare=jaccard":                                 "supports only cosine and overlap; use --compare cosine or overlap, or drop --method",
		"--method=simhash --signature=fss":                                   "compares by overlap; drop them, or use --method simhash with --pieces",
		"--compare=cosine --bands=2 --rows=2":                                "apply only to --compare jaccard",
		"--compare=overlap --pieces=4":                                       "--pieces 4: add --method simhash",
		"--compare=cosine --bits=64":                                         "computes no SimHash signatures",
		"--vectors=sign":                                                     "computes no SimHash signatures",
		"--weights=tf":                                                       "sets have no weights; use --compare cosine or overlap",
		"--method=simhash --compare=cosine --seed=3":                         "--seed 3",
		"--method=simhash --recall=.9":                                       "--recall 0.9",
		"--method=simhash --bits=9 --pieces=10":                              "number of bits, 9",
		"--method=simhash --sort=estimate":                                   "nothing is estimated",
		"--compare=cosine --weights=tf --memory=256MB --max-doc-bytes=32MiB": "--max-doc-bytes",
	} {
		_, err := run(t, append(strings.Fields(flags), pages, "--of=osx/as")...)
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
}

// The answer says how signatures are made.
func TestParametersOfSignatures(t *testing.T) {
	for flags, want := range map[string]map[string]string{
		"--method=simhash":                  {"measure": "simhash-overlap", "neardup.signature": "simhash", "neardup.seed": "1", "neardup.bits": "256", "neardup.pieces": "0", "neardup.threshold": ""},
		"--compare=cosine --weights=tf":     {"measure": "cosine", "neardup.weights": "tf", "neardup.signature": "", "neardup.seed": ""},
		"--method=simhash --pieces=9":       {"neardup.pieces": "9", "neardup.threshold": "0.8"},
		"--method=simhash --compare=cosine": {"measure": "cosine", "neardup.weights": "1", "neardup.bits": ""},
	} {
		answer, err := run(t, append(strings.Fields(flags), pages, "--of=osx/as")...)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if got := answer.Parameters[key]; got != value {
				t.Errorf("%s: %s is %q, want %q", flags, key, got, value)
			}
		}
	}
}
