package blocks

import (
	"bytes"
	"maps"
	"slices"
)

// Buffers packs small values under the key they will be grouped by into blocks, so that one
// element carries many. A key's block is handed on when it reaches BlockBytes, all of them
// when together they take TotalBytes, and what is left by Flush. Blocks that are handed on are
// never reused: a runner may hold them.
type Buffers struct {
	BlockBytes, TotalBytes int

	blocks map[int64]*[]byte
	total  int    // bytes that the blocks take
	spare  []byte // storage of a block that was handed on
	fields []byte // of the row that is added
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
		b.blocks = map[int64]*[]byte{}
	}
	block := b.blocks[key]
	if block == nil {
		block = &[]byte{}
		*block, b.spare = b.spare, nil
		b.total += cap(*block)
		b.blocks[key] = block
	}
	before := cap(*block)
	*block = add(*block)
	b.total += cap(*block) - before
	if len(*block) >= b.BlockBytes {
		b.total -= cap(*block)
		emit(key, bytes.Clone(*block))
		b.spare = (*block)[:0]
		delete(b.blocks, key)
		return
	}
	if b.total >= b.TotalBytes {
		b.Flush(emit)
	}
}

// Flush emits all blocks, in key order, and leaves the buffers empty.
func (b *Buffers) Flush(emit func(int64, []byte)) {
	for _, key := range slices.Sorted(maps.Keys(b.blocks)) {
		emit(key, *b.blocks[key])
	}
	clear(b.blocks)
	b.total = 0
}
