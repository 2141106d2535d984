package blocks

import (
	"cmp"
	"maps"
	"slices"
)

// Buffers packs small values under the key they will be grouped by into blocks, so that one
// element carries many. A key's block is handed on when it reaches BlockBytes, all of them
// when together they take TotalBytes, and what is left by Flush. Blocks that are handed on are
// never reused: a runner may hold them.
//
// Until then a block is a chain of pages, which are used again:
// growing slices would take and copy several times as much. The zero value is ready.
type Buffers struct {
	BlockBytes, TotalBytes int // 0: the usual sizes

	blocks map[int64]*chain
	slabs  [][]byte // of slabPages pages each
	next   []int32  // page of the same block, or free page, that follows each page
	free   int32    // first free page
	taken  int      // pages that are not free
	value  []byte   // the one being added
	fields []byte   // of the row that is added
}

// chain is a block that is not whole.
type chain struct {
	first, last int32  // pages
	room        []byte // of the last page
	size        int
}

// Sizes of packed blocks: small beside the limit of 1 MB for an element, and together small
// beside the memory of any worker. A worker's bundle may be its whole share of the job, so the
// caps hold, not the bundle's end.
const (
	BlockBytes  = 256 << 10
	bufferBytes = 8 << 20

	pageBytes = 256
	slabPages = 256
	noPage    = -1
)

// Add adds the value that add appends to key's block, and emits what is full afterwards.
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

// Flush emits all blocks, in key order, and leaves the buffers empty and without memory.
func (b *Buffers) Flush(emit func(int64, []byte)) {
	b.flush(emit)
	*b = Buffers{BlockBytes: b.BlockBytes, TotalBytes: b.TotalBytes}
}

// flush is Flush, and keeps the memory for what is added next.
func (b *Buffers) flush(emit func(int64, []byte)) {
	for _, key := range slices.Sorted(maps.Keys(b.blocks)) {
		emit(key, b.take(b.blocks[key]))
	}
	clear(b.blocks)
}
