package sets

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/copies"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[profilesFn]())
}

// Profiles makes the profiles of documents of which only copies are sought; same is what these have in
// common. No set is sent: there is nothing to join.
//
//	blocks of documents with components → KV<component shard, profiles>
//
// Counter: sets/documents.
func Profiles(s beam.Scope, docs flow.Fetched, same copies.Same, p Params) flow.Profiles {
	s = s.Scope("sets.Profiles")
	return flow.Profiles(beam.ParDo(s, &profilesFn{Params: p, Same: same}, beam.PCollection(docs)))
}

// profilesFn makes profiles; see Profiles for the shapes.
type profilesFn struct {
	Params Params
	Same   copies.Same

	reader   *copies.Reader
	profiles *blocks.Buffers
}

func (f *profilesFn) Setup() { f.reader = copies.NewReader(f.Params.Text) }

func (f *profilesFn) StartBundle(func(int64, []byte)) { f.profiles = blocks.NewBuffers() }

func (f *profilesFn) ProcessElement(ctx context.Context, block []byte, profiles func(int64, []byte)) error {
	var made int64
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		profile, _ := profileOf(f.reader, &doc, f.Same)
		f.profiles.Add(f.Params.Shards.Shard(doc.Component), func(block []byte) []byte { return blocks.AppendProfile(block, &profile) }, profiles)
		made++
	}
	f.reader.Trim()
	setsMade.Inc(ctx, made)
	return d.Err()
}

func (f *profilesFn) FinishBundle(profiles func(int64, []byte)) { f.profiles.Flush(profiles) }

// profileOf returns the profile of a document, and its set, which is valid until the next call.
func profileOf(reader *copies.Reader, doc *blocks.Document, same copies.Same) (blocks.Profile, []uint64) {
	traits, set := reader.Read(doc.Text, doc.Ends)
	return blocks.Profile{
		Key: doc.Key, Hash: blocks.Hash(traits.Of(same)), Size: len(set),
		ID: doc.ID, HasID: doc.HasID, Rank: doc.Rank,
		Traits: blocks.Traits{Text: blocks.Hash(traits.Text), Tokens: blocks.Hash(traits.Tokens), Symbols: traits.Symbols},
	}, set
}
