package passages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"

	"github.com/neardup/neardup/io/storage"
)

// Filter distinguishes the hashes of repeated k-grams from most others. It has one file per shard of hashes, with a
// table of bits. A hash is taken to be repeated if its bit is set.
type Filter struct{ Shards int }

// Share writes the description of the filter that workers need before the filter exists.
func (p Params) Share(ctx context.Context) error {
	return storage.WriteShared(ctx, p.Filter, Filter{p.ChosenShards})
}

// Forget drops the filter that this process holds.
func (p Params) Forget() { storage.Forget(p.Filter) }

const (
	// bitsPerHash bounds false positives to 1 in 32, unless FilterBytes limits the table.
	bitsPerHash = 32
	leastBits   = 64
)

func filterFile(path string, shard int) string { return fmt.Sprintf("%s-%05d", path, shard) }

// shardOf returns the shard of a hash, by its upper bits.
func shardOf(value uint64, shards int) int64 {
	shard, _ := bits.Mul64(value, uint64(shards))
	return int64(shard)
}

// bit returns the position of a hash in a table of size bits, which is a power of two.
func bit(value uint64, size int) uint64 { return value & uint64(size-1) }

// writeFilter writes the table of a shard.
func writeFilter(ctx context.Context, p Params, shard int64, values []uint64) error {
	if len(values) == 0 {
		return nil
	}
	size := leastBits << bits.Len(uint(len(values)*bitsPerHash/leastBits))
	for most := max(leastBits, 8*p.FilterBytes/int64(p.ChosenShards)); int64(size) > most; {
		size /= 2
	}
	table := make([]byte, size/8)
	for _, v := range values {
		at := bit(v, size)
		table[at/8] |= 1 << (at % 8)
	}
	return storage.WriteBytes(ctx, filterFile(p.Filter, int(shard)), table)
}

// filter is a Filter loaded into memory.
type filter struct {
	tables [][]byte // by shard
}

// loadFilter loads the filter, once per process.
func loadFilter(ctx context.Context, path string) (*filter, error) {
	return storage.Loaded(ctx, path, func(of *Filter) (*filter, error) {
		f := &filter{tables: make([][]byte, of.Shards)}
		for shard := range f.tables {
			table, err := storage.ReadFile(ctx, filterFile(path, shard))
			if errors.Is(err, fs.ErrNotExist) { // the shard has no repeated k-grams
				continue
			}
			if err != nil {
				return nil, err
			}
			f.tables[shard] = table
		}
		return f, nil
	})
}

// has reports whether a hash may be that of a repeated k-gram.
func (f *filter) has(value uint64) bool {
	table := f.tables[shardOf(value, len(f.tables))]
	if len(table) == 0 {
		return false
	}
	at := bit(value, 8*len(table))
	return table[at/8]>>(at%8)&1 == 1
}
