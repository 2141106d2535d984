package exchange

import (
	"bytes"
	"context"
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

// joinFn joins the blocks of groups.
type joinFn struct{ In In }

func (f *joinFn) ProcessElement(ctx context.Context, key int64, packed func(*[]byte) bool, emit func(string)) error {
	return f.In.Each(ctx, key, packed, func(_ int64, group func(*[]byte) bool) error {
		var blocks [][]byte
		var block []byte
		for group(&block) {
			blocks = append(blocks, bytes.Clone(block))
		}
		slices.SortFunc(blocks, bytes.Compare)
		emit(string(bytes.Join(blocks, []byte("+"))))
		return nil
	})
}

// Each collection has its own groups, even if keys are equal, and the collections that leave have their blocks.
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
	all := Group(s,
		Enter(bands, flow.Bands(blocks("a", "b")), flow.Bands{}, flow.Bands(blocks("cc", "dd"))),
		Enter(firsts, flow.Firsts(blocks("e", "ff", "gg"))),
		EnterFacts(facts, flow.Facts(list("fact", "another"))),
		Enter(members, flow.Members(blocks("h", "i", "jj"))),
	)
	for _, lane := range []struct {
		groups Groups
		want   []any
	}{{Of[flow.Bands](s, all, bands, 3), []any{"a+b", "cc+dd"}}, {Of[flow.Firsts](s, all, firsts, 3), []any{"e", "ff+gg"}}} {
		passert.Equals(s, beam.ParDo(s, &joinFn{lane.groups.In}, lane.groups.All), lane.want...)
	}
	passert.Equals(s, beam.ParDo(s, spell, beam.PCollection(Leave[flow.Members](s, all, members))), "h", "i", "jj")
	passert.Equals(s, beam.ParDo(s, spellFact, beam.PCollection(LeaveFacts(s, all, facts))), "fact", "another")
	alone := Alone(s, flow.Bands(blocks("a", "b", "cc")))
	passert.Equals(s, beam.ParDo(s, &joinFn{alone.In}, alone.All), "a+b", "cc")
	if err := ptest.Run(p); err != nil {
		t.Error(err)
	}
}

// A key is in one lane, and comes out unchanged.
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

// files are files that writeFn wrote.
type files struct {
	folder string
	names  []string
}

// write writes frames.
func (f *files) write(t testing.TB, to Files, frames ...frame) {
	t.Helper()
	to.Folder = f.folder
	w := &writeFn{Files: to}
	emit := func(fact []byte) {
		var of blocks.Fact
		if err := json.Unmarshal(fact, &of); err != nil {
			t.Fatal(err)
		}
		f.names = append(f.names, of.Name)
	}
	for _, frame := range frames {
		if err := w.ProcessElement(t.Context(), frame.key, frame.block, emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.FinishBundle(t.Context(), emit); err != nil {
		t.Fatal(err)
	}
}

// plain returns frames with these keys, each with a block that names its key.
func plain(keys ...int64) (frames []frame) {
	for _, key := range keys {
		frames = append(frames, frame{key: key, block: fmt.Append(nil, "block ", key)})
	}
	return frames
}

// A file holds what was written to it: one that was truncated, changed or mixed up is damaged, for readers of the whole
// file and for readers by reference.
func TestDamaged(t *testing.T) {
	const lane, first = Lane(3), int64(3) << laneBits
	of := files{folder: storagetest.RunFolder(t)}
	of.write(t, Files{Prefix: "a-", Bytes: 1 << 20}, plain(first|1, first|2, first|3, first|3)...)
	of.write(t, Files{Prefix: "a-", Bytes: 1 << 20}, plain(7, 8, 9)...)
	path := filepath.Join(of.folder, of.names[0])
	read := func() (keys []int64, err error) {
		return keys, (&readFn{}).ProcessElement(t.Context(), []byte(path), func(key int64, block []byte) {
			if string(block) != fmt.Sprint("block ", key) {
				t.Errorf("the block of %d is %q", key, block)
			}
			keys = append(keys, key)
		})
	}
	var refs [][]byte
	refer := func() error {
		refs = nil
		return (&referFn{Lane: lane, Span: 2}).ProcessElement(t.Context(), []byte(path), func(_ int64, ref []byte) { refs = append(refs, ref) })
	}
	gather := func() (n int, err error) {
		err = In{Lane: lane, Files: true}.Each(t.Context(), 0, iterate(refs), func(_ int64, group func(*[]byte) bool) error {
			for block := []byte(nil); group(&block); n++ {
			}
			return nil
		})
		return n, err
	}
	if keys, err := read(); err != nil || !slices.Equal(keys, []int64{first | 1, first | 2, first | 3, first | 3}) {
		t.Errorf("%v, %v", keys, err)
	}
	if err := refer(); err != nil {
		t.Fatal(err)
	}
	if n, err := gather(); err != nil || n != 4 {
		t.Errorf("%d blocks, %v", n, err)
	}
	isDamaged := func(err error) bool { return err != nil && strings.Contains(err.Error(), of.names[0]+Damaged) }
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(what string, data []byte, inFrames bool) {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := read(); !isDamaged(err) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := gather(); inFrames && !isDamaged(err) { // by the references made before
			t.Errorf("%s: %v by references", what, err)
		}
		if held := refs; !inFrames {
			if !isDamaged(refer()) {
				t.Errorf("%s: is referred to", what)
			}
			refs = held
		}
	}
	head := countBytes + 3*entryBytes
	for i := range data {
		spoil(fmt.Sprint("cut at ", i), data[:i], i >= head)
		changed := slices.Clone(data)
		changed[i] ^= 0x40
		spoil(fmt.Sprint("changed at ", i), changed, i >= head)
	}
	size := (len(data) - head) / 4
	spoil("something more", append(slices.Clone(data), 1, 2, 3), false)
	spoil("a block twice", slices.Concat(data[:head+size], data[head:head+size], data[head+2*size:]), true)
	other, err := os.ReadFile(filepath.Join(of.folder, of.names[1]))
	if err != nil {
		t.Fatal(err)
	}
	spoil("another file", other, false)
}

// iterate is a group of values.
func iterate(values [][]byte) func(*[]byte) bool {
	return func(value *[]byte) bool {
		if len(values) == 0 {
			return false
		}
		*value, values = values[0], values[1:]
		return true
	}
}

// Groups read from files are those of the blocks that were written, whatever the number of files and cuts: each has all
// of its blocks, and none of other lanes.
func TestGathered(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const lane, keys = Lane(2), 20
		of := files{folder: storagetest.RunFolder(t)}
		want := map[int64][]string{}
		for range rapid.IntRange(0, 4).Draw(r, "writers") {
			var frames []frame
			for i := range rapid.IntRange(0, 60).Draw(r, "blocks") {
				key, of := rapid.Int64Range(0, keys-1).Draw(r, "key"), Lane(rapid.IntRange(1, 3).Draw(r, "lane"))
				block := strings.Repeat(fmt.Sprint(i), rapid.IntRange(0, 9).Draw(r, "length"))
				frames = append(frames, frame{key: of.enter(key), block: []byte(block)})
				if of == lane {
					want[key] = append(want[key], block)
				}
			}
			of.write(t, Files{Prefix: "a-", Bytes: rapid.IntRange(1, 1000).Draw(r, "bytes")}, frames...)
		}
		refs, groups := map[int64][][]byte{}, map[int64]int{}
		f := &referFn{Lane: lane, Span: rapid.Int64Range(1, 2*keys).Draw(r, "span")}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(of.names))) {
			times := len(slices.DeleteFunc(slices.Clone(of.names), func(n string) bool { return n != name }))
			err := f.ProcessElement(r.Context(), []byte(filepath.Join(of.folder, name)), func(cut int64, ref []byte) {
				for range times { // files with the same blocks are one
					refs[cut] = append(refs[cut], ref)
				}
			})
			if err != nil {
				r.Fatal(err)
			}
		}
		got := map[int64][]string{}
		for cut := range refs {
			err := In{Lane: lane, Files: true}.Each(r.Context(), cut, iterate(refs[cut]), func(key int64, group func(*[]byte) bool) error {
				groups[key]++
				for block := []byte(nil); group(&block); {
					got[key] = append(got[key], string(block))
				}
				return nil
			})
			if err != nil {
				r.Fatal(err)
			}
		}
		for _, of := range []map[int64][]string{want, got} {
			for key := range of {
				slices.Sort(of[key])
			}
		}
		if !reflect.DeepEqual(got, want) {
			r.Errorf("got %v, want %v", got, want)
		}
		for key, n := range groups {
			if n != 1 {
				r.Errorf("key %d has %d groups", key, n)
			}
		}
	})
}

// A group that is not read to its end does not become part of the next.
func TestGroupLeftUnread(t *testing.T) {
	of := files{folder: storagetest.RunFolder(t)}
	of.write(t, Files{Prefix: "a-", Bytes: 1 << 20}, plain(1, 1, 1, 2)...)
	var refs [][]byte
	err := (&referFn{Span: 9}).ProcessElement(t.Context(), []byte(filepath.Join(of.folder, of.names[0])), func(_ int64, ref []byte) { refs = append(refs, ref) })
	if err != nil {
		t.Fatal(err)
	}
	var keys []int64
	err = In{Files: true}.Each(t.Context(), 0, iterate(refs), func(key int64, group func(*[]byte) bool) error {
		keys = append(keys, key)
		group(new([]byte))
		return nil
	})
	if err != nil || !slices.Equal(keys, []int64{1, 2}) {
		t.Errorf("groups of %v, %v", keys, err)
	}
}

func TestMain(m *testing.M) { beamtest.Main(m) }

// Waves have their own files, with the keys in their range whatever their lane.
func TestWaves(t *testing.T) {
	waves := []blocks.Range{{First: 0, End: 2}, {First: 2, End: 3}, {First: 3, End: blocks.End}}
	of := files{folder: storagetest.RunFolder(t)}
	const lane = 3 << laneBits
	of.write(t, Files{Prefix: "a-", Bytes: 1 << 20, Waves: waves}, plain(lane|7, lane|1, lane|3, 1)...)
	found := map[string][]int64{}
	for _, file := range of.names {
		err := (&readFn{}).ProcessElement(t.Context(), []byte(filepath.Join(of.folder, file)), func(key int64, _ []byte) {
			found[file[:len("a-0000-")]] = append(found[file[:len("a-0000-")]], key)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]int64{"a-" + Wave(0) + "-": {1, lane | 1}, "a-" + Wave(2) + "-": {lane | 3, lane | 7}}
	if len(of.names) != 2 || !reflect.DeepEqual(found, want) {
		t.Errorf("%v of %v", found, of.names)
	}
}
