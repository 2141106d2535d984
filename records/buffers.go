package records

import (
	"maps"
	"slices"
)

// Buffers packs small values under the key they will be grouped by into blocks, so that one
// element carries many. A key's block is handed on when it reaches BlockBytes, all of them
// when together they reach TotalBytes, and what is left by Flush. Blocks are never reused.
type Buffers struct {
	BlockBytes, TotalBytes int

	blocks map[int64][]byte
	total  int
}

// Sizes of packed blocks: small beside the limit of 1 MB for an element, and together small
// beside the memory of any worker. A worker's bundle may be its whole share of the job, so the
// caps hold, not the bundle's end.
const (
	BlockBytes  = 256 << 10
	bufferBytes = 32 << 20
)

// NewBuffers returns empty buffers with the usual sizes.
func NewBuffers() *Buffers { return &Buffers{BlockBytes: BlockBytes, TotalBytes: bufferBytes} }

// Add lets add append a value to key's block, and emits what is full afterwards.
func (b *Buffers) Add(key int64, add func(block []byte) []byte, emit func(int64, []byte)) {
	if b.blocks == nil {
		b.blocks = map[int64][]byte{}
	}
	before := b.blocks[key]
	block := add(before)
	b.total += len(block) - len(before)
	if len(block) >= b.BlockBytes {
		delete(b.blocks, key)
		b.total -= len(block)
		emit(key, block)
		return
	}
	b.blocks[key] = block
	if b.total >= b.TotalBytes {
		b.Flush(emit)
	}
}

// Flush emits all blocks, in key order, and leaves the buffers empty.
func (b *Buffers) Flush(emit func(int64, []byte)) {
	for _, key := range slices.Sorted(maps.Keys(b.blocks)) {
		emit(key, b.blocks[key])
	}
	clear(b.blocks)
	b.total = 0
}
