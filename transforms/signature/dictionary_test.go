package signature

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/minhash/salted"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/runners/local"
	"github.com/neardup/neardup/transforms/frequencies"
)

// groups gathers what a DoFn emits, as a GroupByKey would.
type groups map[int64][][]byte

func (g groups) emit(key int64, block []byte) { g[key] = append(g[key], block) }

// each calls a DoFn for each group, with its values in a different order.
func (g groups) each(t *testing.T, do func(key int64, packed func(*[]byte) bool) error) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(g)) {
		packed := slices.Clone(g[key])
		slices.Reverse(packed)
		if err := do(key, beamtest.Values(packed...)); err != nil {
			t.Fatal(err)
		}
	}
}

func writeInputs(t *testing.T) string {
	t.Helper()
	path := filepath.Join(storagetest.RunFolder(t), "inputs.json")
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a.jsonl", Size: 1000}, nil, nil)
	if err := storage.WriteShared(t.Context(), path, inputs); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) { beamtest.Main(m) }

func dictionaryFile(t *testing.T, ranges int) frequencies.File {
	t.Helper()
	return frequencies.File{Path: filepath.Join(storagetest.RunFolder(t), "dictionary"), Ranges: ranges, Least: 1}
}

// build runs Dictionary.Build over blocks.
func build(t *testing.T, p Params, documents ...[]byte) {
	t.Helper()
	pipeline, scope := beam.NewPipelineWithRoot()
	p.Dictionary.Build(scope, p.Text, flow.Documents(beam.Reshuffle(scope, beam.CreateList(scope, documents))))
	if _, _, err := beamtest.Launch("local", local.Options{Workers: 2})(t.Context(), pipeline, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

// signClassic runs the steps of classicValues.
func signClassic(t *testing.T, p Params, bundles ...[]byte) (signatures map[blocks.Key][]uint64, rejected int) {
	t.Helper()
	sought, ranked, rows := groups{}, groups{}, groups{}
	for _, block := range bundles {
		f := &lookupFn{Params: p}
		if err := f.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.ProcessElement(context.Background(), block, sought.emit, rows.emit); err != nil {
			t.Fatal(err)
		}
		f.FinishBundle(sought.emit, rows.emit)
	}
	sought.each(t, func(number int64, packed func(*[]byte) bool) error {
		return (&numberFn{p.Dictionary}).ProcessElement(t.Context(), number, packed, ranked.emit)
	})
	signatures = map[blocks.Key][]uint64{}
	f := &classicFn{Params: p}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	ranked.each(t, func(key int64, packed func(*[]byte) bool) error {
		last := blocks.Key(-1)
		return f.ProcessElement(t.Context(), key, packed, func(block []byte) {
			for d := blocks.NewDecoder(block); !d.Done(); {
				key, values := d.Numbers(nil)
				if key <= last {
					t.Errorf("%d is signed after %d: blocks depend on chance", key, last)
				}
				last = key
				signatures[key] = values
			}
		})
	})
	return signatures, len(rows)
}

// The signatures are those of a dictionary in one map, whatever the number of ranges and groups.
func TestDictionaryEqualsMap(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	few := 0 // rounds with too few shingles
	for round := range 20 {
		documents, length := 20, 60
		if round%5 == 0 {
			documents, length = 2, 3
		}
		var bundles [][]byte
		texts := map[blocks.Key]string{}
		for b := range 1 + r.IntN(3) {
			var block []byte
			for i := range 1 + r.IntN(documents) {
				var words []string
				for range r.IntN(length) {
					words = append(words, fmt.Sprintf("w%d", r.IntN(30)))
				}
				doc := blocks.Document{Key: blocks.NewKey(0, int64(1000*b+i)), Text: []byte(strings.Join(words, " "))}
				texts[doc.Key] = string(doc.Text)
				block = blocks.AppendDocument(block, &doc)
			}
			bundles = append(bundles, block)
		}
		p := Params{
			Inputs: writeInputs(t), Text: spec(t), Family: Classic, Banding: lsh.Banding{Signature: 6, Bands: 3, Rows: 2, AsText: true}, Seed: uint64(round),
			Dictionary: Dictionary{dictionaryFile(t, 1+r.IntN(40)), 1 + r.IntN(9)},
		}
		p.Text.Shingle.K = 2
		sets := map[blocks.Key][]uint64{}
		var all []uint64
		for key, text := range texts {
			sets[key] = shingle.Set(p.Text.New().Shingles(nil, []byte(text)))
			all = append(all, sets[key]...)
		}
		slices.Sort(all)
		numbers := map[uint64]uint64{}
		for i, h := range slices.Compact(all) {
			numbers[h] = uint64(i)
		}
		build(t, p, bundles...)
		if len(numbers) < p.Banding.Signature {
			few++
			if err := p.Check(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d distinct", len(numbers))) {
				t.Errorf("%d shingles, %d functions: %v", len(numbers), p.Banding.Signature, err)
			}
			continue
		}
		family, err := classic.New(p.Banding.Signature, uint64(len(numbers)), p.Seed)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := signClassic(t, p, bundles...)
		for key, set := range sets {
			var elements []uint64
			for _, h := range set {
				elements = append(elements, numbers[h])
			}
			want := family.Sign(nil, elements)
			if !slices.Equal(got[key], want) {
				t.Fatalf("round %d: %q has the signature %v, want %v", round, texts[key], got[key], want)
			}
			alone, err := p.Of(t.Context(), []byte(texts[key]))
			if err != nil || !slices.Equal(alone, want) {
				t.Fatalf("round %d: %q alone has the signature %v, want %v, %v", round, texts[key], alone, want, err)
			}
			delete(got, key)
		}
		for key := range got {
			t.Fatalf("round %d: an unknown document %v", round, key)
		}
		p.Dictionary.Forget()
	}
	if few == 0 {
		t.Error("no round has too few shingles")
	}
}

// A text that was not in the dictionary has no numbers.
func TestShingleOutsideOfDictionary(t *testing.T) {
	p := Params{
		Inputs: writeInputs(t), Text: spec(t), Family: Classic, Banding: lsh.Banding{Signature: 2, Bands: 1, Rows: 2, AsText: true},
		Dictionary: Dictionary{dictionaryFile(t, 1), 1},
	}
	doc := document(0, "one two three four five six seven")
	build(t, p, blocks.AppendDocument(nil, &doc))
	defer p.Dictionary.Forget()
	if _, err := p.Of(t.Context(), []byte("eight nine ten eleven twelve")); err == nil || !strings.Contains(err.Error(), "not in the dictionary") {
		t.Errorf("a shingle that is not in the dictionary: %v", err)
	}
}

// Keys of values are those of the banding: CRCs of their text, or chains of hashes.
func TestKeysOfFamilies(t *testing.T) {
	values := []uint64{15, 355, 89, 2}
	asText := lsh.Banding{Bands: 2, Rows: 2, AsText: true}
	for family, want := range map[Family][]uint64{
		Classic: asText.Keys(nil, values), Salted: lsh.Keys(nil, values, 2, 2), FSS: lsh.Keys(nil, values, 2, 2),
	} {
		p := Params{Family: family, Banding: lsh.Banding{Bands: 2, Rows: 2, AsText: family == Classic}}
		if got := p.Keyer().Keys(nil, values); !slices.Equal(got, want) {
			t.Errorf("%s: keys %x, want %x", family, got, want)
		}
	}
}

func sequence(texts ...string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, text := range texts {
			if !yield([]byte(text)) {
				return
			}
		}
	}
}

// valuesFn signs each document by its text and rejects those without a token.
func TestSaltedValues(t *testing.T) {
	p := Params{Inputs: writeInputs(t), Text: spec(t), Family: Salted, Banding: lsh.Banding{Signature: 10}, Seed: 4}
	docs := []blocks.Document{document(0, "a rose is a rose is a rose"), document(10, "..."), document(20, "two words")}
	var block []byte
	for i := range docs {
		block = blocks.AppendDocument(block, &docs[i])
	}
	f := &valuesFn{Params: p}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := groups{}
	var signed []byte
	if err := f.ProcessElement(context.Background(), block, func(block []byte) { signed = append(signed, block...) }, rows.emit); err != nil {
		t.Fatal(err)
	}
	f.FinishBundle(nil, rows.emit)
	d := blocks.NewDecoder(signed)
	family, err := salted.New(10, 4)
	if err != nil {
		t.Fatal(err)
	}
	key, values := d.Numbers(nil)
	if want := family.Sign(nil, sequence("a rose is a rose", "rose is a rose is", "is a rose is a")); key != docs[0].Key || !slices.Equal(values, want) {
		t.Errorf("%v: %v, want %v", key, values, want)
	}
	key, values = d.Numbers(nil)
	if want := family.Sign(nil, sequence("two words")); key != docs[2].Key || !slices.Equal(values, want) {
		t.Errorf("%v: %v, want %v", key, values, want)
	}
	if !d.Done() || len(rows) != 1 {
		t.Errorf("%d bytes left, %d groups of rejected rows", d.Left(), len(rows))
	}
}
