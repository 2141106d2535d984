package passages

import (
	"context"
	"encoding/binary"
	"iter"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[numberFn]()
	flow.Register[coverFn]()
}

// Decide decides which documents --drop-covered drops, and marks the places of their L-grams, which cannot be first
// places.
//
//	KV<hash shard, records: hash, place>, KV<gather.Key, records: document, its words>
//	→ KV<hash shard, records: number of an L-gram, place and mark>
//
// Two GroupByKeys. The second has a single group, all repeated L-grams in input order, because the documents before a
// document decide about it. The group is sorted in files, and memory holds one bit per distinct L-gram.
func Decide(s beam.Scope, grams flow.Grams, sizes flow.Occurrences, p Params) flow.Grams {
	s = s.Scope("passages.Decide")
	numbered := beam.ParDo(s, &numberFn{Params: p}, beam.GroupByKey(s, beam.PCollection(grams)))
	all := beam.Flatten(s, numbered, beam.PCollection(sizes))
	return flow.Grams(beam.ParDo(s, &coverFn{Params: p}, beam.GroupByKey(s, all)))
}

const (
	// An occurrence is a place and the number of the L-gram there, plus the L-gram's length if it is a unit. The record
	// after all places of a document holds its number of words.
	occurrenceBytes = placeBytes + keyBytes
	behind          = math.MaxUint32
	// A number consists of a shard and an L-gram's number in it, of numberBits bits.
	numberBits = 40
)

func appendOccurrence(dst []byte, at passage.Place, number uint64, length []byte) []byte {
	return append(binary.BigEndian.AppendUint64(appendPlace(dst, at), number), length...)
}

// numberFn numbers the repeated L-grams of a shard.
//
//	KV<hash shard, records: hash, place> → KV<gather.Key, records: place, number>
type numberFn struct {
	Params Params

	grouped sorted.Records
}

func (f *numberFn) ProcessElement(
	ctx context.Context, shard int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var out blocks.Buffers
	number := uint64(shard)<<numberBits - 1
	tell := func(at, first passage.Place, length []byte) {
		if at == first {
			number++
		}
		var record [occurrenceBytes + numberBytes]byte
		r := appendOccurrence(record[:0], at, number, length)
		out.Add(gather.Key, func(block []byte) []byte { return append(block, r...) }, emit)
	}
	if err := f.Params.repeated(ctx, &f.grouped, packed, false, tell); err != nil {
		return err
	}
	out.Flush(emit)
	return nil
}

// coverFn decides the documents in input order; see Decide for the shapes.
type coverFn struct {
	Params Params

	grouped sorted.Records
	out     *blocks.Shards
}

func (f *coverFn) StartBundle(func(int64, []byte)) { f.out = blocks.NewShards(f.Params.GramShards) }

// occurrence is an L-gram of a document.
type occurrence struct {
	number           uint64
	position, length uint32 // in words
}

// occurrences are the L-grams of a document. There may be millions, so they are held in parts that are never copied.
type occurrences struct{ parts [][]occurrence }

const partOccurrences = 1 << 12

func (o *occurrences) add(next occurrence) {
	last := len(o.parts) - 1
	if last < 0 || len(o.parts[last]) == partOccurrences {
		o.parts = append(o.parts, make([]occurrence, 0, partOccurrences))
		last++
	}
	o.parts[last] = append(o.parts[last], next)
}

func (o *occurrences) all() iter.Seq[occurrence] {
	return func(yield func(occurrence) bool) {
		for _, part := range o.parts {
			for _, next := range part {
				if !yield(next) {
					return
				}
			}
		}
	}
}

// clear removes all occurrences, and keeps one part for the next document.
func (o *occurrences) clear() {
	if len(o.parts) > 0 {
		clear(o.parts[1:])
		o.parts = append(o.parts[:0], o.parts[0][:0])
	}
}

func (f *coverFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	if err := f.grouped.Read(ctx, f.Params.files(occurrenceBytes+f.Params.lengthBytes()), packed); err != nil {
		return err
	}
	var stay numbers
	var doc occurrences
	for record, err := range f.grouped.All() {
		if err != nil {
			return err
		}
		at, number := placeOf(record), binary.BigEndian.Uint64(record[placeBytes:])
		if at.Position != behind {
			length := f.Params.lengthOf(record[occurrenceBytes:])
			doc.add(occurrence{number, uint32(at.Position), uint32(length)})
			continue
		}
		dropped := covers(covered(&doc, &stay), int64(number), f.Params.DropCovered)
		for o := range doc.all() {
			if !dropped {
				stay.add(o.number)
			}
			f.tell(o, at.Document, dropped, emit)
		}
		if stay.bytes > f.Params.MostNumbers {
			return blocks.Refuse("--drop-covered: repeated runs of words take more than %d bytes of memory (one "+
				"bit per run); raise --memory or --length", f.Params.MostNumbers)
		}
		doc.clear()
	}
	if len(doc.parts) > 0 && len(doc.parts[0]) > 0 {
		return blocks.ErrCorrupt
	}
	return nil
}

// covers reports whether the covered share of the words reaches share.
func covers(covered, words int64, share float64) bool {
	return words > 0 && float64(covered)/float64(words) >= share
}

// covered returns the number of words in L-grams that occur in earlier documents that stay.
func covered(doc *occurrences, stay *numbers) (words int64) {
	end := uint32(0)
	for o := range doc.all() {
		if stay.has(o.number) {
			words += int64(o.position + o.length - max(end, o.position))
			end = o.position + o.length
		}
	}
	return words
}

// tell emits an L-gram: its number takes the place of its hash, and the last bit of the position is the mark.
func (f *coverFn) tell(o occurrence, document int64, dropped bool, emit func(int64, []byte)) {
	var record [hashBytes + placeBytes + numberBytes]byte
	binary.BigEndian.PutUint64(record[:], o.number)
	r := appendPlace(record[:hashBytes], passage.Place{Document: document, Position: marked(int(o.position), dropped)})
	if f.Params.Whole != Runs {
		r = appendNumber(r, int(o.length))
	}
	f.out.Add(int64(o.number>>numberBits), func(block []byte) []byte { return append(block, r...) }, emit)
}

// marked returns a position with the mark of a dropped document.
func marked(position int, dropped bool) int {
	if position *= 2; dropped {
		position++
	}
	return position
}

func unmarked(position int) (int, bool) { return position / 2, position%2 == 1 }

func (f *coverFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// numbers is a set of numbers of L-grams, as a bitmap per shard.
type numbers struct {
	of    [][]uint64 // by shard
	bytes int64
}

func (n *numbers) has(number uint64) bool {
	shard, at := number>>numberBits, number&(1<<numberBits-1)
	return shard < uint64(len(n.of)) && at/64 < uint64(len(n.of[shard])) && n.of[shard][at/64]>>(at%64)&1 == 1
}

func (n *numbers) add(number uint64) {
	shard, at := number>>numberBits, number&(1<<numberBits-1)
	for uint64(len(n.of)) <= shard {
		n.of = append(n.of, nil)
	}
	for uint64(len(n.of[shard])) <= at/64 {
		n.of[shard] = append(n.of[shard], 0)
		n.bytes += 8
	}
	n.of[shard][at/64] |= 1 << (at % 64)
}
