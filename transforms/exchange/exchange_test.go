package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
)

func init() {
	register.Function1x2(underLength)
	register.Function2x1(spell)
	register.Function1x1(spellFact)
	beam.RegisterDoFn(reflect.TypeFor[joinFn]())
}

func underLength(block []byte) (int64, []byte) { return int64(len(block)), block }

func spellFact(fact []byte) string { return string(fact) }

func spell(_ int64, block []byte) string { return string(block) }

// joinFn joins the blocks of its lane's groups.
type joinFn struct{ Lane Lane }

func (f *joinFn) ProcessElement(key int64, group func(*[]byte) bool, emit func(string)) {
	if !f.Lane.Has(key) {
		return
	}
	var blocks [][]byte
	var block []byte
	for group(&block) {
		blocks = append(blocks, bytes.Clone(block))
	}
	slices.SortFunc(blocks, bytes.Compare)
	emit(string(bytes.Join(blocks, []byte("+"))))
}

// Each collection has its own groups, though their keys are the same, and those that leave have their blocks.
func TestShuffle(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	list := func(values ...string) beam.PCollection {
		all := make([][]byte, len(values))
		for i, value := range values {
			all[i] = []byte(value)
		}
		return beam.CreateList(s, all)
	}
	blocks := func(values ...string) beam.PCollection { return beam.ParDo(s, underLength, list(values...)) }
	const bands, firsts, facts, members Lane = 1, 2, 3, 4
	lanes := New(s)
	Enter(lanes, bands, flow.Bands(blocks("a", "b")), flow.Bands{}, flow.Bands(blocks("cc", "dd")))
	Enter(lanes, firsts, flow.Firsts(blocks("e", "ff", "gg")))
	lanes.EnterFacts(facts, flow.Facts(list("fact", "another")))
	Enter(lanes, members, flow.Members(blocks("h", "i", "jj")))
	all := lanes.Group()
	for _, lane := range []struct {
		groups Groups
		want   []any
	}{{Of[flow.Bands](s, all, bands), []any{"a+b", "cc+dd"}}, {Of[flow.Firsts](s, all, firsts), []any{"e", "ff+gg"}}} {
		passert.Equals(s, beam.ParDo(s, &joinFn{lane.groups.Lane}, lane.groups.All), lane.want...)
	}
	passert.Equals(s, beam.ParDo(s, spell, beam.PCollection(Leave[flow.Members](s, all, members))), "h", "i", "jj")
	passert.Equals(s, beam.ParDo(s, spellFact, beam.PCollection(LeaveFacts(s, all, facts))), "fact", "another")
	alone := Alone(s, flow.Bands(blocks("a", "b", "cc")))
	passert.Equals(s, beam.ParDo(s, &joinFn{alone.Lane}, alone.All), "a+b", "cc")
	if err := ptest.Run(p); err != nil {
		t.Error(err)
	}
}

// A key is in one lane, and comes out as it was.
func TestLane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Int64Range(0, 1<<laneBits-1).Draw(t, "key")
		lane, other := Lane(rapid.IntRange(1, 100).Draw(t, "lane")), Lane(rapid.IntRange(1, 100).Draw(t, "other"))
		in := lane.enter(key)
		if got := lane.Key(in); got != key || !lane.Has(in) || other.Has(in) != (other == lane) || !Lane(0).Has(in) {
			t.Errorf("key %d in lane %d is %d: left as %d, in lane %d: %v", key, lane, in, got, other, other.Has(in))
		}
	})
}

// What a file holds is what was written there: one that was cut off, changed or mixed up is damaged.
func TestDamaged(t *testing.T) {
	folder := storagetest.RunFolder(t)
	written := func(keys ...int64) (path string, data []byte) {
		f := &writeFn{Files: Files{Folder: folder, Prefix: "a-", Bytes: 1 << 20}}
		path = folder
		emit := func(fact []byte) {
			var f blocks.Fact
			if err := json.Unmarshal(fact, &f); err != nil {
				t.Fatal(err)
			}
			path = filepath.Join(folder, f.Name)
		}
		for _, key := range keys {
			if err := f.ProcessElement(t.Context(), key, fmt.Append(nil, "block ", key), emit); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.FinishBundle(t.Context(), emit); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, data
	}
	read := func(path string) (keys []int64, err error) {
		f := &readFn{}
		return keys, f.ProcessElement(t.Context(), []byte(path), func(key int64, block []byte) {
			if string(block) != fmt.Sprint("block ", key) {
				t.Errorf("the block of %d is %q", key, block)
			}
			keys = append(keys, key)
		})
	}
	const lane = 3 << laneBits
	_, other := written(7, 8, 9)
	path, data := written(lane|1, lane|2, lane|3)
	if keys, err := read(path); err != nil || !slices.Equal(keys, []int64{lane | 1, lane | 2, lane | 3}) {
		t.Errorf("%v, %v", keys, err)
	}
	spoil := func(what string, data []byte) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range data {
		spoil(fmt.Sprint("cut at ", i), data[:i])
		changed := slices.Clone(data)
		changed[i] ^= 0x40
		spoil(fmt.Sprint("changed at ", i), changed)
	}
	frame := len(data) / 3
	spoil("something more", append(slices.Clone(data), 1, 2, 3))
	spoil("a block twice", slices.Concat(data, data[2*frame:]))
	spoil("another order", slices.Concat(data[frame:], data[:frame]))
	spoil("another file", other)
}

func TestMain(m *testing.M) { beamtest.Main(m) }

// Waves have files of their own, of the keys in their range whatever their lane.
func TestWaves(t *testing.T) {
	folder := storagetest.RunFolder(t)
	waves := []blocks.Range{{First: 0, End: 2}, {First: 2, End: 3}, {First: 3, End: blocks.End}}
	f := &writeFn{Files: Files{Folder: folder, Prefix: "a-", Bytes: 1 << 20, Waves: waves}}
	var files []string
	emit := func(fact []byte) {
		var f blocks.Fact
		if err := json.Unmarshal(fact, &f); err != nil {
			t.Fatal(err)
		}
		files = append(files, f.Name)
	}
	const lane = 3 << laneBits
	for _, key := range []int64{lane | 7, lane | 1, lane | 3, 1} {
		if err := f.ProcessElement(t.Context(), key, []byte("block"), emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.FinishBundle(t.Context(), emit); err != nil {
		t.Fatal(err)
	}
	found := map[string][]int64{}
	for _, file := range files {
		err := (&readFn{}).ProcessElement(t.Context(), []byte(filepath.Join(folder, file)), func(key int64, _ []byte) {
			found[file[:len("a-0000-")]] = append(found[file[:len("a-0000-")]], key)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]int64{"a-" + Wave(0) + "-": {lane | 1, 1}, "a-" + Wave(2) + "-": {lane | 7, lane | 3}}
	if len(files) != 2 || !reflect.DeepEqual(found, want) {
		t.Errorf("%v of %v", found, files)
	}
}

// A key is in one of so many cuts, and files of as many others have it where the two meet.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, of, other := rapid.Int64().Draw(t, "key"), rapid.IntRange(0, 40).Draw(t, "cuts"), rapid.IntRange(0, 40).Draw(t, "others")
		in, met, beside := 0, 0, 0
		for i := range max(1, of) {
			cut := Cut{i, of}
			if !cut.Has(key) {
				continue
			}
			in++
			for j := range max(1, other) {
				switch another := (Cut{j, other}); {
				case cut.Meets(another) != another.Meets(cut):
					t.Errorf("%v meets %v: %t, and not the other way", cut, another, cut.Meets(another))
				case cut.Meets(another) && another.Has(key):
					met++
				case another.Has(key):
					t.Errorf("key %d is in %v and in %v, which do not meet", key, cut, another)
				case !cut.Meets(another):
					beside++
				}
			}
		}
		if most := max(1, other)/max(1, of) + 2; in != 1 || met != 1 || max(1, other)-beside > most {
			t.Errorf("key %d is in %d of %d cuts, and of %d others in %d of %d that meet it", key, in, of, other, met, max(1, other)-beside)
		}
	})
}

// Cuts have files of their own, and who reads one has all of its blocks, whatever lane they are of.
func TestCuts(t *testing.T) {
	folder := storagetest.RunFolder(t)
	f := &writeFn{Files: Files{Folder: folder, Prefix: "a-", Bytes: 1000, Cuts: 3}}
	files := map[string]int{} // cuts
	emit := func(fact []byte) {
		var f blocks.Fact
		if err := json.Unmarshal(fact, &f); err != nil {
			t.Fatal(err)
		}
		cut := -1
		if _, err := fmt.Sscanf(f.Name, "a-%d-", &cut); err != nil {
			t.Fatal(f.Name, err)
		}
		files[filepath.Join(folder, f.Name)] = cut
	}
	var want []int64
	for key := range int64(200) {
		want = append(want, Lane(key%3+1).enter(key))
		if err := f.ProcessElement(t.Context(), want[key], []byte("block"), emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.FinishBundle(t.Context(), emit); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for i := range 4 {
		cut := Cut{i, 4}
		for path, own := range files {
			if !cut.Meets(Cut{own, 3}) {
				continue
			}
			if err := (&readFn{Cut: cut}).ProcessElement(t.Context(), []byte(path), func(key int64, _ []byte) { got = append(got, key) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(files) < 6 || !slices.Equal(got, want) {
		t.Errorf("%d files have %v", len(files), got)
	}
}
