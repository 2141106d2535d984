package sets

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
)

// No documents are compared, so there is no threshold.
var jaccard = verifier.Spec{Measure: verifier.Jaccard}

var word2 = shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 2}}

// texts are two copies of the first text by tokens, and one by set.
var texts = []string{"a b a", "a b a!", "a b a", "a b a b"}

// fetched returns a document and its copies, and another document, as the second read emits them.
func fetched() (block []byte) {
	for i, text := range texts {
		doc := blocks.Document{Key: blocks.NewKey(0, int64(i)), ID: []byte{'x'}, HasID: true, Rank: []byte{'r'}, Text: []byte(text)}
		switch i {
		case 0:
			doc.Component, doc.Of, doc.Copied = blocks.NewKey(0, 7), 20, true
		case 3:
			doc.Component, doc.Of = blocks.NewKey(0, 7), 20
		default:
			doc.Component = blocks.NewKey(0, 0)
		}
		block = blocks.AppendDocument(block, &doc)
	}
	return block
}

// wantCopies returns the first three of fetched as copies by same, with the hash of another kind.
func wantCopies(t *testing.T, same, hash copies.Same) (want []blocks.Copy) {
	t.Helper()
	reader := copies.NewReader(word2, (*shingle.Shingler).Set)
	for i := range 3 {
		traits, set := reader.Read([]byte(texts[i]), nil)
		c := blocks.Copy{Of: blocks.NewKey(0, 0), Profile: blocks.Profile{
			Key: blocks.NewKey(0, int64(i)), ID: []byte{'x'}, HasID: true, Rank: []byte{'r'},
			Traits: blocks.Traits{Text: blocks.Hash(traits.Text), Symbols: traits.Symbols, Numbers: traits.Numbers},
		}}
		if i == 0 || same == copies.Set {
			c.Profile.Traits.Tokens = blocks.Hash(traits.Tokens)
		}
		if i == 0 {
			c.Component, c.Documents, c.Profile.Hash = blocks.NewKey(0, 7), 20, blocks.Hash(traits.Of(hash))
			c.Profile.Size, c.Profile.Words = len(set), len(set)
		}
		want = append(want, c)
	}
	return want
}

// toCopies collects copies.
func toCopies(t *testing.T, p *Params, all *[]blocks.Copy) func(int64, []byte) {
	return func(shard int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			*all = append(*all, d.Copy())
		}
		if want := p.Shards.Shard(blocks.NewKey(0, 0)); shard != want {
			t.Errorf("copies were sent to shard %d, want %d", shard, want)
		}
	}
}

// A document with copies has a set, but a profile for its group only. A copy has no set, and its profile has only its
// own fields.
func TestCopiesHaveNoSets(t *testing.T) {
	f := &setsFn{Params: Params{Text: word2, MaxSmallDocs: 19, Shards: 5, Verifier: jaccard}}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	var copied []blocks.Copy
	sent, profiles := map[int64]int{}, 0
	none := func(int64, []byte) { t.Error("sent to the wrong place") }
	toProfiles := func(_ int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); profiles++ {
			if p := d.Profile(); p.Key != blocks.NewKey(0, 3) {
				t.Errorf("%+v, want that of the last document", p)
			}
		}
	}
	toSets := func(document int64, _ []byte) { sent[document]++ }
	ignore := func(int64, []byte) {}
	to := toCopies(t, &f.Params, &copied)
	f.StartBundle(none, toProfiles, to, toSets, toProfiles, ignore)
	if err := f.ProcessElement(t.Context(), fetched(), none, toProfiles, to, toSets, toProfiles, ignore); err != nil {
		t.Fatal(err)
	}
	f.FinishBundle(t.Context(), none, toProfiles, to, toSets, toProfiles, ignore)
	if want := map[int64]int{0: 1}; !reflect.DeepEqual(sent, want) || profiles != 2 { // same set as the first
		t.Errorf("sets %v, want %v, and %d profiles, want 2", sent, want, profiles)
	}
	if want := wantCopies(t, copies.Tokens, copies.Set); !reflect.DeepEqual(copied, want) {
		t.Errorf("copies %+v, want %+v", copied, want)
	}
}

// If only copies are sought, they are identified by the kind asked for, and copies by set are told apart by tokens.
func TestProfiles(t *testing.T) {
	for _, same := range copies.All() {
		f := &setsFn{Params: Params{Text: word2, Shards: 5, Verifier: jaccard, Same: same}}
		if err := f.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		var copied []blocks.Copy
		to := toCopies(t, &f.Params, &copied)
		block := fetched()
		d := blocks.NewDecoder(block)
		for range 3 {
			d.Document()
		}
		ignore := func(int64, []byte) {}
		f.StartBundle(ignore, ignore, to, ignore, ignore, ignore)
		if err := f.ProcessElement(t.Context(), block[:len(block)-d.Left()], ignore, ignore, to, ignore, ignore, ignore); err != nil {
			t.Fatal(err)
		}
		f.FinishBundle(t.Context(), ignore, ignore, to, ignore, ignore, ignore)
		if want := wantCopies(t, same, same); !reflect.DeepEqual(copied, want) {
			t.Errorf("%s: copies %+v, want %+v", same, copied, want)
		}
	}
}

// Copy groups, in any order, become one profile each, with the preferred document of all. It goes where the first
// document's profile goes.
func TestSummarise(t *testing.T) {
	path := filepath.Join(storagetest.RunFolder(t), "inputs.json")
	in := &blocks.Inputs{Shards: 1}
	for _, source := range []string{"late", "early", "later"} {
		in.Add(&blocks.File{Source: source}, nil, nil)
	}
	in.Prefer(func(source string) int { return strings.Index("early", source) & 1 })
	if err := storage.WriteShared(t.Context(), path, in); err != nil {
		t.Fatal(err)
	}
	f := &summariseFn{Params: Params{Inputs: path, MaxSmallDocs: 5, Shards: 3}}
	rapid.Check(t, func(t *rapid.T) {
		groups := map[blocks.Key][]blocks.Copy{}
		var packed [][]byte
		first := map[int]blocks.Key{}
		for i := range rapid.IntRange(1, 30).Draw(t, "documents") {
			group := rapid.IntRange(0, 4).Draw(t, "group")
			c := blocks.Copy{Profile: blocks.Profile{
				Key: blocks.NewKey(i/10, int64(i)), ID: fmt.Append(nil, i), HasID: true, Rank: rapid.SliceOfN(rapid.Byte(), 1, 1).Draw(t, "rank"),
				Traits: blocks.Traits{Text: blocks.Hash{Lo: uint64(i)}, Symbols: uint64(i), Numbers: uint64(i)},
			}}
			if rapid.Bool().Draw(t, "has tokens") {
				c.Profile.Traits.Tokens = blocks.Hash{Hi: uint64(i)}
			}
			if _, ok := first[group]; !ok {
				first[group] = c.Profile.Key
				c.Component, c.Documents = blocks.Key(group), 3+group
				c.Profile.Hash, c.Profile.Size, c.Profile.Words, c.Profile.Traits.Tokens = blocks.Hash{Lo: uint64(group)}, 9, 18, blocks.Hash{Lo: 1}
			}
			c.Of = first[group]
			groups[c.Of] = append(groups[c.Of], c)
			packed = append(packed, blocks.AppendCopy(nil, &c))
		}
		packed = rapid.Permutation(packed).Draw(t, "order")
		n := len(packed) / 2
		packed = append(packed[n:], slices.Concat(packed[:n]...))

		lean := func(p *blocks.Profile) { p.ID, p.HasID, p.Traits = nil, false, blocks.Traits{} }
		want, wantLarge := map[int64][]blocks.Profile{}, map[int64][]blocks.Profile{}
		for _, group := range groups {
			p := group[0].Profile
			p.Copies = len(group) - 1
			best := slices.MinFunc(group, func(a, b blocks.Copy) int { return in.Preferred(&a.Profile, &b.Profile) }).Profile
			best.Hash, best.Size, best.Words = p.Hash, p.Size, p.Words
			if best.Traits.Tokens == (blocks.Hash{}) {
				best.Traits.Tokens = p.Traits.Tokens
			}
			if best.Key != p.Key {
				p.Best = &best
			}
			shard := f.Params.Shards.Shard(group[0].Component)
			want[shard] = append(want[shard], p)
			if group[0].Documents > 5 {
				if lean(&p); p.Best != nil {
					leanBest := best
					lean(&leanBest)
					p.Best = &leanBest
				}
				wantLarge[int64(group[0].Component)] = append(wantLarge[int64(group[0].Component)], p)
			}
		}
		got, gotLarge := map[int64][]blocks.Profile{}, map[int64][]blocks.Profile{}
		collect := func(all map[int64][]blocks.Profile) func(int64, []byte) {
			return func(to int64, block []byte) {
				for d := blocks.NewDecoder(block); !d.Done(); {
					all[to] = append(all[to], d.Profile())
				}
			}
		}
		all, large := collect(got), collect(gotLarge)
		f.StartBundle(all, large)
		if err := f.ProcessElement(t.Context(), 0, beamtest.Values(packed...), all, large); err != nil {
			t.Fatal(err)
		}
		f.FinishBundle(t.Context(), all, large)
		for _, profiles := range []map[int64][]blocks.Profile{want, wantLarge, got, gotLarge} {
			for _, p := range profiles {
				slices.SortFunc(p, func(a, b blocks.Profile) int { return cmp.Compare(a.Key, b.Key) })
			}
		}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotLarge, wantLarge) {
			t.Errorf("profiles %+v, want %+v; of large components %+v, want %+v", got, want, gotLarge, wantLarge)
		}
	})
	alone := blocks.AppendCopy(nil, &blocks.Copy{Of: 1, Profile: blocks.Profile{Key: 2}})
	none := func(int64, []byte) {}
	f.StartBundle(none, none)
	if err := f.ProcessElement(t.Context(), 0, beamtest.Values(alone), none, none); err == nil {
		t.Error("a copy of a document that was not read: no error")
	}
}
