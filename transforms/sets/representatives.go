package sets

import (
	"bytes"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/transforms/gather"
)

// Representative is the first document of a copy group.
type Representative struct {
	Key   blocks.Key
	Words int // of its features
	// Best is the preferred document of the group, and Rank its rank.
	Best blocks.Key
	Rank []byte
}

// Representatives returns those of a component, in no order, and how many documents it has, copies included; profiles
// are the values of its group in flow.LargeProfiles. preferred compares documents as slices.SortFunc needs it.
func Representatives(
	profiles func(*[]byte) bool, preferred func(a, b *blocks.Profile) int,
) (all []Representative, documents int, err error) {
	byHash := map[blocks.Hash]int{} // their indexes
	var best blocks.Profile
	err = gather.Each(profiles, func(d *blocks.Decoder) {
		p := d.Profile()
		documents += 1 + p.Copies
		i, ok := byHash[p.Hash]
		if !ok {
			i = len(all)
			byHash[p.Hash] = i
			all = append(all, Representative{Key: p.Key, Words: p.Words})
		}
		r := &all[i]
		r.Key = min(r.Key, p.Key) // documents of one hash have one set
		best.Key, best.Rank = r.Best, r.Rank
		if own := p.Preferred(); !ok || preferred(own, &best) < 0 {
			r.Best, r.Rank = own.Key, bytes.Clone(own.Rank) // the block is not held
		}
	})
	return all, documents, err
}
