package sets

import (
	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/hash"
)

// ComponentShards is the number of component shards. Components are spread by a hash of their names; small ones are
// joined by shard, and all are decided by shard. No result depends on the number.
type ComponentShards int

// Shard returns the shard of a component.
func (n ComponentShards) Shard(component blocks.Key) int64 {
	return int64(hash.Mix(uint64(component)) % uint64(max(1, n)))
}

// Buffers returns empty buffers for the shards.
func (n ComponentShards) Buffers() *blocks.Shards { return blocks.NewShards(int(n)) }

// MostSmallDocs is the maximum of MaxSmallDocs: it bounds the memory of a join if sets are of usual size.
const MostSmallDocs = 1024

// MaxSmallDocs returns the maximum number of documents in a small component. Whatever they are, it has no more pairs
// than the budget, and so is no crowd.
func MaxSmallDocs(pairBudget int) int {
	n := 1
	for n < MostSmallDocs && (n+1)*n/2 <= pairBudget {
		n++
	}
	return n
}
