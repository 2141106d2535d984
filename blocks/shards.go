package blocks

import "slices"

// Shards packs values into blocks as Buffers does, where the keys are numbers
// below a known one. A value is written once, to the block that it travels in.
// Blocks are small, so that they stay in a core's cache until they are handed on.
type Shards struct {
	room   int // of a block
	blocks [][]byte
}

// shardBytes is the most room that a shard's block has, as long as its
// values fit: it is a small object to Go's allocator.
const shardBytes = 24 << 10

// NewShards returns the buffers of n shards, at least of one. They
// take as much memory as Buffers do at most, however many there are.
func NewShards(n int) *Shards {
	n = max(1, n)
	room := cap(slices.Grow([]byte(nil), min(shardBytes, bufferBytes/2/n))) // with what the allocator would waste
	return &Shards{room: room, blocks: make([][]byte, n)}
}

// Add adds the value that add appends to a shard's block, and emits the block if seven eighths of it are full
// afterwards. So most last values fit, and little is left over: a runner may hold the block.
func (s *Shards) Add(shard int64, add func(block []byte) []byte, emit func(int64, []byte)) {
	if s.blocks[shard] = add(s.blocks[shard]); len(s.blocks[shard]) >= s.room-s.room/8 {
		s.flush(shard, emit)
	}
}

// fit emits a shard's block if a value of this size does not fit.
func (s *Shards) fit(shard int64, size int, emit func(int64, []byte)) {
	if n := len(s.blocks[shard]); n > 0 && n+size > cap(s.blocks[shard]) && n+size > s.room {
		s.flush(shard, emit)
	}
}

// flush emits a block, and makes room for the next one.
func (s *Shards) flush(shard int64, emit func(int64, []byte)) {
	block := s.blocks[shard]
	s.blocks[shard] = make([]byte, 0, s.room)
	emit(shard, block)
}

// Flush emits all blocks, in the order of shards, and leaves the buffers empty.
func (s *Shards) Flush(emit func(int64, []byte)) {
	for shard, block := range s.blocks {
		if s.blocks[shard] = nil; len(block) > 0 {
			emit(int64(shard), block)
		}
	}
}
