package passages

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
	"github.com/neardup/neardup/records"
)

func init() {
	flow.Register[tablesFn]()
	flow.Register[repeatsFn]()
}

// Tables are the rows of the output tables.
type Tables struct {
	Passages flow.Rows[records.Passage]
	Coverage flow.Rows[records.Coverage]
	Removed  flow.Rows[records.Removed]
	Dropped  flow.Dropped
	Cuts     flow.Cuts // if text is cut
	Facts    flow.Facts
}

// Rows makes one row per passage, one per document with passages, and one per dropped document.
//
//	blocks of documents that are wanted → KV<table shard, rows>, KV<table shard, rows>, KV<table shard, rows>,
//	KV<corpus batch, keys>, KV<corpus batch, cuts>, facts
func Rows(s beam.Scope, docs flow.Fetched, p Params) Tables {
	s = s.Scope("passages.Rows")
	passages, coverage, removed, dropped, cuts, facts := beam.ParDo6(s, &tablesFn{Params: p}, beam.PCollection(docs))
	return Tables{
		flow.Rows[records.Passage](passages), flow.Rows[records.Coverage](coverage), flow.Rows[records.Removed](removed),
		flow.Dropped(dropped), flow.Cuts(cuts), flow.Facts(facts),
	}
}

// tablesFn makes rows; see Rows for the shapes.
type tablesFn struct {
	Params Params

	cutter
	places                      places
	passages, coverage, removed blocks.Buffers
	dropped                     blocks.Buffers
	counts                      tally
}

func (f *tablesFn) Setup(ctx context.Context) (err error) {
	f.places.words = newWords(f.Params)
	f.cutter, err = newCutter(ctx, f.Params, f.places.shingler)
	return err
}

// cutter cuts covered text out of documents.
type cutter struct {
	in       *blocks.Inputs
	kind     Cut
	shingler *shingle.Shingler
	cuts     blocks.Buffers
	covered  []textnorm.Span // of a document
}

func newCutter(ctx context.Context, p Params, shingler *shingle.Shingler) (cutter, error) {
	in, err := storage.Shared[blocks.Inputs](ctx, p.Inputs)
	return cutter{in: in, kind: p.Cut, shingler: shingler}, err
}

func (f *tablesFn) StartBundle(_, _, _, _, _ func(int64, []byte), _ func([]byte)) {
	f.counts = tally{}
}

// placed is a passage with its first place in bytes.
type placed struct {
	start, end         int // words
	from               blocks.Key
	fromStart, fromEnd int64
	id                 []byte
	hasID              bool
}

func decodePlaced(doc *blocks.Document) (all []placed, err error) {
	for d := blocks.NewDecoder(doc.Wanted); !d.Done(); {
		r := d.Bytes()
		if len(r) < keyBytes+2*numberBytes {
			return nil, blocks.ErrCorrupt
		}
		p := placed{start: number(r), end: number(r[4:]), from: keyOf(r[8:])}
		rest := blocks.NewDecoder(r[16:])
		p.fromStart, p.fromEnd = int64(rest.Uint64()), int64(rest.Uint64())
		p.id, p.hasID = rest.Optional()
		if rest.Err() != nil {
			return nil, rest.Err()
		}
		all = append(all, p)
	}
	return all, nil
}

func (f *tablesFn) ProcessElement(
	block []byte, passages, coverage, removed, dropped, cuts func(int64, []byte), _ func([]byte),
) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		found, err := decodePlaced(&doc)
		if err != nil {
			return err
		}
		var runs []int
		for _, p := range found {
			runs = append(runs, p.start, p.end)
		}
		covered := records.Coverage{
			ID: f.in.ID(doc.Key, doc.ID, doc.HasID), Source: f.in.Source(doc.Key), Position: doc.Key.Position(),
		}
		covered.Words = int64(f.places.of(&doc, runs))
		shard := int64(f.in.Shard(doc.Key))
		f.covered = f.covered[:0]
		for _, p := range found {
			span, err := f.places.span(p.start, p.end)
			if err != nil {
				return err
			}
			f.covered = append(f.covered, span)
			row := records.Passage{
				ID: covered.ID, Source: covered.Source, Position: covered.Position,
				Start: int64(span.Start), End: int64(span.End), Words: int64(p.end - p.start),
				FromID: f.in.ID(p.from, p.id, p.hasID), FromSource: f.in.Source(p.from), FromPosition: p.from.Position(),
				FromStart: p.fromStart, FromEnd: p.fromEnd,
			}
			blocks.AddRow(&f.passages, shard, doc.Key, blocks.Key(p.start), &row, passages)
			covered.Repeated += row.Words
		}
		covered.Share = float64(covered.Repeated) / float64(covered.Words)
		blocks.AddRow(&f.coverage, shard, doc.Key, doc.Key, &covered, coverage)
		f.counts.add(doc.Key, CountRepeated, covered.Repeated)
		if of := f.origin(doc.Key, found, covered.Words); of != nil {
			f.drop(doc.Key, &covered, of, removed, dropped)
		} else {
			f.cut(&doc, cuts)
		}
		f.places.shingler.Trim()
	}
	return d.Err()
}

// origin decides whether a document is dropped. If so, it returns a passage from the document from which it has the
// most words, the first of equals; otherwise nil. Passages from the document itself do not count.
func (f *tablesFn) origin(doc blocks.Key, found []placed, words int64) (most *placed) {
	from := map[blocks.Key]int64{}
	all := int64(0)
	for i, p := range found {
		if f.Params.DropCovered == 0 || p.from == doc {
			continue
		}
		n := int64(p.end - p.start)
		all += n
		from[p.from] += n
		if most == nil || from[p.from] > from[most.from] || from[p.from] == from[most.from] && p.from < most.from {
			most = &found[i]
		}
	}
	if !covers(all, words, f.Params.DropCovered) {
		return nil
	}
	return most
}

// drop emits that a document is dropped in favour of another. They are in no cluster, so the row has the other one's
// number.
func (f *tablesFn) drop(doc blocks.Key, of *records.Coverage, kept *placed, removed, dropped func(int64, []byte)) {
	row := records.Removed{
		ID: of.ID, Source: of.Source, Position: of.Position, Cluster: int64(kept.from),
		KeptID: f.in.ID(kept.from, kept.id, kept.hasID), KeptSource: f.in.Source(kept.from),
		KeptPosition: kept.from.Position(), Reason: records.ReasonCovered,
	}
	blocks.AddRow(&f.removed, int64(f.in.Shard(doc)), doc, doc, &row, removed)
	f.dropped.Add(f.in.Batch(doc), func(block []byte) []byte { return blocks.AppendKey(block, doc) }, dropped)
	f.counts.add(doc, CountDropped, 1)
}

// cut emits the spans to cut out of a document.
func (f *cutter) cut(doc *blocks.Document, emit func(int64, []byte)) {
	spans := f.covered
	switch f.kind {
	case None, "":
		return
	case Sentences:
		spans = f.sentences(doc)
	}
	if len(spans) == 0 {
		return
	}
	record := blocks.AppendOrdered(nil, doc.Key)
	for _, s := range spans {
		record = binary.AppendUvarint(binary.AppendUvarint(record, uint64(s.Start)), uint64(s.End))
	}
	f.cuts.Add(f.in.Batch(doc.Key), func(block []byte) []byte { return blocks.AppendBytes(block, record) }, emit)
}

// sentences returns the spans of the sentences whose words are all covered, without trailing white space.
func (f *cutter) sentences(doc *blocks.Document) (spans []textnorm.Span) {
	covered := f.covered
	for _, column := range columnsOf(doc) {
		text := doc.Text[column.Start:column.End]
		next, stop := iter.Pull(f.shingler.Places(text))
		word, more := next()
		at := 0
		for sentence := range token.Sentences(text) {
			start, end := at, at+len(sentence)
			at = end
			words, all := 0, true
			for ; more && word.Start < end; word, more = next() {
				words++
				from, to := column.Start+word.Start, column.Start+word.End
				for len(covered) > 0 && covered[0].End < to {
					covered = covered[1:]
				}
				all = all && len(covered) > 0 && covered[0].Start <= from
			}
			if words == 0 || !all {
				continue
			}
			blank := len(sentence) - len(bytes.TrimRightFunc(sentence, unicode.IsSpace))
			spans = append(spans, textnorm.Span{Start: column.Start + start, End: column.Start + end - blank})
		}
		stop()
	}
	return spans
}

func (f *tablesFn) FinishBundle(
	passages, coverage, removed, dropped, cuts func(int64, []byte), facts func([]byte),
) error {
	f.passages.Flush(passages)
	f.removed.Flush(removed)
	f.dropped.Flush(dropped)
	f.cuts.Flush(cuts)
	f.coverage.Flush(coverage)
	return f.counts.tell(facts)
}

// Repeats makes the rows of the most frequent passages.
//
//	blocks of documents that are wanted → KV<table shard, rows>
func Repeats(s beam.Scope, docs flow.Fetched, p Params) flow.Rows[records.Repeat] {
	s = s.Scope("passages.Repeats")
	return flow.Rows[records.Repeat](beam.ParDo(s, &repeatsFn{Inputs: p.Inputs}, beam.PCollection(docs)))
}

// repeatsFn makes rows; see Repeats for the shapes.
type repeatsFn struct {
	Inputs string

	in   *blocks.Inputs
	rows blocks.Buffers
}

func (f *repeatsFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *repeatsFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		for wanted := blocks.NewDecoder(doc.Wanted); !wanted.Done(); {
			r := wanted.Bytes()
			if len(r) < numberBytes {
				return blocks.ErrCorrupt
			}
			rank := blocks.Key(number(r))
			of, err := decodeFrequent(r[numberBytes:])
			if err != nil {
				return err
			}
			row := records.Repeat{
				Text: first(doc.Text[of.start:of.end]), Words: int64(of.words),
				Occurrences: int64(of.passages), Documents: int64(of.documents),
				ID: f.in.ID(doc.Key, doc.ID, doc.HasID), Source: f.in.Source(doc.Key), Position: doc.Key.Position(),
				Start: int64(of.start), End: int64(of.end),
			}
			blocks.AddRow(&f.rows, 0, rank, rank, &row, emit)
		}
	}
	return d.Err()
}

func (f *repeatsFn) FinishBundle(emit func(int64, []byte)) { f.rows.Flush(emit) }

// mostText is the maximum number of characters of a passage in its row.
const mostText = 1000

// first returns the first mostText characters of a text.
func first(text []byte) string {
	end := 0
	for range mostText {
		_, n := utf8.DecodeRune(text[end:])
		end += n
	}
	return string(text[:end])
}
