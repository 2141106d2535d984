package passages

import (
	"context"
	"encoding/binary"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[gramsFn]()
	flow.Register[firstsFn]()
}

var (
	gramsHashed   = beam.NewCounter("passages", "grams")
	gramsRepeated = beam.NewCounter("passages", "grams_repeated")
)

// Grams hashes the L-grams of documents whose minimizers are repeated. A copy becomes passages as a whole.
//
//	blocks of documents → KV<hash shard, records: hash, place>, KV<gather.Key, records: document, its words>,
//	KV<split, passages>, KV<split, wanted>, facts
//
// The passages ask for their first places. The sizes of documents are for Decide, and are emitted only if it drops
// documents.
func Grams(s beam.Scope, docs flow.Fetched, p Params) (flow.Grams, flow.Occurrences, Told) {
	s = s.Scope("passages.Grams")
	grams, sizes, found, wanted, facts := beam.ParDo5(s, &gramsFn{Params: p}, beam.PCollection(docs))
	told := Told{flow.Passages(found), flow.Wanted(wanted), flow.Facts(facts)}
	return flow.Grams(grams), flow.Occurrences(sizes), told
}

// Told is passages whose places in bytes are not yet known.
type Told struct {
	Passages flow.Passages
	Wanted   flow.Wanted // requests for their first places
	Facts    flow.Facts
}

// gramsFn hashes L-grams; see Grams for the shapes.
type gramsFn struct {
	Params Params

	in     *blocks.Inputs
	words  words
	grams  grams
	filter *filter
	hashed *blocks.Shards
	sizes  blocks.Buffers
	out    passagesOut
}

func (f *gramsFn) Setup(ctx context.Context) (err error) {
	if f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err != nil {
		return err
	}
	f.words, f.grams = newWords(f.Params), newGrams(f.Params)
	return nil
}

func (f *gramsFn) StartBundle(_, _, _, _ func(int64, []byte), _ func([]byte)) {
	f.hashed, f.out = blocks.NewShards(f.Params.GramShards), newPassagesOut()
}

func (f *gramsFn) ProcessElement(
	ctx context.Context, block []byte, grams, sizes, found, wanted func(int64, []byte), _ func([]byte),
) (err error) {
	// The filter is complete once there is a document to read.
	if f.filter, err = loadFilter(ctx, f.Params.Filter); err != nil {
		return err
	}
	all := int64(0)
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		m := blocks.Member{Key: doc.Key, Component: doc.Component, Of: int32(doc.Of)}
		if m.IsCopy() {
			f.copied(&doc, found, wanted)
			continue
		}
		n := f.words.parted(&doc, func(position int, tokens []uint64) {
			all += f.hash(doc.Key, position, tokens, grams)
		})
		if f.Params.DropCovered > 0 {
			r := appendOccurrence(nil, passage.Place{Document: int64(doc.Key), Position: behind}, uint64(n),
				make([]byte, f.Params.lengthBytes()))
			f.sizes.Add(gather.Key, func(block []byte) []byte { return append(block, r...) }, sizes)
		}
	}
	gramsHashed.Inc(ctx, all)
	return d.Err()
}

// hash emits the L-grams of a part of a document, and returns their number.
func (f *gramsFn) hash(doc blocks.Key, position int, tokens []uint64, emit func(int64, []byte)) (all int64) {
	var record [hashBytes + placeBytes + numberBytes]byte
	f.grams.begin(tokens)
	for some := f.grams.next(); len(some) > 0; some = f.grams.next() {
		for _, c := range some {
			if !f.filter.has(c.Value) {
				continue
			}
			for p := c.First; p <= c.Last; p++ {
				gram := f.grams.at(tokens, p)
				sum := passage.Hash(gram)
				binary.BigEndian.PutUint64(record[:], sum.Hi)
				binary.BigEndian.PutUint64(record[8:], sum.Lo)
				r := appendPlace(record[:hashBytes], passage.Place{Document: int64(doc), Position: position + p})
				if f.Params.Whole != Runs {
					r = appendNumber(r, len(gram))
				}
				shard := shardOf(sum.Hi, f.Params.GramShards)
				f.hashed.Add(shard, func(block []byte) []byte { return append(block, r...) }, emit)
				all++
			}
		}
	}
	return all
}

// copied emits the passages of a copy.
func (f *gramsFn) copied(doc *blocks.Document, found, wanted func(int64, []byte)) {
	var all []passage.Passage
	n := f.words.parted(doc, func(position int, tokens []uint64) {
		end := position + len(tokens)
		if last := len(all) - 1; last >= 0 && all[last].End == position {
			all[last].End, all[last].FromEnd = end, end // units of one column
		} else if end > position {
			all = append(all, passage.Passage{
				Start: position, End: end, From: int64(doc.Component), FromStart: position, FromEnd: end,
			})
		}
	})
	if n < f.Params.Length {
		return
	}
	f.out.counts.add(doc.Key, CountCopies, 1)
	for _, p := range all {
		f.out.add(int64(f.in.Split(doc.Key)), doc.Key, p, found)
	}
	f.out.trim(f.in, wanted)
}

func (f *gramsFn) FinishBundle(grams, sizes, found, wanted func(int64, []byte), facts func([]byte)) error {
	f.hashed.Flush(grams)
	f.sizes.Flush(sizes)
	return f.out.flush(f.in, found, wanted, facts)
}

// Firsts finds the first places of L-grams.
//
//	KV<hash shard, records: hash, place> → KV<split, records: place, first place>
//
// Firsts emits, for each repetition of an L-gram, its place and its first place, and once per repeated L-gram its first
// place alone (as both). Records of units end in their length, here and downstream. If documents are dropped, the
// records come from Decide, and no first place is in a dropped document. One GroupByKey, whose groups are read in order
// without being held in memory.
func Firsts(s beam.Scope, grams flow.Grams, p Params) flow.Repeats {
	s = s.Scope("passages.Firsts")
	return flow.Repeats(beam.ParDo(s, &firstsFn{Params: p}, beam.GroupByKey(s, beam.PCollection(grams))))
}

// firstsFn finds first places; see Firsts for the shapes.
type firstsFn struct {
	Params Params

	in      *blocks.Inputs
	grouped sorted.Records
}

func (f *firstsFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *firstsFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var out blocks.Buffers
	all := int64(0)
	tell := func(at, first passage.Place, length []byte) {
		var record [2*placeBytes + numberBytes]byte
		r := append(appendPlace(appendPlace(record[:0], at), first), length...)
		split := int64(f.in.Split(blocks.Key(at.Document)))
		out.Add(split, func(block []byte) []byte { return append(block, r...) }, emit)
		if at != first {
			all++
		}
	}
	if err := f.Params.repeated(ctx, &f.grouped, packed, f.Params.DropCovered > 0, tell); err != nil {
		return err
	}
	out.Flush(emit)
	gramsRepeated.Inc(ctx, all)
	return nil
}

// repeated calls tell with the places of each repeated L-gram of a group, its first place before the others. If
// positions are marked, a marked place cannot be the first one. A unit's length is passed, too.
func (p Params) repeated(
	ctx context.Context, group *sorted.Records, packed func(*[]byte) bool, marked bool,
	tell func(at, first passage.Place, length []byte),
) error {
	const gramBytes = hashBytes + placeBytes
	if err := group.Read(ctx, p.files(gramBytes+p.lengthBytes()), packed); err != nil {
		return err
	}
	var (
		sum                [hashBytes]byte
		first              passage.Place
		begun, found, told bool // an L-gram, its first place, and a call of tell for that
	)
	for record, err := range group.Repeated(hashBytes) {
		if err != nil {
			return err
		}
		place, dropped := placeOf(record[hashBytes:]), false
		if marked {
			place.Position, dropped = unmarked(place.Position)
		}
		if !begun || string(record[:hashBytes]) != string(sum[:]) {
			copy(sum[:], record)
			begun, found, told = true, false, false
		}
		if !found {
			first, found = place, !dropped
			continue
		}
		if !place.Repeats(first, p.Length) {
			continue
		}
		if !told {
			tell(first, first, record[gramBytes:])
			told = true
		}
		tell(place, first, record[gramBytes:])
	}
	return nil
}
