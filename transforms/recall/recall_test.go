package recall

import (
	order "cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func init() {
	beam.RegisterDoFn(reflect.TypeFor[membersFn]())
	beam.RegisterDoFn(reflect.TypeFor[factsFn]())
	beam.RegisterFunction(turnFn)
}

// collected has what the pipeline of a test produced.
var collected struct {
	sync.Mutex
	members []blocks.Member
	facts   []blocks.Fact
}

type membersFn struct{}

func (f *membersFn) ProcessElement(split int64, block []byte) error {
	collected.Lock()
	defer collected.Unlock()
	all, err := blocks.DecodeMembers(nil, block)
	for _, m := range all {
		if split != int64(m.Key.File()) {
			return fmt.Errorf("document %v was sent to split %d", m.Key, split)
		}
	}
	collected.members = append(collected.members, all...)
	return err
}

type factsFn struct{}

func (f *factsFn) ProcessElement(data []byte) error {
	collected.Lock()
	defer collected.Unlock()
	var fact blocks.Fact
	err := json.Unmarshal(data, &fact)
	collected.facts = append(collected.facts, fact)
	return err
}

// turnFn gives a document a turn, whose contents do not matter here.
func turnFn(document int64) (int64, []byte) { return document, []byte{1} }

// corpus is random documents of two files: texts of few words, many of them copies or variants of others.
func corpus(seed uint64) (docs []blocks.Document) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range 120 {
		words := make([]string, 6+r.IntN(6))
		for k := range words {
			words[k] = fmt.Sprint("w", r.IntN(400))
		}
		if i > 0 && r.IntN(3) > 0 {
			words = strings.Fields(string(docs[r.IntN(i)].Text))
			for range r.IntN(3) {
				words[r.IntN(len(words))] = fmt.Sprint("x", r.IntN(400))
			}
		}
		docs = append(docs, blocks.Document{Key: blocks.NewKey(i/60, int64(i)), Text: []byte(strings.Join(words, " "))})
	}
	return docs
}

// packed packs documents into blocks, in random order.
func packed(seed uint64, docs []blocks.Document) (all [][]byte) {
	docs = slices.Clone(docs)
	rand.New(rand.NewPCG(seed, 4)).Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	for some := range slices.Chunk(docs, 7) {
		var block []byte
		for _, d := range some {
			block = blocks.AppendDocument(block, &d)
		}
		all = append(all, block)
	}
	return all
}

// distinct is a set and its first document.
type distinct struct {
	first blocks.Key
	set   []uint64
}

// distinctSets returns the distinct sets of documents in the order of seeded hashes, each with its first document in
// input order.
func distinctSets(p Params, docs []blocks.Document) (all []distinct) {
	seeded := func(d distinct) uint64 { return hash.Mix(hash.Sequence(d.set).Hi ^ hash.Mix(p.Seed)) }
	shingler, features := p.Text.New(), p.Verifier.Features(nil)
	for _, d := range docs {
		set := features(shingler.Shingles(nil, d.Text))
		if !slices.ContainsFunc(all, func(o distinct) bool { return slices.Equal(o.set, set) }) {
			all = append(all, distinct{d.Key, set})
		}
	}
	slices.SortFunc(all, func(a, b distinct) int { return order.Compare(seeded(a), seeded(b)) })
	return all
}

func params(t *testing.T, sample int) Params {
	t.Helper()
	p := Params{
		Text:     shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}},
		Verifier: verifier.Spec{Measure: verifier.Jaccard, Threshold: setsim.Threshold{Num: 1, Den: 2}}, Sample: sample, Seed: 7, Temp: storagetest.RunFolder(t),
	}
	p.Inputs = filepath.Join(p.Temp, "inputs.json")
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a"}, nil, nil)
	inputs.Add(&blocks.File{Source: "b"}, nil, nil)
	if err := storage.WriteShared(t.Context(), p.Inputs, inputs); err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t *testing.T, build func(s beam.Scope)) {
	t.Helper()
	collected.members, collected.facts = nil, nil
	pipeline, s := beam.NewPipelineWithRoot()
	build(s)
	if err := ptest.Run(pipeline); err != nil {
		t.Fatal(err)
	}
}

// The sample is the first documents of the sets of smallest hash, whatever the order of documents; if there are fewer
// sets, it is all.
func TestChooseDrawsTheSetsOfSmallestHash(t *testing.T) {
	for seed := range uint64(3) {
		docs := corpus(seed)
		for _, n := range []int{1, 10, 1000} {
			p := params(t, n)
			var want []blocks.Member
			all := distinctSets(p, docs)
			for _, d := range all[:min(n, len(all))] {
				want = append(want, blocks.Member{Key: d.first, Component: d.first, Of: 1})
			}
			slices.SortFunc(want, blocks.Member.Compare)
			run(t, func(s beam.Scope) {
				members := p.Choose(s, p.Draw(s, flow.Documents(beam.Reshuffle(s, beam.CreateList(s, packed(seed, docs))))))
				beam.ParDo0(s, &membersFn{}, beam.PCollection(members))
			})
			slices.SortFunc(collected.members, blocks.Member.Compare)
			if diff := cmp.Diff(want, collected.members); diff != "" {
				t.Errorf("seed %d, %d sets: %s", seed, n, diff)
			}
		}
	}
}

// Sets that are in crowds are not in the file, and are counted.
func TestKeepLeavesOutCrowds(t *testing.T) {
	p := params(t, 1000)
	sampled := corpus(1)
	all := distinctSets(p, sampled)
	sampled = slices.DeleteFunc(sampled, func(d blocks.Document) bool {
		return !slices.ContainsFunc(all, func(o distinct) bool { return o.first == d.Key })
	})
	var crowded []int64
	var want []blocks.Key
	for i, d := range sampled {
		if i%4 == 0 {
			crowded = append(crowded, int64(d.Key))
		} else {
			want = append(want, d.Key)
		}
	}
	crowded = append(crowded, int64(blocks.NewKey(1, 1<<20))) // in a crowd, but not sampled
	run(t, func(s beam.Scope) {
		turns := flow.Turns(beam.ParDo(s, turnFn, beam.CreateList(s, crowded)))
		facts := p.Keep(s, flow.Fetched(beam.CreateList(s, packed(1, sampled))), turns)
		beam.ParDo0(s, &factsFn{}, beam.PCollection(facts))
	})
	data, err := storage.ReadFile(t.Context(), p.sampleFile())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := blocks.DecodeSets(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, kept.Keys); diff != "" {
		t.Errorf("sets in the file: %s", diff)
	}
	facts := []blocks.Fact{{Kind: blocks.FactSample, Name: "recall", Counts: map[string]int64{
		blocks.CountRepresentatives: int64(len(want)), blocks.CountCrowded: int64(len(crowded) - 1),
	}}}
	if diff := cmp.Diff(facts, collected.facts); diff != "" {
		t.Errorf("facts: %s", diff)
	}
}

// The truth is all pairs of a sampled set with a different similar one, by their first documents, both ways if both are
// sampled.
func TestJoinFindsAllPairsOfTheSample(t *testing.T) {
	for seed := range uint64(8) {
		docs := corpus(seed)
		p := params(t, 25)
		if seed%2 == 1 {
			p.Verifier.Measure = verifiertest.Cosine
		}
		v := p.Verifier.New()
		all := distinctSets(p, docs)
		sampled := all[:p.Sample]
		slices.SortFunc(sampled, func(a, b distinct) int { return int(a.first - b.first) })
		var want []blocks.Edge
		both := 0
		for _, a := range sampled {
			for _, b := range all {
				twice := slices.ContainsFunc(sampled, func(s distinct) bool { return s.first == b.first })
				if a.first == b.first {
					continue
				}
				if _, ok := v.Compare(a.set, b.set); ok {
					want = append(want, blocks.Edge{A: a.first, B: b.first})
					if twice {
						both++
					}
				}
			}
		}
		slices.SortFunc(want, blocks.Edge.Compare)
		if len(want) < 5 || both == 0 {
			t.Fatalf("seed %d: %d pairs, %d of two sampled sets: too few to test", seed, len(want), both)
		}
		var sample blocks.Sets
		for _, s := range sampled {
			sample.Keys, sample.Sets = append(sample.Keys, s.first), append(sample.Sets, s.set)
		}
		if _, err := storage.WriteFile(t.Context(), p.sampleFile(), sample.Write); err != nil {
			t.Fatal(err)
		}
		run(t, func(s beam.Scope) {
			p.Join(s, flow.Documents(beam.Reshuffle(s, beam.CreateList(s, packed(seed, docs)))))
		})
		got, err := p.Truth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	}
}

// Without a job there is no truth, and no error.
func TestTruthOfNothing(t *testing.T) {
	if got, err := params(t, 1).Truth(t.Context()); len(got) > 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// resembling returns n similar documents, and the first of them again.
func resembling(n int) (docs []blocks.Document) {
	for i := range n {
		docs = append(docs, blocks.Document{Key: blocks.NewKey(0, int64(i)), Text: fmt.Appendf(nil, "a b c d e f g h i j k l m n o p q r s t x%d", i)})
	}
	again := docs[0]
	again.Key = blocks.NewKey(0, int64(n))
	return append(docs, again)
}

// samples writes the sets of documents as the sample.
func samples(t *testing.T, p Params, docs []blocks.Document) {
	t.Helper()
	var sample blocks.Sets
	for _, d := range distinctSets(p, docs) {
		sample.Keys, sample.Sets = append(sample.Keys, d.first), append(sample.Sets, d.set)
	}
	if _, err := storage.WriteFile(t.Context(), p.sampleFile(), sample.Write); err != nil {
		t.Fatal(err)
	}
}

// If there are more true pairs than may be held, Join fails, whether they are of one document or of many.
func TestTooManyPairs(t *testing.T) {
	docs := resembling(30)
	for sample, pairs := range map[int]int{1: 29, 30: 29 * 30 / 2} {
		for _, most := range []int{0, pairs, pairs - 1} {
			p := params(t, sample)
			p.MostPairs = most
			samples(t, p, docs[:sample])
			pipeline, s := beam.NewPipelineWithRoot()
			p.Join(s, flow.Documents(beam.CreateList(s, packed(1, docs))))
			err := ptest.Run(pipeline)
			if failed := err != nil; failed != (most == pairs-1) || failed && !strings.Contains(err.Error(), fmt.Sprintf("more than %d similar pairs", most)) {
				t.Errorf("%d sampled, at most %d pairs of %d: %v", sample, most, pairs, err)
			}
		}
	}
}

// However many documents of a block are similar to the sample, not all matches are held.
func TestMatchesOfABlock(t *testing.T) {
	const n = 300 // its square exceeds mostMatches
	docs := resembling(n)
	p := params(t, n)
	samples(t, p, docs)
	f := &probeFn{Params: p}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	emitted := 0
	emit := func(_ int64, block []byte) { emitted += len(block) / len(hashedDoc{}.append(nil)) }
	f.StartBundle(emit)
	var block []byte
	for _, d := range docs {
		block = blocks.AppendDocument(block, &d)
	}
	if err := f.ProcessElement(block, emit); err != nil {
		t.Fatal(err)
	}
	f.FinishBundle(emit)
	if len(f.first) > 0 || emitted <= n*(n-1) { // matches before those of the last document were passed on
		t.Errorf("%d matches of %d pairs", emitted, n*(n-1))
	}
}
