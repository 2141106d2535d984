package baseline

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/signature"
)

func init() {
	flow.Register[keysFn]()
	flow.Register[pairsFn]()
	flow.Register[byDocumentFn]()
	flow.Register[distinctFn]()
	flow.Register[verifyFn]()
}

// Scopes of the steps, with which the names of their stages begin.
const (
	SetsScope   = "baseline.Sets"
	KeysScope   = "baseline.Keys"
	GroupScope  = "baseline.Group"
	VerifyScope = "baseline.Verify"
)

var (
	bucketPairs = beam.NewCounter(namespace, "bucket_pairs")
	candidates  = beam.NewCounter(namespace, "candidates")
	compared    = beam.NewCounter(namespace, "compared")
	bucketBytes = beam.NewCounter(namespace, "bucket_bytes")
	pairBytes   = beam.NewCounter(namespace, "pair_bytes")
	setBytes    = beam.NewCounter(namespace, "set_bytes")
)

const namespace = "baseline"

// Candidates are KV<pair of cells, edges>: documents that share a bucket, each pair once.
type Candidates beam.PCollection

// Counts are what Buckets counted or, for Compared, also BruteForce. They come from Beam's counters, and so are exact
// only if no bundle is retried.
type Counts struct {
	// BucketPairs is the number of pairs of documents in all buckets, and Candidates the number of distinct ones.
	BucketPairs, Candidates int64
	// Compared is the number of pairs whose features were compared.
	Compared int64
	// BucketBytes is the number of bytes shuffled to make buckets: keys and documents. PairBytes is that of pairs, and
	// SetBytes that of features.
	BucketBytes, PairBytes, SetBytes int64
}

// CountsOf returns the counts of a pipeline.
func CountsOf(result beam.PipelineResult) (c Counts) {
	fields := map[string]*int64{
		"bucket_pairs": &c.BucketPairs, "candidates": &c.Candidates, "compared": &c.Compared,
		"bucket_bytes": &c.BucketBytes, "pair_bytes": &c.PairBytes, "set_bytes": &c.SetBytes,
	}
	for _, counter := range result.Metrics().AllMetrics().Counters() {
		if field := fields[counter.Name()]; field != nil && counter.Namespace() == namespace {
			*field += counter.Committed
		}
	}
	return c
}

// Buckets compares the features of documents that share a bucket, each pair once, and writes the pairs at or above the
// threshold to a file.
//
//	signatures → KV<(band, bucket), document> │ GroupByKey │ all pairs of a bucket
//	→ KV<document, others of its buckets> │ CoGroupByKey with features │ distinct
//	→ KV<pair of cells, features>, KV<pair of cells, edges> │ CoGroupByKey │ compared
//	→ KV<gather.Key, edges> │ GroupByKey │ written
//
// It returns the distinct pairs of documents that share a bucket. A document's features travel only to the cells of the
// documents with which it shares a bucket.
func Buckets(s beam.Scope, signed flow.Signatures, features Features, signing signature.Params, p Params) Candidates {
	keyed := beam.ParDo(s.Scope(KeysScope), &keysFn{Signing: signing}, beam.PCollection(signed))
	byDocument := beam.ParDo(s.Scope("baseline.ByDocument"), &byDocumentFn{}, beam.PCollection(features))

	group := s.Scope(GroupScope)
	others := beam.ParDo(group, &pairsFn{p}, beam.GroupByKey(group, keyed))
	sets, edges := beam.ParDo2(group, &distinctFn{Params: p}, beam.CoGroupByKey(group, byDocument, others))

	verify := s.Scope(VerifyScope)
	pairs := beam.ParDo(verify, &verifyFn{p}, beam.CoGroupByKey(verify, sets, edges))
	beam.ParDo0(verify, &writePairsFn{p}, beam.GroupByKey(verify, pairs))
	return Candidates(edges)
}

// keyBytes is the encoded size of a document key.
const keyBytes = 8

// keysFn puts documents into one bucket per band or piece.
//
//	blocks of signatures → KV<(band, bucket), document>
type keysFn struct {
	Signing signature.Params

	values, keys []uint64
}

func (f *keysFn) ProcessElement(ctx context.Context, block []byte, emit func(bucket, document []byte)) error {
	keyer := f.Signing.Keyer()
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var doc blocks.Key
		if doc, f.values = d.Numbers(f.values[:0]); d.Err() != nil {
			break
		}
		f.keys = keyer.Keys(f.keys, f.values)
		for band, key := range f.keys {
			bucket := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(band)), key)
			bucketBytes.Inc(ctx, int64(len(bucket)+keyBytes))
			emit(bucket, blocks.AppendKey(nil, doc))
		}
	}
	return d.Err()
}

// pairsFn pairs each document of a bucket with all others.
//
//	KV<(band, bucket), documents> → KV<document, others>
type pairsFn struct{ Params Params }

func (f *pairsFn) ProcessElement(
	ctx context.Context, _ []byte, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var bucket []byte
	err := gather.Each(packed, func(d *blocks.Decoder) { bucket = blocks.AppendKey(bucket, d.Key()) })
	if err != nil {
		return err
	}
	n := len(bucket) / keyBytes
	pairs := n * (n - 1) / 2
	if pairs > f.Params.Most {
		return f.Params.tooMany(ctx)
	}
	bucketPairs.Inc(ctx, int64(pairs))
	for at := 0; n > 1 && at < len(bucket); at += keyBytes {
		others := slices.Concat(bucket[:at], bucket[at+keyBytes:])
		doc := blocks.NewDecoder(bucket[at:]).Key()
		pairBytes.Inc(ctx, int64(keyBytes+len(others)))
		emit(int64(doc), others)
	}
	return nil
}

// byDocumentFn keys features by document.
//
//	features → KV<document, features>
type byDocumentFn struct{ numbers []uint64 }

func (f *byDocumentFn) ProcessElement(block []byte, emit func(int64, []byte)) error {
	d := blocks.NewDecoder(block)
	for !d.Done() {
		var doc blocks.Key
		if doc, f.numbers = d.Numbers(f.numbers[:0]); d.Err() != nil {
			break
		}
		emit(int64(doc), blocks.AppendNumbers(nil, doc, f.numbers))
	}
	return d.Err()
}

// distinctFn finds the distinct documents that share a bucket with a document, and sends its features to the cells that
// compare them.
//
//	KV<document, (features, others)> → KV<pair of cells, features>, KV<pair of cells, edges>
type distinctFn struct {
	Params Params

	sets, edges blocks.Buffers
}

func (f *distinctFn) ProcessElement(
	ctx context.Context, document int64, features, packed func(*[]byte) bool, sets, edges func(int64, []byte),
) error {
	sets, edges = counted(ctx, setBytes, sets), counted(ctx, pairBytes, edges)
	doc := blocks.Key(document)
	own := f.Params.cellOf(doc)
	others := map[blocks.Key]bool{}
	if err := gather.Each(packed, func(d *blocks.Decoder) { others[d.Key()] = true }); err != nil {
		return err
	}
	cells := map[int64]bool{}
	for other := range others {
		pair := number(own, f.Params.cellOf(other))
		cells[pair] = true
		if doc < other {
			candidates.Inc(ctx, 1)
			f.edges.Add(pair, func(block []byte) []byte { return blocks.AppendEdge(block, blocks.Edge{A: doc, B: other}) },
				edges)
		}
	}
	to := slices.Sorted(maps.Keys(cells))
	var part []byte
	for features(&part) {
		setBytes.Inc(ctx, int64(keyBytes+len(part)))
		for _, pair := range to {
			f.sets.Add(pair, func(block []byte) []byte { return append(block, part...) }, sets)
		}
	}
	return nil
}

func (f *distinctFn) FinishBundle(ctx context.Context, sets, edges func(int64, []byte)) {
	f.sets.Flush(counted(ctx, setBytes, sets))
	f.edges.Flush(counted(ctx, pairBytes, edges))
}

// counted returns emit with the emitted bytes counted.
func counted(ctx context.Context, bytes beam.Counter, emit func(int64, []byte)) func(int64, []byte) {
	return func(key int64, block []byte) {
		bytes.Inc(ctx, int64(keyBytes+len(block)))
		emit(key, block)
	}
}

// verifyFn compares the features of pairs of documents.
//
//	KV<pair of cells, (features, edges)> → KV<gather.Key, edges>
type verifyFn struct{ Params Params }

func (f *verifyFn) ProcessElement(
	ctx context.Context, _ int64, features, edges func(*[]byte) bool, emit func(int64, []byte),
) error {
	found, err := f.Params.found(features)
	if err != nil {
		return err
	}
	var pairs []blocks.Edge
	var block []byte
	for edges(&block) {
		if pairs, err = blocks.DecodeEdges(pairs[:0], block); err != nil {
			return err
		}
		compared.Inc(ctx, int64(len(pairs)))
		for _, pair := range pairs {
			if err := found.compare(ctx, pair, emit); err != nil {
				return err
			}
		}
	}
	found.out.Flush(emit)
	return nil
}
