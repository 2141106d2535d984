package passages

import (
	"context"
	"encoding/binary"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/passage"
)

func init() {
	dofn.Register[gramsFn]()
	dofn.Register[firstsFn]()
}

var (
	gramsHashed   = beam.NewCounter("passages", "grams")
	gramsRepeated = beam.NewCounter("passages", "grams_repeated")
)

// Grams hashes the L-grams of documents whose minimizer is repeated. Copies are passages as they are.
//
//	blocks of documents → KV<hash shard, records: hash, place>, KV<split, passages>, KV<split, wanted>, facts
//
// The passages want their first places.
func Grams(s beam.Scope, docs flow.Fetched, p Params) (flow.Grams, Told) {
	s = s.Scope("passages.Grams")
	grams, found, wanted, facts := beam.ParDo4(s, &gramsFn{Params: p}, beam.PCollection(docs))
	return flow.Grams(grams), Told{flow.Passages(found), flow.Wanted(wanted), flow.Facts(facts)}
}

// Told is what is known of passages before they are placed.
type Told struct {
	Passages flow.Passages
	Wanted   flow.Wanted // their first places
	Facts    flow.Facts
}

// gramsFn hashes L-grams; see Grams for the shapes.
type gramsFn struct {
	Params Params

	in      *blocks.Inputs
	words   words
	chooser *passage.Chooser
	filter  *filter
	grams   *blocks.Shards
	out     passagesOut
}

func (f *gramsFn) Setup(ctx context.Context) (err error) {
	if f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err != nil {
		return err
	}
	f.words, f.chooser = words{f.Params.Text.New()}, passage.NewChooser(f.Params.Length)
	return nil
}

func (f *gramsFn) StartBundle(_, _, _ func(int64, []byte), _ func([]byte)) {
	f.grams, f.out = blocks.NewShards(f.Params.GramShards), newPassagesOut()
}

func (f *gramsFn) ProcessElement(
	ctx context.Context, block []byte, grams, found, wanted func(int64, []byte), _ func([]byte),
) (err error) {
	// The filter is whole once there is a document to read.
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
		f.words.columns(&doc, func(position int, tokens []uint64) {
			all += f.hash(doc.Key, position, tokens, grams)
		})
	}
	gramsHashed.Inc(ctx, all)
	return d.Err()
}

// hash emits the L-grams of a column, and returns how many there are.
func (f *gramsFn) hash(doc blocks.Key, position int, tokens []uint64, emit func(int64, []byte)) (all int64) {
	var record [hashBytes + placeBytes]byte
	for _, c := range f.chooser.Choose(tokens) {
		if !f.filter.has(c.Value) {
			continue
		}
		for p := c.First; p <= c.Last; p++ {
			sum := passage.Hash(tokens[p : p+f.Params.Length])
			binary.BigEndian.PutUint64(record[:], sum.Hi)
			binary.BigEndian.PutUint64(record[8:], sum.Lo)
			r := appendPlace(record[:hashBytes], passage.Place{Document: int64(doc), Position: position + p})
			f.grams.Add(shardOf(sum.Hi, f.Params.GramShards), func(block []byte) []byte { return append(block, r...) }, emit)
			all++
		}
	}
	return all
}

// copied emits the passages of a copy.
func (f *gramsFn) copied(doc *blocks.Document, found, wanted func(int64, []byte)) {
	var all []passage.Passage
	n := f.words.columns(doc, func(position int, tokens []uint64) {
		if end := position + len(tokens); end > position {
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

func (f *gramsFn) FinishBundle(grams, found, wanted func(int64, []byte), facts func([]byte)) error {
	f.grams.Flush(grams)
	return f.out.flush(f.in, found, wanted, facts)
}

// Firsts finds the first places of L-grams.
//
//	KV<hash shard, records: hash, place> → KV<split, records: place, first place>
//
// What is told: of a repeated L-gram its first place, and once of each that is repeated that it has its first place
// where it is. One GroupByKey, whose group is read in order: no call holds one.
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
	if err := f.grouped.Read(ctx, f.Params.files(hashBytes+placeBytes), packed); err != nil {
		return err
	}
	var (
		out   blocks.Buffers
		sum   [hashBytes]byte
		first passage.Place
		begun bool
		told  bool // that first is that of a repeated one
		all   int64
	)
	tell := func(at passage.Place) {
		var record [2 * placeBytes]byte
		r := appendPlace(appendPlace(record[:0], at), first)
		split := int64(f.in.Split(blocks.Key(at.Document)))
		out.Add(split, func(block []byte) []byte { return append(block, r...) }, emit)
	}
	for record, err := range f.grouped.Repeated(hashBytes) {
		if err != nil {
			return err
		}
		place := placeOf(record[hashBytes:])
		if !begun || string(record[:hashBytes]) != string(sum[:]) {
			copy(sum[:], record)
			first, begun, told = place, true, false
			continue
		}
		if !place.Repeats(first, f.Params.Length) {
			continue
		}
		if !told {
			tell(first)
			told = true
		}
		tell(place)
		all++
	}
	out.Flush(emit)
	gramsRepeated.Inc(ctx, all)
	return nil
}
