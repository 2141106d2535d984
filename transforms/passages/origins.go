package passages

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[originsFn]()
	flow.Register[joinFn]()
	flow.Register[mostFn]()
}

// Origins finds the first places of passages in bytes.
//
//	blocks of documents that are wanted → KV<split, records: origin, its bytes and the document's id>, KV<gather.Key, frequent ones>
func Origins(s beam.Scope, docs flow.Fetched, p Params) (flow.Origins, flow.Frequent) {
	s = s.Scope("passages.Origins")
	origins, frequent := beam.ParDo2(s, &originsFn{Params: p}, beam.PCollection(docs))
	return flow.Origins(origins), flow.Frequent(frequent)
}

// originsFn finds places in bytes; see Origins for the shapes.
type originsFn struct {
	Params Params

	places   places
	origins  blocks.Buffers
	frequent frequents
}

func (f *originsFn) Setup() { f.places.words = newWords(f.Params) }

func (f *originsFn) ProcessElement(block []byte, origins, _ func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		wanted, err := decodeWanted(&doc)
		if err != nil {
			return err
		}
		var runs []int
		for _, w := range wanted {
			runs = append(runs, w.start, w.end)
		}
		f.places.of(&doc, runs)
		for len(wanted) > 0 {
			of, n := wanted[0], 1
			for ; n < len(wanted) && wanted[n].start == of.start && wanted[n].end == of.end; n++ {
				of.passages += wanted[n].passages
				of.documents += wanted[n].documents
			}
			span, err := f.places.span(of.start, of.end)
			if err != nil {
				return err
			}
			record := appendOrigin(nil, of.origin)
			record = blocks.AppendUint64(blocks.AppendUint64(record, uint64(span.Start)), uint64(span.End))
			record = blocks.AppendOptional(record, doc.ID, doc.HasID)
			for _, w := range wanted[:n] {
				f.origins.Add(w.split, func(block []byte) []byte { return blocks.AppendBytes(block, record) }, origins)
			}
			if words := of.end - of.start; words >= f.Params.Length { // shorter ones are fragments of broken runs
				f.frequent.add(frequent{ // include the first place
					passages: of.passages + 1, documents: of.documents + 1, words: words,
					from: of.from, start: span.Start, end: span.End,
				}.record())
			}
			wanted = wanted[n:]
		}
		f.places.shingler.Trim()
	}
	return d.Err()
}

func (f *originsFn) FinishBundle(origins, frequent func(int64, []byte)) {
	f.origins.Flush(origins)
	f.frequent.emit(frequent)
}

// wanted is an origin, and how often it is requested.
type wanted struct {
	origin
	wanting
}

// decodeWanted decodes the requests for a document, which are sorted.
func decodeWanted(doc *blocks.Document) (all []wanted, err error) {
	for d := blocks.NewDecoder(doc.Wanted); !d.Done(); {
		r := d.Bytes()
		if len(r) != 4*numberBytes+keyBytes {
			return nil, blocks.ErrCorrupt
		}
		w := wanted{origin: origin{doc.Key, number(r), number(r[4:]), int64(keyOf(r[8:]))}}
		w.passages, w.documents = number(r[16:]), number(r[20:])
		all = append(all, w)
	}
	return all, nil
}

// Join joins passages with their first places.
//
//	KV<split, passages>, KV<split, origins> → KV<split, wanted: document, start, end, and the first place in bytes>
//
// One CoGroupByKey, which holds a group's origins in memory.
func Join(s beam.Scope, found flow.Passages, origins flow.Origins) flow.Wanted {
	s = s.Scope("passages.Join")
	return flow.Wanted(beam.ParDo(s, &joinFn{}, beam.CoGroupByKey(s, beam.PCollection(found), beam.PCollection(origins))))
}

// joinFn joins passages; see Join for the shapes.
type joinFn struct{}

func (f *joinFn) ProcessElement(split int64, found, origins func(*[]byte) bool, emit func(int64, []byte)) error {
	const (
		originBytes = keyBytes + 2*numberBytes
		ownBytes    = originBytes
	)
	places := map[string][]byte{}
	err := gather.Each(origins, func(d *blocks.Decoder) {
		if r := d.Bytes(); len(r) > originBytes {
			places[string(r[:originBytes])] = r[originBytes:]
		}
	})
	if err != nil {
		return err
	}
	var out blocks.Buffers
	var missing error
	var record []byte
	err = gather.Each(found, func(d *blocks.Decoder) {
		r := d.Bytes()
		if len(r) != ownBytes+originBytes || places[string(r[ownBytes:])] == nil {
			missing = blocks.ErrCorrupt
			return
		}
		record = append(append(record[:0], r[:ownBytes+keyBytes]...), places[string(r[ownBytes:])]...)
		out.Add(split, func(block []byte) []byte { return blocks.AppendBytes(block, record) }, emit)
	})
	out.Flush(emit)
	if err != nil {
		return err
	}
	return missing
}

// frequent is the first place of a passage that other documents have.
type frequent struct {
	passages, documents, words int
	from                       blocks.Key
	start, end                 int
}

// record returns a record that sorts by descending number of passages, then by descending length.
func (f frequent) record() []byte {
	r := binary.BigEndian.AppendUint64(nil, math.MaxUint64-uint64(f.passages))
	r = appendNumber(r, math.MaxUint32-f.words)
	r = blocks.AppendOrdered(r, f.from)
	r = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(r, uint64(f.start)), uint64(f.end))
	return binary.BigEndian.AppendUint64(r, uint64(f.documents))
}

const frequentBytes = 44

func decodeFrequent(r []byte) (f frequent, err error) {
	if len(r) != frequentBytes {
		return f, blocks.ErrCorrupt
	}
	n := func(at int) int { return int(binary.BigEndian.Uint64(r[at:])) }
	return frequent{
		passages: int(math.MaxUint64 - binary.BigEndian.Uint64(r)), words: math.MaxUint32 - number(r[8:]),
		from: keyOf(r[12:]), start: n(20), end: n(28), documents: n(36),
	}, nil
}

// MostRepeats is the maximum number of frequent passages listed.
const MostRepeats = 1000

// frequents collects records and keeps the first ones in order.
type frequents struct{ records [][]byte }

func (f *frequents) add(record []byte) {
	if f.records = append(f.records, record); len(f.records) >= 4*MostRepeats {
		f.cut()
	}
}

func (f *frequents) cut() {
	slices.SortFunc(f.records, bytes.Compare)
	f.records = f.records[:min(len(f.records), MostRepeats)]
}

func (f *frequents) emit(emit func(int64, []byte)) {
	f.cut()
	var block []byte
	for _, r := range f.records {
		block = blocks.AppendBytes(block, r)
	}
	if f.records = nil; len(block) > 0 {
		emit(gather.Key, block)
	}
}

// Most finds the most frequent passages.
//
//	KV<gather.Key, frequent ones> → KV<split, wanted: document, rank, and what is known>
//
// One GroupByKey of a few kilobytes per bundle of Origins.
func Most(s beam.Scope, all flow.Frequent, p Params) flow.Wanted {
	s = s.Scope("passages.Most")
	return flow.Wanted(beam.ParDo(s, &mostFn{Inputs: p.Inputs}, beam.PCollection(gather.All(s, gather.Values(all)))))
}

// mostFn finds the first of the frequent passages; see Most for the shapes.
type mostFn struct{ Inputs string }

func (f *mostFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	var all frequents
	if err := gather.Each(packed, func(d *blocks.Decoder) { all.add(d.Bytes()) }); err != nil {
		return err
	}
	all.cut()
	var out blocks.Buffers
	for rank, r := range all.records {
		of, err := decodeFrequent(r)
		if err != nil {
			return err
		}
		out.Add(int64(in.Split(of.from)), func(block []byte) []byte {
			return blocks.AppendBytes(block, append(appendNumber(blocks.AppendOrdered(nil, of.from), rank), r...))
		}, emit)
	}
	out.Flush(emit)
	return nil
}
