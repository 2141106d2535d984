package decide

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/kernels/verifier/verifiertest"
	"github.com/neardup/neardup/records"
)

// tables are the sorted rows of one component.
type tables struct {
	Pairs    []records.Pair
	Clusters []records.Clustered
	Removed  []records.Removed
	Dropped  []blocks.Key
	Symbols  int64 // copies removed that differ in them
	Numbers  int64 // documents removed that differ in them
}

// decided runs the decision for one component, by a measure, and for the copies of its documents.
func decided(measure string, in *blocks.Inputs, components bool, profiles, copies, pairs, links [][]byte) (out tables, err error) {
	ctx := context.Background()
	toPairs := func(_ int64, block []byte) { out.Pairs = append(out.Pairs, rows[records.Pair](block)...) }
	toClusters := func(_ int64, block []byte) { out.Clusters = append(out.Clusters, rows[records.Clustered](block)...) }
	toRemoved := func(_ int64, block []byte) { out.Removed = append(out.Removed, rows[records.Removed](block)...) }
	toDropped := func(_ int64, block []byte) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			out.Dropped = append(out.Dropped, d.Key())
		}
	}
	names := map[string]bool{}
	facts := func(data []byte) {
		var fact blocks.Fact
		if err := json.Unmarshal(data, &fact); err != nil || names[fact.Name] {
			panic(string(data))
		}
		if fact.Kind == blocks.FactPartial {
			return
		}
		if fact.Kind != blocks.FactSymbols {
			panic(string(data))
		}
		names[fact.Name] = true
		out.Symbols += fact.Counts[blocks.CountSymbols]
		out.Numbers += fact.Counts[blocks.CountNumbers]
	}
	var verdicts [][]byte
	toVerdicts := func(shard int64, block []byte) {
		if shard != 0 {
			panic(shard)
		}
		verdicts = append(verdicts, block)
	}
	f := &decideFn{Params: Params{
		OnePerCluster: components, Clusters: true, Shards: 1, PairBudget: math.MaxInt, Verifier: verifier.Spec{Measure: measure},
	}, rows: rowWriter{in: in, clusters: true}}
	f.shard = newShard(&f.Params, in)
	err = f.ProcessElement(ctx, 7, beamtest.Values(profiles...), beamtest.Values(pairs...), beamtest.Values(links...), toPairs, toClusters, toRemoved, toDropped, toVerdicts, facts)
	f.FinishBundle(ctx, toPairs, toClusters, toRemoved, toDropped, toVerdicts, nil)
	if err != nil {
		return out, err
	}
	err = spreadTo(in, verdicts, copies, toPairs, toClusters, toRemoved, toDropped, facts)
	out.sort()
	return out, err
}

// spreadTo runs the rows of copies.
func spreadTo(in *blocks.Inputs, verdicts, copies [][]byte, toPairs, toClusters, toRemoved, toDropped func(int64, []byte), facts func([]byte)) error {
	f := &spreadFn{rows: rowWriter{in: in, clusters: true}}
	err := f.ProcessElement(context.Background(), 7, beamtest.Values(verdicts...), beamtest.Values(copies...), toPairs, toClusters, toRemoved, toDropped, facts)
	f.FinishBundle(context.Background(), toPairs, toClusters, toRemoved, toDropped, nil)
	return err
}

func (t *tables) sort() {
	slices.SortFunc(t.Pairs, func(a, b records.Pair) int {
		return cmp.Or(cmp.Compare(a.IDA, b.IDA), cmp.Compare(a.IDB, b.IDB))
	})
	slices.SortFunc(t.Clusters, func(a, b records.Clustered) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(t.Removed, func(a, b records.Removed) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(t.Dropped)
}

// rows are the rows of a block.
func rows[T blocks.Row](block []byte) (all []T) {
	for d := blocks.NewDecoder(block); !d.Done(); {
		var row T
		blocks.DecodeFields(blocks.NewDecoder(d.RowPart().Fields), &row)
		all = append(all, row)
	}
	return all
}

var oneFile = func() *blocks.Inputs {
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "a.jsonl", Size: 100}, nil, nil)
	return in
}()

// The component, worked out by hand. Documents by position; equal letters are copies:
//
//	0 a   10 b   20 a   30 c   40 b   50 d   60 d   70 d
//
// a–b share 8 of 10 (8/12), b–c share 9 of 10 (9/11); d has only copies. So a is kept, b is removed in favour of a, and
// c, which is similar to b only, stays with star and is removed in favour of a with components. Of d the first is kept.
// Copies follow their group: 20 has the tokens of 0 and other symbols, 60 the text of 50, and 70 only the shingles of
// 50, with other symbols.
func TestByHand(t *testing.T) {
	const a, b, c, d = 1, 2, 3, 4
	var profiles, pairs []byte
	for position, set := range map[int64]uint64{0: a, 10: b, 20: a, 30: c, 40: b, 50: d, 60: d, 70: d} {
		traits := blocks.Traits{Text: blocks.Hash{Lo: set}, Tokens: blocks.Hash{Lo: set}, Symbols: 5}
		switch position {
		case 20:
			traits.Text.Hi, traits.Symbols = 1, 6
		case 40: // a copy of a removed document does not count
			traits = blocks.Traits{Symbols: 6}
		case 70:
			traits = blocks.Traits{Symbols: 6}
		}
		profiles = blocks.AppendProfile(profiles, &blocks.Profile{
			Key: blocks.NewKey(0, position), Hash: blocks.Hash{Lo: set}, Size: 10, Words: 10, ID: fmt.Append(nil, position), HasID: true, Traits: traits,
		})
	}
	pairs = blocks.AppendNearPair(pairs, blocks.NearPair{A: blocks.NewKey(0, 10), B: blocks.NewKey(0, 30), Score: 9, Shared: 9})
	pairs = blocks.AppendNearPair(pairs, blocks.NearPair{A: blocks.NewKey(0, 0), B: blocks.NewKey(0, 10), Score: 8, Shared: 8})

	for _, tt := range []struct {
		components                       bool
		wantPairs, wantKept, wantRemoved []string
	}{
		{
			false,
			[]string{"0 10 near 0.6666666666666666", "0 20 equal 1", "10 30 near 0.8181818181818182", "10 40 same-set 1", "50 60 identical 1", "50 70 same-set 1"},
			[]string{"0 in 0 of 5", "30 in 0 of 5", "50 in 50 of 3"},
			[]string{"10 for 0 near 0.6666666666666666", "20 for 0 equal 1", "40 for 0 near 0.6666666666666666", "60 for 50 identical 1", "70 for 50 same-set 1"},
		},
		{
			true,
			[]string{"0 10 near 0.6666666666666666", "0 20 equal 1", "10 30 near 0.8181818181818182", "10 40 same-set 1", "50 60 identical 1", "50 70 same-set 1"},
			[]string{"0 in 0 of 5", "50 in 50 of 3"},
			[]string{"10 for 0 near 0.6666666666666666", "20 for 0 equal 1", "30 for 0 near null", "40 for 0 near 0.6666666666666666", "60 for 50 identical 1", "70 for 50 same-set 1"},
		},
	} {
		got, err := decided(verifier.Jaccard, oneFile, tt.components, [][]byte{profiles}, nil, [][]byte{pairs}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Symbols != 2 { // 20 and 70
			t.Errorf("components %v: %d copies differ in symbols, want 2", tt.components, got.Symbols)
		}
		var gotPairs, gotKept, gotRemoved []string
		for _, p := range got.Pairs {
			same := "near"
			if p.Copy() {
				same = *p.Same
			}
			gotPairs = append(gotPairs, fmt.Sprint(p.IDA, " ", p.IDB, " ", same, " ", p.Similarity))
		}
		for _, c := range got.Clusters {
			if c.Kept {
				gotKept = append(gotKept, fmt.Sprintf("%s in %d of %d", c.ID, c.Cluster, c.Members))
			}
		}
		for _, r := range got.Removed {
			similarity := "null"
			if r.Similarity != nil {
				similarity = fmt.Sprint(*r.Similarity)
			}
			gotRemoved = append(gotRemoved, fmt.Sprintf("%s for %s %s %s", r.ID, r.KeptID, r.Reason, similarity))
		}
		for name, diff := range map[string]string{
			"pairs": gocmp.Diff(tt.wantPairs, gotPairs), "kept": gocmp.Diff(tt.wantKept, gotKept), "removed": gocmp.Diff(tt.wantRemoved, gotRemoved),
		} {
			if diff != "" {
				t.Errorf("components %v: %s: %s", tt.components, name, diff)
			}
		}
	}
}

// TestLinksRemoveNothing: links connect documents of a crowd whose similarity is not listed. With star, only a listed
// pair removes a document: in a chain a–b–c, in which a and b are linked and b and c near, b is not removed in favour
// of a.
func TestLinksRemoveNothing(t *testing.T) {
	var profiles []byte
	for set, position := range []int64{0, 10, 20} {
		profiles = blocks.AppendProfile(profiles, &blocks.Profile{
			Key: blocks.NewKey(0, position), Hash: blocks.Hash{Lo: uint64(set)}, Size: 10, Words: 10, ID: fmt.Append(nil, position), HasID: true,
		})
	}
	pairs := blocks.AppendNearPair(nil, blocks.NearPair{A: blocks.NewKey(0, 10), B: blocks.NewKey(0, 20), Score: 9, Shared: 9})
	links := blocks.AppendNearPair(nil, blocks.NearPair{A: blocks.NewKey(0, 0), B: blocks.NewKey(0, 10)})
	for components, want := range map[bool]string{false: "20 for 10", true: "10 for 0, 20 for 0"} {
		out, err := decided(verifier.Jaccard, oneFile, components, [][]byte{profiles}, nil, [][]byte{pairs}, [][]byte{links})
		if err != nil {
			t.Fatal(err)
		}
		var removed []string
		for _, r := range out.Removed {
			removed = append(removed, r.ID+" for "+r.KeptID)
		}
		if got := strings.Join(removed, ", "); got != want || len(out.Clusters) != 3 {
			t.Errorf("components %v: removed %s, want %s; %d documents in clusters", components, got, want, len(out.Clusters))
		}
	}
}

// doc is a document of the model.
type doc struct {
	key        blocks.Key
	id         string
	preference int
	value      codec.Value
	set        int
	// Documents of one set may have the same tokens, those of the same tokens the same text, and so on for symbols.
	tokens, text int
}

// symbols returns the symbols of the document's text: few differ.
func (d *doc) symbols() uint64 { return uint64(d.text % 2) }

// numbers returns the numbers of the document's text, or of its tokens.
func (d *doc) numbers() uint64 { return uint64(d.set+d.tokens) % 3 }

func (d *doc) traits() blocks.Traits {
	return blocks.Traits{
		Text: blocks.Hash{Hi: uint64(10*d.set + d.tokens), Lo: uint64(d.text)}, Tokens: blocks.Hash{Hi: uint64(d.set), Lo: uint64(d.tokens)},
		Symbols: d.symbols(), Numbers: d.numbers(),
	}
}

// world is a component for the model: documents in input order, and the numbers of shingles that sets share. All sets
// have 20.
type world struct {
	docs    []doc
	shared  map[[2]int]int
	largest bool
}

const setSize = 20

func anyWorld(t *rapid.T) (w world, in *blocks.Inputs) {
	in = &blocks.Inputs{Shards: 1}
	preferences := map[string]int{}
	for file := range 3 {
		source := fmt.Sprintf("%c.txt", 'a'+file)
		in.Add(&blocks.File{Source: source, Size: 1000}, nil, nil)
		preferences[source] = rapid.IntRange(0, 1).Draw(t, "preference")
	}
	in.Prefer(func(source string) int { return preferences[source] })
	value := rapid.SampledFrom([]codec.Value{
		{}, {}, {Kind: codec.StringValue, Text: []byte("5")}, {Kind: codec.StringValue}, {Kind: codec.StringValue, Text: []byte("5a")},
		{Kind: codec.NumberValue, Text: []byte("-5")}, {Kind: codec.NumberValue, Text: []byte("10")}, {Kind: codec.NumberValue, Text: []byte("9")},
		{Kind: codec.NumberValue, Text: []byte("1e1")}, {Kind: codec.NumberValue, Text: []byte("9007199254740993")},
		{Kind: codec.NumberValue, Text: []byte("9007199254740992")},
	})
	sets := rapid.IntRange(1, 10).Draw(t, "sets")
	for i := range rapid.IntRange(1, 20).Draw(t, "documents") {
		key := blocks.NewKey(i*3/20, int64(i))
		w.docs = append(w.docs, doc{
			key: key, id: in.ID(key, nil, false), preference: preferences[in.Source(key)],
			value: value.Draw(t, "value"), set: rapid.IntRange(1, sets).Draw(t, "set"),
			tokens: rapid.IntRange(1, 2).Draw(t, "tokens"), text: rapid.IntRange(1, 3).Draw(t, "text"),
		})
	}
	w.largest = rapid.Bool().Draw(t, "largest")
	w.shared = map[[2]int]int{}
	rare := rapid.IntRange(1, 6).Draw(t, "rare")
	for i := range sets {
		for j := range i {
			if rapid.IntRange(0, rare).Draw(t, "near") == 0 {
				w.shared[[2]int{j + 1, i + 1}] = rapid.IntRange(10, 19).Draw(t, "shared")
			}
		}
	}
	return w, in
}

// similarity returns the similarity of two documents if it reaches the threshold, else 0.
func (w *world) similarity(a, b doc) float64 {
	if a.set == b.set {
		return 1
	}
	shared := w.shared[[2]int{min(a.set, b.set), max(a.set, b.set)}]
	return float64(shared) / float64(2*setSize-shared)
}

// before compares by the order of preference, from its definition.
func (w *world) before(a, b doc) bool {
	if a.preference != b.preference {
		return a.preference < b.preference
	}
	if a.value.Kind != b.value.Kind {
		return a.value.Kind == codec.NumberValue || b.value.Kind == codec.NoValue
	}
	c := 0
	switch a.value.Kind {
	case codec.NumberValue:
		x, _ := new(big.Rat).SetString(string(a.value.Text))
		y, _ := new(big.Rat).SetString(string(b.value.Text))
		c = x.Cmp(y)
	case codec.StringValue:
		c = bytes.Compare(a.value.Text, b.value.Text)
	}
	if c != 0 {
		return c < 0 != w.largest
	}
	return a.key < b.key
}

// tables decides document by document.
func (w *world) tables(in *blocks.Inputs, components bool) (want tables) {
	first := func(is func(doc) bool, before func(a, b doc) bool) (found doc) {
		for _, d := range w.docs {
			if is(d) && (found.id == "" || before(d, found)) {
				found = d
			}
		}
		return found
	}
	byKey := func(a, b doc) bool { return a.key < b.key }
	cluster := map[blocks.Key]blocks.Key{}
	for _, d := range w.docs {
		cluster[d.key] = d.key
	}
	for range w.docs {
		for _, a := range w.docs {
			for _, b := range w.docs {
				if w.similarity(a, b) > 0 {
					cluster[a.key] = min(cluster[a.key], cluster[b.key])
				}
			}
		}
	}
	keptFor := map[blocks.Key]doc{} // the kept document that represents each
	ordered := slices.SortedFunc(slices.Values(w.docs), func(a, b doc) int {
		if w.before(a, b) {
			return -1
		}
		return 1
	})
	for _, d := range ordered {
		best := first(func(o doc) bool { return o.set == d.set }, w.before)
		keptFor[d.key] = best
		if components {
			keptFor[d.key] = first(func(o doc) bool { return cluster[o.key] == cluster[d.key] }, w.before)
			continue
		}
		// A copy follows its best: only documents before that count.
		highest := 0.
		for _, o := range ordered[:slices.IndexFunc(ordered, func(o doc) bool { return o.key == best.key })] {
			if s := w.similarity(o, d); keptFor[o.key].key == o.key && s > highest {
				keptFor[d.key], highest = o, s
			}
		}
	}
	for _, d := range w.docs {
		members := 0
		for _, o := range w.docs {
			if cluster[o.key] == cluster[d.key] {
				members++
			}
		}
		if members < 2 {
			continue
		}
		kept := keptFor[d.key]
		want.Clusters = append(want.Clusters, records.Clustered{
			Cluster: int64(cluster[d.key]), ID: d.id, Source: in.Source(d.key), Position: d.key.Position(),
			Size: setSize, Members: int32(members), Kept: kept.key == d.key,
		})
		if kept.key == d.key {
			continue
		}
		row := records.Removed{
			ID: d.id, Source: in.Source(d.key), Position: d.key.Position(), Cluster: int64(cluster[d.key]),
			KeptID: kept.id, KeptSource: in.Source(kept.key), KeptPosition: kept.key.Position(), Reason: records.ReasonNear,
		}
		if s := w.similarity(d, kept); s > 0 {
			row.Similarity = &s
		}
		row.Differs = []string{}
		if d.numbers() != kept.numbers() {
			want.Numbers++
			row.Differs = append(row.Differs, "numbers")
		}
		if d.set == kept.set {
			row.Reason = inCommon(d, kept)
			if d.symbols() != kept.symbols() {
				want.Symbols++
				row.Differs = append(row.Differs, "symbols")
			}
		}
		want.Removed = append(want.Removed, row)
		want.Dropped = append(want.Dropped, d.key)
	}
	pair := func(a, b doc, shared int, same *string) {
		want.Pairs = append(want.Pairs, records.Pair{
			IDA: a.id, IDB: b.id, SourceA: in.Source(a.key), SourceB: in.Source(b.key),
			PositionA: a.key.Position(), PositionB: b.key.Position(),
			Similarity: w.similarity(a, b), Same: same, Shared: int32(shared), SizeA: setSize, SizeB: setSize,
		})
	}
	for i, a := range w.docs {
		for _, b := range w.docs[i+1:] {
			firstA := first(func(o doc) bool { return o.set == a.set }, byKey)
			firstB := first(func(o doc) bool { return o.set == b.set }, byKey)
			switch {
			case a.set == b.set && a.key == firstA.key:
				pair(a, b, setSize, new(inCommon(a, b)))
			case a.set != b.set && a.key == firstA.key && b.key == firstB.key && w.similarity(a, b) > 0:
				pair(a, b, w.shared[[2]int{min(a.set, b.set), max(a.set, b.set)}], nil)
			}
		}
	}
	want.sort()
	return want
}

// inCommon returns what two documents of one set have in common.
func inCommon(a, b doc) string {
	switch {
	case a.tokens != b.tokens:
		return records.ReasonSameSet
	case a.text != b.text:
		return records.ReasonEqual
	default:
		return records.ReasonIdentical
	}
}

// TestAgainstModel: every table equals that of a model that decides document by document instead of by group, whatever
// the order of values in the group and their division into blocks.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, in := anyWorld(t)
		representative := map[int]blocks.Key{}
		profiles, copies := w.settle(t, in)
		var pairs [][]byte
		for _, d := range w.docs {
			if _, ok := representative[d.set]; !ok {
				representative[d.set] = d.key
			}
		}
		for sets, shared := range w.shared {
			a, okA := representative[sets[0]]
			b, okB := representative[sets[1]]
			if okA && okB {
				pairs = append(pairs, blocks.AppendNearPair(nil, blocks.NearPair{A: min(a, b), B: max(a, b), Score: shared, Shared: shared}))
			}
		}
		star := w.tables(in, false)
		var kept [][]byte
		for _, pair := range pairs {
			d := blocks.NewDecoder(pair)
			a, b := d.Key(), d.Key()
			if groupKept(&w, in, star, a) || groupKept(&w, in, star, b) {
				kept = append(kept, pair)
			}
		}
		for _, components := range []bool{false, true} {
			got, err := decided(verifier.Jaccard, in, components, packed(t, profiles), packed(t, copies), packed(t, pairs), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(w.tables(in, components), got); diff != "" {
				t.Fatalf("components %v: %s", components, diff)
			}
			// Of a crowd only the pairs with documents that star keeps are known, and links for the rest.
			whole := got
			got, err = decided(verifier.Jaccard, in, components, packed(t, profiles), packed(t, copies), packed(t, kept), packed(t, pairs))
			if err != nil {
				t.Fatal(err)
			}
			whole.Pairs, got.Pairs = nil, nil
			whole.Clusters = partial(in, whole.Clusters, pairs)
			if diff := gocmp.Diff(whole, got); diff != "" {
				t.Fatalf("a crowd, components %v: %s", components, diff)
			}
		}
	})
}

// settle returns the profiles of the documents that are not copies, and the documents that have some, with these.
// Documents with the same tokens are copies, if those of their tokens are settled.
func (w *world) settle(t *rapid.T, in *blocks.Inputs) (profiles, copies [][]byte) {
	type tokens struct{ set, tokens int }
	groups := map[tokens][]blocks.Profile{}
	alone := rapid.Bool().Draw(t, "copies have profiles")
	for _, d := range w.docs {
		p := blocks.Profile{
			Key: d.key, Hash: blocks.Hash{Lo: uint64(d.set)}, Size: setSize, Words: setSize, Rank: codec.AppendRank(nil, d.value, w.largest), Traits: d.traits(),
		}
		if alone {
			profiles = append(profiles, blocks.AppendProfile(nil, &p))
			continue
		}
		groups[tokens{d.set, d.tokens}] = append(groups[tokens{d.set, d.tokens}], p)
	}
	for _, group := range groups {
		first := group[0]
		first.Copies = len(group) - 1
		if best := slices.MinFunc(group, func(a, b blocks.Profile) int { return in.Preferred(&a, &b) }); best.Key != first.Key {
			first.Best = &best
		}
		profiles = append(profiles, blocks.AppendProfile(nil, &first))
		for _, p := range group {
			if first.Copies == 0 {
				break
			}
			if p.Key != first.Key {
				p.Traits.Tokens = blocks.Hash{}
			}
			copies = append(copies, blocks.AppendCopy(nil, &blocks.Copy{Of: first.Key, Profile: p}))
		}
	}
	return profiles, copies
}

// groupKept reports whether a document with the set of key's is kept.
func groupKept(w *world, in *blocks.Inputs, t tables, key blocks.Key) bool {
	sets := map[blocks.Key]int{}
	for _, d := range w.docs {
		sets[d.key] = d.set
	}
	return slices.ContainsFunc(w.docs, func(d doc) bool {
		return d.set == sets[key] && slices.ContainsFunc(t.Clusters, func(c records.Clustered) bool {
			return c.Kept && c.Source == in.Source(d.key) && c.Position == d.key.Position()
		})
	})
}

// packed packs values in any order.
func packed(t *rapid.T, values [][]byte) (packed [][]byte) {
	values = rapid.Permutation(values).Draw(t, "order")
	size := rapid.IntRange(1, 5).Draw(t, "values of a block")
	for chunk := range slices.Chunk(values, size) {
		packed = append(packed, slices.Concat(chunk...))
	}
	return packed
}

// Given equal scores and sizes, the last document is most similar to the first by cosine, and to the second by Jaccard.
func TestSimilarityIsThatOfTheMeasure(t *testing.T) {
	var profiles []byte
	for i, size := range []int{4, 400, 100} {
		profiles = blocks.AppendProfile(profiles, &blocks.Profile{
			Key: blocks.NewKey(0, int64(i)), Hash: blocks.Hash{Lo: uint64(i)}, Size: size, Words: size, ID: fmt.Append(nil, i), HasID: true,
		})
	}
	pairs := blocks.AppendNearPair(nil, blocks.NearPair{A: blocks.NewKey(0, 0), B: blocks.NewKey(0, 2), Score: 18, Shared: 18})
	pairs = blocks.AppendNearPair(pairs, blocks.NearPair{A: blocks.NewKey(0, 1), B: blocks.NewKey(0, 2), Score: 160, Shared: 160})
	for measure, want := range map[string]struct {
		similarities []float64
		kept         int
	}{
		verifiertest.Cosine: {[]float64{18. / 20, 160. / 200}, 0}, // of √(4·100) and √(400·100)
		verifier.Jaccard:    {[]float64{18. / 86, 160. / 340}, 1},
	} {
		got, err := decided(measure, oneFile, false, [][]byte{profiles}, nil, [][]byte{pairs}, nil)
		if err != nil || len(got.Pairs) != 2 || len(got.Removed) != 1 {
			t.Fatalf("%s: %+v, error %v", measure, got, err)
		}
		for i, p := range got.Pairs {
			if p.Similarity != want.similarities[i] {
				t.Errorf("%s: pair %d is %v similar, want %v", measure, i, p.Similarity, want.similarities[i])
			}
		}
		if r := got.Removed[0]; r.KeptID != fmt.Sprint(want.kept) || *r.Similarity != want.similarities[want.kept] {
			t.Errorf("%s: removed %+v", measure, r)
		}
	}
}

// A component with only false edges leaves no trace.
func TestStrangers(t *testing.T) {
	profiles := blocks.AppendProfile(nil, &blocks.Profile{Key: 1, Hash: blocks.Hash{Lo: 1}, Size: 3, Words: 3})
	profiles = blocks.AppendProfile(profiles, &blocks.Profile{Key: 2, Hash: blocks.Hash{Lo: 2}, Size: 3, Words: 3})
	rows, err := decided(verifier.Jaccard, oneFile, false, [][]byte{profiles}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(tables{}, rows); diff != "" {
		t.Error(diff)
	}
}

func TestPairOfUnknownDocument(t *testing.T) {
	profiles := blocks.AppendProfile(nil, &blocks.Profile{Key: 1, Size: 3, Words: 3})
	pairs := blocks.AppendNearPair(nil, blocks.NearPair{A: 1, B: 9, Score: 3, Shared: 3})
	if _, err := decided(verifier.Jaccard, oneFile, false, [][]byte{profiles}, nil, [][]byte{pairs}, nil); err == nil {
		t.Error("a pair of an unknown document was taken")
	}
}

// TestDocumentsOfAnotherShard: a shard does not know the documents of the last one.
func TestDocumentsOfAnotherShard(t *testing.T) {
	f := &decideFn{Params: Params{Verifier: verifier.Spec{Measure: verifier.Jaccard}}, rows: rowWriter{in: oneFile}}
	f.shard = newShard(&f.Params, oneFile)
	none := func(int64, []byte) {}
	for shard := range int64(2) {
		var profiles []byte
		for i := range int64(2) {
			profiles = blocks.AppendProfile(profiles, &blocks.Profile{Key: blocks.NewKey(0, 10*shard+i), Hash: blocks.Hash{Lo: uint64(10*shard + i)}, Size: 3, Words: 3})
		}
		pairs := blocks.AppendNearPair(nil, blocks.NearPair{A: blocks.NewKey(0, 1), B: blocks.NewKey(0, 10*shard), Score: 3, Shared: 3})
		err := f.ProcessElement(t.Context(), shard, beamtest.Values(profiles), beamtest.Values(pairs), beamtest.Values(), none, none, none, none, none, nil)
		if (err != nil) != (shard == 1) {
			t.Errorf("shard %d, a pair with document 1 of shard 0: error %v", shard, err)
		}
	}
}

// If only copies are sought, each group is a cluster, of which the preferred document is kept.
func TestCopies(t *testing.T) {
	id := func(position int64) *blocks.Profile {
		return &blocks.Profile{Key: blocks.NewKey(0, position), ID: fmt.Append(nil, position), HasID: true, Traits: blocks.Traits{Tokens: blocks.Hash{Lo: 1}}}
	}
	first, other := *id(10), *id(20)
	first.Words, first.Copies, first.Best = 7, 2, id(30)
	other.Words, other.Copies = 8, 1
	first.Best.Traits.Text, first.Best.Traits.Symbols = blocks.Hash{Lo: 2}, 3
	profiles := blocks.AppendProfile(blocks.AppendProfile(nil, &first), &other)
	var verdicts [][]byte
	f := &firstsFn{Params: Params{Shards: 1}}
	toVerdicts := func(_ int64, block []byte) { verdicts = append(verdicts, block) }
	if err := f.ProcessElement(t.Context(), 0, profiles, toVerdicts); err != nil {
		t.Fatal(err)
	}
	f.FinishBundle(toVerdicts)
	var copies []byte
	for _, c := range [][2]int64{{10, 10}, {40, 20}, {20, 20}, {30, 10}, {50, 10}} {
		p := id(c[0])
		p.Traits = blocks.Traits{Text: blocks.Hash{Lo: uint64(c[0] / 25)}, Symbols: uint64(c[0] / 25), Numbers: uint64(c[0] % 20)} // of 50 the text of 30
		if c[0] == 30 {
			p.Traits = first.Best.Traits
		}
		copies = blocks.AppendCopy(copies, &blocks.Copy{Of: blocks.NewKey(0, c[1]), Profile: *p})
	}
	var got []string
	symbols := ""
	toPairs := func(_ int64, block []byte) {
		for _, p := range rows[records.Pair](block) {
			got = append(got, fmt.Sprint("pair ", p.IDA, " ", p.IDB, " ", p.Shared))
		}
	}
	toClusters := func(_ int64, block []byte) {
		for _, c := range rows[records.Clustered](block) {
			got = append(got, fmt.Sprint(c.ID, " in ", c.Cluster, " of ", c.Members, " kept ", c.Kept))
		}
	}
	toRemoved := func(_ int64, block []byte) {
		for _, r := range rows[records.Removed](block) {
			got = append(got, fmt.Sprint(r.ID, " for ", r.KeptID, " ", r.Reason, " ", *r.Similarity))
		}
	}
	dropped := 0
	toDropped := func(_ int64, block []byte) { dropped += len(block) / 8 }
	facts := func(fact []byte) { symbols += string(fact) }
	if err := spreadTo(oneFile, verdicts, [][]byte{copies}, toPairs, toClusters, toRemoved, toDropped, facts); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{
		"10 for 30 equal 1", "10 in 10 of 3 kept false",
		"20 in 20 of 2 kept true",
		"30 in 10 of 3 kept true",
		"40 for 20 equal 1", "40 in 20 of 2 kept false",
		"50 for 30 identical 1", "50 in 10 of 3 kept false",
		"pair 10 30 7", "pair 10 50 7", "pair 20 40 8",
	}
	if diff := gocmp.Diff(want, got); diff != "" || dropped != 3 {
		t.Errorf("%d dropped, rows:\n%s", dropped, diff)
	}
	if want := `{"kind":"symbols","name":"copies 7","counts":{"numbers":2,"symbols":3}}`; symbols != want {
		t.Errorf("facts %s, want %s", symbols, want)
	}
	none := func(int64, []byte) {}
	if err := spreadTo(oneFile, verdicts[:0], [][]byte{copies}, none, none, none, none, nil); err == nil {
		t.Error("copies about which nothing is decided: no error")
	}
}

// partial marks the clusters that links connect: not all of their pairs are listed.
func partial(in *blocks.Inputs, rows []records.Clustered, links [][]byte) []records.Clustered {
	linked := map[records.Place]bool{}
	for _, link := range links {
		key := blocks.NewDecoder(link).Key()
		linked[records.Place{Source: in.Source(key), Position: key.Position()}] = true
	}
	clusters := map[int64]bool{}
	for _, row := range rows {
		if linked[records.Place{Source: row.Source, Position: row.Position}] {
			clusters[row.Cluster] = true
		}
	}
	rows = slices.Clone(rows)
	for i := range rows {
		if clusters[rows[i].Cluster] {
			rows[i].Partial = new(true)
		}
	}
	return rows
}
