package nearest

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/signature"
)

func init() {
	flow.Register[estimateFn]()
	flow.Register[bucketFn]()
}

// Buckets configure the search in buckets.
type Buckets struct {
	// Query is the path of the shared Query.
	Query string
	// Signing says how signatures become keys, and where the shared blocks.Inputs are.
	Signing signature.Params
}

// InBuckets finds the documents that share a bucket with the query, each in its own component.
//
//	blocks of signatures → KV<split, members>
func InBuckets(s beam.Scope, signed flow.Signatures, b Buckets) flow.Members {
	s = s.Scope("nearest.InBuckets")
	return flow.Members(beam.ParDo(s, &bucketFn{Buckets: b}, beam.PCollection(signed)))
}

// ByEstimate writes the documents with the most signature values equal to the query's, among those that share a bucket
// with it. It writes the file even if there are none.
//
//	blocks of signatures → nothing
//
// One GroupByKey, of at most Most neighbours from each bundle.
func ByEstimate(s beam.Scope, signed flow.Signatures, b Buckets, p Params) {
	s = s.Scope("nearest.ByEstimate")
	merge(s, beam.ParDo(s, &estimateFn{Params: p, Buckets: b}, beam.PCollection(signed)), p)
}

// meeting finds the documents that share a bucket with the query.
type meeting struct {
	query                *Query
	keyer                lsh.Keyer
	wanted, keys, values []uint64
}

func newMeeting(ctx context.Context, b Buckets) (*meeting, error) {
	query, err := storage.Shared[Query](ctx, b.Query)
	if err != nil {
		return nil, err
	}
	keyer := b.Signing.Keyer()
	return &meeting{query: query, keyer: keyer, wanted: keyer.Keys(nil, query.Values)}, nil
}

// each calls do with these documents in a block of signatures.
func (m *meeting) each(block []byte, do func(key blocks.Key, values []uint64)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var key blocks.Key
		if key, m.values = d.Numbers(m.values[:0]); d.Err() != nil {
			break
		}
		if key == m.query.Key {
			continue
		}
		if m.keys = m.keyer.Keys(m.keys, m.values); m.share() {
			do(key, m.values)
		}
	}
	return d.Err()
}

// share reports whether a key equals the query's key in the same band.
func (m *meeting) share() bool {
	for i, key := range m.keys {
		if key == m.wanted[i] {
			return true
		}
	}
	return false
}

// estimateFn keeps the nearest documents of a bundle.
//
//	blocks of signatures → KV<gather.Key, Nearest>
type estimateFn struct {
	Params  Params
	Buckets Buckets

	meeting *meeting
	nearest Nearest
}

func (f *estimateFn) Setup(ctx context.Context) (err error) {
	f.meeting, err = newMeeting(ctx, f.Buckets)
	return err
}

func (f *estimateFn) StartBundle(func(int64, []byte)) { f.nearest = Nearest{} }

func (f *estimateFn) ProcessElement(block []byte, _ func(int64, []byte)) error {
	return f.meeting.each(block, func(key blocks.Key, values []uint64) {
		f.nearest.add(Near{key, float64(f.Buckets.Signing.Equal(values, f.meeting.query.Values))}, f.Params.Most)
	})
}

func (f *estimateFn) FinishBundle(emit func(int64, []byte)) error {
	f.nearest.cut(f.Params.Most)
	return gather.EmitJSON(&f.nearest, emit)
}

// bucketFn emits the documents that share a bucket; see InBuckets for the shapes.
type bucketFn struct {
	Buckets Buckets

	meeting *meeting
	inputs  *blocks.Inputs
	members blocks.Buffers
}

func (f *bucketFn) Setup(ctx context.Context) (err error) {
	if f.inputs, err = storage.Shared[blocks.Inputs](ctx, f.Buckets.Signing.Inputs); err != nil {
		return err
	}
	f.meeting, err = newMeeting(ctx, f.Buckets)
	return err
}

func (f *bucketFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	return f.meeting.each(block, func(key blocks.Key, _ []uint64) {
		f.members.Add(int64(f.inputs.Split(key)), func(block []byte) []byte {
			return blocks.AppendMember(block, blocks.Member{Key: key, Component: key, Of: 1})
		}, emit)
	})
}

func (f *bucketFn) FinishBundle(emit func(int64, []byte)) { f.members.Flush(emit) }
