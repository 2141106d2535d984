package sets

import (
	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/hash"
)

// ComponentShards is a number of component shards: components are put together by a hash of their
// names, to be joined if small, and all to be decided. No result depends on the number.
type ComponentShards int

// Shard returns the shard of a component.
func (n ComponentShards) Shard(component blocks.Key) int64 {
	return int64(hash.Mix(uint64(component)) % uint64(max(1, n)))
}

// Buffers returns empty buffers of the shards.
func (n ComponentShards) Buffers() *blocks.Shards { return blocks.NewShards(int(n)) }

// MostSmallDocs is how many documents one call joins at most if they are small: it bounds the memory of a join when
// sets are of usual size.
const MostSmallDocs = 1024

// MaxSmallDocs returns how many documents a small component has at most: it has no more pairs than
// the budget, whatever they are, so it is no crowd.
func MaxSmallDocs(pairBudget int) int {
	n := 1
	for n < MostSmallDocs && (n+1)*n/2 <= pairBudget {
		n++
	}
	return n
}
