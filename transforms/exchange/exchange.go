// Package exchange carries collections from one part of a pipeline to the next: all in one collection, each in its own
// lane. That collection goes through one GroupByKey, or through files that outlast the job.
//
// Flink's runner writes every element of a fused stage once per output of the stage, whichever output it belongs to; a
// stage with one output writes it once.
package exchange

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[enterFn]()
	flow.Register[enterFactFn]()
	flow.Register[leaveFn]()
	flow.Register[leaveFactFn]()
}

// exchanged lists the keyed collections of blocks that can share one collection.
type exchanged interface {
	flow.Bands | flow.Firsts | flow.Sized | flow.Drawn | flow.Forests | flow.Members | flow.Dropped | flow.Listed |
		flow.Profiles | flow.NearPairs | flow.Links | flow.Copies | flow.Samples |
		flow.Sets | flow.LargeSets | flow.LargeProfiles |
		flow.Rows[records.Pair] | flow.Rows[records.Clustered] | flow.Rows[records.Removed] | flow.Rows[records.Rejected]
}

// Lane says which collection a block belongs to. The zero Lane is for a collection that is not shared.
type Lane int64

// laneBits is the number of bits of a key below its lane. Keys are non-negative and fit in them.
const laneBits = 48

// Has reports whether a block or a group with this key is in the lane.
func (l Lane) Has(key int64) bool { return l == 0 || Lane(key>>laneBits) == l }

func (l Lane) enter(key int64) int64 { return int64(l)<<laneBits | key }

// Key returns the key of a block or a group in the lane, without the lane.
func (l Lane) Key(key int64) int64 { return key &^ (int64(l) << laneBits) }

// An Entry returns collections that have entered their lane.
type Entry func(beam.Scope) []beam.PCollection

// enter returns all entries as one collection.
func enter(s beam.Scope, entries []Entry) beam.PCollection {
	var all []beam.PCollection
	for _, entry := range entries {
		all = append(all, entry(s)...)
	}
	return beam.Flatten(s, all...)
}

// Enter has collections travel in a lane. Zero collections are ignored.
//
//	KV<key, block> → KV<lane and key, block>
func Enter[C exchanged](lane Lane, cs ...C) Entry {
	return func(s beam.Scope) (all []beam.PCollection) {
		for _, c := range cs {
			if plain := beam.PCollection(c); plain.IsValid() {
				all = append(all, beam.ParDo(s, &enterFn{lane}, plain))
			}
		}
		return all
	}
}

// EnterFacts has facts travel as one group.
//
//	facts → KV<lane, fact>
func EnterFacts(lane Lane, facts flow.Facts) Entry {
	return func(s beam.Scope) []beam.PCollection {
		return []beam.PCollection{beam.ParDo(s, &enterFactFn{lane}, beam.PCollection(facts))}
	}
}

// Group groups all that entered. One GroupByKey.
//
//	KV<lane and key, block> → KV<lane and key, group of blocks>
func Group(s beam.Scope, entries ...Entry) Arrived {
	s = s.Scope("exchange")
	return Arrived{grouped: beam.GroupByKey(s, enter(s, entries))}
}

// Arrived is the output of an exchange.
type Arrived struct {
	grouped beam.PCollection // KV<lane and key, group of blocks>
	files   beam.PCollection // or paths of files

	bytes, hold int64
}

// Grouped reports whether Of needs no GroupByKey of blocks.
func (a Arrived) Grouped() bool { return a.grouped.IsValid() || a.hold > 0 }

// Of returns the groups of a lane, whose keys are below the given number. One GroupByKey, unless the blocks are grouped
// already.
func Of[C exchanged](s beam.Scope, a Arrived, lane Lane, keys int) Groups {
	switch {
	case a.grouped.IsValid():
		return Groups{a.grouped, In{Lane: lane}}
	case a.hold > 0:
		return refer(s, a.files, lane, keys, max(leastCuts, a.bytes/a.hold))
	default:
		return Alone(s, Leave[C](s, a, lane))
	}
}

// Leave returns the blocks that entered a lane, ungrouped.
//
//	KV<lane and key, group> or paths → KV<key, block>
func Leave[C exchanged](s beam.Scope, a Arrived, lane Lane) C {
	s = s.Scope("exchange")
	if a.grouped.IsValid() {
		return C(beam.ParDo(s, &leaveFn{lane}, a.grouped))
	}
	return C(beam.ParDo(s, &readFn{Lane: lane}, a.files))
}

// LeaveFacts returns the facts that entered a lane. The exchange must have grouped them.
//
//	KV<lane, group of facts> → facts
func LeaveFacts(s beam.Scope, a Arrived, lane Lane) flow.Facts {
	return flow.Facts(beam.ParDo(s.Scope("exchange"), &leaveFactFn{lane}, a.grouped))
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
		emit(f.Lane.Key(key), block)
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
