package candidates

import (
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// Of documents with equal hashes, as found with a map, all are copies of the first, which has copies, whatever the
// order of entries and their division into blocks. Each is sent to its split. The first one's member has the number of
// its copies with edges, which is 0 if they are listed.
func TestCopiesAgainstMap(t *testing.T) {
	path := filepath.Join(storagetest.RunFolder(t), "inputs.json")
	in := &blocks.Inputs{Shards: 1}
	in.Add(&blocks.File{Source: "a"}, []int64{50}, nil)
	in.Add(&blocks.File{Source: "b"}, nil, nil)
	if err := storage.WriteShared(t.Context(), path, in); err != nil {
		t.Fatal(err)
	}
	f := &copiesFn{Params: Params{Inputs: path}}
	if err := f.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f.Params.List = rapid.SampledFrom([]string{"", "list"}).Draw(t, "list")
		var packed [][]byte
		byHash := map[blocks.Hash][]blocks.Key{}
		for i := range rapid.IntRange(0, 100).Draw(t, "documents") {
			first := blocks.First{
				Hash: blocks.Hash{Hi: rapid.Uint64Range(0, 5).Draw(t, "hi"), Lo: rapid.Uint64Range(0, 5).Draw(t, "lo")},
				Key:  blocks.NewKey(i%2, int64(i)),
			}
			byHash[first.Hash] = append(byHash[first.Hash], first.Key)
			packed = append(packed, blocks.AppendFirst(nil, first))
		}
		packed = rapid.Permutation(packed).Draw(t, "order")
		if n := len(packed) / 2; n > 0 {
			packed = append(packed[n:], slices.Concat(packed[:n]...))
		}
		var want, got []blocks.Member
		for _, keys := range byHash {
			for _, key := range keys {
				m := blocks.Member{Key: key, Component: slices.Min(keys)}
				if key == m.Component && f.Params.List == "" {
					m.Of = 1 - int32(len(keys))
				}
				if len(keys) > 1 {
					want = append(want, m)
				}
			}
		}
		err := f.ProcessElement(t.Context(), 0, beamtest.Values(packed...), func(split int64, block []byte) {
			members, err := blocks.DecodeMembers(nil, block)
			for _, m := range members {
				if err != nil || split != int64(in.Split(m.Key)) {
					t.Errorf("%v was sent to split %d, error %v", m, split, err)
				}
			}
			got = append(got, members...)
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, blocks.Member.Compare)
		slices.SortFunc(got, blocks.Member.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
	if err := f.ProcessElement(t.Context(), 0, beamtest.Values([]byte("x")), func(int64, []byte) {}); err == nil {
		t.Error("a corrupt block was read")
	}
}
