package components

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() { beam.RegisterFunction(spell) }

// spell emits the members of a block as text, with the split they were sent to.
func spell(split int64, block []byte, emit func(string)) error {
	members, err := blocks.DecodeMembers(nil, block)
	for _, m := range members {
		emit(fmt.Sprintf("split %d: %v in %v of %d", split, m.Key, m.Component, m.Of))
	}
	return err
}

// Components are those of naive label propagation, whatever the number of parts of the edges.
func TestConnect(t *testing.T) {
	inputs := &blocks.Inputs{Shards: 1}
	for _, source := range []string{"a", "b"} {
		inputs.Add(&blocks.File{Source: source, Size: 1000}, []int64{100, 200, 300, 400, 500, 600, 700, 800, 900}, nil)
	}
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := storage.WriteShared(t.Context(), path, inputs); err != nil {
		t.Fatal(err)
	}
	for _, parts := range []int{1, 2, 9, 70} {
		r := rand.New(rand.NewPCG(uint64(parts), 1))
		label := map[blocks.Key]blocks.Key{}
		var packed [][]byte
		for range 40 {
			var block []byte
			for range r.IntN(12) {
				a, b := randomKey(r), randomKey(r)
				edge := blocks.Edge{A: min(a, b), B: max(a, b)}
				for range 1 + r.IntN(2) { // equal edges count once
					block = blocks.AppendEdge(block, edge)
				}
				join(label, a, b)
			}
			packed = append(packed, block)
		}
		of := map[blocks.Key]int{}
		for _, component := range label {
			of[component]++
		}
		want := make([]any, 0, len(label))
		for key, component := range label {
			want = append(want, fmt.Sprintf("split %d: %v in %v of %d", inputs.Split(key), key, component, of[component]))
		}
		p, s := beam.NewPipelineWithRoot()
		members := Connect(s, flow.Edges(beam.CreateList(s, packed)), Params{Inputs: path, Parts: parts})
		passert.Equals(s, beam.ParDo(s, spell, beam.PCollection(members)), want...)
		if err := ptest.Run(p); err != nil {
			t.Errorf("%d parts: %v", parts, err)
		}
	}
}

func randomKey(r *rand.Rand) blocks.Key { return blocks.NewKey(r.IntN(2), r.Int64N(1000)) }

// join gives all documents of two components the smaller label.
func join(label map[blocks.Key]blocks.Key, a, b blocks.Key) {
	for _, key := range []blocks.Key{a, b} {
		if _, ok := label[key]; !ok {
			label[key] = key
		}
	}
	from, to := max(label[a], label[b]), min(label[a], label[b])
	for key, l := range label {
		if l == from {
			label[key] = to
		}
	}
}
