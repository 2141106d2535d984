// Package recall measures the recall of a run: it finds all true pairs of a sample of documents by
// comparing the sample with every document.
package recall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[smallestFn]()
	flow.Register[chooseFn]()
	flow.Register[sampleFn]()
	flow.Register[leaveOutFn]()
	flow.Register[writeSampleFn]()
	flow.Register[probeFn]()
	flow.Register[uniquePairsFn]()
	flow.Register[writeTruthFn]()
}

// Params configure how the recall of a run is measured.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs   string
	Text     shingle.Spec
	Verifier verifier.Spec
	// Sample is the number of distinct sets to draw. The sets with the smallest hashes under Seed are a uniform sample,
	// which depends only on the input and the seed.
	Sample int
	Seed   uint64
	// Temp is the folder for the sample and its true pairs.
	Temp string
	// MostPairs is the number of true pairs above which Join fails, since one step holds them all. 0 means no limit.
	MostPairs int
}

// check returns an error if there are more true pairs than MostPairs.
func (p Params) check(pairs int) error {
	if p.MostPairs > 0 && pairs > p.MostPairs {
		return fmt.Errorf("the sampled documents have more than %d similar pairs, which are too many to hold "+
			"in memory; draw fewer documents",
			p.MostPairs)
	}
	return nil
}

func (p Params) sampleFile() string { return storage.Join(p.Temp, "recall-sample") }
func (p Params) truthFile() string  { return storage.Join(p.Temp, "recall-truth") }

// Draw draws at most Sample documents per bundle.
//
//	blocks of documents → KV<gather.Key, hashed documents>
func (p Params) Draw(s beam.Scope, docs flow.Documents) flow.Drawn {
	return flow.Drawn(beam.ParDo(s.Scope("recall.Draw"), &smallestFn{Params: p}, beam.PCollection(docs)))
}

// Choose draws the sample from these: the first document of each set, as a component of its own. One GroupByKey.
//
//	KV<gather.Key, hashed documents> → KV<split, members>
func (p Params) Choose(s beam.Scope, drawn flow.Drawn) flow.Members {
	s = s.Scope("recall.Choose")
	return flow.Members(beam.ParDo(s, &chooseFn{p}, beam.GroupByKey(s, beam.PCollection(drawn))))
}

// Keep writes the sets of the sample to a file, except those of crowds, since a run lists only some of a crowd's pairs.
//
//	blocks of the sample's documents, KV<document, turn> → facts
//
// One fact has the number of sets in the file and the number of sets omitted.
func (p Params) Keep(s beam.Scope, docs flow.Fetched, crowded flow.Turns) flow.Facts {
	s = s.Scope("recall.Keep")
	sets := beam.ParDo(s, &sampleFn{Params: p}, beam.PCollection(docs))
	kept := beam.ParDo(s, &leaveOutFn{}, beam.CoGroupByKey(s, sets, beam.PCollection(crowded)))
	return flow.Facts(beam.ParDo(s, &writeSampleFn{p}, beam.GroupByKey(s, kept)))
}

// KeepAll is like Keep, but writes all sets of the sample, since the crowds are not known.
//
//	blocks of the sample's documents → nothing
func (p Params) KeepAll(s beam.Scope, docs flow.Fetched) {
	s = s.Scope("recall.KeepAll")
	sets := beam.ParDo(s, &sampleFn{Params: p, Gathered: true}, beam.PCollection(docs))
	beam.ParDo(s, &writeSampleFn{p}, beam.GroupByKey(s, sets))
}

// Sampled returns the sorted keys of the documents whose sets were written. If no document was read, there is no
// sample, and it returns nil.
func (p Params) Sampled(ctx context.Context) ([]blocks.Key, error) {
	data, err := storage.ReadFile(ctx, p.sampleFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sets, err := blocks.DecodeSets(data)
	return sets.Keys, err
}

// Join compares the sample with every document and writes its true pairs to a file. A true pair is a sampled set and
// another set that is similar to it, named by the first documents of both, with A in the sample. Pairs of two
// references are omitted, since references are not compared. Join is a job of its own, after Keep's.
//
//	blocks of documents → nothing
//
// Two GroupByKeys.
func (p Params) Join(s beam.Scope, docs flow.Documents) {
	s = s.Scope("recall.Join")
	similar := beam.ParDo(s, &probeFn{Params: p}, beam.PCollection(docs))
	pairs := beam.ParDo(s, &uniquePairsFn{p}, beam.GroupByKey(s, similar))
	beam.ParDo0(s, &writeTruthFn{p}, beam.GroupByKey(s, pairs))
}

// Truth returns the sorted pairs that Join found. Pairs of two sampled sets appear both ways.
func (p Params) Truth(ctx context.Context) ([]blocks.Edge, error) {
	return gather.ReadEdges(ctx, p.truthFile())
}

// hashedDoc is a document with the hash of its set.
type hashedDoc struct {
	hash blocks.Hash
	key  blocks.Key
}

func (h hashedDoc) append(block []byte) []byte {
	return blocks.AppendUint64(blocks.AppendUint64(blocks.AppendKey(block, h.key), h.hash.Hi), h.hash.Lo)
}

// eachHashed calls do with the hashed documents of a group.
func eachHashed(packed func(*[]byte) bool, do func(hashedDoc)) error {
	return gather.Each(packed, func(d *blocks.Decoder) {
		do(hashedDoc{key: d.Key(), hash: blocks.Hash{Hi: d.Uint64(), Lo: d.Uint64()}})
	})
}

// maker makes the features of documents.
type maker struct {
	features func(of *shingle.Shingler) []uint64
	shingler *shingle.Shingler
}

func (p Params) maker(ctx context.Context) (m maker, err error) {
	m.shingler = p.Text.New()
	m.features, err = frequencies.TextFeatures(ctx, p.Verifier)
	return m, err
}

// each calls do with the features of each document of a block that has shingles.
func (m *maker) each(block []byte, do func(doc blocks.Key, set []uint64)) error {
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		m.shingler.Apart(uint64(doc.Key), doc.Values)
		if len(m.shingler.Tokenise(doc.Text)) > 0 {
			do(doc.Key, m.features(m.shingler))
		}
	}
	m.shingler.Trim()
	return d.Err()
}

// smallestFn emits the documents of a bundle whose sets have the smallest hashes.
//
//	blocks of documents → KV<gather.Key, hashed documents>
type smallestFn struct {
	Params Params

	maker    maker
	smallest *quality.Smallest[blocks.Key]
}

func (f *smallestFn) Setup(ctx context.Context) (err error) {
	f.maker, err = f.Params.maker(ctx)
	return err
}

func (f *smallestFn) StartBundle(func(int64, []byte)) {
	f.smallest = quality.NewSmallest[blocks.Key](f.Params.Sample, f.Params.Seed)
}

func (f *smallestFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	return f.maker.each(block, func(doc blocks.Key, set []uint64) { f.smallest.Add(hash.Sequence(set), doc) })
}

func (f *smallestFn) FinishBundle(emit func(int64, []byte)) {
	var out blocks.Buffers
	for _, s := range f.smallest.Sets() {
		out.Add(gather.Key, hashedDoc{blocks.Hash(s.Hash), s.First}.append, emit)
	}
	out.Flush(emit)
}

// chooseFn emits the documents whose sets have the smallest hashes of all.
//
//	KV<gather.Key, hashed documents> → KV<split, members>
type chooseFn struct{ Params Params }

func (f *chooseFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	all := quality.NewSmallest[blocks.Key](f.Params.Sample, f.Params.Seed)
	if err := eachHashed(packed, func(h hashedDoc) { all.Add(hash.Sum128(h.hash), h.key) }); err != nil {
		return err
	}
	var out blocks.Buffers
	for _, s := range all.Sets() {
		member := blocks.Member{Key: s.First, Component: s.First, Of: 1}
		out.Add(int64(in.Split(s.First)), func(block []byte) []byte { return blocks.AppendMember(block, member) }, emit)
	}
	out.Flush(emit)
	return nil
}

// sampleFn makes the sets of the sample.
//
//	blocks of documents → KV<document, set part>, or KV<gather.Key, set part> if Gathered
type sampleFn struct {
	Params   Params
	Gathered bool

	maker maker
}

func (f *sampleFn) Setup(ctx context.Context) (err error) {
	f.maker, err = f.Params.maker(ctx)
	return err
}

func (f *sampleFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	return f.maker.each(block, func(doc blocks.Key, set []uint64) {
		key := int64(doc)
		if f.Gathered {
			key = gather.Key
		}
		blocks.SetParts(nil, doc, blocks.Hash(hash.Sequence(set)), set, func(part []byte) { emit(key, part) })
	})
}

// leaveOutFn passes on the sampled sets that are in no crowd, and an empty part for each set in a crowd.
//
//	KV<document, set parts, turns> → KV<gather.Key, set part>
type leaveOutFn struct{}

func (f *leaveOutFn) ProcessElement(_ int64, parts, turns func(*[]byte) bool, emit func(int64, []byte)) error {
	var part, turn []byte
	crowded := turns(&turn)
	for parts(&part) {
		if crowded {
			emit(gather.Key, []byte{})
			return nil
		}
		emit(gather.Key, part)
		part = nil
	}
	return nil
}

// writeSampleFn writes the sample to its file.
//
//	KV<gather.Key, set parts> → facts
type writeSampleFn struct{ Params Params }

func (f *writeSampleFn) ProcessElement(
	ctx context.Context, _ int64, values func(*[]byte) bool, facts func([]byte),
) error {
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
	return blocks.Fact{Kind: blocks.FactSample, Name: "recall", Counts: map[string]int64{
		blocks.CountRepresentatives: int64(len(sample.Keys)), blocks.CountCrowded: int64(crowded),
	}}.Emit(facts)
}

// probeFn looks documents up in an index of the sample.
//
//	blocks of documents → KV<document of the sample, hashed documents>
type probeFn struct {
	Params Params

	maker  maker
	sample blocks.Sets
	finder verifier.Finder
	first  map[match]blocks.Key // first document of a block with the matching set
	out    blocks.Buffers
}

// match is a sampled set, by its index, and the hash of another set that is similar to it.
type match struct {
	sampled int
	hash    blocks.Hash
}

func (f *probeFn) Setup(ctx context.Context) (err error) {
	if f.maker, err = f.Params.maker(ctx); err != nil {
		return err
	}
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
	index := verifier.NewIndex(f.Params.Verifier.New(), &common)
	for _, set := range f.sample.Sets {
		index.Add(set)
	}
	f.finder = index.Finder()
	return nil
}

func (f *probeFn) StartBundle(func(int64, []byte)) {
	f.first = map[match]blocks.Key{}
}

func (f *probeFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	err := f.maker.each(block, func(doc blocks.Key, set []uint64) {
		var sum blocks.Hash
		f.finder.Similar(set, 0, func(i, _ int) {
			if slices.Equal(set, f.sample.Sets[i]) {
				return
			}
			if sum == (blocks.Hash{}) {
				sum = blocks.Hash(hash.Sequence(set))
			}
			m := match{i, sum}
			if key, ok := f.first[m]; !ok || doc < key {
				f.first[m] = doc
			}
			if len(f.first) >= mostMatches {
				f.pass(emit)
			}
		})
	})
	f.pass(emit)
	return err
}

// mostMatches is the maximum number of matches held, usually all of a block.
const mostMatches = 1 << 16

// pass emits the matches, and clears them.
func (f *probeFn) pass(emit func(int64, []byte)) {
	for m, key := range f.first {
		f.out.Add(int64(f.sample.Keys[m.sampled]), hashedDoc{m.hash, key}.append, emit)
	}
	clear(f.first)
}

func (f *probeFn) FinishBundle(emit func(int64, []byte)) { f.out.Flush(emit) }

// uniquePairsFn pairs a sampled document with the first document of each set that is similar to its own.
//
//	KV<document of the sample, hashed documents> → KV<gather.Key, edges>
type uniquePairsFn struct{ Params Params }

func (f *uniquePairsFn) ProcessElement(
	ctx context.Context, document int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	first := map[blocks.Hash]blocks.Key{}
	few := func(block *[]byte) bool { return f.Params.check(len(first)) == nil && packed(block) }
	err = eachHashed(few, func(h hashedDoc) {
		if key, ok := first[h.hash]; !ok || h.key < key {
			first[h.hash] = h.key
		}
	})
	if err == nil {
		err = f.Params.check(len(first))
	}
	if err != nil {
		return err
	}
	var out blocks.Buffers
	for _, key := range first {
		if in.IsReference(blocks.Key(document)) && in.IsReference(key) {
			continue
		}
		edge := blocks.Edge{A: blocks.Key(document), B: key}
		out.Add(gather.Key, func(block []byte) []byte { return blocks.AppendEdge(block, edge) }, emit)
	}
	out.Flush(emit)
	return nil
}

// writeTruthFn writes the pairs to their file.
//
//	KV<gather.Key, edges> → nothing
type writeTruthFn struct{ Params Params }

func (f *writeTruthFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool) error {
	var edges []blocks.Edge
	check := func() error { return f.Params.check(len(edges) / 2) } // each pair may appear both ways
	few := func(block *[]byte) bool { return check() == nil && packed(block) }
	if err := gather.Edges(few, func(e blocks.Edge) { edges = append(edges, e) }); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	return gather.WriteEdges(ctx, f.Params.truthFile(), edges)
}
