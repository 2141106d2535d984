package blocks

import "bytes"

// Shards packs values into blocks as Buffers does, where the keys are numbers below a known one. A value is written once, to the
// block that it travels in. Blocks are small, so that they stay in a core's cache until they are handed on.
type Shards struct {
	limit  int
	blocks [][]byte
}

// shardBytes is the size at which a shard's block is handed on. With most last values it is a small object to Go's allocator: up to 32 KB.
const shardBytes = 24 << 10

// NewShards returns the buffers of n shards, at least of one. They take as much memory as Buffers do at most, however many there are.
func NewShards(n int) *Shards {
	n = max(1, n)
	return &Shards{limit: min(shardBytes, bufferBytes/2/n), blocks: make([][]byte, n)}
}

// Add adds the value that add appends to a shard's block, and emits the block if it is full afterwards.
func (s *Shards) Add(shard int64, add func(block []byte) []byte, emit func(int64, []byte)) {
	if s.blocks[shard] = add(s.blocks[shard]); len(s.blocks[shard]) >= s.limit {
		s.flush(shard, emit)
	}
}

// flush emits a block, which a runner may hold, so its memory is used again only if the block is copied: if it is of usual size.
func (s *Shards) flush(shard int64, emit func(int64, []byte)) {
	block := s.blocks[shard]
	if cap(block) > 2*s.limit {
		s.blocks[shard] = nil
		emit(shard, block)
		return
	}
	s.blocks[shard] = block[:0]
	emit(shard, bytes.Clone(block))
}

// Flush emits all blocks, in the order of shards, and leaves the buffers empty.
func (s *Shards) Flush(emit func(int64, []byte)) {
	for shard, block := range s.blocks {
		if len(block) > 0 {
			s.flush(int64(shard), emit)
		}
	}
}
