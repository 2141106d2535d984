package blocks

import "slices"

// Shards packs values into blocks as Buffers does, for keys below a known number. It writes a value once, directly to
// its block. Blocks are small, so that they stay in a core's cache until they are emitted.
type Shards struct {
	room   int // capacity of a block
	blocks [][]byte
}

// shardBytes is the maximum capacity of a shard's block, unless a single value is larger: Go's allocator still treats
// it as a small object.
const shardBytes = 24 << 10

// NewShards returns buffers for n shards, at least one. They take at most as much memory as Buffers, whatever n is.
func NewShards(n int) *Shards {
	n = max(1, n)
	room := cap(slices.Grow([]byte(nil), min(shardBytes, bufferBytes/2/n))) // rounded up to a size class
	return &Shards{room: room, blocks: make([][]byte, n)}
}

// Add adds the value that add appends to a shard's block, then emits the block if it is at least seven eighths full:
// most last values fit, and little capacity is wasted in blocks that a runner may hold.
func (s *Shards) Add(shard int64, add func(block []byte) []byte, emit func(int64, []byte)) {
	if s.blocks[shard] = add(s.blocks[shard]); len(s.blocks[shard]) >= s.room-s.room/8 {
		s.flush(shard, emit)
	}
}

// fit emits a shard's block if a value of this size would not fit into it.
func (s *Shards) fit(shard int64, size int, emit func(int64, []byte)) {
	if n := len(s.blocks[shard]); n > 0 && n+size > cap(s.blocks[shard]) && n+size > s.room {
		s.flush(shard, emit)
	}
}

// flush emits a block, and allocates the next one.
func (s *Shards) flush(shard int64, emit func(int64, []byte)) {
	block := s.blocks[shard]
	s.blocks[shard] = make([]byte, 0, s.room)
	emit(shard, block)
}

// Flush emits all blocks in the order of shards, and leaves the buffers empty.
func (s *Shards) Flush(emit func(int64, []byte)) {
	for shard, block := range s.blocks {
		if s.blocks[shard] = nil; len(block) > 0 {
			emit(int64(shard), block)
		}
	}
}
