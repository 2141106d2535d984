package passages

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

func init() {
	flow.Register[chooseFn]()
	flow.Register[repeatedFn]()
}

var (
	chosenGrams   = beam.NewCounter("passages", "chosen")
	repeatedGrams = beam.NewCounter("passages", "chosen_repeated")
)

// Found is the output of the first read.
type Found struct {
	Chosen   flow.Chosen
	Firsts   flow.Firsts
	Copies   flow.Members
	Rejected flow.Rows[records.Rejected]
	Facts    flow.Facts
}

// Choose chooses the minimizers of documents. Of documents in a block that are copies, it takes only the first one's.
//
//	blocks of documents → KV<hash shard, records: hash of a k-gram, document>, KV<hash shard, firsts>, KV<split, members>,
//	KV<table shard, rejected rows>, facts
//
// Documents without words are rejected. If covered documents are dropped, copies are treated like other documents,
// because the first one may be dropped.
func Choose(s beam.Scope, docs flow.Documents, p Params) Found {
	s = s.Scope("passages.Choose")
	chosen, firsts, copied, rejected, facts := beam.ParDo5(s, &chooseFn{Params: p}, beam.PCollection(docs))
	return Found{
		Chosen: flow.Chosen(chosen), Firsts: flow.Firsts(firsts), Copies: flow.Members(copied),
		Rejected: flow.Rows[records.Rejected](rejected), Facts: flow.Facts(facts),
	}
}

// chooseFn chooses minimizers; see Choose for the shapes.
type chooseFn struct {
	Params Params

	in       *blocks.Inputs
	words    words
	grams    grams
	reader   *copies.Reader
	copies   signature.Collapse
	chosen   *blocks.Shards
	rejected blocks.Buffers
	counts   tally
}

func (f *chooseFn) Setup(ctx context.Context) (err error) {
	if f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs); err != nil {
		return err
	}
	f.words, f.grams = newWords(f.Params), newGrams(f.Params)
	f.reader = copies.NewReader(f.Params.Text, (*shingle.Shingler).Set)
	f.copies = signature.NewCollapse(f.in, f.Params.HashShards)
	return nil
}

func (f *chooseFn) StartBundle(_, _, _, _ func(int64, []byte), _ func([]byte)) {
	f.chosen, f.counts = blocks.NewShards(f.Params.ChosenShards), tally{}
}

func (f *chooseFn) ProcessElement(
	ctx context.Context, block []byte, chosen, firsts, found, rejected func(int64, []byte), _ func([]byte),
) error {
	all := int64(0)
	f.copies.Begin()
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		sum, _ := f.reader.Key(copies.Bytes, doc.Text, doc.Ends)
		told, copied := false, false
		n := f.words.parted(&doc, func(_ int, tokens []uint64) {
			if !told && len(tokens) > 0 { // documents without words are rejected
				told = true
				copied = f.Params.DropCovered == 0 && f.copies.IsCopy(sum, doc.Key, firsts, found)
			}
			if copied {
				return
			}
			all += f.choose(doc.Key, tokens, chosen)
		})
		if n == 0 {
			signature.RejectEmpty(&f.rejected, f.in, &doc, f.Params.Text, rejected)
			continue
		}
		f.counts.add(doc.Key, CountDocuments, 1)
		f.counts.add(doc.Key, CountWords, int64(n))
		if n < f.Params.Length {
			f.counts.add(doc.Key, CountShort, 1)
		}
	}
	f.reader.Trim()
	chosenGrams.Inc(ctx, all)
	return d.Err()
}

// choose emits the chosen k-grams of a part of a document, and returns their number.
func (f *chooseFn) choose(doc blocks.Key, tokens []uint64, emit func(int64, []byte)) (all int64) {
	var record [2 * keyBytes]byte
	f.grams.begin(tokens)
	for some := f.grams.next(); len(some) > 0; some = f.grams.next() {
		for _, c := range some {
			r := blocks.AppendOrdered(blocks.AppendOrdered(record[:0], blocks.Key(c.Value)), doc)
			f.chosen.Add(shardOf(c.Value, f.Params.ChosenShards), func(b []byte) []byte { return append(b, r...) }, emit)
		}
		all += int64(len(some))
	}
	return all
}

func (f *chooseFn) FinishBundle(chosen, firsts, found, rejected func(int64, []byte), facts func([]byte)) error {
	f.chosen.Flush(chosen)
	f.copies.Flush(firsts, found)
	f.rejected.Flush(rejected)
	return f.counts.tell(facts)
}

// tally holds a bundle's counts per file.
type tally map[int]map[string]int64

func (t tally) add(doc blocks.Key, name string, n int64) {
	of := t[doc.File()]
	if of == nil {
		of = map[string]int64{}
		t[doc.File()] = of
	}
	of[name] += n
}

// tell emits a fact per file.
func (t tally) tell(emit func([]byte)) error {
	for _, file := range slices.Sorted(maps.Keys(t)) {
		fact := blocks.Fact{Kind: blocks.FactPassages, Name: strconv.Itoa(file), Counts: t[file]}
		if err := fact.Emit(emit); err != nil {
			return err
		}
	}
	return nil
}

// Repeated finds the documents that have a k-gram chosen at least twice, and writes the filter of these k-grams. The
// filter exists before a group of the members is complete.
//
//	KV<hash shard, records: hash of a k-gram, document> → KV<split, members>
//
// One GroupByKey. Records of a shard that do not fit in memory are sorted in files; the repeated hashes are held in
// memory, 8 bytes each.
func Repeated(s beam.Scope, chosen flow.Chosen, p Params) flow.Members {
	s = s.Scope("passages.Repeated")
	return flow.Members(beam.ParDo(s, &repeatedFn{Params: p}, beam.GroupByKey(s, beam.PCollection(chosen))))
}

// repeatedFn finds repeated k-grams; see Repeated for the shapes.
type repeatedFn struct {
	Params Params

	in      *blocks.Inputs
	grouped sorted.Records
}

func (f *repeatedFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

// mostKeys is the number of keys collected before duplicates are removed.
const mostKeys = 1 << 17

func (f *repeatedFn) ProcessElement(
	ctx context.Context, shard int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	if err := f.grouped.Read(ctx, f.Params.files(2*keyBytes), packed); err != nil {
		return err
	}
	var (
		values    []uint64
		keys      []blocks.Key
		last      uint64
		first     blocks.Key
		equal     int
		members   blocks.Buffers
		different int
	)
	add := func(key blocks.Key) {
		if n := len(keys); n > 0 && keys[n-1] == key {
			return
		}
		if keys = append(keys, key); len(keys)-different >= mostKeys {
			if keys = distinct(keys); len(keys) > mostKeys { // mostly distinct
				f.tell(keys, &members, emit)
				keys = keys[:0]
			}
			different = len(keys)
		}
	}
	for record, err := range f.grouped.Repeated(keyBytes) {
		if err != nil {
			return err
		}
		value, key := uint64(keyOf(record)), keyOf(record[keyBytes:])
		if equal == 0 || value != last {
			last, first, equal = value, key, 1
			continue
		}
		if equal++; equal == 2 {
			values = append(values, value)
			add(first)
		}
		add(key)
	}
	f.tell(distinct(keys), &members, emit)
	members.Flush(emit)
	repeatedGrams.Inc(ctx, int64(len(values)))
	return writeFilter(ctx, f.Params, shard, values)
}

func distinct(keys []blocks.Key) []blocks.Key {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// tell emits members for the documents, so that they are read again.
func (f *repeatedFn) tell(keys []blocks.Key, members *blocks.Buffers, emit func(int64, []byte)) {
	for _, key := range keys {
		m := blocks.Member{Key: key, Component: key, Of: 1}
		members.Add(int64(f.in.Split(key)), func(block []byte) []byte { return blocks.AppendMember(block, m) }, emit)
	}
}
