package nearest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[lookupFn]()
	flow.Register[lookupRejectedFn]()
	flow.Register[mergeLookupFn]()
	flow.Register[textFn]()
}

// Lookup configures the search for an id.
type Lookup struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	ID     string
	// Answer is the path that Found is written to.
	Answer string
}

// Found is the result of a search for an id.
type Found struct {
	// Documents is the number of documents with the id, including rejected ones.
	Documents int64
	// Keys are the keys of the first documents that are compared, in input order.
	Keys []blocks.Key
	// Rejected are the rows of the first documents that are not.
	Rejected []records.Rejected
	// Closest are similar ids, the closest first.
	Closest []Close
}

// Close is an id and its edit distance from the wanted one.
type Close struct {
	ID       string
	Distance int
}

// mostDocuments is the maximum number of documents reported per id, compared and rejected ones each.
const mostDocuments = 10

func (f *Found) addKeys(keys ...blocks.Key) {
	if f.Keys = append(f.Keys, keys...); len(f.Keys) >= 2*mostDocuments {
		f.cut()
	}
}

func (f *Found) addRejected(rows ...records.Rejected) {
	if f.Rejected = append(f.Rejected, rows...); len(f.Rejected) >= 2*mostDocuments {
		f.cut()
	}
}

func (f *Found) cut() {
	slices.Sort(f.Keys)
	f.Keys = f.Keys[:min(len(f.Keys), mostDocuments)]
	slices.SortFunc(f.Rejected, func(a, b records.Rejected) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Position, b.Position))
	})
	f.Rejected = f.Rejected[:min(len(f.Rejected), mostDocuments)]
}

// mostClosest is the maximum number of similar ids reported.
const mostClosest = 5

// Find writes to a file which documents have the id.
//
//	blocks of documents, KV<table shard, rejected rows> … → nothing
//
// One GroupByKey, of at most one Found from each bundle and block of rows.
func (l Lookup) Find(s beam.Scope, docs flow.Documents, rejected ...flow.Rows[records.Rejected]) {
	s = s.Scope("nearest.Lookup")
	found := []gather.Values{gather.Values(beam.ParDo(s, &lookupFn{Lookup: l}, beam.PCollection(docs)))}
	for _, rows := range rejected {
		found = append(found, gather.Values(beam.ParDo(s, &lookupRejectedFn{Lookup: l}, beam.PCollection(rows))))
	}
	beam.ParDo0(s, &mergeLookupFn{l}, beam.PCollection(gather.All(s, found...)))
}

// lookupFn looks for the id in documents.
//
//	blocks of documents → KV<gather.Key, Found>
type lookupFn struct {
	Lookup Lookup

	inputs   *blocks.Inputs
	distance func(id string) int // from the wanted one
	found    Found
}

func (f *lookupFn) Setup(ctx context.Context) (err error) {
	f.distance = edit.From(f.Lookup.ID)
	f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Lookup.Inputs)
	return err
}

func (f *lookupFn) StartBundle(func(int64, []byte)) { f.found = Found{} }

func (f *lookupFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		id := f.inputs.ID(doc.Key, doc.ID, doc.HasID)
		if id == f.Lookup.ID {
			f.found.Documents++
			f.found.addKeys(doc.Key)
		} else {
			f.found.consider(id, f.Lookup.ID, f.distance)
		}
	}
	return d.Err()
}

func (f *lookupFn) FinishBundle(emit func(int64, []byte)) error {
	f.found.cut()
	return gather.EmitJSON(&f.found, emit)
}

// consider keeps an id if it is among the closest to the wanted one, at a distance of at most half its length. An id
// that begins with the wanted one counts as distance 1.
func (f *Found) consider(id, wanted string, from func(id string) int) {
	length := utf8.RuneCountInString(wanted)
	limit := (length + 1) / 2
	if len(f.Closest) == mostClosest {
		limit = min(limit, f.Closest[mostClosest-1].Distance)
	}
	distance := 1
	if !strings.HasPrefix(id, wanted) {
		if apart := utf8.RuneCountInString(id) - length; max(apart, -apart) > limit {
			return
		}
		distance = from(id)
	}
	if distance <= limit {
		f.close(Close{id, distance})
	}
}

func (f *Found) close(c Close) {
	at, known := slices.BinarySearchFunc(f.Closest, c, func(a, b Close) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	if !known {
		f.Closest = slices.Insert(f.Closest, at, c)
		f.Closest = f.Closest[:min(len(f.Closest), mostClosest)]
	}
}

// lookupRejectedFn looks for the id in rejected rows.
//
//	KV<table shard, rejected rows> → KV<gather.Key, Found>
type lookupRejectedFn struct{ Lookup Lookup }

func (f *lookupRejectedFn) ProcessElement(_ int64, block []byte, emit func(int64, []byte)) error {
	var found Found
	for d := blocks.NewDecoder(block); !d.Done(); {
		part := d.RowPart()
		if part.Continues {
			continue // the first part identifies the row; the rest is a long raw record
		}
		fields := blocks.NewDecoder(part.Fields)
		var row records.Rejected
		if blocks.DecodeFields(fields, &row); d.Err() != nil || fields.Err() != nil && part.Left == 0 {
			return blocks.ErrCorrupt
		}
		if row.ID != nil && *row.ID == f.Lookup.ID {
			row.Raw = nil
			found.Documents++
			found.addRejected(row)
		}
	}
	if found.Documents == 0 {
		return nil
	}
	found.cut()
	return gather.EmitJSON(&found, emit)
}

// mergeLookupFn writes what all bundles found.
//
//	KV<gather.Key, Found> → nothing
type mergeLookupFn struct{ Lookup Lookup }

func (f *mergeLookupFn) ProcessElement(ctx context.Context, _ int64, parts func(*[]byte) bool) error {
	var all Found
	err := gather.EachJSON(parts, func(part *Found) {
		all.Documents += part.Documents
		all.addKeys(part.Keys...)
		all.addRejected(part.Rejected...)
		for _, c := range part.Closest {
			all.close(c)
		}
	})
	if err != nil {
		return err
	}
	all.cut()
	return storage.WriteShared(ctx, f.Lookup.Answer, &all)
}

// Text makes a block with one document, which has key 0, no id, and the text of the file at path.
//
//	Impulse → block of documents
func Text(s beam.Scope, path string) flow.Documents {
	s = s.Scope("nearest.Text")
	return flow.Documents(beam.ParDo(s, &textFn{path}, beam.Impulse(s)))
}

// textFn reads the text.
//
//	Impulse → block of documents
type textFn struct{ Path string }

func (f *textFn) ProcessElement(ctx context.Context, _ []byte, emit func([]byte)) error {
	text, err := storage.ReadFile(ctx, f.Path)
	if err == nil {
		emit(blocks.AppendDocument(nil, &blocks.Document{Text: text}))
	}
	return err
}
