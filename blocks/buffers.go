package blocks

import (
	"cmp"
	"maps"
	"slices"
)

// Buffers packs small values into blocks by the key that they will be grouped by, so that one element carries many
// values. It emits a key's block when the block reaches BlockBytes, and all blocks when they take TotalBytes together;
// Flush emits the rest. Buffers never reuses an emitted block, because a runner may hold it.
//
// A block under construction is a chain of reusable pages: growing slices would allocate and copy several times as
// much. The zero value is ready to use.
type Buffers struct {
	BlockBytes, TotalBytes int // 0: the default sizes

	blocks map[int64]*chain
	slabs  [][]byte // of slabPages pages each
	next   []int32  // for each page, the one that follows it in its block or in the free list
	free   int32    // first free page
	taken  int      // number of pages in use
	value  []byte   // the value being added
	fields []byte   // of the row being added
}

// chain is a block under construction.
type chain struct {
	first, last int32  // pages
	room        []byte // unused part of the last page
	size        int
}

// Sizes of packed blocks: small compared with the 1 MB limit of an element and, in total, with the memory of any
// worker. A bundle may be a worker's whole share of the job, so Buffers cannot wait for its end.
const (
	BlockBytes  = 256 << 10
	bufferBytes = 8 << 20

	pageBytes = 256
	slabPages = 256
	noPage    = -1
)

// Add adds the value that add appends to key's block, then emits the blocks that are full.
func (b *Buffers) Add(key int64, add func(block []byte) []byte, emit func(int64, []byte)) {
	b.value = add(b.value[:0])
	if b.blocks == nil {
		b.blocks, b.free = map[int64]*chain{}, noPage
	}
	c := b.blocks[key]
	if c == nil {
		c = &chain{first: noPage, last: noPage}
		b.blocks[key] = c
	}
	for value := b.value; len(value) > 0; {
		if len(c.room) == 0 {
			b.extend(c)
		}
		n := copy(c.room, value)
		c.room, value = c.room[n:], value[n:]
	}
	c.size += len(b.value)
	if c.size >= cmp.Or(b.BlockBytes, BlockBytes) {
		delete(b.blocks, key)
		emit(key, b.take(c))
	}
	if b.taken*pageBytes >= cmp.Or(b.TotalBytes, bufferBytes) {
		b.flush(emit)
	}
}

// extend adds a page to a block.
func (b *Buffers) extend(c *chain) {
	if b.free == noPage {
		first := len(b.next)
		b.slabs = append(b.slabs, make([]byte, slabPages*pageBytes))
		for page := range slabPages {
			b.next = append(b.next, int32(first+page+1))
		}
		b.next[len(b.next)-1] = noPage
		b.free = int32(first)
	}
	page := b.free
	b.free = b.next[page]
	b.next[page] = noPage
	b.taken++
	if c.first == noPage {
		c.first = page
	} else {
		b.next[c.last] = page
	}
	c.last, c.room = page, b.page(page)
}

func (b *Buffers) page(i int32) []byte {
	return b.slabs[i/slabPages][i%slabPages*pageBytes:][:pageBytes]
}

// take returns a block and frees its pages.
func (b *Buffers) take(c *chain) []byte {
	block := make([]byte, 0, c.size)
	for page := c.first; page != noPage; page = b.next[page] {
		block = append(block, b.page(page)[:min(pageBytes, c.size-len(block))]...)
		b.taken--
	}
	if c.last != noPage {
		b.next[c.last], b.free = b.free, c.first
	}
	return block
}

// Flush emits all blocks in key order, and leaves the buffers empty and without memory.
func (b *Buffers) Flush(emit func(int64, []byte)) {
	b.flush(emit)
	*b = Buffers{BlockBytes: b.BlockBytes, TotalBytes: b.TotalBytes}
}

// flush is like Flush, but keeps the memory for the next values.
func (b *Buffers) flush(emit func(int64, []byte)) {
	for _, key := range slices.Sorted(maps.Keys(b.blocks)) {
		emit(key, b.take(b.blocks[key]))
	}
	clear(b.blocks)
}
