package candidates

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/transforms/exchange"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() {
	beam.RegisterFunction(underKey)
	beam.RegisterFunction(spell)
}

// underKey puts a block under the key 3.
func underKey(block []byte) (int64, []byte) { return 3, block }

// spell writes the edges of a block out.
func spell(block []byte, emit func(string)) error {
	edges, err := blocks.DecodeEdges(nil, block)
	for _, e := range edges {
		emit(fmt.Sprint(e))
	}
	return err
}

// What a list leaves of entries, in order or not, is what a search in a slice leaves.
func TestOthersAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.Custom(func(t *rapid.T) blocks.Key {
			return blocks.NewKey(rapid.IntRange(0, 2).Draw(t, "file"), rapid.Int64Range(0, 20).Draw(t, "position"))
		})
		copies := rapid.SliceOfDistinct(document, rapid.ID).Draw(t, "copies")
		for position := range rapid.Int64Range(0, 100).Draw(t, "many") {
			if key := blocks.NewKey(1, position); position > 20 {
				copies = append(copies, key) // far from one another are those before and behind
			}
		}
		documents := rapid.SliceOf(document).Draw(t, "documents")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(documents)
		}
		var entries, want []blocks.BandEntry
		for i, key := range documents {
			e := blocks.BandEntry{Key: uint64(i), Document: key}
			if entries = append(entries, e); !slices.Contains(copies, key) {
				want = append(want, e)
			}
		}
		if got := newList(slices.Clone(copies)).others(entries); !slices.Equal(got, want) {
			t.Errorf("%v without %v are %v, want %v", documents, copies, got, want)
		}
	})
}

// Buckets of which copies are listed chain the others; members that are no copies, and the first of copies, stay.
func TestBucketsWithoutListedCopies(t *testing.T) {
	at := func(position int64) blocks.Key { return blocks.NewKey(0, position) }
	var entries [][]byte
	writer := blocks.NewBandWriter(1, 0)
	for position := range int64(6) {
		writer.Add(at(position), []uint64{7}, func(_ int64, block []byte) { entries = append(entries, block) })
	}
	writer.Flush(func(_ int64, block []byte) { entries = append(entries, block) })
	var members []byte
	for _, m := range []blocks.Member{{Key: at(1), Component: at(1)}, {Key: at(2), Component: at(1)}, {Key: at(4), Component: at(1)}} {
		members = blocks.AppendMember(members, m)
	}
	for _, way := range []struct {
		copies [][]byte
		list   bool
		want   []any
	}{
		{[][]byte{members}, true, []any{"{0@0 0@1}", "{0@1 0@3}", "{0@3 0@5}"}},
		{[][]byte{{}}, true, []any{"{0@0 0@1}", "{0@1 0@2}", "{0@2 0@3}", "{0@3 0@4}", "{0@4 0@5}"}},
		{[][]byte{members}, false, []any{"{0@0 0@1}", "{0@1 0@2}", "{0@2 0@3}", "{0@3 0@4}", "{0@4 0@5}"}},
	} {
		p, s := beam.NewPipelineWithRoot()
		var params Params
		if way.list {
			params.List = filepath.Join(storagetest.RunFolder(t), "list")
		}
		bands := flow.Bands(beam.ParDo(s, underKey, beam.CreateList(s, entries)))
		if way.list {
			bands = List(s, bands, flow.Members(beam.ParDo(s, underKey, beam.CreateList(s, way.copies))), params)
		}
		passert.Equals(s, beam.ParDo(s, spell, beam.PCollection(Buckets(s, exchange.Alone(s, bands), params))), way.want...)
		if err := ptest.Run(p); err != nil {
			t.Errorf("%d bytes of copies, list %v: %v", len(way.copies[0]), way.list, err)
		}
	}
}
