package spool

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() {
	beam.RegisterDoFn(reflect.TypeFor[keyFn]())
	beam.RegisterDoFn(reflect.TypeFor[gatherFn]())
	register.Emitter2[int64, []byte]()
}

// keyFn replaces the first 8 bytes of a value by the key.
type keyFn struct{}

func (*keyFn) ProcessElement(value []byte, emit func(int64, []byte)) {
	d := blocks.NewDecoder(value)
	key := d.Key()
	emit(int64(key), value[8:])
}

var gathered = struct {
	sync.Mutex
	batches map[string][]string
}{batches: map[string][]string{}}

type gatherFn struct{ Name string }

func (f *gatherFn) ProcessElement(component int64, batch []byte) {
	gathered.Lock()
	defer gathered.Unlock()
	gathered.batches[f.Name] = append(gathered.batches[f.Name], fmt.Sprintf("%d %+v", component, blocks.NewDecoder(batch).Batch()))
}

// The set of each document with a turn is in the file of its batch, in the order of the turns, and there are no other
// sets.
func TestSets(t *testing.T) {
	temp := storagetest.RunFolder(t)
	r := rand.New(rand.NewPCG(1, 1))
	want := map[string]blocks.Sets{} // by file
	batches := map[string][]string{} // by kind
	var sets, crowds, others [][]byte
	keyed := func(key blocks.Key, value []byte) []byte { return append(blocks.AppendKey(nil, key), value...) }
	for component := range blocks.Key(4) {
		turns, kind := &crowds, "crowds"
		if component%2 == 1 {
			turns, kind = &others, "others"
		}
		for batch := range 3 {
			var g blocks.Sets
			for i := range 1 + r.IntN(4) {
				number := int64(component)*1000 + int64(batch)*100 + int64(9-i) // not in the order of turns
				key := blocks.NewKey(1, number)
				set := make([]uint64, 1+r.IntN(100))
				if component == 3 && i == 0 {
					set = make([]uint64, 100_000) // of several parts
				}
				for k := range set {
					set[k] = uint64(number)<<32 | uint64(k)
				}
				g.Keys, g.Sets = append(g.Keys, key), append(g.Sets, set)
				turn := blocks.Turn{Component: component, Batch: batch, Number: 10*batch + i}
				*turns = append(*turns, keyed(key, blocks.AppendTurn(nil, turn)))
				blocks.SetParts(nil, key, blocks.Hash{Lo: uint64(number)}, set, func(part []byte) { sets = append(sets, keyed(key, part)) })
				// A copy has the set, but no turn.
				copied := blocks.NewKey(2, number)
				blocks.SetParts(nil, copied, blocks.Hash{Lo: uint64(number)}, set, func(part []byte) { sets = append(sets, keyed(copied, part)) })
			}
			want[BatchFile(temp, component, batch)] = g
			batches[kind] = append(batches[kind], fmt.Sprintf("%d %+v", component, Describe(batch, g)))
		}
	}
	r.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	p, s := beam.NewPipelineWithRoot()
	in := func(values [][]byte) beam.PCollection { return beam.ParDo(s, &keyFn{}, beam.CreateList(s, values)) }
	ofCrowds, ofOthers := Sets(s, flow.LargeSets(in(sets)), flow.Turns(in(crowds)), flow.Turns(in(others)), temp)
	beam.ParDo0(s, &gatherFn{Name: "crowds"}, beam.PCollection(ofCrowds))
	beam.ParDo0(s, &gatherFn{Name: "others"}, beam.PCollection(ofOthers))
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
	for kind, all := range batches {
		slices.Sort(all)
		slices.Sort(gathered.batches[kind])
		if diff := cmp.Diff(all, gathered.batches[kind]); diff != "" {
			t.Errorf("batches of %s: %s", kind, diff)
		}
	}
	for file, sets := range want {
		got, err := Read(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sets, got); diff != "" {
			t.Errorf("%s: %s", strings.TrimPrefix(file, temp), diff)
		}
	}
}

// A batch describes the number and the sizes of its sets.
func TestDescribe(t *testing.T) {
	g := blocks.Sets{Sets: [][]uint64{make([]uint64, 5), make([]uint64, 3), make([]uint64, 9)}}
	if got, want := Describe(4, g), (blocks.Batch{Number: 4, Sets: 3, Shingles: 17, Smallest: 3, Largest: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
