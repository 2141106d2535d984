package verify

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/shingle"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[setsFn]())
	register.Emitter2[int64, []byte]()
}

var (
	setsMade    = beam.NewCounter("sets", "documents")
	setBytes    = beam.NewCounter("shuffled", "sets")
	setsShipped = beam.NewCounter("sets", "shipped")
)

// Features are what is known of documents that were read for their components.
type Features struct {
	// Profiles are those of all.
	Profiles flow.Profiles
	// Sets are those of small components, which one call joins: KV<group, set parts with components>.
	Sets beam.PCollection
	// Of large ones, which are cut into cells: KV<document, set part>, KV<component, profiles>.
	LargeSets, LargeProfiles beam.PCollection
}

// Sets makes the shingle sets of documents that were read for their components.
//
//	blocks of documents with components → Features
//
// Every document has a profile. A set is sent for the first document that has it only, as far
// as a bundle can know: the representative of a copy group, its first document, is always sent.
func Sets(s beam.Scope, docs flow.Fetched, text shingle.Spec, p Params) Features {
	s = s.Scope("verify.Sets")
	sets, profiles, largeSets, largeProfiles := beam.ParDo4(s, &setsFn{Text: text, Small: p.small(), Groups: p.Groups}, beam.PCollection(docs))
	return Features{Sets: sets, Profiles: flow.Profiles(profiles), LargeSets: largeSets, LargeProfiles: largeProfiles}
}

type setsFn struct {
	Text   shingle.Spec
	Small  int // documents of the largest small component
	Groups Groups

	shingler                      *shingle.Shingler
	shingles                      []uint64
	part                          []byte
	sent                          map[sentKey]blocks.Key
	sets, profiles, largeProfiles *blocks.Buffers
}

// sentKey is a set that was sent for a component.
type sentKey struct {
	component blocks.Key
	hash      blocks.SetHash
}

// maxSent bounds the memory of what was sent; what it forgets is sent once more.
const maxSent = 1 << 20

func (f *setsFn) Setup() { f.shingler = f.Text.New() }

func (f *setsFn) StartBundle(_, _, _, _ func(int64, []byte)) {
	f.sent = map[sentKey]blocks.Key{}
	f.sets, f.profiles, f.largeProfiles = blocks.NewBuffers(), blocks.NewBuffers(), blocks.NewBuffers()
}

func (f *setsFn) ProcessElement(ctx context.Context, block []byte, sets, profiles, largeSets, largeProfiles func(int64, []byte)) error {
	var made, shipped, bytes int64
	d := blocks.NewDecoder(block)
	for doc := range d.Documents() {
		f.shingles = f.shingler.Shingles(f.shingles[:0], doc.Text)
		set := shingle.Set(f.shingles)
		profile := blocks.Profile{
			Key: doc.Key, Hash: setHash(set), Size: len(set),
			ID: doc.ID, HasID: doc.HasID, Rank: doc.Rank,
		}
		component := int64(doc.Component)
		group, large := f.Groups.of(component), doc.Of > f.Small
		appendProfile := func(block []byte) []byte { return blocks.AppendProfile(block, &profile) }
		f.profiles.Add(group, appendProfile, profiles)
		if large {
			f.largeProfiles.Add(component, appendProfile, largeProfiles)
		}
		made++
		if !f.firstOf(doc.Component, &profile) {
			continue
		}
		shipped++
		if large {
			blocks.SetParts(nil, doc.Key, profile.Hash, set, func(part []byte) {
				bytes += int64(len(part))
				largeSets(int64(doc.Key), part)
			})
			continue
		}
		blocks.SetParts(f.part, doc.Key, profile.Hash, set, func(part []byte) {
			f.part = part[:0]
			bytes += int64(len(part))
			f.sets.Add(group, func(block []byte) []byte { return appendMemberPart(block, doc.Component, part) }, sets)
		})
	}
	setsMade.Inc(ctx, made)
	setBytes.Inc(ctx, bytes)
	setsShipped.Inc(ctx, shipped)
	return d.Err()
}

func setHash(set []uint64) blocks.SetHash { return blocks.SetHash(hash.Sequence(set)) }

// firstOf reports whether no earlier document is known to have the same set. Splits may come in
// any order, so an earlier document may follow: it is a first, too.
func (f *setsFn) firstOf(component blocks.Key, p *blocks.Profile) bool {
	key := sentKey{component, p.Hash}
	if first, ok := f.sent[key]; ok && first < p.Key {
		return false
	}
	if len(f.sent) >= maxSent {
		clear(f.sent)
	}
	f.sent[key] = p.Key
	return true
}

func (f *setsFn) FinishBundle(sets, profiles, _, largeProfiles func(int64, []byte)) {
	f.sets.Flush(sets)
	f.profiles.Flush(profiles)
	f.largeProfiles.Flush(largeProfiles)
}
