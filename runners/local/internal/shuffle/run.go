package shuffle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// Partitions is the number of parts of a store, each read by one worker at a time. It is fixed, so that the order of
// groups does not depend on the number of workers.
const Partitions = 64

// A record in memory is
//
//	partition    1 byte, with isKept set if the value is the number, in keptSize bytes, of a value kept elsewhere
//	key size     uvarint
//	key
//	value size   uvarint
//	value
//
// and on disk the same, without the partition and with the value itself.
const (
	isKept   = 0x80
	keptSize = 4

	largeValue = 4 << 10 // bytes from which a value is kept instead of copied
)

// entry locates a record in a run, with enough of its key to decide most comparisons.
type entry struct {
	prefix     prefix
	chunk, off uint32 // off is the offset of the key's size
}

const entrySize = 24

// run holds records in memory, in the order of writing until a partition is requested.
type run struct {
	chunks [][]byte
	kept   [][]byte // values kept
	counts [Partitions]int
	bytes  [Partitions]int64
	size   int64 // charged to the budget

	once   sync.Once
	parts  [Partitions][]entry
	sorted [Partitions]sync.Once

	// Guarded by the store's mutex.
	readers int
	gone    bool // on disk, or no longer needed
	busy    bool // being written to disk
}

func (r *run) held() int64 { return r.size }

func (r *run) empty() bool { return len(r.chunks) == 0 }

// part returns the entries of a partition, sorted by key.
func (r *run) part(p int) []entry {
	r.once.Do(r.distribute)
	r.sorted[p].Do(func() {
		slices.SortFunc(r.parts[p], func(a, b entry) int {
			if c := a.prefix.compare(b.prefix); c != 0 || a.prefix.whole() {
				return c
			}
			return bytes.Compare(r.key(a), r.key(b))
		})
	})
	return r.parts[p]
}

// distribute indexes the records by partition.
func (r *run) distribute() {
	total := 0
	for _, n := range r.counts {
		total += n
	}
	all := make([]entry, total)
	for p, n := range r.counts {
		r.parts[p], all = all[:0:n], all[n:]
	}
	for i, chunk := range r.chunks {
		for at := 0; at < len(chunk); {
			p := chunk[at] &^ isKept
			start := at + 1
			key, rest := cut(chunk[start:])
			_, rest = cut(rest)
			r.parts[p] = append(r.parts[p], entry{prefixOf(key), uint32(i), uint32(start)})
			at = len(chunk) - len(rest)
		}
	}
}

func (r *run) key(e entry) []byte {
	key, _ := cut(r.chunks[e.chunk][e.off:])
	return key
}

// encoded returns a record in its form on disk. If the value is kept, it assembles the record in room.
func (r *run) encoded(e entry, room *[]byte) []byte {
	if r.chunks[e.chunk][e.off-1]&isKept != 0 {
		key, value, _ := r.record(e)
		*room = appendRecord((*room)[:0], key, value)
		return *room
	}
	from := r.chunks[e.chunk][e.off:]
	_, rest := cut(from)
	_, rest = cut(rest)
	return from[:len(from)-len(rest)]
}

func (r *run) record(e entry) (key, value []byte, kept bool) {
	chunk := r.chunks[e.chunk]
	key, rest := cut(chunk[e.off:])
	value, _ = cut(rest)
	if kept = chunk[e.off-1]&isKept != 0; kept {
		value = r.kept[binary.LittleEndian.Uint32(value)]
	}
	return key, value, kept
}

// cut splits the length-prefixed bytes at the beginning of b from the rest.
func cut(b []byte) (first, rest []byte) {
	if b[0] < 0x80 { // nearly always
		n := 1 + int(b[0])
		return b[1:n:n], b[n:]
	}
	size, n := binary.Uvarint(b)
	end := n + int(size)
	return b[n:end:end], b[end:]
}

// prefix is a 128-bit number that orders keys as bytes.Compare does: their first 15 bytes, then their length up to 16.
// Keys with the same prefix are equal unless they are longer than 15 bytes.
type prefix struct{ high, low uint64 }

const prefixBytes = 15

func prefixOf(key []byte) prefix {
	if len(key) > prefixBytes {
		return prefix{binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])&^0xff | (prefixBytes + 1)}
	}
	var b [16]byte
	copy(b[:prefixBytes], key)
	b[15] = byte(len(key))
	return prefix{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// whole reports whether the prefix holds the whole key.
func (p prefix) whole() bool { return byte(p.low) <= prefixBytes }

func (p prefix) compare(o prefix) int {
	if p.high != o.high {
		return cmp.Compare(p.high, o.high)
	}
	return cmp.Compare(p.low, o.low)
}

// partitionOf distributes keys. It is the same in every process, and therefore so is the order of groups.
func partitionOf(key []byte) int { return int(xxh3.Hash(key) % Partitions) }
