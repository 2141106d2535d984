package overlap

import (
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/wordstep"
	"github.com/neardup/neardup/transforms/gather"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// groups gathers what a DoFn emits, as a GroupByKey would.
type groups map[int64][][]byte

func (g groups) emit(key int64, block []byte) { g[key] = append(g[key], block) }

func settings(t *testing.T) []Setting {
	t.Helper()
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	char := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Char, K: 2}, Normalize: policy}
	stemmed := char
	stemmed.Words = wordstep.Steps{Stop: "en", Stem: "en"}
	return []Setting{{Text: char}, {Text: stemmed}, {Text: char, Replicas: true}}
}

// texts returns texts of few letters, so that documents share much; some have no token.
func texts(r *rand.Rand, n int) (all []string) {
	words := []string{"the", "cats", "cat", "aaa", "dogs", "of", "!"}
	for range n {
		var text []string
		for range r.IntN(12) {
			text = append(text, words[r.IntN(len(words))])
		}
		all = append(all, strings.Join(text, " "))
	}
	return all
}

// count calls the DoFns as Count joins them, with documents in bundles of any size.
func count(t *testing.T, r *rand.Rand, p Params, texts []string) {
	t.Helper()
	features, told := groups{}, groups{}
	for i := 0; i < len(texts); {
		fn := &featuresFn{Params: p}
		fn.Setup()
		var block []byte
		for n := 1 + r.IntN(5); n > 0 && i < len(texts); n-- {
			block = blocks.AppendDocument(block, &blocks.Document{Key: blocks.NewKey(0, int64(10*i)), ID: []byte{'a' + byte(i)}, HasID: i%2 == 0, Text: []byte(texts[i])})
			i++
		}
		if err := fn.ProcessElement(block, features.emit, told.emit); err != nil {
			t.Fatal(err)
		}
		fn.FinishBundle(features.emit, told.emit)
	}
	for _, key := range slices.Sorted(maps.Keys(features)) {
		packed := features[key]
		r.Shuffle(len(packed), func(i, j int) { packed[i], packed[j] = packed[j], packed[i] })
		if err := (&countFn{p}).ProcessElement(t.Context(), key, beamtest.Values(packed...)); err != nil {
			t.Fatal(err)
		}
	}
	packed := append(told[gather.Key], []byte{})
	r.Shuffle(len(packed), func(i, j int) { packed[i], packed[j] = packed[j], packed[i] })
	if err := (&documentsFn{p}).ProcessElement(t.Context(), gather.Key, beamtest.Values(packed...)); err != nil {
		t.Fatal(err)
	}
}

// Every two documents share what their sets do, whatever the ranges and the bundles.
func TestCountEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		p := Params{Settings: settings(t), Ranges: 1 + round%4, Dir: storagetest.RunFolder(t), Most: 20}
		all := texts(r, r.IntN(20))
		count(t, r, p, all)
		documents, err := p.Documents(t.Context())
		if err != nil || len(documents) != len(all) {
			t.Fatalf("%d documents, %v; want %d", len(documents), err, len(all))
		}
		sets := make([][][]uint64, len(p.Settings))
		for s, setting := range p.Settings {
			for i, text := range all {
				shingler := setting.Text.New()
				tokens := len(shingler.Tokenise([]byte(text)))
				set := setting.features(shingler.Shingles(nil, []byte(text)))
				sets[s] = append(sets[s], set)
				if d := documents[i]; d.Key != blocks.NewKey(0, int64(10*i)) || d.HasID != (i%2 == 0) || d.Tokens[s] != int64(tokens) || d.Sizes[s] != int64(len(set)) {
					t.Fatalf("document %d is told as %+v; it has %d tokens, %d features", i, d, tokens, len(set))
				}
			}
		}
		for i, a := range documents {
			for j, b := range documents[:i] {
				words := func(text string) string { return strings.Join(strings.Fields(strings.ReplaceAll(text, "!", "")), " ") }
				if same, want := a.Same == b.Same, words(all[i]) == words(all[j]); same != want {
					t.Fatalf("%q and %q: same words %v", all[i], all[j], same)
				}
				if same, want := a.Text == b.Text, all[i] == all[j]; same != want {
					t.Fatalf("%q and %q: same text %v", all[i], all[j], same)
				}
			}
		}
		rows, err := p.Open(t.Context(), documents)
		if err != nil {
			t.Fatal(err)
		}
		for want := 0; ; want++ {
			a, shared, err := rows.Next()
			if errors.Is(err, io.EOF) {
				if want != len(all) {
					t.Fatalf("%d rows, want %d", want, len(all))
				}
				break
			}
			if err != nil || a != want {
				t.Fatalf("row %d, want %d, %v", a, want, err)
			}
			for s := range p.Settings {
				for b := a + 1; b < len(all); b++ {
					if got, want := int(shared[s][b]), setsim.Overlap(sets[s][a], sets[s][b]); got != want {
						t.Fatalf("setting %d: %q and %q share %d, want %d", s, all[a], all[b], got, want)
					}
				}
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// One document too many is reported with the number of documents.
func TestTooMany(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n, many := range map[int]bool{5: false, 6: true} {
		p := Params{Settings: settings(t), Ranges: 2, Dir: storagetest.RunFolder(t), Most: 5}
		count(t, r, p, texts(r, n))
		_, err := p.Documents(t.Context())
		if tooMany := (*TooManyError)(nil); errors.As(err, &tooMany) != many || many && tooMany.Documents != n {
			t.Errorf("%d documents: %v", n, err)
		}
	}
}

// The ranges have every feature, in order.
func TestRanges(t *testing.T) {
	for _, ranges := range []int{1, 2, 3, 100} {
		p := Params{Ranges: ranges}
		last := 0
		for step := range uint64(1 << 12) {
			at := p.rangeOf(step << 52)
			if at < last || at > last+1 {
				t.Fatalf("%d ranges: from %d to %d", ranges, last, at)
			}
			last = at
		}
		if p.rangeOf(0) != 0 || last != ranges-1 || p.rangeOf(1<<64-1) != ranges-1 {
			t.Errorf("%d ranges: up to %d", ranges, last)
		}
	}
}
