// Package together groups several collections by one GroupByKey. Flink's runner writes every element of a fused stage once for
// each output of the stage, be it the output's own or not: a stage of one output writes it once.
package together

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/records"
)

func init() {
	dofn.Register[enterFn]()
	dofn.Register[enterFactFn]()
	dofn.Register[leaveFn]()
	dofn.Register[leaveFactFn]()
	register.Emitter1[[]byte]()
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

// shuffled are the collections of blocks under a key that can be grouped with others.
type shuffled interface {
	flow.Bands | flow.Firsts | flow.Members | flow.Dropped | flow.Rows[records.Rejected]
}

// Lane says of which collection a group is. The zero Lane is that of a collection that is grouped alone.
type Lane int64

// laneBits are the upper bits of a key that has a lane; the key itself is not negative, and smaller.
const laneBits = 48

// Has reports whether a group is of the lane, by its key.
func (l Lane) Has(key int64) bool { return l == 0 || Lane(key>>laneBits) == l }

func (l Lane) enter(key int64) int64 { return int64(l)<<laneBits | key }

func (l Lane) leave(key int64) int64 { return key &^ (int64(l) << laneBits) }

// Groups are those of one collection: of All, those that its lane has.
type Groups struct {
	All  beam.PCollection
	Lane Lane
}

// Alone groups a collection by itself. One GroupByKey.
//
//	KV<key, block> → KV<key, group of blocks>
func Alone[C shuffled](s beam.Scope, c C) Groups {
	return Groups{All: beam.GroupByKey(s, beam.PCollection(c))}
}

// Shuffle is a GroupByKey of all that is added to it.
type Shuffle struct {
	scope beam.Scope
	in    []beam.PCollection
}

// New begins a shuffle.
func New(s beam.Scope) *Shuffle { return &Shuffle{scope: s.Scope("together")} }

func (sh *Shuffle) add(fn any, c beam.PCollection) {
	sh.in = append(sh.in, beam.ParDo(sh.scope, fn, c))
}

// next is the lane of what is added next.
func (sh *Shuffle) next() Lane { return Lane(len(sh.in) + 1) }

// Add adds a collection, and returns the lane of its groups.
//
//	KV<key, block> → KV<lane and key, block>
func Add[C shuffled](sh *Shuffle, c C) Lane {
	lane := sh.next()
	sh.add(&enterFn{lane}, beam.PCollection(c))
	return lane
}

// AddFacts adds facts, which are one group.
//
//	facts → KV<lane, fact>
func (sh *Shuffle) AddFacts(facts flow.Facts) Lane {
	lane := sh.next()
	sh.add(&enterFactFn{lane}, beam.PCollection(facts))
	return lane
}

// Done groups what was added. One GroupByKey.
//
//	KV<lane and key, block> → KV<lane and key, group of blocks>
func (sh *Shuffle) Done() beam.PCollection {
	return beam.GroupByKey(sh.scope, beam.Flatten(sh.scope, sh.in...))
}

// Leave returns what was added as a lane, for those who do not want it grouped.
//
//	KV<lane and key, group of blocks> → KV<key, block>
func Leave[C shuffled](s beam.Scope, groups beam.PCollection, lane Lane) C {
	return C(beam.ParDo(s.Scope("together"), &leaveFn{lane}, groups))
}

// LeaveFacts returns the facts that were added as a lane.
//
//	KV<lane, group of facts> → facts
func LeaveFacts(s beam.Scope, groups beam.PCollection, lane Lane) flow.Facts {
	return flow.Facts(beam.ParDo(s.Scope("together"), &leaveFactFn{lane}, groups))
}

type enterFn struct{ Lane Lane }

func (f *enterFn) ProcessElement(key int64, block []byte, emit func(int64, []byte)) {
	emit(f.Lane.enter(key), block)
}

type enterFactFn struct{ Lane Lane }

func (f *enterFactFn) ProcessElement(fact []byte, emit func(int64, []byte)) {
	emit(f.Lane.enter(0), fact)
}

type leaveFn struct{ Lane Lane }

func (f *leaveFn) ProcessElement(key int64, group func(*[]byte) bool, emit func(int64, []byte)) {
	if !f.Lane.Has(key) {
		return
	}
	var block []byte
	for group(&block) {
		emit(f.Lane.leave(key), block)
	}
}

type leaveFactFn struct{ Lane Lane }

func (f *leaveFactFn) ProcessElement(key int64, group func(*[]byte) bool, emit func([]byte)) {
	if !f.Lane.Has(key) {
		return
	}
	var fact []byte
	for group(&fact) {
		emit(fact)
	}
}
