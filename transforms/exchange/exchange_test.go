package exchange

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
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
		if got := lane.leave(in); got != key || !lane.Has(in) || other.Has(in) != (other == lane) || !Lane(0).Has(in) {
			t.Errorf("key %d in lane %d is %d: left as %d, in lane %d: %v", key, lane, in, got, other, other.Has(in))
		}
	})
}

func TestMain(m *testing.M) { beamtest.Main(m) }
