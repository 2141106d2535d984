// Package sets makes the shingle sets and profiles of documents that are read for their components.
package sets

import (
	"cmp"
	"context"
	"math"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/frequencies"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[setsFn]()
}

var (
	setsMade    = beam.NewCounter("sets", "documents")
	setsShipped = beam.NewCounter("sets", "shipped")
	copiesSeen  = beam.NewCounter("sets", "copies")

	setBytes     = beam.NewCounter("shuffled", "sets")
	profileBytes = beam.NewCounter("shuffled", "profiles")
	copyBytes    = beam.NewCounter("shuffled", "copies")
)

// Params configure how sets are made, and where they are sent.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Text says how a text becomes shingles.
	Text shingle.Spec
	// MaxSmallDocs is the maximum number of documents in a small component.
	MaxSmallDocs int
	Shards       ComponentShards
	// Verifier defines the features of a document.
	Verifier verifier.Spec
	// Same is what copies have in common if only copies are sought: then each document has copies or is one, and there
	// are no sets to join. It is "" if near-duplicates are sought.
	Same copies.Same
}

// Features are the sets and profiles of documents that were read for their components.
type Features struct {
	// Profiles are those of documents that are not copies.
	Profiles flow.Profiles
	// Copies are the documents that have copies, and their copies.
	Copies flow.Copies
	// Sets are the sets of small components.
	Sets flow.Sets
	// LargeSets, LargeProfiles and Samples are those of large components.
	LargeSets     flow.LargeSets
	LargeProfiles flow.LargeProfiles
	Samples       flow.Samples
}

// Make makes the shingle sets and the profiles of documents.
//
//	blocks of documents with components → KV<component shard, component parts>, KV<component shard, profiles>,
//	KV<document, set part>, KV<component, profiles>, KV<component, set part>, KV<copy shard, copies>
//
// The set parts by component are a sample of each large component, which Sampled selects. Every document except copies
// has a profile, and in a large component a second one without id and traits. Copies have no set. If documents of a
// block have the same set and component, only the first sends it, so that the representative's set is always sent. One
// GroupByKey, of documents with copies. Counters: sets/documents, sets/copies, sets/shipped; shuffled/sets,
// shuffled/profiles and shuffled/copies in bytes.
func Make(s beam.Scope, docs flow.Fetched, p Params) Features {
	s = s.Scope("sets.Make")
	sets, profiles, copied, largeSets, largeProfiles, samples := beam.ParDo6(s, &setsFn{Params: p}, beam.PCollection(docs))
	copiedProfiles, copiedLarge := summarise(s, flow.Copies(copied), p)
	return Features{
		Sets: flow.Sets(sets), Profiles: flow.Flatten(s, flow.Profiles(profiles), copiedProfiles),
		Copies:    flow.Copies(copied),
		LargeSets: flow.LargeSets(largeSets), LargeProfiles: flow.Flatten(s, flow.LargeProfiles(largeProfiles), copiedLarge),
		Samples: flow.Samples(samples),
	}
}

// setsFn makes sets and profiles; see Make for the shapes.
type setsFn struct {
	Params Params

	verifier verifier.Verifier
	reader   *copies.Reader
	sent     map[sentKey]bool // by documents of this block
	sets     *blocks.Shards
	profiles profileWriter
	copied   *blocks.Shards
}

// sentKey identifies a set that was sent for a component.
type sentKey struct {
	component blocks.Key
	hash      blocks.Hash
}

func (f *setsFn) Setup(ctx context.Context) (err error) {
	f.verifier = f.Params.Verifier.New()
	f.reader, err = f.Params.reader(ctx)
	return err
}

// reader returns a reader of texts that makes the verifier's features.
func (p *Params) reader(ctx context.Context) (*copies.Reader, error) {
	features, err := frequencies.TextFeatures(ctx, p.Verifier)
	if err != nil {
		return nil, err
	}
	return copies.NewReader(p.Text, features), nil
}

func (f *setsFn) StartBundle(_, _, _, _, _, _ func(int64, []byte)) {
	f.sent = map[sentKey]bool{}
	f.sets, f.profiles, f.copied = f.Params.Shards.Buffers(), newProfileWriter(&f.Params), f.Params.Shards.Buffers()
}

func (f *setsFn) ProcessElement(
	ctx context.Context, block []byte, sets, profiles, copied, largeSets, largeProfiles, samples func(int64, []byte),
) error {
	var made, copiesRead, shipped, bytes int64
	profiles, copied = gather.Counted(ctx, profileBytes, profiles), gather.Counted(ctx, copyBytes, copied)
	clear(f.sent)
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		made++
		if doc.Of == 0 {
			copiesRead++
			addCopy(f.copied, f.Params.Shards, profileOfCopy(f.reader, &doc, cmp.Or(f.Params.Same, copies.Tokens)), copied)
			continue
		}
		profile, set := profileOf(f.reader, f.verifier, &doc, f.Params.Same)
		if doc.Copied {
			addCopy(f.copied, f.Params.Shards, blocks.Copy{Of: doc.Key, Profile: profile,
				Component: doc.Component, Documents: doc.Of}, copied)
		} else {
			f.profiles.add(doc.Component, doc.Of, &profile, profiles, largeProfiles)
		}
		first := sentKey{doc.Component, profile.Hash}
		if doc.Of == 1 || f.sent[first] { // nothing to join, or sent already
			continue
		}
		f.sent[first] = true
		shipped++
		if f.Params.large(doc.Of) {
			blocks.SetParts(nil, doc.Key, profile.Hash, set, func(part []byte) {
				bytes += int64(len(part))
				largeSets(int64(doc.Key), part)
				if Sampled(profile.Hash, doc.Of) {
					samples(int64(doc.Component), part)
				}
			})
			continue
		}
		bytes += int64(blocks.AddSet(f.sets, f.Params.Shards.Shard(doc.Component), doc.Component,
			doc.Key, profile.Hash, set, sets))
	}
	f.reader.Trim()
	setsMade.Inc(ctx, made)
	copiesSeen.Inc(ctx, copiesRead)
	setBytes.Inc(ctx, bytes)
	setsShipped.Inc(ctx, shipped)
	return d.Err()
}

func (f *setsFn) FinishBundle(ctx context.Context, sets, profiles, copied, _, largeProfiles, _ func(int64, []byte)) {
	f.sets.Flush(sets)
	f.profiles.flush(gather.Counted(ctx, profileBytes, profiles), largeProfiles)
	f.copied.Flush(gather.Counted(ctx, copyBytes, copied))
}

// large reports whether a component of this many documents is large.
func (p *Params) large(documents int) bool {
	return documents > p.MaxSmallDocs
}

// sampleDocs is the approximate maximum number of documents in a component's sample.
const sampleDocs = 4096

// Sampled reports whether the sample of a component of this many documents includes a set: all sets if there are at
// most 4,096 documents, else about that many, those of smallest hash. Hashes are uniform, so the sample is independent
// of the contents of sets.
func Sampled(hash blocks.Hash, documents int) bool {
	return documents <= sampleDocs || hash.Hi < math.MaxUint64/uint64(documents)*sampleDocs
}
