package nearest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/edit"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/signature"
)

// searched runs a search over bundles of blocks in random order.
func searched(t *testing.T, r *rand.Rand, p Params, bundles [][]byte, search interface {
	Setup(context.Context) error
	StartBundle(func(int64, []byte))
	ProcessElement([]byte, func(int64, []byte)) error
	FinishBundle(func(int64, []byte)) error
}) *Nearest {
	t.Helper()
	var parts [][]byte
	if err := search.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, i := range r.Perm(len(bundles)) {
		search.StartBundle(nil)
		if err := search.ProcessElement(bundles[i], nil); err != nil {
			t.Fatal(err)
		}
		if err := search.FinishBundle(func(_ int64, part []byte) { parts = append(parts, part) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range parts {
		var n Nearest
		if err := json.Unmarshal(part, &n); err != nil || len(n.Near) > p.Most {
			t.Fatalf("a bundle tells %d neighbours, of %d wanted: %v", len(n.Near), p.Most, err)
		}
	}
	if err := (&mergeFn{p}).ProcessElement(t.Context(), gather.Key, beamtest.Values(append(parts, nil)...)); err != nil {
		t.Fatal(err)
	}
	defer storage.Forget(p.Answer)
	got, err := storage.Shared[Nearest](t.Context(), p.Answer)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// check compares got with all neighbours.
func check(t *testing.T, got *Nearest, all []Near, most int) {
	t.Helper()
	slices.SortFunc(all, func(a, b Near) int { return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.Key, b.Key)) })
	if want := all[:min(len(all), most)]; got.Candidates != int64(len(all)) || !slices.Equal(got.Near, want) {
		t.Fatalf("the %d nearest: %+v, want %+v of %d", most, got, want, len(all))
	}
}

func share(t *testing.T, query *Query) string {
	t.Helper()
	path := filepath.Join(storagetest.RunFolder(t), "query")
	if err := storage.WriteShared(t.Context(), path, query); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { storage.Forget(path) })
	return path
}

// Whatever the bundles and the threshold, the most similar documents are those of a plain loop over sets of words.
func TestBySimilarity(t *testing.T) {
	normalize, err := textnorm.Parse("none")
	if err != nil {
		t.Fatal(err)
	}
	text := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}, Normalize: normalize}
	r := rand.New(rand.NewPCG(4, 6))
	words := func() (s []string) {
		for range 1 + r.IntN(5) { // few, so that many are equally near
			s = append(s, string(rune('a'+r.IntN(7))))
		}
		return s
	}
	for round := range 200 {
		own := words()
		query := Query{Key: blocks.NewKey(0, 3), Features: shingle.Set(text.New().Shingles(nil, []byte(strings.Join(own, " "))))}
		if round%2 == 0 {
			query.Key = None
		}
		threshold := setsim.Any
		if round%3 > 0 {
			threshold = setsim.Threshold{Num: uint64(1 + r.IntN(10)), Den: 10}
		}
		var all []Near
		var bundles [][]byte
		for bundle := range 1 + r.IntN(4) {
			var block []byte
			for _, i := range r.Perm(r.IntN(40)) {
				key, other := blocks.NewKey(0, int64(100*bundle+i)), words()
				block = blocks.AppendDocument(block, &blocks.Document{Key: key, Text: []byte(strings.Join(other, " "))})
				union, shared := map[string]bool{}, map[string]bool{}
				for _, word := range other {
					union[word] = true
					shared[word] = slices.Contains(own, word)
				}
				maps.DeleteFunc(shared, func(_ string, both bool) bool { return !both })
				for _, word := range own {
					union[word] = true
				}
				similar := len(shared) > 0 && len(shared)*int(threshold.Den) >= len(union)*int(threshold.Num)
				if key != query.Key && similar {
					all = append(all, Near{key, float64(len(shared)) / float64(len(union))})
				}
			}
			bundles = append(bundles, block)
		}
		p := Params{Answer: filepath.Join(storagetest.RunFolder(t), "answer"), Most: 1 + r.IntN(4)}
		sets := Sets{Query: share(t, &query), Text: text, Verifier: verifier.Spec{Measure: verifier.Jaccard, Threshold: threshold}}
		check(t, searched(t, r, p, bundles, &similarFn{Params: p, Sets: sets}), all, p.Most)
	}
}

// Whatever the bundles, the documents with most equal values, and those that share a bucket, are those of a plain
// search.
func TestBuckets(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	inputs := filepath.Join(storagetest.RunFolder(t), "inputs")
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "a.jsonl", Size: 1000}, []int64{150}, nil)
	if err := storage.WriteShared(t.Context(), inputs, in); err != nil {
		t.Fatal(err)
	}
	for round := range 50 {
		values := func() (v []uint64) {
			for range 6 {
				v = append(v, uint64(r.IntN(2)))
			}
			return v
		}
		query := Query{Key: blocks.NewKey(0, 3), Values: values()}
		if round%2 == 0 {
			query.Key = None
		}
		var all []Near
		var bundles [][]byte
		for bundle := range 1 + r.IntN(4) {
			var block []byte
			for i := range r.IntN(12) {
				key, v := blocks.NewKey(0, int64(100*bundle+i)), values()
				block = blocks.AppendNumbers(block, key, v)
				shared, equal := false, 0
				for band := range 3 {
					shared = shared || slices.Equal(v[2*band:2*band+2], query.Values[2*band:2*band+2])
				}
				for i := range v {
					if v[i] == query.Values[i] {
						equal++
					}
				}
				if shared && key != query.Key {
					all = append(all, Near{key, float64(equal)})
				}
			}
			bundles = append(bundles, block)
		}
		p := Params{Answer: filepath.Join(storagetest.RunFolder(t), "answer"), Most: 1 + r.IntN(4)}
		b := Buckets{Query: share(t, &query), Signing: signature.Params{Inputs: inputs, Banding: lsh.Banding{Bands: 3, Rows: 2}}}

		f := &bucketFn{Buckets: b}
		if err := f.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []blocks.Member
		emit := func(split int64, block []byte) {
			members, err := blocks.DecodeMembers(nil, block)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members {
				if want := int64(m.Key.Position() / 150); split != min(want, 1) {
					t.Fatalf("%v goes to split %d", m.Key, split)
				}
			}
			got = append(got, members...)
		}
		for _, block := range bundles {
			if err := f.ProcessElement(block, emit); err != nil {
				t.Fatal(err)
			}
		}
		f.FinishBundle(emit)
		slices.SortFunc(got, blocks.Member.Compare)
		var want []blocks.Member
		for _, n := range all {
			want = append(want, blocks.Member{Key: n.Key, Component: n.Key, Of: 1})
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v share a bucket, want %+v", got, want)
		}
		check(t, searched(t, r, p, bundles, &estimateFn{Params: p, Buckets: b}), all, p.Most)
	}
}

// The closest ids do not depend on the order in which they come.
func TestClosest(t *testing.T) {
	ids := []string{"alpha", "alpha-1", "alpha-2", "alhpa", "aleph", "beta", "alph", "alp", "alphabet", "", "x"}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		var found Found
		for _, id := range ids {
			if id != "alph" {
				found.consider(id, "alph", edit.From("alph"))
			}
		}
		if got := fmt.Sprint(found.Closest); got != "[{aleph 1} {alp 1} {alpha 1} {alpha-1 1} {alpha-2 1}]" {
			t.Fatalf("closest %v", got)
		}
	}
	var found Found
	found.consider("wholly different", "alph", edit.From("alph"))
	if len(found.Closest) != 0 {
		t.Errorf("closest %v, want none", found.Closest)
	}
}

// The id is found in documents and in rejected rows, with its positions.
func TestLookup(t *testing.T) {
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a.jsonl", Size: 1000}, nil, nil)
	if err := storage.WriteShared(t.Context(), path, inputs); err != nil {
		t.Fatal(err)
	}
	l := Lookup{Inputs: path, ID: "x", Answer: filepath.Join(storagetest.RunFolder(t), "found")}
	f := &lookupFn{Lookup: l}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	var block []byte
	for i, id := range []string{"x", "y", "x", "xy"} {
		block = blocks.AppendDocument(block, &blocks.Document{Key: blocks.NewKey(0, int64(10*i)), ID: []byte(id), HasID: true})
	}
	var parts [][]byte
	emit := func(_ int64, part []byte) { parts = append(parts, part) }
	f.StartBundle(nil)
	if err := f.ProcessElement(block, nil); err != nil {
		t.Fatal(err)
	}
	if err := f.FinishBundle(emit); err != nil {
		t.Fatal(err)
	}
	var rows []byte
	for i, id := range []string{"x", "z"} {
		key := blocks.NewKey(0, int64(500+i))
		rows = blocks.NewRow(nil, key, key, &records.Rejected{Source: "a.jsonl", Position: key.Position(), ID: &id, Reason: records.ReasonNoText}).Append(rows)
	}
	if err := (&lookupRejectedFn{Lookup: l}).ProcessElement(0, rows, emit); err != nil {
		t.Fatal(err)
	}
	if err := (&mergeLookupFn{l}).ProcessElement(t.Context(), gather.Key, beamtest.Values(parts...)); err != nil {
		t.Fatal(err)
	}
	got, err := storage.Shared[Found](t.Context(), l.Answer)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(got.Keys)
	if err != nil || string(data) != "[0,20]" || len(got.Rejected) != 1 || got.Rejected[0].Position != 500 || got.Rejected[0].Reason != records.ReasonNoText {
		t.Errorf("found %+v, %v", got, err)
	}
	if len(got.Closest) != 2 || got.Closest[0].ID != "xy" || got.Closest[1].ID != "y" {
		t.Errorf("closest %+v", got.Closest)
	}
}

// For an id that is everywhere, the first documents are kept, whatever the order of bundles, and all are counted.
func TestLookupOfMany(t *testing.T) {
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	inputs := &blocks.Inputs{Shards: 1}
	inputs.Add(&blocks.File{Source: "a.jsonl", Size: 1 << 20}, nil, nil)
	if err := storage.WriteShared(t.Context(), path, inputs); err != nil {
		t.Fatal(err)
	}
	l := Lookup{Inputs: path, ID: "x", Answer: filepath.Join(storagetest.RunFolder(t), "found")}
	var parts [][]byte
	emit := func(_ int64, part []byte) { parts = append(parts, part) }
	r := rand.New(rand.NewPCG(2, 1))
	for _, bundle := range r.Perm(20) {
		f := &lookupFn{Lookup: l}
		if err := f.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.StartBundle(nil)
		for _, i := range r.Perm(50) {
			key := blocks.NewKey(0, int64(bundle*50+i))
			if err := f.ProcessElement(blocks.AppendDocument(nil, &blocks.Document{Key: key, ID: []byte("x"), HasID: true}), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.FinishBundle(emit); err != nil {
			t.Fatal(err)
		}
		var rows []byte
		for i := range 50 {
			key, id := blocks.NewKey(0, int64(2000+bundle*50+i)), "x"
			rows = blocks.NewRow(nil, key, key, &records.Rejected{Source: "a.jsonl", Position: key.Position(), ID: &id, Reason: records.ReasonNoText}).Append(rows)
		}
		if err := (&lookupRejectedFn{Lookup: l}).ProcessElement(0, rows, emit); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range parts {
		if len(part) > 2000 {
			t.Errorf("a bundle tells %d bytes", len(part))
		}
	}
	if err := (&mergeLookupFn{l}).ProcessElement(t.Context(), gather.Key, beamtest.Values(parts...)); err != nil {
		t.Fatal(err)
	}
	got, err := storage.Shared[Found](t.Context(), l.Answer)
	if err != nil {
		t.Fatal(err)
	}
	var places []int64
	for _, key := range got.Keys {
		places = append(places, key.Position())
	}
	for _, row := range got.Rejected {
		places = append(places, row.Position-2000)
	}
	want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	if got.Documents != 2000 || !slices.Equal(places, append(want, want...)) {
		t.Errorf("%d documents, the first at %v", got.Documents, places)
	}
}
