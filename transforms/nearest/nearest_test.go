package nearest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

// Whatever the bundles, the nearest are those of a plain search through all documents.
func TestNearestEqualsPlainSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for round := range 50 {
		p := Params{
			Banding: lsh.Banding{Bands: 3, Rows: 2},
			Query:   filepath.Join(storagetest.RunFolder(t), "query"), Answer: filepath.Join(storagetest.RunFolder(t), "answer"), Most: 1 + r.IntN(4),
		}
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
		if err := storage.WriteShared(t.Context(), p.Query, &query); err != nil {
			t.Fatal(err)
		}
		var want Nearest
		var parts [][]byte
		for bundle := range 1 + r.IntN(4) {
			f := &nearFn{Params: p}
			if err := f.Setup(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.StartBundle(nil)
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
					want.Candidates++
					want.Near = append(want.Near, Near{key, equal})
				}
			}
			if err := f.ProcessElement(block, nil); err != nil {
				t.Fatal(err)
			}
			if err := f.FinishBundle(func(_ int64, part []byte) { parts = append(parts, part) }); err != nil {
				t.Fatal(err)
			}
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if err := (&mergeNearFn{p}).ProcessElement(t.Context(), gather.Key, beamtest.Values(append(parts, nil)...)); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(want.Near, func(a, b Near) int { return b.Equal - a.Equal }) // keys ascend
		want.Near = want.Near[:min(len(want.Near), p.Most)]
		got, err := storage.Shared[Nearest](t.Context(), p.Answer)
		if err != nil {
			t.Fatal(err)
		}
		if got.Candidates != want.Candidates || !slices.Equal(got.Near, want.Near) {
			t.Fatalf("round %d, the %d nearest: %+v, want %+v", round, p.Most, got, want)
		}
		storage.Forget(p.Query)
		storage.Forget(p.Answer)
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
				found.consider(id, "alph")
			}
		}
		if got := fmt.Sprint(found.Closest); got != "[{aleph 1} {alp 1} {alpha 1} {alpha-1 1} {alpha-2 1}]" {
			t.Fatalf("closest %v", got)
		}
	}
	var found Found
	found.consider("wholly different", "alph")
	if len(found.Closest) != 0 {
		t.Errorf("closest %v, want none", found.Closest)
	}
}

// The id is found in documents and in rejected rows, with its positions.
func TestLookup(t *testing.T) {
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	inputs := &blocks.Inputs{Files: []blocks.File{{Source: "a.jsonl", Size: 1000}}, Shards: 1}
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

// Of an id that is everywhere, the first documents are kept, however bundles come, and all are counted.
func TestLookupOfMany(t *testing.T) {
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	inputs := &blocks.Inputs{Files: []blocks.File{{Source: "a.jsonl", Size: 1 << 20}}, Shards: 1}
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
