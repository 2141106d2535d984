package sets

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[pairedFn]()) }

// Paired are the documents of pairs, which are to be read for their profiles. component is the one that all of them are in; inputs is
// the path of the shared blocks.Inputs.
//
//	KV<component shard, near pairs> → KV<split, members>
func Paired(s beam.Scope, pairs flow.NearPairs, component blocks.Key, inputs string) flow.Members {
	s = s.Scope("sets.Paired")
	return flow.Members(beam.ParDo(s, &pairedFn{Inputs: inputs, Component: component}, beam.PCollection(pairs)))
}

// pairedFn tells the documents of pairs; see Paired for the shapes.
type pairedFn struct {
	Inputs    string
	Component blocks.Key

	in      *blocks.Inputs
	pairs   []blocks.NearPair
	members *blocks.Buffers
}

func (f *pairedFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *pairedFn) StartBundle(func(int64, []byte)) { f.members = blocks.NewBuffers() }

func (f *pairedFn) ProcessElement(_ int64, block []byte, emit func(int64, []byte)) (err error) {
	if f.pairs, err = blocks.DecodeNearPairs(f.pairs[:0], block); err != nil {
		return err
	}
	for _, p := range f.pairs {
		for _, key := range []blocks.Key{p.A, p.B} {
			m := blocks.Member{Key: key, Component: f.Component, Of: blocks.Joined}
			f.members.Add(int64(f.in.Split(key)), func(block []byte) []byte { return blocks.AppendMember(block, m) }, emit)
		}
	}
	return nil
}

func (f *pairedFn) FinishBundle(emit func(int64, []byte)) { f.members.Flush(emit) }
