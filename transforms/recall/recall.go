// Package recall measures the recall of a run: it finds all pairs of a sample of documents, by comparing
// it with every document.
package recall

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/sample"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[smallestFn]())
	beam.RegisterDoFn(reflect.TypeFor[chooseFn]())
	beam.RegisterDoFn(reflect.TypeFor[sampleFn]())
	beam.RegisterDoFn(reflect.TypeFor[leaveOutFn]())
	beam.RegisterDoFn(reflect.TypeFor[writeSampleFn]())
	beam.RegisterDoFn(reflect.TypeFor[againstFn]())
	beam.RegisterDoFn(reflect.TypeFor[onceFn]())
	beam.RegisterDoFn(reflect.TypeFor[writeTruthFn]())
}

// Params say how the recall of a run is measured: all true pairs of a sample of documents are
// found by comparing it with every document, and counted among those that the run found.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs    string
	Text      shingle.Spec
	Threshold setsim.Threshold
	// Sample is its number of distinct sets. Those of smallest hash are as good as drawn by lot,
	// and depend on the input alone.
	Sample int
	// Temp is the folder for the sample and its true pairs.
	Temp string
}

func (p Params) sampleFile() string { return path.Join(p.Temp, "recall-sample") }
func (p Params) truthFile() string  { return path.Join(p.Temp, "recall-truth") }

// together is the key of what one call gathers.
const together = 0

// Choose chooses the sample, by the first document of each set.
//
//	blocks of documents → KV<split, members>
func (p Params) Choose(s beam.Scope, docs flow.Documents) flow.Members {
	s = s.Scope("recall.Choose")
	return flow.Members(beam.ParDo(s, &chooseFn{p}, beam.GroupByKey(s, beam.ParDo(s, &smallestFn{Params: p}, beam.PCollection(docs)))))
}

// Keep writes the sets of the sample to a file, but those of crowds: not all their pairs are
// looked for.
//
//	blocks of the sample's documents, KV<document, rank> of crowds → facts
func (p Params) Keep(s beam.Scope, docs flow.Fetched, crowded flow.Ranks) flow.Facts {
	s = s.Scope("recall.Keep")
	sets := beam.ParDo(s, &sampleFn{Params: p}, beam.PCollection(docs))
	kept := beam.ParDo(s, &leaveOutFn{}, beam.CoGroupByKey(s, sets, beam.PCollection(crowded)))
	return flow.Facts(beam.ParDo(s, &writeSampleFn{p}, beam.GroupByKey(s, kept)))
}

// Join compares the sample with every document and writes its true pairs to a file. It is a job of
// its own, after the one that wrote the sample.
//
//	blocks of documents → nothing
func (p Params) Join(s beam.Scope, docs flow.Documents) {
	s = s.Scope("recall.Join")
	similar := beam.ParDo(s, &againstFn{Params: p}, beam.PCollection(docs))
	pairs := beam.ParDo(s, &onceFn{}, beam.GroupByKey(s, similar))
	beam.ParDo0(s, &writeTruthFn{p}, beam.GroupByKey(s, pairs))
}

// Truth returns the pairs of representatives that Join found, ordered.
func (p Params) Truth(ctx context.Context) ([]blocks.Edge, error) {
	data, err := storage.ReadFile(ctx, p.truthFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no group, no file
	}
	if err != nil {
		return nil, err
	}
	return blocks.DecodeEdges(nil, data)
}

// holder says that a document has the set of a hash.
type holder struct {
	hash blocks.SetHash
	key  blocks.Key
}

func (h holder) append(block []byte) []byte {
	return blocks.AppendUint64(blocks.AppendUint64(blocks.AppendKey(block, h.key), h.hash.Hi), h.hash.Lo)
}

// eachHolder calls do for the holders in a group.
func eachHolder(packed func(*[]byte) bool, do func(holder)) error {
	var block []byte
	for packed(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			do(holder{key: d.Key(), hash: blocks.SetHash{Hi: d.Uint64(), Lo: d.Uint64()}})
		}
		if err := d.Err(); err != nil {
			return err
		}
	}
	return nil
}

// smallestFn sends the smallest of a bundle.
//
//	blocks of documents → KV<together, holders>
type smallestFn struct {
	Params Params

	shingler *shingle.Shingler
	shingles []uint64
	smallest *sample.Smallest[blocks.Key]
}

func (f *smallestFn) Setup() { f.shingler = f.Params.Text.New() }

func (f *smallestFn) StartBundle(func(int64, []byte)) {
	f.smallest = sample.NewSmallest[blocks.Key](f.Params.Sample)
}

func (f *smallestFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = f.shingler.Shingles(f.shingles[:0], doc.Text)
		if len(f.shingles) > 0 {
			f.smallest.Add(hash.Sequence(shingle.Set(f.shingles)), doc.Key)
		}
	}
	return d.Err()
}

func (f *smallestFn) FinishBundle(emit func(int64, []byte)) {
	out := blocks.NewBuffers()
	for _, s := range f.smallest.Sets() {
		out.Add(together, holder{blocks.SetHash(s.Hash), s.First}.append, emit)
	}
	out.Flush(emit)
}

// chooseFn chooses the smallest of all.
//
//	KV<together, holders> → KV<split, members>
type chooseFn struct{ Params Params }

func (f *chooseFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	all := sample.NewSmallest[blocks.Key](f.Params.Sample)
	if err := eachHolder(packed, func(h holder) { all.Add(hash.Sum128(h.hash), h.key) }); err != nil {
		return err
	}
	out := blocks.NewBuffers()
	for _, s := range all.Sets() {
		member := blocks.Member{Key: s.First, Component: s.First, Of: 1}
		out.Add(int64(in.Split(s.First)), func(block []byte) []byte { return blocks.AppendMember(block, member) }, emit)
	}
	out.Flush(emit)
	return nil
}

// sampleFn makes the sets of the sample.
//
//	blocks of documents → KV<document, set part>
type sampleFn struct {
	Params Params

	shingler *shingle.Shingler
}

func (f *sampleFn) Setup() { f.shingler = f.Params.Text.New() }

func (f *sampleFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		set := shingle.Set(f.shingler.Shingles(nil, doc.Text))
		blocks.SetParts(nil, doc.Key, blocks.SetHash(hash.Sequence(set)), set, func(part []byte) { emit(int64(doc.Key), part) })
	}
	return d.Err()
}

// leaveOutFn sends the sets of a sample that are in no crowd, and for each other an empty part.
//
//	KV<document, set parts, ranks> → KV<together, set part>
type leaveOutFn struct{}

func (f *leaveOutFn) ProcessElement(_ int64, parts, ranks func(*[]byte) bool, emit func(int64, []byte)) error {
	var part, rank []byte
	crowded := ranks(&rank)
	for parts(&part) {
		if crowded {
			emit(together, []byte{})
			return nil
		}
		emit(together, part)
		part = nil
	}
	return nil
}

// writeSampleFn writes the sample.
//
//	KV<together, set parts> → facts
type writeSampleFn struct{ Params Params }

func (f *writeSampleFn) ProcessElement(ctx context.Context, _ int64, values func(*[]byte) bool, facts func([]byte)) error {
	var parts [][]byte
	crowded := 0
	var part []byte
	for values(&part) {
		if len(part) == 0 {
			crowded++
			continue
		}
		parts, part = append(parts, part), nil
	}
	sample, err := blocks.AssembleSets(parts)
	if err != nil {
		return err
	}
	if _, err := storage.WriteBelow(ctx, f.Params.Temp, f.Params.sampleFile(), sample.Write); err != nil {
		return err
	}
	fact, err := json.Marshal(blocks.Fact{Kind: blocks.FactSample, Name: "recall", Counts: map[string]int64{
		blocks.CountRepresentatives: int64(len(sample.Keys)), blocks.CountCrowded: int64(crowded),
	}})
	if err != nil {
		return err
	}
	facts(fact)
	return nil
}

// againstFn finds the members of the sample that documents are similar to.
//
//	blocks of documents → KV<document of the sample, holders>
type againstFn struct {
	Params Params

	shingler *shingle.Shingler
	shingles []uint64
	sample   blocks.Sets
	index    *setsim.Index // not safe for concurrent use, so each worker has one
	first    map[met]blocks.Key
}

// met says that a member of the sample is similar to a set.
type met struct {
	member int
	hash   blocks.SetHash
}

// maxMet bounds the memory of what a bundle has met.
const maxMet = 1 << 20

func (f *againstFn) Setup(ctx context.Context) (err error) {
	f.shingler = f.Params.Text.New()
	data, err := storage.ReadFile(ctx, f.Params.sampleFile())
	if err != nil {
		return err
	}
	if f.sample, err = blocks.DecodeSets(data); err != nil {
		return err
	}
	var common setsim.Frequencies
	for _, set := range f.sample.Sets {
		common.Count(set)
	}
	f.index = setsim.NewIndex(f.Params.Threshold, &common)
	for _, set := range f.sample.Sets {
		f.index.Add(set)
	}
	return nil
}

func (f *againstFn) StartBundle(func(int64, []byte)) { f.first = map[met]blocks.Key{} }

func (f *againstFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = f.shingler.Shingles(f.shingles[:0], doc.Text)
		set := shingle.Set(f.shingles)
		var sum blocks.SetHash
		f.index.Similar(set, func(i, shared int) {
			if shared == len(set) && shared == len(f.sample.Sets[i]) {
				return // the same set
			}
			if sum == (blocks.SetHash{}) {
				sum = blocks.SetHash(hash.Sequence(set))
			}
			m := met{i, sum}
			if key, ok := f.first[m]; !ok || doc.Key < key {
				f.first[m] = doc.Key
			}
		})
		if len(f.first) >= maxMet {
			f.flush(emit)
		}
	}
	return d.Err()
}

func (f *againstFn) FinishBundle(emit func(int64, []byte)) { f.flush(emit) }

func (f *againstFn) flush(emit func(int64, []byte)) {
	out := blocks.NewBuffers()
	for m, key := range f.first {
		out.Add(int64(f.sample.Keys[m.member]), holder{m.hash, key}.append, emit)
	}
	out.Flush(emit)
	clear(f.first)
}

// onceFn pairs a member of the sample with the first document of each set that is similar to it.
//
//	KV<document of the sample, holders> → KV<together, edges>
type onceFn struct{}

func (f *onceFn) ProcessElement(document int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	first := map[blocks.SetHash]blocks.Key{}
	err := eachHolder(packed, func(h holder) {
		if key, ok := first[h.hash]; !ok || h.key < key {
			first[h.hash] = h.key
		}
	})
	if err != nil {
		return err
	}
	out := blocks.NewBuffers()
	own := blocks.Key(document)
	for _, key := range first {
		edge := blocks.Edge{A: min(own, key), B: max(own, key)}
		out.Add(together, func(block []byte) []byte { return blocks.AppendEdge(block, edge) }, emit)
	}
	out.Flush(emit)
	return nil
}

// writeTruthFn writes the pairs, those of two members of the sample once.
//
//	KV<together, edges> → nothing
type writeTruthFn struct{ Params Params }

func (f *writeTruthFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool) error {
	var edges []blocks.Edge
	var block []byte
	var err error
	for packed(&block) {
		if edges, err = blocks.DecodeEdges(edges, block); err != nil {
			return err
		}
	}
	slices.SortFunc(edges, blocks.Edge.Compare)
	_, err = storage.WriteBelow(ctx, f.Params.Temp, f.Params.truthFile(), func(w io.Writer) error {
		var buffer []byte
		for _, e := range slices.Compact(edges) {
			buffer = blocks.AppendEdge(buffer[:0], e)
			if _, err := w.Write(buffer); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
