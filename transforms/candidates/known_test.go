package candidates

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/exchange"
)

// Inputs with the tokens of a kept document have an edge to it, and are looked up in no band; others are.
func TestKnown(t *testing.T) {
	const band, tokens = 0, 2 // of keys
	x := &index.Index{Dir: t.TempDir()}
	of := index.Segment{Name: "monday", Files: []records.ManifestFile{{Path: index.FileOf("monday", "kept/a.parquet"), Rows: 2}}}
	for number, keys := range map[int][]index.Key{band: {{Key: 5, Row: 0}, {Key: 5, Row: 1}}, tokens: {{Key: 7, Row: 0}, {Key: 8, Row: 1}}} {
		path := index.FileOf(of.Name, index.KeysFile(number, 0))
		_, err := storage.WriteFile(t.Context(), filepath.Join(x.Dir, path), func(w io.Writer) error {
			return index.WriteKeys(w, slices.Values(keys), nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		of.Files = append(of.Files, records.ManifestFile{Path: path})
	}
	x.Segments = []index.Segment{of}
	folder := storagetest.RunFolder(t)
	params := Params{
		Inputs: share(t, blocks.Reference, blocks.Input), List: filepath.Join(folder, "list"), Index: filepath.Join(folder, "index"), Tokens: tokens,
	}
	if err := storage.WriteShared(t.Context(), params.Index, x.Lookup()); err != nil {
		t.Fatal(err)
	}
	blocksOf := map[int64][][]byte{}
	writer := blocks.NewBandWriter(tokens+1, 0)
	emit := func(group int64, block []byte) { blocksOf[group] = append(blocksOf[group], block) }
	for position, hash := range []uint64{7, 9, 7} { // the second has different tokens
		writer.Add(blocks.NewKey(1, int64(position)), []uint64{5 << (64 - index.KeyBits), 6, hash << (64 - index.KeyBits)}, emit)
	}
	writer.Flush(emit)
	p, s := beam.NewPipelineWithRoot()
	var all []flow.Bands
	for group, packed := range blocksOf {
		all = append(all, flow.Bands(beam.ParDo(s, &underFn{group}, beam.CreateList(s, packed))))
	}
	rest, edges, known := Known(s, flow.Flatten(s, all...), params)
	copies := flow.Members(beam.ParDo(s, underKey, beam.CreateList(s, [][]byte{{}})))
	bands := List(s, rest, copies, params, known)
	passert.Equals(s, beam.ParDo(s, spell, beam.PCollection(edges)), "{0@0 1@0}", "{0@0 1@2}")
	found := Buckets(s, exchange.Alone(s, bands), params)
	passert.Equals(s, beam.ParDo(s, spell, beam.PCollection(found)), "{0@0 0@1}", "{0@1 1@1}")
	if err := ptest.Run(p); err != nil {
		t.Error(err)
	}
}

// However many inputs have the tokens of a kept document, no element is large.
func TestKnownInBlocks(t *testing.T) {
	const inputs, tokens = 150_000, 0
	folder := storagetest.RunFolder(t)
	params := Params{Inputs: share(t, blocks.Reference, blocks.Input), Index: filepath.Join(folder, "index"), Tokens: tokens}
	if err := storage.WriteShared(t.Context(), params.Index, (&index.Index{}).Lookup()); err != nil {
		t.Fatal(err)
	}
	var packed [][]byte
	writer := blocks.NewBandWriter(1, 0)
	emit := func(_ int64, block []byte) { packed = append(packed, block) }
	writer.Add(blocks.NewKey(0, 0), []uint64{7}, emit)
	for position := range int64(inputs) {
		writer.Add(blocks.NewKey(1, position), []uint64{7}, emit)
	}
	writer.Flush(emit)
	f := &knownFn{Params: params}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := 0
	err := f.ProcessElement(t.Context(), tokens, beamtest.Values(packed...), func([]byte) {}, func(_ int64, block []byte) {
		if keys += len(block) / keyBytes; len(block) > 2*blocks.BlockBytes {
			t.Errorf("an element of %d bytes", len(block))
		}
	})
	if err != nil || keys != inputs {
		t.Errorf("%d keys, error %v", keys, err)
	}
}

// underFn emits a block under a key.
type underFn struct{ Key int64 }

func (f *underFn) ProcessElement(block []byte, emit func(int64, []byte)) { emit(f.Key, block) }
