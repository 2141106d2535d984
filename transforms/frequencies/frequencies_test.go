package frequencies

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
)

var words = shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}}

// build runs the steps of Build over bundles of texts.
func build(t *testing.T, f File, bundles [][]string) {
	t.Helper()
	counts, parts := map[int64][][]byte{}, [][]byte{{}} // as gather.All does
	total := func(key int64, part []byte) {
		if key != gather.Key {
			t.Fatalf("part of %d", key)
		}
		parts = append(parts, part)
	}
	count := func(key int64, block []byte) { counts[key] = append(counts[key], block) }
	do := &countFn{File: f, Text: words}
	do.Setup()
	for _, texts := range bundles {
		do.StartBundle(nil, nil)
		var block []byte
		for i, text := range texts {
			block = blocks.AppendDocument(block, &blocks.Document{Key: blocks.NewKey(0, int64(i)), Text: []byte(text)})
		}
		if err := do.ProcessElement(block, count, total); err != nil {
			t.Fatal(err)
		}
		if err := do.FinishBundle(count, total); err != nil {
			t.Fatal(err)
		}
	}
	for key, values := range counts {
		if err := (&writeRangeFn{f}).ProcessElement(t.Context(), key, beamtest.Values(values...), total); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(parts)
	if err := (&totalFn{f}).ProcessElement(t.Context(), gather.Key, beamtest.Values(parts...)); err != nil {
		t.Fatal(err)
	}
}

// Weights are those of the definition, whatever the bundles and ranges: occurrences times log2(1 + N/n), in units of
// 2^-12, if N documents have shingles and n of these have this one.
func TestWeights(t *testing.T) {
	var bundles [][]string
	having, documents := map[string]int{}, 0
	for b := range 5 {
		var texts []string
		for i := range 40 {
			var text []string
			for word := range 30 {
				if (i*7+b*11+word*word)%(word+2) == 0 {
					text = append(text, slices.Repeat([]string{fmt.Sprint("w", word)}, 1+(i+word)%3)...)
				}
			}
			if i == 3 {
				text = append(text, fmt.Sprint("only", b))
			}
			if i == 4 && b < 2 {
				text = append(text, "both")
			}
			if texts = append(texts, strings.Join(text, " ")); len(text) == 0 {
				continue
			}
			documents++
			for word := range maps.Keys(counted(text)) {
				having[word]++
			}
		}
		bundles = append(bundles, append(texts, ""))
	}
	weights := func(ranges int, bundles [][]string) (all []map[uint64]uint64) {
		f := File{Path: filepath.Join(storagetest.RunFolder(t), "frequencies"), Ranges: ranges, Least: 2}
		build(t, f, bundles)
		spec := verifier.Spec{Measure: verifier.Cosine, Weights: vector.TFIDF, Frequencies: f.Path}
		features, err := Features(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		v := spec.New()
		for _, text := range slices.Concat(bundles...) {
			packed := features(words.New().Shingles(nil, []byte(text)))
			n, of := v.Len(len(packed)), map[uint64]uint64{}
			for i, hash := range packed[:n] {
				of[hash] = packed[n+i/2] >> (32 * (i % 2)) & math.MaxUint32
			}
			all = append(all, of)
		}
		f.Forget()
		return all
	}
	var want []map[uint64]uint64
	for _, text := range slices.Concat(bundles...) {
		of := map[uint64]uint64{}
		for word, n := range counted(strings.Fields(text)) {
			hash := words.New().Shingles(nil, []byte(word))[0]
			of[hash] = uint64(n) * uint64(math.Floor(4096*math.Log2(1+float64(documents)/float64(having[word]))))
		}
		want = append(want, of)
	}
	for _, ranges := range []int{1, 3, 1000} {
		for _, cut := range [][][]string{bundles, {slices.Concat(bundles...)}} {
			if diff := cmp.Diff(want, weights(ranges, cut)); diff != "" {
				t.Errorf("%d ranges, %d bundles: %s", ranges, len(cut), diff)
			}
		}
	}
}

func counted(words []string) map[string]int {
	n := map[string]int{}
	for _, word := range words {
		n[word]++
	}
	return n
}

// Equal hashes are one run, and sums of counts do not depend on how hashes are divided.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.Uint64Range(0, 9)).Draw(t, "hashes")
		slices.Sort(hashes)
		got, want := map[uint64]uint64{}, map[uint64]uint64{}
		for _, h := range hashes {
			want[h]++
		}
		for c := range runs(hashes) {
			if _, twice := got[c.hash]; twice {
				t.Errorf("%d is there twice", c.hash)
			}
			got[c.hash] = c.documents
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Without its files there are no weights: a missing range is not one without shingles.
func TestGone(t *testing.T) {
	f := File{Path: filepath.Join(storagetest.RunFolder(t), "frequencies"), Ranges: 1, Least: 2}
	spec := verifier.Spec{Measure: verifier.Overlap, Bits: 64, Weights: vector.TFIDF, Frequencies: f.Path}
	if _, err := Features(t.Context(), spec); err == nil {
		t.Error("no error, and no file")
	}
	if err := (&totalFn{f}).ProcessElement(t.Context(), gather.Key, beamtest.Values([]byte(`{"Documents": 3}`), []byte(`{"Shingles": {"0": 1}}`))); err != nil {
		t.Fatal(err)
	}
	if _, err := Features(t.Context(), spec); err == nil {
		t.Error("no error, and no file of the range")
	}
}
