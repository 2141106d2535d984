package verify

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
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

// Measuring says how the recall of a run is measured: all true pairs of a sample of documents are
// found by comparing it with every document, and counted among those that the run found.
type Measuring struct {
	// Inputs is the path of the shared records.Inputs.
	Inputs    string
	Text      shingle.Spec
	Threshold setsim.Threshold
	// Sample is its number of distinct sets. Those of smallest hash are as good as drawn by lot,
	// and depend on the input alone.
	Sample int
	// Temp is the folder for the sample and its true pairs.
	Temp string
}

func (m Measuring) sampleFile() string { return path.Join(m.Temp, "recall-sample") }
func (m Measuring) truthFile() string  { return path.Join(m.Temp, "recall-truth") }

// together is the key of what one call gathers.
const together = 0

// Choose chooses the sample, by the first document of each set.
//
//	blocks of documents → KV<split, members>
func (m Measuring) Choose(s beam.Scope, docs beam.PCollection) beam.PCollection {
	s = s.Scope("verify.Choose")
	return beam.ParDo(s, &chooseFn{m}, beam.GroupByKey(s, beam.ParDo(s, &smallestFn{Measuring: m}, docs)))
}

// Keep writes the sets of the sample to a file, but those of crowds: not all their pairs are
// looked for.
//
//	blocks of the sample's documents, KV<document, rank> of crowds → facts
func (m Measuring) Keep(s beam.Scope, docs, crowded beam.PCollection) (facts beam.PCollection) {
	s = s.Scope("verify.Keep")
	sets := beam.ParDo(s, &sampleFn{Measuring: m}, docs)
	kept := beam.ParDo(s, &leaveOutFn{}, beam.CoGroupByKey(s, sets, crowded))
	return beam.ParDo(s, &writeSampleFn{m}, beam.GroupByKey(s, kept))
}

// Join compares the sample with every document and writes its true pairs to a file. It is a job of
// its own, after the one that wrote the sample.
//
//	blocks of documents → nothing
func (m Measuring) Join(s beam.Scope, docs beam.PCollection) {
	s = s.Scope("verify.Join")
	similar := beam.ParDo(s, &againstFn{Measuring: m}, docs)
	pairs := beam.ParDo(s, &onceFn{}, beam.GroupByKey(s, similar))
	beam.ParDo0(s, &writeTruthFn{m}, beam.GroupByKey(s, pairs))
}

// Truth returns the pairs of representatives that Join found, ordered.
func (m Measuring) Truth() ([]records.Edge, error) {
	data, err := storage.ReadFile(m.truthFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no group, no file
	}
	if err != nil {
		return nil, err
	}
	return records.DecodeEdges(nil, data)
}

// holder says that a document has the set of a hash.
type holder struct {
	hash records.SetHash
	key  records.Key
}

func (h holder) append(block []byte) []byte {
	return records.AppendUint64(records.AppendUint64(records.AppendKey(block, h.key), h.hash.Hi), h.hash.Lo)
}

// eachHolder calls do for the holders in a group.
func eachHolder(packed func(*[]byte) bool, do func(holder)) error {
	var block []byte
	for packed(&block) {
		d := records.NewDecoder(block)
		for !d.Done() {
			do(holder{key: d.Key(), hash: records.SetHash{Hi: d.Uint64(), Lo: d.Uint64()}})
		}
		if err := d.Err(); err != nil {
			return err
		}
	}
	return nil
}

// smallest keeps the first documents of the sets of smallest hash.
type smallest struct {
	limit int
	first map[records.SetHash]records.Key // up to twice the limit
	full  bool
	last  records.SetHash // once full, larger ones are none of the smallest
}

func newSmallest(limit int) *smallest {
	return &smallest{limit: limit, first: map[records.SetHash]records.Key{}}
}

func (s *smallest) add(h holder) {
	if s.full && h.hash.Compare(s.last) > 0 {
		return
	}
	if key, ok := s.first[h.hash]; !ok || h.key < key {
		s.first[h.hash] = h.key
	}
	if len(s.first) >= 2*s.limit {
		s.sorted()
	}
}

// sorted forgets all but the smallest and returns them.
func (s *smallest) sorted() (all []holder) {
	hashes := slices.SortedFunc(maps.Keys(s.first), records.SetHash.Compare)
	for i, h := range hashes {
		if i < s.limit {
			all = append(all, holder{h, s.first[h]})
		} else {
			delete(s.first, h)
		}
	}
	if len(all) == s.limit {
		s.full, s.last = true, all[s.limit-1].hash
	}
	return all
}

// smallestFn sends the smallest of a bundle.
//
//	blocks of documents → KV<together, holders>
type smallestFn struct {
	Measuring Measuring

	shingler *shingle.Shingler
	shingles []uint64
	smallest *smallest
}

func (f *smallestFn) Setup() { f.shingler = f.Measuring.Text.New() }

func (f *smallestFn) StartBundle(func(int64, []byte)) { f.smallest = newSmallest(f.Measuring.Sample) }

func (f *smallestFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	d := records.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = f.shingler.Shingles(f.shingles[:0], doc.Text)
		if len(f.shingles) > 0 {
			f.smallest.add(holder{setHash(shingle.Set(f.shingles)), doc.Key})
		}
	}
	return d.Err()
}

func (f *smallestFn) FinishBundle(emit func(int64, []byte)) {
	out := records.NewBuffers()
	for _, h := range f.smallest.sorted() {
		out.Add(together, h.append, emit)
	}
	out.Flush(emit)
}

// chooseFn chooses the smallest of all.
//
//	KV<together, holders> → KV<split, members>
type chooseFn struct{ Measuring Measuring }

func (f *chooseFn) ProcessElement(_ int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	in, err := storage.Shared[records.Inputs](f.Measuring.Inputs)
	if err != nil {
		return err
	}
	all := newSmallest(f.Measuring.Sample)
	if err := eachHolder(packed, all.add); err != nil {
		return err
	}
	out := records.NewBuffers()
	for _, h := range all.sorted() {
		member := records.Member{Key: h.key, Component: h.key, Of: 1}
		out.Add(int64(in.Split(h.key)), func(block []byte) []byte { return records.AppendMember(block, member) }, emit)
	}
	out.Flush(emit)
	return nil
}

// sampleFn makes the sets of the sample.
//
//	blocks of documents → KV<document, set part>
type sampleFn struct {
	Measuring Measuring

	shingler *shingle.Shingler
}

func (f *sampleFn) Setup() { f.shingler = f.Measuring.Text.New() }

func (f *sampleFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := records.NewDecoder(block)
	for doc := range d.Documents() {
		set := shingle.Set(f.shingler.Shingles(nil, doc.Text))
		records.SetParts(nil, doc.Key, setHash(set), set, func(part []byte) { emit(int64(doc.Key), part) })
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
type writeSampleFn struct{ Measuring Measuring }

func (f *writeSampleFn) ProcessElement(_ int64, values func(*[]byte) bool, facts func([]byte)) error {
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
	sample, err := assemble(parts)
	if err != nil {
		return err
	}
	if err := sample.write(f.Measuring.Temp, f.Measuring.sampleFile()); err != nil {
		return err
	}
	fact, err := json.Marshal(records.Fact{Kind: records.FactSample, Name: "recall", Counts: map[string]int64{
		records.CountRepresentatives: int64(len(sample.keys)), records.CountCrowded: int64(crowded),
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
	Measuring Measuring

	shingler *shingle.Shingler
	shingles []uint64
	sample   group
	index    *setsim.Index // not safe for concurrent use, so each worker has one
	first    map[met]records.Key
}

// met says that a member of the sample is similar to a set.
type met struct {
	member int
	hash   records.SetHash
}

// maxMet bounds the memory of what a bundle has met.
const maxMet = 1 << 20

func (f *againstFn) Setup() (err error) {
	f.shingler = f.Measuring.Text.New()
	if f.sample, err = readGroup(f.Measuring.sampleFile()); err != nil {
		return err
	}
	var common setsim.Frequencies
	for _, set := range f.sample.sets {
		common.Count(set)
	}
	f.index = setsim.NewIndex(f.Measuring.Threshold, &common)
	for _, set := range f.sample.sets {
		f.index.Add(set)
	}
	return nil
}

func (f *againstFn) StartBundle(func(int64, []byte)) { f.first = map[met]records.Key{} }

func (f *againstFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := records.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = f.shingler.Shingles(f.shingles[:0], doc.Text)
		set := shingle.Set(f.shingles)
		var sum records.SetHash
		f.index.Similar(set, func(i, shared int) {
			if shared == len(set) && shared == len(f.sample.sets[i]) {
				return // the same set
			}
			if sum == (records.SetHash{}) {
				sum = setHash(set)
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
	out := records.NewBuffers()
	for m, key := range f.first {
		out.Add(int64(f.sample.keys[m.member]), holder{m.hash, key}.append, emit)
	}
	out.Flush(emit)
	clear(f.first)
}

// onceFn pairs a member of the sample with the first document of each set that is similar to it.
//
//	KV<document of the sample, holders> → KV<together, edges>
type onceFn struct{}

func (f *onceFn) ProcessElement(document int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	first := map[records.SetHash]records.Key{}
	err := eachHolder(packed, func(h holder) {
		if key, ok := first[h.hash]; !ok || h.key < key {
			first[h.hash] = h.key
		}
	})
	if err != nil {
		return err
	}
	out := records.NewBuffers()
	own := records.Key(document)
	for _, key := range first {
		edge := records.Edge{A: min(own, key), B: max(own, key)}
		out.Add(together, func(block []byte) []byte { return records.AppendEdge(block, edge) }, emit)
	}
	out.Flush(emit)
	return nil
}

// writeTruthFn writes the pairs, those of two members of the sample once.
//
//	KV<together, edges> → nothing
type writeTruthFn struct{ Measuring Measuring }

func (f *writeTruthFn) ProcessElement(_ int64, packed func(*[]byte) bool) error {
	var edges []records.Edge
	var block []byte
	var err error
	for packed(&block) {
		if edges, err = records.DecodeEdges(edges, block); err != nil {
			return err
		}
	}
	slices.SortFunc(edges, records.Edge.Compare)
	_, err = storage.WriteBelow(f.Measuring.Temp, f.Measuring.truthFile(), func(w io.Writer) error {
		var buffer []byte
		for _, e := range slices.Compact(edges) {
			buffer = records.AppendEdge(buffer[:0], e)
			if _, err := w.Write(buffer); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
