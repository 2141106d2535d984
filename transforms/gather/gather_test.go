package gather

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() {
	beam.RegisterDoFn(reflect.TypeFor[collectFn]())
	beam.RegisterFunction(keyFn)
}

func keyFn(value []byte) (int64, []byte) { return Key, value }

// calls has the groups of a pipeline in this process.
var calls struct {
	sync.Mutex
	groups [][]string
}

type collectFn struct{}

func (f *collectFn) ProcessElement(_ int64, values func(*[]byte) bool) {
	calls.Lock()
	defer calls.Unlock()
	var group []string
	var value []byte
	for values(&value) {
		group = append(group, string(value))
	}
	slices.Sort(group)
	calls.groups = append(calls.groups, group)
}

// One call gets everything, even if there is nothing.
func TestAllIsOneCall(t *testing.T) {
	for _, values := range [][]string{nil, {"a"}, {"a", "b", "c"}} {
		calls.groups = nil
		pipeline, s := beam.NewPipelineWithRoot()
		var each []Values
		for _, v := range values {
			each = append(each, Values(beam.ParDo(s, keyFn, beam.Create(s, []byte(v)))))
		}
		beam.ParDo0(s, &collectFn{}, beam.PCollection(All(s, each...)))
		if err := ptest.Run(pipeline); err != nil {
			t.Fatal(err)
		}
		want := [][]string{append([]string{""}, values...)}
		if diff := cmp.Diff(want, calls.groups); diff != "" {
			t.Errorf("%q: %s", values, diff)
		}
	}
}

// All values are read, across blocks, and a block that is cut short is an error.
func TestGroupsAreReadToTheEnd(t *testing.T) {
	one := blocks.AppendEdge(blocks.AppendEdge(nil, blocks.Edge{A: 1, B: 2}), blocks.Edge{A: 3, B: 4})
	two := blocks.AppendEdge(nil, blocks.Edge{A: 5, B: 6})
	want := []blocks.Edge{{A: 1, B: 2}, {A: 3, B: 4}, {A: 5, B: 6}}
	read := map[string]func(group func(*[]byte) bool, do func(blocks.Edge)) error{
		"Edges": Edges,
		"Each": func(group func(*[]byte) bool, do func(blocks.Edge)) error {
			return Each(group, func(d *blocks.Decoder) { do(blocks.Edge{A: d.Key(), B: d.Key()}) })
		},
	}
	for name, each := range read {
		var got []blocks.Edge
		err := each(beamtest.Values(one, two), func(e blocks.Edge) { got = append(got, e) })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
		if err := each(beamtest.Values(one, two[:15]), func(blocks.Edge) {}); !errors.Is(err, blocks.ErrCorrupt) {
			t.Errorf("%s of a block cut short: error %v", name, err)
		}
	}
}

// Edges come back from a file sorted and once each; a missing file means none.
func TestEdgesInAFile(t *testing.T) {
	file := filepath.Join(storagetest.RunFolder(t), "edges")
	if got, err := ReadEdges(t.Context(), file); len(got) > 0 || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	edges := []blocks.Edge{{A: 2, B: 3}, {A: 1, B: 9}, {A: 2, B: 3}, {A: 1, B: 4}}
	if err := WriteEdges(t.Context(), file, edges); err != nil {
		t.Fatal(err)
	}
	got, err := ReadEdges(t.Context(), file)
	want := []blocks.Edge{{A: 1, B: 4}, {A: 1, B: 9}, {A: 2, B: 3}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if err := WriteEdges(t.Context(), filepath.Join(filepath.Dir(file), "gone", "edges"), edges); err == nil {
		t.Error("a file was written below a folder that is gone")
	}
}
