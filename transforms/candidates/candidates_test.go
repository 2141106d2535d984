package candidates

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
)

func TestBucketsAreChained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "documents")
		keys := rapid.IntRange(1, 60).Draw(t, "keys")
		documents := map[uint64][]blocks.Key{}
		var packed [][]byte
		writer := blocks.NewBandWriter(1, 0)
		emit := func(_ int64, block []byte) { packed = append(packed, block) }
		for i := range n {
			// Keys at both ends of the range, so that the counting pass has empty and full runs.
			key := uint64(rapid.IntRange(0, keys-1).Draw(t, "key")) * 0x9e3779b97f4a7c15
			doc := blocks.NewKey(i%3, int64(i))
			documents[key>>24] = append(documents[key>>24], doc)
			writer.Add(doc, []uint64{key}, emit)
			if rapid.IntRange(0, 20).Draw(t, "flush") == 0 {
				writer.Flush(emit)
			}
		}
		writer.Flush(emit)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(packed), func(i, j int) { packed[i], packed[j] = packed[j], packed[i] })

		var want []blocks.Edge
		for _, bucket := range documents {
			slices.Sort(bucket)
			for i := 1; i < len(bucket); i++ {
				want = append(want, blocks.Edge{A: bucket[i-1], B: bucket[i]})
			}
		}
		var got []blocks.Edge
		err := (&bucketsFn{in: &blocks.Inputs{}}).ProcessElement(context.Background(), 0, beamtest.Values(packed...), func(block []byte) {
			var err error
			if got, err = blocks.DecodeEdges(got, block); err != nil {
				t.Fatal(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, blocks.Edge.Compare)
		slices.SortFunc(got, blocks.Edge.Compare)
		if !slices.Equal(want, got) {
			t.Errorf("got %d edges, want %d", len(got), len(want))
		}
	})
}

// Documents that are alone in their buckets are counted, and listed copies are not.
func TestEntriesSeen(t *testing.T) {
	ctx := metrics.SetPTransformID(metrics.SetBundleID(context.Background(), "bundle"), "step")
	var packed [][]byte
	emit := func(_ int64, block []byte) { packed = append(packed, block) }
	writer := blocks.NewBandWriter(1, 0)
	const n = 100
	for i := range n {
		writer.Add(blocks.NewKey(0, int64(i)), []uint64{uint64(i) * 0x9e3779b97f4a7c15}, emit)
	}
	writer.Add(blocks.NewKey(0, n), []uint64{0}, emit)
	writer.Flush(emit)
	copied := newList([]blocks.Key{blocks.NewKey(0, n)})
	if err := (&bucketsFn{in: &blocks.Inputs{}, copies: &copied}).ProcessElement(ctx, 0, beamtest.Values(packed...), func([]byte) { t.Error("an edge") }); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int64{}
	err := metrics.Extractor{SumInt64: func(l metrics.Labels, v int64) { seen[l.Name()] = v }}.ExtractFrom(metrics.GetStore(ctx))
	if err != nil || seen["entries"] != n {
		t.Errorf("counted %v, want %d entries; error %v", seen, n, err)
	}
}

func TestCorruptBlock(t *testing.T) {
	err := (&bucketsFn{in: &blocks.Inputs{}}).ProcessElement(context.Background(), 0, beamtest.Values([]byte{1, 2, 3}), func([]byte) {})
	if err == nil {
		t.Error("a corrupt block was read")
	}
}

func BenchmarkBuckets(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var packed [][]byte
	writer := blocks.NewBandWriter(1, 0)
	emit := func(_ int64, block []byte) { packed = append(packed, block) }
	const n = 1 << 18
	for i := range n {
		writer.Add(blocks.NewKey(0, int64(i)), []uint64{r.Uint64()}, emit)
	}
	writer.Flush(emit)
	var f bucketsFn
	for b.Loop() {
		if err := f.ProcessElement(context.Background(), 0, beamtest.Values(packed...), func([]byte) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}
