package sink

import (
	"context"
	"io"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/output/index"
)

func init() { flow.Register[keysFn]() }

// Keys writes the band keys of a segment's documents, each shard of a band to its file index.KeysFile.
//
//	KV<band and shard, band entries> → facts
//
// One GroupByKey, whose groups are held in memory. A shard without entries has no file. starts holds the first row of
// each file of documents in the segment.
func Keys(s beam.Scope, bands flow.Bands, shardBits int, starts []int64, p Params) flow.Facts {
	s = s.Scope("sink.Keys")
	fn := &keysFn{Params: p, ShardBits: shardBits, Starts: starts}
	return flow.Facts(beam.ParDo(s, fn, beam.GroupByKey(s, beam.PCollection(bands))))
}

// keysFn writes the keys of a group; see Keys for the shapes.
type keysFn struct {
	Params    Params
	ShardBits int
	Starts    []int64

	entries []blocks.BandEntry
}

func (f *keysFn) ProcessElement(
	ctx context.Context, group int64, packed func(*[]byte) bool, facts func([]byte),
) (err error) {
	band, shard := int(group>>f.ShardBits), int(group)&(1<<f.ShardBits-1)
	f.entries = f.entries[:0]
	var block []byte
	for packed(&block) {
		if f.entries, err = blocks.DecodeBands(f.entries, block); err != nil {
			return err
		}
	}
	for i, e := range f.entries {
		f.entries[i].Key = blocks.FirstBits(e.Key, shard, f.ShardBits)
	}
	entries := f.entries
	slices.SortFunc(entries, blocks.BandEntry.Compare)
	name := index.KeysFile(band, shard)
	file, err := f.Params.write(ctx, name, func(w io.Writer) error {
		return index.WriteKeys(w, func(yield func(index.Key) bool) {
			for _, e := range entries {
				if !yield(index.Key{Key: int64(e.Key), Row: f.Starts[e.Document.File()] + e.Document.Position()}) {
					return
				}
			}
		}, f.Params.Metadata)
	})
	if err != nil {
		return err
	}
	return emitFact(facts, blocks.FactTable, file, map[string]int64{blocks.CountRows: int64(len(entries))})
}
