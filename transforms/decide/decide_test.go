package decide

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

// The component, worked out by hand. Documents by position; equal letters are copies:
//
//	0 a   10 b   20 a   30 c   40 b   50 d   60 d
//
// a–b share 8 of 10 (8/12), b–c share 9 of 10 (9/11); d has copies only. So a is kept, b falls to
// a, c stays since b is not kept, d's first is kept. Copies go with their group.
func TestStar(t *testing.T) {
	doc := func(position int64, set uint64) *records.Profile {
		return &records.Profile{Key: records.NewKey(0, position), Hash: records.SetHash{Lo: set}, Size: 10, ID: fmt.Append(nil, position), HasID: true}
	}
	const a, b, c, d = 1, 2, 3, 4
	var profiles []byte
	for _, p := range []*records.Profile{doc(60, d), doc(0, a), doc(10, b), doc(30, c), doc(20, a), doc(50, d), doc(40, b)} {
		profiles = records.AppendProfile(profiles, p)
	}
	var pairs []byte
	pairs = records.AppendNearPair(pairs, records.NearPair{A: records.NewKey(0, 10), B: records.NewKey(0, 30), Shared: 9})
	pairs = records.AppendNearPair(pairs, records.NearPair{A: records.NewKey(0, 0), B: records.NewKey(0, 10), Shared: 8})

	rows, err := star(t, profiles, pairs)
	if err != nil {
		t.Fatal(err)
	}
	wantPairs := []string{"0 20 1", "0 10 0.6666666666666666", "10 40 1", "10 30 0.8181818181818182", "50 60 1"}
	slices.Sort(wantPairs)
	if diff := cmp.Diff(wantPairs, rows.pairs); diff != "" {
		t.Errorf("pairs: %s", diff)
	}
	wantClusters := []string{"0 in 0 of 5 kept", "10 in 0 of 5", "20 in 0 of 5", "30 in 0 of 5 kept", "40 in 0 of 5", "50 in 50 of 2 kept", "60 in 50 of 2"}
	if diff := cmp.Diff(wantClusters, rows.clusters); diff != "" {
		t.Errorf("clusters: %s", diff)
	}
	wantRemoved := []string{
		"10 for 0 near 0.6666666666666666", "20 for 0 copy 1", "40 for 0 near 0.6666666666666666", "60 for 50 copy 1",
	}
	if diff := cmp.Diff(wantRemoved, rows.removed); diff != "" {
		t.Errorf("removed: %s", diff)
	}
	if diff := cmp.Diff([]int64{10, 20, 40, 60}, rows.dropped); diff != "" {
		t.Errorf("dropped: %s", diff)
	}
}

// A component of false edges only leaves no trace.
func TestStarOfStrangers(t *testing.T) {
	profiles := records.AppendProfile(nil, &records.Profile{Key: 1, Hash: records.SetHash{Lo: 1}, Size: 3})
	profiles = records.AppendProfile(profiles, &records.Profile{Key: 2, Hash: records.SetHash{Lo: 2}, Size: 3})
	rows, err := star(t, profiles, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tables{}, rows, cmp.AllowUnexported(tables{})); diff != "" {
		t.Error(diff)
	}
}

func TestPairOfUnknownDocument(t *testing.T) {
	profiles := records.AppendProfile(nil, &records.Profile{Key: 1, Size: 3})
	pairs := records.AppendNearPair(nil, records.NearPair{A: 1, B: 9, Shared: 3})
	if _, err := star(t, profiles, pairs); err == nil {
		t.Error("a pair of an unknown document was taken")
	}
}

// tables are the rows that one component came to, spelt out and sorted by position.
type tables struct {
	pairs, clusters, removed []string
	dropped                  []int64
}

func star(t *testing.T, profiles, pairs []byte) (out tables, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inputs.json")
	inputs := &records.Inputs{
		Files:  []records.File{{Source: "a.jsonl", Size: 100}},
		Pieces: []records.Span{{End: records.End}}, Shards: 1,
	}
	if err := storage.WriteShared(path, inputs); err != nil {
		t.Fatal(err)
	}
	one := func(block []byte) func(*[]byte) bool {
		return func(b *[]byte) bool {
			*b, block = block, nil
			return len(*b) > 0
		}
	}
	each := func(block []byte, row func(fields *records.Decoder)) {
		for d := records.NewDecoder(block); !d.Done(); {
			d.Key()
			d.Key()
			row(records.NewDecoder(d.Bytes()))
		}
	}
	toPairs := func(_ int64, block []byte) {
		each(block, func(d *records.Decoder) {
			var p records.Pair
			p.DecodeFields(d)
			out.pairs = append(out.pairs, fmt.Sprint(p.IDA, " ", p.IDB, " ", p.Similarity))
		})
		slices.Sort(out.pairs)
	}
	toClusters := func(_ int64, block []byte) {
		each(block, func(d *records.Decoder) {
			var c records.Clustered
			c.DecodeFields(d)
			text := fmt.Sprintf("%s in %d of %d", c.ID, c.Cluster, c.Members)
			if c.Kept {
				text += " kept"
			}
			out.clusters = append(out.clusters, text)
		})
		slices.Sort(out.clusters)
	}
	toRemoved := func(_ int64, block []byte) {
		each(block, func(d *records.Decoder) {
			var r records.Removed
			r.DecodeFields(d)
			out.removed = append(out.removed, fmt.Sprintf("%s for %s %s %v", r.ID, r.KeptID, r.Reason, *r.Similarity))
		})
		slices.Sort(out.removed)
	}
	toDropped := func(_ int64, block []byte) {
		for d := records.NewDecoder(block); !d.Done(); {
			out.dropped = append(out.dropped, d.Key().Position())
		}
		slices.Sort(out.dropped)
	}
	f := &starFn{Inputs: path}
	if err := f.Setup(); err != nil {
		t.Fatal(err)
	}
	f.StartBundle(toPairs, toClusters, toRemoved, toDropped)
	err = f.ProcessElement(context.Background(), 0, one(profiles), one(pairs), toPairs, toClusters, toRemoved, toDropped)
	f.FinishBundle(toPairs, toClusters, toRemoved, toDropped)
	return out, err
}
