package index

import (
	"context"
	"slices"
	"sort"

	"github.com/neardup/neardup/io/storage"
)

// Lookup tells workers where the keys of segments are.
type Lookup struct {
	Dir      string     `json:"dir"`
	Segments []lookedUp `json:"segments"`
}

// lookedUp describes a segment: the number of its first file among all references, the row where each file begins, and
// its files of keys.
type lookedUp struct {
	Name      string   `json:"name"`
	First     int      `json:"first"`
	Starts    []int64  `json:"starts"`
	ShardBits int      `json:"shard_bits"`
	Files     []string `json:"files"` // in order
}

// Lookup returns where the keys of the index are.
func (x *Index) Lookup() *Lookup {
	l := &Lookup{Dir: x.Dir}
	first := 0
	for _, s := range x.Segments {
		of := lookedUp{Name: s.Name, First: first, Starts: s.Starts(), ShardBits: s.ShardBits}
		first += len(of.Starts)
		for _, f := range s.Files {
			if isKeys(s.Name, f.Path) {
				of.Files = append(of.Files, f.Path)
			}
		}
		slices.Sort(of.Files)
		l.Segments = append(l.Segments, of)
	}
	return l
}

// Find calls found for each document of a segment that has a wanted key of a band, with the number of its file among
// all references. The wanted keys are distinct, ascend, and are in one of 1<<shardBits shards.
func (l *Lookup) Find(
	ctx context.Context, band, shard, shardBits int, wanted []int64, found func(key int64, file int, row int64),
) error {
	for _, s := range l.Segments {
		err := s.files(l.Dir, band, shard, shardBits, func(path string) error {
			return Find(ctx, path, wanted, func(k Key) {
				file := sort.Search(len(s.Starts), func(i int) bool { return s.Starts[i] > k.Row }) - 1
				found(k.Key, s.First+file, k.Row-s.Starts[file])
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// files calls do with the paths of the files that have the keys of a band in one of 1<<shardBits shards. The files may
// also have other keys.
func (s *lookedUp) files(dir string, band, shard, shardBits int, do func(path string) error) error {
	first, end := shard, shard+1 // of the segment's shards
	if more := s.ShardBits - shardBits; more >= 0 {
		first, end = first<<more, end<<more
	} else {
		first, end = first>>-more, first>>-more+1
	}
	for of := first; of < end; of++ {
		path := FileOf(s.Name, KeysFile(band, of))
		if _, ok := slices.BinarySearch(s.Files, path); !ok {
			continue
		}
		if err := do(storage.Join(dir, path)); err != nil {
			return err
		}
	}
	return nil
}
