package sets

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
)

// Whatever the order of splits, the set of a copy group's first document is sent, and not that of each copy.
func TestSetsOfFirstDocumentsAreSent(t *testing.T) {
	var docs []blocks.Document
	for i := range 60 {
		docs = append(docs, blocks.Document{
			Key: blocks.NewKey(0, int64(i)), Component: blocks.NewKey(0, int64(i%2)), Of: 30, ID: []byte("id"), HasID: true,
			Text: []byte(strings.Repeat(fmt.Sprintf("text number %d of the family ", i%6), 2)),
		})
	}
	for _, order := range []string{"ascending", "late split first", "large"} {
		f := &setsFn{Params: Params{Text: shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 3}}, MaxSmallDocs: 30, Shards: 5, Verifier: jaccard}}
		if err := f.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		sent := map[blocks.Key]bool{}
		profiles := 0
		largeProfiles := 0
		toSets := func(shard int64, block []byte) {
			for d := blocks.NewDecoder(block); !d.Done(); {
				component, encoded := d.ComponentPart()
				part := blocks.NewDecoder(encoded).SetPart()
				if want := docs[part.Key.Position()].Component; component != want || shard != f.Params.Shards.Shard(want) {
					t.Errorf("%s: a set of document %v was sent to component %v in shard %d", order, part.Key, component, shard)
				}
				sent[part.Key] = true
			}
		}
		toLargeSets := func(document int64, block []byte) {
			part := blocks.NewDecoder(block).SetPart()
			sent[part.Key] = true
			if document != int64(part.Key) {
				t.Errorf("%s: a set of document %v was sent to %d", order, part.Key, document)
			}
		}
		count := func(n *int, key func(component blocks.Key) int64) func(int64, []byte) {
			return func(to int64, block []byte) {
				for d := blocks.NewDecoder(block); !d.Done(); *n++ {
					p := d.Profile()
					if to != key(docs[p.Key.Position()].Component) {
						t.Errorf("%s: the profile of %v was sent to %d", order, p.Key, to)
					}
					if lean := n == &largeProfiles; (p.Traits == blocks.Traits{}) != lean || p.HasID == lean {
						t.Errorf("%s: the profile of %v has the traits %v, of a large component: %v", order, p.Key, p.Traits, lean)
					}
				}
			}
		}
		toProfiles := count(&profiles, f.Params.Shards.Shard)
		toLargeProfiles := count(&largeProfiles, func(component blocks.Key) int64 { return int64(component) })
		none := func(int64, []byte) { t.Errorf("%s: sent to the wrong place", order) }
		samples := 0
		toSamples := func(component int64, part []byte) {
			if p := blocks.NewDecoder(part).SetPart(); int64(docs[0].Component) != component && int64(docs[len(docs)-1].Component) != component || !sent[p.Key] {
				t.Errorf("%s: a sample of component %d: %v", order, component, p.Key)
			}
			samples++
		}
		to := []func(int64, []byte){toSets, toProfiles, none, none, none, none}
		if order == "large" {
			f.Params.MaxSmallDocs = 29
			to = []func(int64, []byte){none, toProfiles, none, toLargeSets, toLargeProfiles, toSamples}
		}
		f.StartBundle(to[0], to[1], to[2], to[3], to[4], to[5])
		halves := [][]blocks.Document{docs[:30], docs[30:]}
		if order != "ascending" {
			slices.Reverse(halves)
		}
		for _, half := range halves {
			var block []byte
			for _, doc := range half {
				block = blocks.AppendDocument(block, &doc)
			}
			if err := f.ProcessElement(context.Background(), block, to[0], to[1], to[2], to[3], to[4], to[5]); err != nil {
				t.Fatal(err)
			}
		}
		f.FinishBundle(context.Background(), to[0], to[1], to[2], to[3], to[4], to[5])
		if profiles != len(docs) || largeProfiles != len(docs) && order == "large" {
			t.Errorf("%s: %d profiles, %d of large components, want %d", order, profiles, largeProfiles, len(docs))
		}
		if (samples > 0) != (order == "large") || order == "large" && samples != len(sent) {
			t.Errorf("%s: %d sets are in samples, %d were sent", order, samples, len(sent))
		}
		for i := range 6 { // six distinct texts, the first of each in its component
			if !sent[docs[i].Key] {
				t.Errorf("%s: the set of the first document %d was not sent", order, i)
			}
		}
		if len(sent) > 12 {
			t.Errorf("%s: %d sets were sent for 6 distinct ones in two splits", order, len(sent))
		}
	}
}

// In a component of many documents, those with the smallest hashes are sampled.
func TestSampled(t *testing.T) {
	for documents, want := range map[int]float64{1: 1, 4096: 1, 8192: .5, 1 << 20: 1. / 256} {
		n := 0
		const tries = 1 << 16
		for i := range uint64(tries) {
			if Sampled(blocks.Hash{Hi: i << 48}, documents) {
				n++
			}
		}
		if got := float64(n) / tries; math.Abs(got-want) > 1e-3 {
			t.Errorf("of %d documents %v are sampled, want %v", documents, got, want)
		}
	}
}

// A small component has no more pairs than the budget, and no more documents than one call may hold.
func TestMaxSmallDocs(t *testing.T) {
	for budget, want := range map[int]int{0: 1, 1: 2, 2: 2, 3: 3, 10: 5, 1 << 18: 724, 1 << 30: MostSmallDocs} {
		if got := MaxSmallDocs(budget); got != want {
			t.Errorf("budget %d: %d documents, want %d", budget, got, want)
		}
	}
}

// Whatever the order of profiles, the representative is the first document in input order, and the best is the
// preferred one. Copies count.
func TestGroupsInAnyOrder(t *testing.T) {
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "r", Standing: blocks.Reference}, nil, nil)
	in.Add(&blocks.File{Source: "a"}, nil, nil)
	profiles := [][]byte{}
	add := func(p blocks.Profile) { profiles = append(profiles, blocks.AppendProfile(nil, &p)) }
	key := func(position int64) blocks.Key { return blocks.NewKey(1, position) }
	for i, hash := range []uint64{1, 2, 1, 2, 1} {
		add(blocks.Profile{Key: key(int64(i)), Hash: blocks.Hash{Lo: hash}, Size: 5, Words: int(hash), Rank: []byte{byte(9 - i)}})
	}
	add(blocks.Profile{
		Key: key(5), Hash: blocks.Hash{Lo: 3}, Words: 3, Rank: []byte{4}, Copies: 7, Best: &blocks.Profile{Key: key(8), Rank: []byte{3}},
	})
	add(blocks.Profile{Key: key(6), Hash: blocks.Hash{Lo: 3}, Words: 3, Rank: []byte{8}, Copies: 1})
	for i := range int64(3) {
		add(blocks.Profile{Key: blocks.NewKey(0, i), Hash: blocks.Hash{Hi: 1}, Words: 4})
	}
	add(blocks.Profile{Key: key(9), Hash: blocks.Hash{Hi: 1}, Words: 4})
	want := []string{"1 1@0 1@4 3", "2 1@1 1@3 2", "3 1@5 1@8 10", "4 0@0 0@0 4"}
	var g Groups
	for range profiles {
		profiles = append(profiles[1:], profiles[0])
		for _, held := range []int{0, 1} {
			for _, order := range [][][]byte{profiles, {slices.Concat(profiles...)}} {
				files := sorted.Params{Temp: storagetest.RunFolder(t), Name: "groups", Held: held}
				if err := g.Read(t.Context(), files, beamtest.Values(order...)); err != nil {
					t.Fatal(err)
				}
				var got []string
				err := g.Each(in, func(g *Group) error {
					got = append(got, fmt.Sprint(g.Words, g.First, g.Best.Key, g.Documents))
					return nil
				})
				if diff := gocmp.Diff(want, got); diff != "" || err != nil {
					t.Fatalf("error %v, %s", err, diff)
				}
			}
		}
	}
}

// Size, hash and set are those of the verifier's features: here shingles with their numbers of occurrences.
func TestFeaturesAreTheVerifiers(t *testing.T) {
	f := &setsFn{Params: Params{
		Text: shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}}, MaxSmallDocs: 9, Shards: 1,
		Verifier: verifier.Spec{Measure: verifiertest.Cosine},
	}}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	none := func(int64, []byte) {}
	var block []byte
	for i, text := range []string{"a a a b", "a b", "b a a a"} {
		block = blocks.AppendDocument(block, &blocks.Document{Key: blocks.NewKey(0, int64(i)), Component: blocks.NewKey(0, 0), Of: 3, Text: []byte(text)})
	}
	f.StartBundle(none, none, none, none, none, none)
	if err := f.ProcessElement(t.Context(), block, none, none, none, none, none, none); err != nil {
		t.Fatal(err)
	}
	var profiles []blocks.Profile
	var parts [][]byte
	f.FinishBundle(context.Background(), func(_ int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			_, part := d.ComponentPart()
			parts = append(parts, part)
		}
	}, func(_ int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			profiles = append(profiles, d.Profile())
		}
	}, none, none, none, none)
	if len(profiles) != 3 || profiles[0].Hash != profiles[2].Hash || profiles[0].Hash == profiles[1].Hash {
		t.Fatalf("profiles %+v", profiles)
	}
	for i, size := range []int{3*3 + 1*1, 1*1 + 1*1, 3*3 + 1*1} {
		if p := profiles[i]; p.Size != size || p.Words != 4 {
			t.Errorf("document %d: size %d of %d words, want %d of 4", i, p.Size, p.Words, size)
		}
	}
	sets, err := blocks.AssembleSets(parts)
	if err != nil || len(sets.Sets) != 2 {
		t.Fatalf("sets %v, error %v", sets, err)
	}
	for i, want := range [][]uint64{{1, 3}, {1, 1}} {
		got := []uint64{sets.Sets[i][1], sets.Sets[i][3]}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("set %d: occurrences %v, want %v", i, got, want)
		}
	}
}

// The set of a large component's document is an element of its own, which the receiver may retain.
func TestLargeSetsAreNotReused(t *testing.T) {
	f := &setsFn{Params: Params{Text: shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}}, MaxSmallDocs: 2, Shards: 1, Verifier: jaccard}}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	none := func(int64, []byte) {}
	held := map[int64][]byte{}
	f.StartBundle(none, none, none, none, none, none)
	var block []byte
	for i := range int64(5) {
		doc := blocks.Document{Key: blocks.NewKey(0, i), Component: blocks.NewKey(0, 1), Of: 4, Text: fmt.Appendf(nil, "text %d", i)}
		if i == 0 { // a small set comes first, and is longer
			doc.Component, doc.Of, doc.Text = doc.Key, 2, []byte("a b c d e f")
		}
		block = blocks.AppendDocument(block, &doc)
	}
	hold := func(key int64, part []byte) { held[key] = part }
	if err := f.ProcessElement(context.Background(), block, none, none, none, hold, none, none); err != nil {
		t.Fatal(err)
	}
	for key, part := range held {
		if got := blocks.NewDecoder(part).SetPart().Key; int64(got) != key {
			t.Errorf("the set sent to %d is that of %d", key, got)
		}
	}
	if len(held) != 4 {
		t.Errorf("%d sets, want 4", len(held))
	}
}
