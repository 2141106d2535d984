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
	// Best is the preferred document of the group: its key and rank.
	Best blocks.Profile
}

// Representatives returns those of a component, in no order, and how many documents it has; profiles
// are the values of its group in flow.LargeProfiles. preferred compares documents as slices.SortFunc
// needs it; if it is nil, Best is any.
func Representatives(profiles func(*[]byte) bool, preferred func(a, b *blocks.Profile) int) (all []Representative, documents int, err error) {
	byHash := map[blocks.Hash]Representative{}
	err = gather.Each(profiles, func(d *blocks.Decoder) {
		p := d.Profile()
		documents++
		r, ok := byHash[p.Hash]
		if !ok || p.Key < r.Key {
			r.Key, r.Size = p.Key, p.Size
		}
		if !ok || preferred != nil && preferred(&p, &r.Best) < 0 {
			r.Best = blocks.Profile{Key: p.Key, Rank: bytes.Clone(p.Rank)} // the block is not held
		}
		byHash[p.Hash] = r
	})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range byHash {
		all = append(all, r)
	}
	return all, documents, nil
}
