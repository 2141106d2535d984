package sets

import (
	"bytes"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/transforms/gather"
)

// Representative is the first document of a copy group.
type Representative struct {
	Key  blocks.Key
	Size int // shingles
	// Best is the preferred document of the group, and Rank its rank.
	Best blocks.Key
	Rank []byte
}

// Representatives returns those of a component, in no order; profiles are the values of its group in
// flow.LargeProfiles. preferred compares documents as slices.SortFunc needs it.
func Representatives(profiles func(*[]byte) bool, preferred func(a, b *blocks.Profile) int) (all []Representative, err error) {
	byHash := map[blocks.Hash]int{} // their indexes
	var best blocks.Profile
	err = gather.Each(profiles, func(d *blocks.Decoder) {
		p := d.Profile()
		i, ok := byHash[p.Hash]
		if !ok {
			i = len(all)
			byHash[p.Hash] = i
			all = append(all, Representative{Key: p.Key, Size: p.Size})
		}
		r := &all[i]
		r.Key = min(r.Key, p.Key) // documents of one hash have one set
		best.Key, best.Rank = r.Best, r.Rank
		if !ok || preferred(&p, &best) < 0 {
			r.Best, r.Rank = p.Key, bytes.Clone(p.Rank) // the block is not held
		}
	})
	return all, err
}
