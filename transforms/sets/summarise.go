package sets

import (
	"bytes"
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[summariseFn]()
}

// summarise makes one profile of each document that has copies, with their number and the preferred document among them
// all.
//
//	KV<copy shard, copies> → KV<component shard, profiles>, KV<component, profiles>
//
// One GroupByKey. The copies are streamed; two profiles per group are held, those of its first and its preferred
// document.
func summarise(s beam.Scope, copied flow.Copies, p Params) (flow.Profiles, flow.LargeProfiles) {
	s = s.Scope("Summarise")
	all, large := beam.ParDo2(s, &summariseFn{Params: p}, beam.GroupByKey(s, beam.PCollection(copied)))
	return flow.Profiles(all), flow.LargeProfiles(large)
}

// summariseFn makes the profiles of copy groups; see summarise for the shapes.
type summariseFn struct {
	Params Params

	profiles profileWriter
}

// copyGroup collects what is known about a document and its copies so far.
type copyGroup struct {
	first     blocks.Copy
	documents int
	best      blocks.Profile
}

func (f *summariseFn) StartBundle(_, _ func(int64, []byte)) { f.profiles = newProfileWriter(&f.Params) }

func (f *summariseFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, all, large func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	groups := map[blocks.Key]*copyGroup{}
	err = gather.Each(packed, func(d *blocks.Decoder) {
		c := d.Copy()
		g := groups[c.Of]
		if g == nil {
			g = &copyGroup{}
			groups[c.Of] = g
		}
		g.documents++
		if c.IsFirst() {
			c.Profile = held(c.Profile)
			g.first = c
		}
		if g.documents == 1 || in.Preferred(&c.Profile, &g.best) < 0 {
			g.best = held(c.Profile)
		}
	})
	if err != nil {
		return err
	}
	for of, g := range groups {
		p := &g.first.Profile
		if p.Key != of {
			return fmt.Errorf("%d documents are copies of %v, which was not read", g.documents, of)
		}
		if p.Copies = g.documents - 1; g.best.Key != of {
			if g.best.Traits.Tokens == (blocks.Hash{}) {
				g.best.Traits.Tokens = p.Traits.Tokens
			}
			p.Best = &g.best
		}
		f.profiles.add(g.first.Component, g.first.Documents, p, gather.Counted(ctx, profileBytes, all), large)
	}
	return nil
}

// held returns a profile that shares no memory with its block.
func held(p blocks.Profile) blocks.Profile {
	p.ID, p.Rank = bytes.Clone(p.ID), bytes.Clone(p.Rank)
	return p
}

func (f *summariseFn) FinishBundle(ctx context.Context, all, large func(int64, []byte)) {
	f.profiles.flush(gather.Counted(ctx, profileBytes, all), large)
}
