package passages

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/signature"
)

func init() {
	flow.Register[itemsFn]()
	flow.Register[writeItemsFn]()
	flow.Register[searchFn]()
}

// ItemParams configure items.
type ItemParams struct {
	Params
	// Items is the path of the shared file of all items, whose size MostBytes bounds.
	Items     string
	MostBytes int64
	// Share is the minimum share of an item's words that a contaminated document has. Drop drops these documents.
	Share float64
	Drop  bool
}

// Counts of items, in facts of the kind blocks.FactPassages.
const (
	// CountItems and CountItemWords count all items and their words, and CountShortItems the items too short to be
	// searched for.
	CountItems      = "items"
	CountItemWords  = "item_words"
	CountShortItems = "short_items"
	// CountContaminated counts documents that contain an item.
	CountContaminated = "contaminated"
)

// Items writes the words of the documents, which are the items, to one file that all workers share.
//
//	blocks of documents → facts
//
// One GroupByKey of a single group, which is held in memory up to MostBytes.
func Items(s beam.Scope, docs flow.Documents, p ItemParams) flow.Facts {
	s = s.Scope("passages.Items")
	items := beam.ParDo(s, &itemsFn{Params: p.Params}, beam.PCollection(docs))
	return flow.Facts(beam.ParDo(s, &writeItemsFn{Params: p}, beam.GroupByKey(s, items)))
}

// itemsFn packs the words of items, with their places in the text.
//
//	blocks of documents → KV<0, items>
type itemsFn struct {
	Params Params

	words words
	in    *blocks.Inputs
}

func (f *itemsFn) Setup(ctx context.Context) (err error) {
	f.words = newWords(f.Params)
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *itemsFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		it := item{key: doc.Key, id: f.in.ID(doc.Key, doc.ID, doc.HasID)}
		for _, column := range columnsOf(&doc) {
			text := doc.Text[column.Start:column.End]
			it.words = append(append(it.words, f.words.shingler.Tokenise(text)...), 0)
			for span := range f.words.shingler.Places(text) {
				it.spans = append(it.spans, textnorm.Span{Start: column.Start + span.Start, End: column.Start + span.End})
			}
			it.spans = append(it.spans, textnorm.Span{})
		}
		f.words.shingler.Trim()
		emit(0, appendItem(nil, &it))
	}
	return d.Err()
}

// item is an item with its words by position: one position at the end of each column has no word, and an empty span.
type item struct {
	key   blocks.Key
	id    string
	words []uint64
	spans []textnorm.Span // place of each word in the text
}

func appendItem(dst []byte, it *item) []byte {
	dst = blocks.AppendBytes(blocks.AppendKey(dst, it.key), []byte(it.id))
	dst = blocks.AppendUint32(dst, uint32(len(it.words)))
	for i, w := range it.words {
		dst = blocks.AppendUint32(blocks.AppendUint64(dst, w), uint32(it.spans[i].Start))
		dst = blocks.AppendUint32(dst, uint32(it.spans[i].End))
	}
	return dst
}

func decodeItem(d *blocks.Decoder) item {
	it := item{key: d.Key(), id: string(d.Bytes())}
	for range d.Uint32() {
		it.words = append(it.words, d.Uint64())
		it.spans = append(it.spans, textnorm.Span{Start: int(d.Uint32()), End: int(d.Uint32())})
		if d.Err() != nil {
			break
		}
	}
	return it
}

// count returns the number of words.
func (it *item) count() (n int) {
	for _, span := range it.spans {
		if span != (textnorm.Span{}) {
			n++
		}
	}
	return n
}

// add adds the columns of an item, and reports whether any is long enough to be searched for.
func (it *item) add(x *passage.Items, number int) (looked bool) {
	start := 0
	for i, span := range it.spans {
		if span == (textnorm.Span{}) {
			looked = x.Add(number, start, it.words[start:i]) || looked
			start = i + 1
		}
	}
	return looked
}

// span returns the span of an item's words from position start up to end, which are in one column.
func (it *item) span(start, end int) textnorm.Span {
	return textnorm.Span{Start: it.spans[start].Start, End: it.spans[end-1].End}
}

// wordBytes is the memory that a word of an item takes in a process: with its span, and in the index.
const wordBytes = 48

// MostWords returns the maximum number of words in all items, which CountItemWords counts.
func (p ItemParams) MostWords() int64 { return p.MostBytes / wordBytes }

// writeItemsFn writes the file of items.
//
//	KV<0, items> → facts
type writeItemsFn struct{ Params ItemParams }

func (f *writeItemsFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, facts func([]byte),
) error {
	var items []item
	all := int64(0)
	err := gather.Each(packed, func(d *blocks.Decoder) {
		it := decodeItem(d)
		all += int64(it.count())
		if items = append(items, it); all > f.Params.MostWords() {
			items = nil // the run ends once all are counted
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.key, b.key) })
	var file []byte
	x, short := passage.NewItems(f.Params.Length), int64(0)
	for i := range items {
		file = appendItem(file, &items[i])
		if !items[i].add(x, i) {
			short++
		}
	}
	if err := storage.WriteBytes(ctx, f.Params.Items, file); err != nil {
		return err
	}
	return blocks.Fact{Kind: blocks.FactPassages, Name: "0", Counts: map[string]int64{
		CountItems: int64(len(items)), CountItemWords: all, CountShortItems: short,
	}}.Emit(facts)
}

// itemsFile is the shared file of items.
type itemsFile struct{ items []item }

// UnmarshalBinary decodes the file.
func (f *itemsFile) UnmarshalBinary(data []byte) error {
	d := blocks.NewDecoder(data)
	for !d.Done() {
		f.items = append(f.items, decodeItem(d))
	}
	return d.Err()
}

// ShortItems returns the ids of up to most items that are too short to be searched for.
func ShortItems(ctx context.Context, p ItemParams, most int) (ids []string, err error) {
	file, err := storage.Shared[itemsFile](ctx, p.Items)
	if err != nil {
		return nil, err
	}
	x := passage.NewItems(p.Length)
	for i := range file.items {
		if it := &file.items[i]; len(ids) < most && !it.add(x, i) {
			ids = append(ids, it.id)
		}
	}
	return ids, nil
}

// index is all items, indexed.
type index struct {
	items []item
	words []int // by item
	found *passage.Items
}

// Searched is the result of a search for items.
type Searched struct {
	Rows     flow.Rows[records.Contaminated]
	Rejected flow.Rows[records.Rejected]
	Cuts     flow.Cuts
	Dropped  flow.Dropped
	Facts    flow.Facts
}

// Search searches documents for items.
//
//	blocks of documents → KV<table shard, rows>, KV<table shard, rejected rows>, KV<corpus batch, cuts>,
//	KV<corpus batch, keys of dropped documents>, facts
//
// Documents without words are rejected. Each process holds all items in memory.
func Search(s beam.Scope, docs flow.Documents, p ItemParams) Searched {
	s = s.Scope("passages.Search")
	rows, rejected, cuts, dropped, facts := beam.ParDo5(s, &searchFn{Params: p}, beam.PCollection(docs))
	return Searched{
		flow.Rows[records.Contaminated](rows), flow.Rows[records.Rejected](rejected), flow.Cuts(cuts), flow.Dropped(dropped),
		flow.Facts(facts),
	}
}

// searchFn searches for items; see Search for the shapes.
type searchFn struct {
	Params ItemParams

	cutter
	places   places
	index    *index
	rows     blocks.Buffers
	rejected blocks.Buffers
	dropped  blocks.Buffers
	counts   tally
	runs     []passage.Run // of a document, with positions in the document
}

func (f *searchFn) Setup(ctx context.Context) (err error) {
	f.places.words = newWords(f.Params.Params)
	if f.cutter, err = newCutter(ctx, f.Params.Params, f.places.shingler); err != nil {
		return err
	}
	length := f.Params.Length
	f.index, err = storage.Loaded(ctx, f.Params.Items, func(file *itemsFile) (*index, error) {
		x := &index{items: file.items, found: passage.NewItems(length)}
		for i := range x.items {
			x.items[i].add(x.found, i)
			x.words = append(x.words, x.items[i].count())
		}
		x.found.Index()
		return x, nil
	})
	return err
}

func (f *searchFn) StartBundle(_, _, _, _ func(int64, []byte), _ func([]byte)) { f.counts = tally{} }

func (f *searchFn) ProcessElement(
	block []byte, rows, rejected, cuts, dropped func(int64, []byte), _ func([]byte),
) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.runs = f.runs[:0]
		n := f.places.parted(&doc, func(position int, tokens []uint64) {
			f.index.found.Find(tokens, func(r passage.Run) {
				r.Start += position
				f.runs = append(f.runs, r)
			})
		})
		if n == 0 {
			signature.RejectEmpty(&f.rejected, f.in, &doc, f.Params.Text, rejected)
			continue
		}
		f.counts.add(doc.Key, CountDocuments, 1)
		f.counts.add(doc.Key, CountWords, int64(n))
		if err := f.tell(&doc, rows, cuts, dropped); err != nil {
			return err
		}
	}
	return d.Err()
}

// tell emits rows, and a cut or a drop, for the items whose minimum share a document contains.
func (f *searchFn) tell(doc *blocks.Document, rows, cuts, dropped func(int64, []byte)) error {
	slices.SortStableFunc(f.runs, func(a, b passage.Run) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.ItemStart, b.ItemStart))
	})
	var marked [][]passage.Run // by item
	var at []int
	for runs := f.runs; len(runs) > 0; {
		n := 1
		for n < len(runs) && runs[n].Item == runs[0].Item {
			n++
		}
		if covers(int64(f.wordsOf(runs[:n])), int64(f.index.words[runs[0].Item]), f.Params.Share) {
			marked = append(marked, runs[:n])
			for _, r := range runs[:n] {
				at = append(at, r.Start, r.Start+r.Words)
			}
		}
		runs = runs[n:]
	}
	if len(marked) == 0 {
		return nil
	}
	f.places.of(doc, at)
	for _, runs := range marked {
		if err := f.row(doc, runs, rows); err != nil {
			return err
		}
	}
	f.counts.add(doc.Key, CountContaminated, 1)
	if f.Params.Drop {
		f.counts.add(doc.Key, CountDropped, 1)
		f.dropped.Add(f.in.Batch(doc.Key), func(block []byte) []byte { return blocks.AppendKey(block, doc.Key) }, dropped)
		return nil
	}
	if err := f.cover(slices.Concat(marked...)); err != nil {
		return err
	}
	f.cut(doc, cuts)
	return nil
}

// wordsOf returns the number of words of an item that runs cover. The runs are ordered by their start in the item.
func (f *searchFn) wordsOf(runs []passage.Run) (n int) {
	end := 0
	for _, r := range runs {
		n += max(0, r.ItemStart+r.Words-max(end, r.ItemStart))
		end = max(end, r.ItemStart+r.Words)
	}
	return n
}

// row makes the row of a document and an item.
func (f *searchFn) row(doc *blocks.Document, runs []passage.Run, emit func(int64, []byte)) error {
	it := &f.index.items[runs[0].Item]
	row := records.Contaminated{
		ID: f.in.ID(doc.Key, doc.ID, doc.HasID), Source: f.in.Source(doc.Key), Position: doc.Key.Position(),
		ItemID: it.id, ItemSource: f.in.Source(it.key), ItemPosition: it.key.Position(),
		Words: int64(f.wordsOf(runs)), ItemWords: int64(f.index.words[runs[0].Item]),
	}
	row.Share = float64(row.Words) / float64(row.ItemWords)
	for i, r := range runs {
		span, err := f.places.span(r.Start, r.Start+r.Words)
		if err != nil {
			return err
		}
		of := it.span(r.ItemStart, r.ItemStart+r.Words)
		if i == 0 {
			row.Start, row.ItemStart = int64(span.Start), int64(of.Start)
		}
		row.Start, row.End = min(row.Start, int64(span.Start)), max(row.End, int64(span.End))
		row.ItemStart, row.ItemEnd = min(row.ItemStart, int64(of.Start)), max(row.ItemEnd, int64(of.End))
	}
	blocks.AddRow(&f.rows, int64(f.in.Shard(doc.Key)), doc.Key, it.key, &row, emit)
	return nil
}

// cover sets covered to the merged spans of runs in the document.
func (f *searchFn) cover(runs []passage.Run) error {
	slices.SortFunc(runs, func(a, b passage.Run) int { return a.Start - b.Start })
	f.covered = f.covered[:0]
	for _, r := range runs {
		span, err := f.places.span(r.Start, r.Start+r.Words)
		if err != nil {
			return err
		}
		if last := len(f.covered) - 1; last >= 0 && span.Start <= f.covered[last].End {
			f.covered[last].End = max(f.covered[last].End, span.End)
			continue
		}
		f.covered = append(f.covered, span)
	}
	return nil
}

func (f *searchFn) FinishBundle(rows, rejected, cuts, dropped func(int64, []byte), facts func([]byte)) error {
	f.rows.Flush(rows)
	f.rejected.Flush(rejected)
	f.cuts.Flush(cuts)
	f.dropped.Flush(dropped)
	return f.counts.tell(facts)
}
