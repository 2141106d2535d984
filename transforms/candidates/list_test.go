package candidates

import (
	"errors"
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
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/transforms/exchange"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() {
	beam.RegisterFunction(underKey)
	beam.RegisterFunction(spell)
	flow.Register[underFn]()
}

// underKey emits a block under the key 3.
func underKey(block []byte) (int64, []byte) { return 3, block }

// spell emits the edges of a block as text.
func spell(block []byte, emit func(string)) error {
	edges, err := blocks.DecodeEdges(nil, block)
	for _, e := range edges {
		emit(fmt.Sprint(e))
	}
	return err
}

// The list leaves the same entries as a search in a slice, in order or not.
func TestOthersAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.Custom(func(t *rapid.T) blocks.Key {
			return blocks.NewKey(rapid.IntRange(0, 2).Draw(t, "file"), rapid.Int64Range(0, 20).Draw(t, "position"))
		})
		copies := rapid.SliceOfDistinct(document, rapid.ID).Draw(t, "copies")
		for position := range rapid.Int64Range(0, 100).Draw(t, "many") {
			if key := blocks.NewKey(1, position); position > 20 {
				copies = append(copies, key) // far from the ones before and after
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

// Buckets with listed copies chain the others; members that are not copies, and the first documents of copies, stay.
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
		params := Params{Inputs: share(t, blocks.Input)}
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

// share shares inputs with one file per standing.
func share(t *testing.T, standings ...blocks.Standing) string {
	t.Helper()
	in := &blocks.Inputs{Shards: 1}
	for i, standing := range standings {
		in.Add(&blocks.File{Source: fmt.Sprint(i), Standing: standing}, nil, nil)
	}
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := storage.WriteShared(t.Context(), path, in); err != nil {
		t.Fatal(err)
	}
	return path
}

// A bucket that holds only references has no edge, and one with an input is chained as a whole. Among copies, the first
// reference represents the others, and one that no input is a copy of is not emitted.
func TestReferences(t *testing.T) {
	path := share(t, blocks.Reference, blocks.Reference, blocks.Input)
	files := [][]int{{0, 1}, {0, 0, 1, 2}, {0, 2, 2}, {2, 2}, {0, 1, 1}, {1}}
	writer := blocks.NewBandWriter(1, 0)
	var entries, firsts [][]byte
	emit := func(_ int64, block []byte) { entries = append(entries, block) }
	var wantEdges []blocks.Edge
	var want []blocks.Member
	for bucket, of := range files {
		var keys []blocks.Key
		for i, file := range of {
			key := blocks.NewKey(file, int64(10*bucket+i))
			keys = append(keys, key)
			writer.Add(key, []uint64{uint64(bucket+1) << 32}, emit)
			firsts = append(firsts, blocks.AppendFirst(nil, blocks.First{Hash: blocks.Hash{Lo: uint64(bucket)}, Key: key}))
		}
		if last := len(keys) - 1; last == 0 || keys[last].File() < 2 {
			continue
		}
		copies := 0
		for i, key := range keys[1:] {
			wantEdges = append(wantEdges, blocks.Edge{A: keys[i], B: key})
			if key.File() == 2 {
				copies++
				want = append(want, blocks.Member{Key: key, Component: keys[0]})
			}
		}
		want = append(want, blocks.Member{Key: keys[0], Component: keys[0], Of: -int32(copies)})
	}
	writer.Flush(emit)
	buckets, copied := &bucketsFn{Params: Params{Inputs: path}}, &copiesFn{Params: Params{Inputs: path}}
	if err := errors.Join(buckets.Setup(t.Context()), copied.Setup(t.Context())); err != nil {
		t.Fatal(err)
	}
	var edges []blocks.Edge
	var members []blocks.Member
	err := errors.Join(
		buckets.ProcessElement(t.Context(), 0, beamtest.Values(entries...), func(block []byte) {
			edges, _ = blocks.DecodeEdges(edges, block)
		}),
		copied.ProcessElement(t.Context(), 0, beamtest.Values(firsts...), func(_ int64, block []byte) {
			members, _ = blocks.DecodeMembers(members, block)
		}))
	slices.SortFunc(wantEdges, blocks.Edge.Compare)
	slices.SortFunc(edges, blocks.Edge.Compare)
	slices.SortFunc(want, blocks.Member.Compare)
	slices.SortFunc(members, blocks.Member.Compare)
	if err != nil || !slices.Equal(edges, wantEdges) || !slices.Equal(members, want) {
		t.Errorf("edges %v, want %v\nmembers %v, want %v\nerror %v", edges, wantEdges, members, want, err)
	}
}
