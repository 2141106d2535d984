package decide

import (
	"cmp"
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

var (
	keptCount    = beam.NewCounter("decide", "kept")
	removedCount = beam.NewCounter("decide", "removed")
	rowBytes     = beam.NewCounter("shuffled", "rows")
)

// verdict is the decision about a document, or about several with the same tokens.
type verdict struct {
	blocks.Verdict
	first, kept *named // nil until known
}

// named is a document as rows name it.
type named struct {
	id, source string
	position   int64
	fell       *blocks.Fell // the document kept in its place, if an index has removed it
}

// rowWriter makes the rows of documents.
type rowWriter struct {
	in       *blocks.Inputs
	clusters bool // emit rows for all documents, not only for first ones
	none     bool // keep no document of a cluster
	told     bool // documents come from tables, which do not say in what they differ

	toPairs, toClusters, toRemoved, toDropped   func(int64, []byte)
	pairRows, clusterRows, removedRows, dropped blocks.Buffers
	keptDocuments, removedDocuments             int64
	differingInSymbols, differingInNumbers      int64

	// name is the source of the last document, which the next one mostly shares.
	file int
	name string
	err  error // from the ids of an index's documents

	pairRow    records.Pair
	clusterRow records.Clustered
	removedRow records.Removed
}

func (w *rowWriter) setup(ctx context.Context, p *Params) (err error) {
	w.clusters, w.none, w.told = p.Clusters, p.KeepNone, p.Verifier.Measure == verifier.Told
	w.in, err = storage.Shared[blocks.Inputs](ctx, p.Inputs)
	return err
}

// begin starts a call.
func (w *rowWriter) begin(ctx context.Context, pairs, clusters, removed, dropped func(int64, []byte)) {
	w.toPairs, w.toClusters = gather.Counted(ctx, rowBytes, pairs), gather.Counted(ctx, rowBytes, clusters)
	w.toRemoved, w.toDropped = gather.Counted(ctx, rowBytes, removed), gather.Counted(ctx, rowBytes, dropped)
	w.keptDocuments, w.removedDocuments, w.differingInSymbols, w.differingInNumbers, w.err = 0, 0, 0, 0, nil
}

// end counts the decisions of the call with this name.
func (w *rowWriter) end(ctx context.Context, name string, facts func([]byte)) error {
	keptCount.Inc(ctx, w.keptDocuments)
	removedCount.Inc(ctx, w.removedDocuments)
	if w.err != nil || w.differingInSymbols+w.differingInNumbers == 0 {
		return w.err
	}
	return blocks.Fact{Kind: blocks.FactSymbols, Name: name, Counts: map[string]int64{
		blocks.CountSymbols: w.differingInSymbols, blocks.CountNumbers: w.differingInNumbers,
	}}.Emit(facts)
}

func (w *rowWriter) flush(ctx context.Context, pairs, clusters, removed, dropped func(int64, []byte)) {
	w.pairRows.Flush(gather.Counted(ctx, rowBytes, pairs))
	w.clusterRows.Flush(gather.Counted(ctx, rowBytes, clusters))
	w.removedRows.Flush(gather.Counted(ctx, rowBytes, removed))
	w.dropped.Flush(gather.Counted(ctx, rowBytes, dropped))
}

func (w *rowWriter) shard(doc blocks.Key) int64 { return int64(w.in.Shard(doc)) }

// place returns where the row of a pair, a before b, is sorted: with the first of the two that is an input, then by the
// other.
func (w *rowWriter) place(a, b blocks.Key) (own, second blocks.Key) {
	if w.in.IsReference(a) {
		return b, a
	}
	return a, b
}

// part returns the part of the run that a document is in, or nil if there are no references.
func (w *rowWriter) part(doc blocks.Key) *string {
	part := records.InInput
	switch {
	case w.in.BytesOfReferences() == 0:
		return nil
	case w.in.Stores(doc):
		part = records.InIndex
	case w.in.IsReference(doc):
		part = records.InReference
	}
	return &part
}

// source returns the source of a document.
func (w *rowWriter) source(doc blocks.Key) string {
	if file := doc.File(); w.name == "" || file != w.file {
		w.file, w.name = file, w.in.Name(file)
	}
	return w.name
}

// named returns a document as rows name it.
func (w *rowWriter) named(doc *blocks.Profile) named {
	if !w.in.Stores(doc.Key) {
		return named{id: w.in.ID(doc.Key, doc.ID, doc.HasID), source: w.source(doc.Key), position: doc.Key.Position()}
	}
	s, err := w.in.Stored(doc.Key, doc.ID)
	w.err = cmp.Or(w.err, err)
	return named{s.ID, s.Source, s.Position, s.Fell}
}

// pair adds the row of a pair; same is nil for a near pair.
func (w *rowWriter) pair(
	a, b *blocks.Profile, nameA, nameB named, same *string, shared int, similarity float64, matches []float64,
	sizeA, sizeB int,
) {
	w.pairRow = records.Pair{
		IDA: nameA.id, IDB: nameB.id, SourceA: nameA.source, SourceB: nameB.source,
		PositionA: nameA.position, PositionB: nameB.position,
		Similarity: similarity, Same: same, Shared: int32(shared), SizeA: int32(sizeA), SizeB: int32(sizeB),
		InA: w.part(a.Key), Matches: matches,
	}
	own, second := w.place(a.Key, b.Key)
	blocks.AddRow(&w.pairRows, w.shard(own), own, second, &w.pairRow, w.toPairs)
}

// document adds the rows of a document: the pair with its representative unless it is that itself, its cluster, and its
// removal.
func (w *rowWriter) document(v *verdict, doc *blocks.Profile) {
	if w.in.IsReference(doc.Key) && doc.Key != v.First.Key { // a copy of another reference
		return
	}
	name := w.named(doc)
	traits := doc.Traits
	if traits.Tokens == (blocks.Hash{}) { // a copy with the group's tokens
		traits.Tokens = v.Tokens
	}
	if doc.Key != v.First.Key {
		if v.first == nil {
			v.first = new(w.named(&v.First))
		}
		same := common(&traits, &v.First.Traits)
		w.pair(&v.First, doc, *v.first, name, &same, v.Size, 1, nil, v.Size, v.Size)
	}
	kept := name.fell == nil && (doc.Key == v.Kept.Key && !w.none || w.in.Kept(doc.Key))
	if w.clusters || doc.Key == v.Cluster {
		w.clusterRow = records.Clustered{
			Cluster: int64(v.Cluster), ID: name.id, Source: name.source, Position: name.position,
			Size: int32(v.Size), Members: int32(v.Members), Kept: kept, In: w.part(doc.Key),
		}
		if v.Partial {
			w.clusterRow.Partial = &v.Partial
		}
		blocks.AddRow(&w.clusterRows, w.shard(doc.Key), doc.Key, doc.Key, &w.clusterRow, w.toClusters)
	}
	switch {
	case kept:
		w.keptDocuments++
		return
	case name.fell != nil: // removed by an earlier run
		return
	}
	w.removedDocuments++
	if v.kept == nil {
		v.kept = new(w.named(&v.Kept))
	}
	w.removedRow = records.Removed{
		ID: name.id, Source: name.source, Position: name.position,
		Cluster: int64(v.Cluster),
		KeptID:  v.kept.id, KeptSource: v.kept.source, KeptPosition: v.kept.position,
		Reason: records.ReasonNear, KeptIn: w.part(v.Kept.Key),
	}
	similarity := &v.Similarity
	switch alone := doc.Key == v.Kept.Key; { // no document is kept in its place
	case v.kept.fell != nil: // a copy of a document removed earlier
		fell := v.kept.fell
		w.removedRow.KeptID, w.removedRow.KeptSource, w.removedRow.KeptPosition = fell.ID, fell.Source, fell.Position
		similarity = &fell.Similarity
	case alone && v.Nearest > 0:
		similarity = &v.Nearest
	case alone:
		w.removedRow.Reason = records.ReasonSameSet // at least
	case !v.Near:
		w.removedRow.Reason = common(&traits, &v.Kept.Traits)
	}
	if *similarity > 0 {
		w.removedRow.Similarity = similarity
	}
	if v.kept.fell == nil && !w.told {
		w.removedRow.Differs = w.differs(v, doc)
	}
	blocks.AddRow(&w.removedRows, w.shard(doc.Key), doc.Key, doc.Key, &w.removedRow, w.toRemoved)
	w.dropped.Add(w.in.Batch(doc.Key), func(block []byte) []byte { return blocks.AppendKey(block, doc.Key) }, w.toDropped)
}

// differs returns what a removed document and the kept one differ in, and counts it: numbers for all, symbols for
// copies only.
func (w *rowWriter) differs(v *verdict, doc *blocks.Profile) []string {
	differs := make([]string, 0, 2)
	if doc.Traits.Numbers != v.Kept.Traits.Numbers {
		w.differingInNumbers++
		differs = append(differs, records.DiffersNumbers)
	}
	if !v.Near && doc.Traits.Symbols != v.Kept.Traits.Symbols {
		w.differingInSymbols++
		differs = append(differs, records.DiffersSymbols)
	}
	return differs
}

// common returns what two documents of one set have in common, as a reason.
func common(a, b *blocks.Traits) string {
	switch {
	case a.Text == b.Text:
		return records.ReasonIdentical
	case a.Tokens == b.Tokens:
		return records.ReasonEqual
	default:
		return records.ReasonSameSet
	}
}
