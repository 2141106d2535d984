package decide

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/verifier"
)

// decision is what a shard reports.
type decision struct{ Documents, Pairs, Partial []string }

func (d *decision) sort() {
	slices.Sort(d.Documents)
	slices.Sort(d.Pairs)
	slices.Sort(d.Partial)
}

func (d *decision) document(doc *blocks.Profile, v *blocks.Verdict) {
	d.Documents = append(d.Documents, fmt.Sprintf("%v %q %d copies: %x", doc.Key, doc.ID, doc.Copies, blocks.AppendVerdict(nil, v)))
}

func (d *decision) pair(a, b *blocks.Profile, similarity float64, shared int, matches []float64) {
	d.Pairs = append(d.Pairs, fmt.Sprint(a.Key, string(a.ID), a.HasID, a.Words, b.Key, string(b.ID), b.HasID, b.Words, similarity, shared, matches))
}

// anyShard draws documents of all standings, some with equal sets, with pairs and links of the first document of each
// set.
func anyShard(t *rapid.T) (in *blocks.Inputs, p Params, profiles, pairs, links [][]byte) {
	in = &blocks.Inputs{Shards: 1}
	for file := range 5 {
		standing := blocks.Input
		if file < 2 {
			standing = blocks.Reference
		}
		in.Add(&blocks.File{Source: fmt.Sprint(file), Path: fmt.Sprint(file), Size: 1 << 20, Standing: standing}, nil, nil)
	}
	if rapid.Bool().Draw(t, "an index") {
		in.Settle(func(path string) bool { return path == "0" })
	}
	if rapid.Bool().Draw(t, "protected") {
		in.Protect(func(source string) bool { return source == "2" })
	}
	if rapid.Bool().Draw(t, "preferred") {
		in.Prefer(func(source string) int { return len(source) - strings.Count("34", source) })
	}
	measure := rapid.SampledFrom([]string{verifier.Jaccard, verifier.Containment}).Draw(t, "measure")
	rules := rapid.IntRange(0, 2).Draw(t, "rules")
	p = Params{
		OnePerCluster: rapid.Bool().Draw(t, "one per cluster"), KeepNone: rapid.Bool().Draw(t, "keep none"),
		Verifier: verifier.Spec{Measure: measure, Field: rapid.IntRange(0, rules).Draw(t, "field")}, PairBudget: rapid.IntRange(0, 3).Draw(t, "pair budget"),
	}
	rank := rapid.SampledFrom([][]byte{nil, nil, {0}, {0, 0}, {1}, {0, 1}, {255}})
	n := rapid.IntRange(0, 40).Draw(t, "documents")
	sets := rapid.IntRange(1, 30).Draw(t, "sets")
	first := map[int]blocks.Key{}
	for i := range n {
		doc := blocks.Profile{Key: blocks.NewKey(i*5/n, int64(i)), Rank: rank.Draw(t, "rank")}
		set := rapid.IntRange(1, sets).Draw(t, "set")
		doc.Hash, doc.Size, doc.Words = blocks.Hash{Hi: uint64(set % 3), Lo: uint64(set)}, 10+set%5, 10+set%5
		doc.Traits = blocks.Traits{Text: blocks.Hash{Lo: uint64(i)}, Tokens: blocks.Hash{Hi: uint64(i)}, Symbols: uint64(i), Numbers: uint64(set)}
		if rapid.Bool().Draw(t, "an id") {
			doc.ID, doc.HasID = []byte(strings.Repeat("i", rapid.IntRange(0, 300).Draw(t, "bytes of id"))), true
		}
		if doc.Copies = rapid.IntRange(0, 2).Draw(t, "copies"); doc.Copies > 0 && rapid.Bool().Draw(t, "a better copy") {
			doc.Best = &blocks.Profile{Key: blocks.NewKey(4, int64(100+i)), Hash: doc.Hash, Size: doc.Size, Words: doc.Words, Rank: rank.Draw(t, "rank"), ID: []byte("best"), HasID: true}
		}
		if _, ok := first[set]; !ok {
			first[set] = doc.Key
		}
		profiles = append(profiles, blocks.AppendProfile(nil, &doc))
	}
	firsts := make([]blocks.Key, 0, len(first))
	for _, key := range first {
		firsts = append(firsts, key)
	}
	slices.Sort(firsts)
	rare := rapid.IntRange(1, 12).Draw(t, "rare")
	for i, a := range firsts {
		for _, b := range firsts[i+1:] {
			similar := blocks.NearPair{A: a, B: b, Score: rapid.IntRange(6, 9).Draw(t, "score")}
			similar.Shared = similar.Score
			for range rules {
				similar.Matches = append(similar.Matches, float64(rapid.IntRange(5, 9).Draw(t, "match"))/10)
			}
			if rapid.IntRange(0, rare).Draw(t, "near") == 0 {
				pairs = append(pairs, blocks.AppendNearPair(nil, similar))
			}
			if rapid.IntRange(0, 4*rare).Draw(t, "linked") == 0 {
				links = append(links, blocks.AppendNearPair(nil, blocks.NearPair{A: a, B: b}))
			}
		}
	}
	return in, p, packed(t, profiles), packed(t, pairs), packed(t, links)
}

// The decision is bit for bit the one made in memory, whatever is held and however values are ordered.
func TestAsInMemory(t *testing.T) {
	temp := storagetest.RunFolder(t)
	rapid.Check(t, func(t *rapid.T) {
		in, p, profiles, pairs, links := anyShard(t)
		var want decision
		plain := plain{spec: p.Verifier, verifier: p.Verifier.New()}
		if err := plain.gather(beamtest.Values(profiles...), beamtest.Values(pairs...), beamtest.Values(links...)); err != nil {
			t.Fatal(err)
		}
		for _, key := range plain.decide(in, &p, want.document) {
			want.Partial = append(want.Partial, key.String())
		}
		for _, n := range plain.near {
			want.pair(&plain.docs[n.i], &plain.docs[n.j], plain.similarity(n), int(n.shared), plain.matches(n))
		}
		want.sort()
		p.Files = sorted.Params{Temp: temp, Name: "decide", Held: rapid.SampledFrom([]int{0, 0, 500, 4000}).Draw(t, "held")}
		c := newShard(&p, in)
		for range 2 { // a shard leaves nothing to the next
			var got decision
			if err := c.read(t.Context(), memory.NewHold(t.Context()), beamtest.Values(profiles...), beamtest.Values(pairs...), beamtest.Values(links...)); err != nil {
				t.Fatal(err)
			}
			err := c.tell(teller{func(a, b *blocks.Profile, similarity float64, p *blocks.NearPair) {
				got.pair(a, b, similarity, p.Shared, p.Matches)
			}, got.document})
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range c.clusters {
				if of.partial(p.PairBudget) {
					got.Partial = append(got.Partial, of.first.String())
				}
			}
			got.sort()
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestHeldOfADocument: a shard of any size holds a fixed number of bytes per group, and a small multiple of the size
// that records may have.
func TestHeldOfADocument(t *testing.T) {
	const documents, held = 150_000, 512 << 10
	p := Params{PairBudget: documents, Verifier: verifier.Spec{Measure: verifier.Jaccard}}
	p.Files = sorted.Params{Temp: storagetest.RunFolder(t), Name: "decide", Held: held}
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "a", Size: 1 << 30}, nil, nil)
	key := func(i int) blocks.Key { return blocks.NewKey(0, int64(i)) }
	each := func(add func(block []byte, i int) []byte) func(*[]byte) bool { // packed on demand
		next := 0
		return func(block *[]byte) bool {
			*block = nil
			for ; next < documents && len(*block) < 16<<10; next++ {
				*block = add(*block, next)
			}
			return len(*block) > 0
		}
	}
	profiles := each(func(block []byte, i int) []byte {
		return blocks.AppendProfile(block, &blocks.Profile{
			Key: key(i), Hash: blocks.Hash{Lo: uint64(i)}, Size: 10, Words: 10, ID: []byte(strings.Repeat("i", 100)), HasID: true,
		})
	})
	pairs := each(func(block []byte, i int) []byte {
		if i == 0 {
			return block
		}
		return blocks.AppendNearPair(block, blocks.NearPair{A: key(i - 1), B: key(i), Score: 9, Shared: 9}) // a chain
	})
	before := inUse()
	c := newShard(&p, in)
	var room memory.Room
	ctx := memory.Worker(t.Context(), room.Claim(documents*documentBytes))
	hold := memory.NewHold(ctx)
	if err := c.read(ctx, hold, profiles, pairs, beamtest.Values()); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := room.Claim(documents*documentBytes).Take(done, 1); err == nil {
		t.Error("what is held is taken of no room")
	}
	hold.Free()
	kept, most := 0, int64(0)
	err := c.tell(teller{func(*blocks.Profile, *blocks.Profile, float64, *blocks.NearPair) {}, func(doc *blocks.Profile, v *blocks.Verdict) {
		if doc.Key == v.Kept.Key {
			kept++
		}
		if doc.Key == key(documents/2) {
			most = inUse() - before
		}
	}})
	if err != nil || kept != documents/2 {
		t.Errorf("%d documents of a chain of %d are kept, error %v", kept, documents, err)
	}
	if bound := int64(documents*documentBytes + 40*held); most > bound || most < documents*documentBytes {
		t.Errorf("%d bytes are held, %d at most expected", most, bound)
	}
}

// TestReferencesOfOneSet: two references with one set are in no cluster, and do not hide the documents of the next set.
func TestReferencesOfOneSet(t *testing.T) {
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "r", Path: "r", Size: 100, Standing: blocks.Reference}, nil, nil)
	in.Add(&blocks.File{Source: "a", Path: "a", Size: 100}, nil, nil)
	var profiles []byte
	for i := range 4 {
		profiles = blocks.AppendProfile(profiles, &blocks.Profile{Key: blocks.NewKey(i/2, int64(i)), Hash: blocks.Hash{Lo: uint64(i / 2)}})
	}
	p := Params{Verifier: verifier.Spec{Measure: verifier.Jaccard}}
	p.Files = sorted.Params{Temp: storagetest.RunFolder(t), Name: "decide"}
	c := newShard(&p, in)
	if err := c.read(t.Context(), memory.NewHold(t.Context()), beamtest.Values(profiles), beamtest.Values(), beamtest.Values()); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := c.tell(teller{nil, func(doc *blocks.Profile, v *blocks.Verdict) {
		got = append(got, fmt.Sprint(doc.Key, " of ", v.First.Key, " for ", v.Kept.Key))
	}})
	if want := []string{"1@2 of 1@2 for 1@2", "1@3 of 1@2 for 1@2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q is told, error %v, want %q", got, err, want)
	}
}

// inUse returns the number of bytes in use.
func inUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
