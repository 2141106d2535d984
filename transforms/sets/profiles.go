package sets

import (
	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/verifier"
)

// profileOf returns the profile of a document, with the hash by which copies are the same, and its features. Both are
// valid until the next call.
func profileOf(
	reader *copies.Reader, v verifier.Verifier, doc *blocks.Document, same copies.Same,
) (blocks.Profile, []uint64) {
	reader.Apart(uint64(doc.Key), doc.Values)
	traits, features := reader.Read(doc.Text, doc.Ends)
	profile := own(doc, &traits)
	profile.Hash = blocks.Hash(traits.Of(same))
	profile.Size, profile.Words = v.Size(features), len(verifier.Own(v, features))
	return profile, features
}

// profileOfCopy returns the fields that a copy does not share with the document that it is a copy of.
func profileOfCopy(reader *copies.Reader, doc *blocks.Document, same copies.Same) blocks.Copy {
	reader.Apart(uint64(doc.Key), doc.Values)
	traits := reader.ReadCopy(same, doc.Text, doc.Ends)
	return blocks.Copy{Of: doc.Component, Profile: own(doc, &traits)}
}

func own(doc *blocks.Document, t *copies.Traits) blocks.Profile {
	return blocks.Profile{
		Key: doc.Key, ID: doc.ID, HasID: doc.HasID, Rank: doc.Rank,
		Traits: blocks.Traits{
			Text: blocks.Hash(t.Text), Tokens: blocks.Hash(t.Tokens), Symbols: t.Symbols, Numbers: t.Numbers,
		},
	}
}

// addCopy sends a document to its copy group.
func addCopy(to *blocks.Shards, shards ComponentShards, c blocks.Copy, emit func(int64, []byte)) {
	to.Add(shards.Shard(c.Of), func(block []byte) []byte { return blocks.AppendCopy(block, &c) }, emit)
}

// profileWriter packs profiles by component shard, and again by component for large components.
type profileWriter struct {
	params *Params
	all    *blocks.Shards
	large  blocks.Buffers
}

func newProfileWriter(p *Params) profileWriter {
	return profileWriter{params: p, all: p.Shards.Buffers()}
}

// add adds the profile of a document whose component has this many documents. It modifies the profile.
func (w *profileWriter) add(component blocks.Key, documents int, p *blocks.Profile, all, large func(int64, []byte)) {
	add := func(block []byte) []byte { return blocks.AppendProfile(block, p) }
	w.all.Add(w.params.Shards.Shard(component), add, all)
	if !w.params.large(documents) {
		return
	}
	lean := func(p *blocks.Profile) { p.ID, p.HasID, p.Traits = nil, false, blocks.Traits{} }
	if lean(p); p.Best != nil {
		lean(p.Best)
	}
	w.large.Add(int64(component), add, large)
}

func (w *profileWriter) flush(all, large func(int64, []byte)) {
	w.all.Flush(all)
	w.large.Flush(large)
}
