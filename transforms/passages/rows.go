package passages

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/passage"
)

func init() {
	flow.Register[passagesFn]()
}

// Passages joins repeated L-grams into passages.
//
//	KV<split, records: place, first place> → KV<split, passages>, KV<split, wanted>, facts
//
// One GroupByKey. A call reads the L-grams of a split in order, and holds those of one place.
func Passages(s beam.Scope, repeats flow.Repeats, p Params) Told {
	s = s.Scope("passages.Passages")
	found, wanted, facts := beam.ParDo3(s, &passagesFn{Params: p}, beam.GroupByKey(s, beam.PCollection(repeats)))
	return Told{flow.Passages(found), flow.Wanted(wanted), flow.Facts(facts)}
}

// passagesFn makes passages; see Passages for the shapes.
type passagesFn struct {
	Params Params

	in      *blocks.Inputs
	grouped sorted.Records
	out     passagesOut
}

func (f *passagesFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *passagesFn) StartBundle(_, _ func(int64, []byte), _ func([]byte)) { f.out = newPassagesOut() }

func (f *passagesFn) ProcessElement(
	ctx context.Context, split int64, packed func(*[]byte) bool, found, wanted func(int64, []byte), _ func([]byte),
) error {
	if err := f.grouped.Read(ctx, f.Params.files(2*placeBytes+f.Params.lengthBytes()), packed); err != nil {
		return err
	}
	var doc blocks.Key
	passages := passage.Passages{Length: f.Params.Length, Emit: func(p passage.Passage) {
		f.out.add(split, doc, p, found)
	}}
	for record, err := range f.grouped.All() {
		if err != nil {
			return err
		}
		at, first := placeOf(record), placeOf(record[placeBytes:])
		if key := blocks.Key(at.Document); key != doc {
			f.out.counts.add(doc, CountBroken, passages.Close())
			f.out.trim(f.in, wanted)
			doc = key
		}
		switch {
		case at != first:
			passages.Length = f.Params.lengthOf(record[2*placeBytes:])
			passages.Add(at.Position, first)
		case f.Params.Whole == Runs: // a first unit is in no passage
			passages.First(at.Position)
		}
	}
	f.out.counts.add(doc, CountBroken, passages.Close())
	return nil
}

func (f *passagesFn) FinishBundle(found, wanted func(int64, []byte), facts func([]byte)) error {
	return f.out.flush(f.in, found, wanted, facts)
}

// passagesOut packs passages, and counts the requests for each of their first places.
type passagesOut struct {
	counts tally
	found  blocks.Buffers
	wanted map[origin]*wanting
}

// origin is the first place, in words, of passages in the documents of a split.
type origin struct {
	from       blocks.Key
	start, end int
	split      int64
}

// wanting counts the passages with an origin, and the other documents that contain them.
type wanting struct {
	passages, documents int
	last                blocks.Key
}

// mostWanted is the number of origins held in memory: each takes about 100 bytes.
const mostWanted = 1 << 14

func newPassagesOut() passagesOut {
	return passagesOut{counts: tally{}, wanted: map[origin]*wanting{}}
}

// add adds a passage of a document of a split. Calls for one document must be consecutive.
//
// The record is the document, start and end, then the document, start and end of the first place.
func (o *passagesOut) add(split int64, doc blocks.Key, p passage.Passage, emit func(int64, []byte)) {
	of := origin{blocks.Key(p.From), p.FromStart, p.FromEnd, split}
	o.found.Add(split, func(block []byte) []byte {
		var record [2*keyBytes + 4*numberBytes]byte
		r := appendNumber(appendNumber(blocks.AppendOrdered(record[:0], doc), p.Start), p.End)
		return blocks.AppendBytes(block, appendOrigin(r, of))
	}, emit)
	w := o.wanted[of]
	if w == nil {
		w = &wanting{last: of.from}
		o.wanted[of] = w
	}
	w.passages++
	if doc != w.last && doc != of.from {
		w.documents++
	}
	w.last = doc
}

func appendOrigin(dst []byte, o origin) []byte {
	return appendNumber(appendNumber(blocks.AppendOrdered(dst, o.from), o.start), o.end)
}

// trim emits the requests if there are many. It must be called between documents only.
func (o *passagesOut) trim(in *blocks.Inputs, emit func(int64, []byte)) {
	if len(o.wanted) > mostWanted {
		o.want(in, emit)
	}
}

// want emits the requests: a record is an origin and its counts.
func (o *passagesOut) want(in *blocks.Inputs, emit func(int64, []byte)) {
	var out blocks.Buffers
	order := slices.SortedFunc(maps.Keys(o.wanted), func(a, b origin) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end),
			cmp.Compare(a.split, b.split))
	})
	for _, of := range order {
		w := o.wanted[of]
		out.Add(int64(in.Split(of.from)), func(block []byte) []byte {
			r := blocks.AppendOrdered(appendOrigin(nil, of), blocks.Key(of.split))
			return blocks.AppendBytes(block, appendNumber(appendNumber(r, w.passages), w.documents))
		}, emit)
	}
	out.Flush(emit)
	clear(o.wanted)
}

func (o *passagesOut) flush(in *blocks.Inputs, found, wanted func(int64, []byte), facts func([]byte)) error {
	o.want(in, wanted)
	o.found.Flush(found)
	return o.counts.tell(facts)
}
