package decide

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

var (
	keptCount    = beam.NewCounter("decide", "kept")
	removedCount = beam.NewCounter("decide", "removed")
	rowBytes     = beam.NewCounter("shuffled", "rows")
)

// verdict is what becomes of a document, or of several with the same tokens.
type verdict struct {
	blocks.Verdict
	firstID, keptID string // "": not known yet
}

// rowWriter makes the rows of documents.
type rowWriter struct {
	in       *blocks.Inputs
	clusters bool // all rows are wanted
	none     bool // is kept of a cluster

	toPairs, toClusters, toRemoved, toDropped   func(int64, []byte)
	pairRows, clusterRows, removedRows, dropped blocks.Buffers
	keptDocuments, removedDocuments             int64
	differingInSymbols, differingInNumbers      int64

	// name is that of the file, which most documents share with the one before.
	file int
	name string

	pairRow    records.Pair
	clusterRow records.Clustered
	removedRow records.Removed
}

// begin begins a call.
func (w *rowWriter) begin(ctx context.Context, pairs, clusters, removed, dropped func(int64, []byte)) {
	w.toPairs, w.toClusters = gather.Counted(ctx, rowBytes, pairs), gather.Counted(ctx, rowBytes, clusters)
	w.toRemoved, w.toDropped = gather.Counted(ctx, rowBytes, removed), gather.Counted(ctx, rowBytes, dropped)
	w.keptDocuments, w.removedDocuments, w.differingInSymbols, w.differingInNumbers = 0, 0, 0, 0
}

// end counts what the call, of this name, has decided.
func (w *rowWriter) end(ctx context.Context, name string, facts func([]byte)) error {
	keptCount.Inc(ctx, w.keptDocuments)
	removedCount.Inc(ctx, w.removedDocuments)
	if w.differingInSymbols+w.differingInNumbers == 0 {
		return nil
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

// place is where the row of a pair stands, a before b: with the first of the two that is an input, by the other one.
func (w *rowWriter) place(a, b blocks.Key) (own, second blocks.Key) {
	if w.in.IsReference(a) {
		return b, a
	}
	return a, b
}

// part is what a document is part of; nil if there are no references.
func (w *rowWriter) part(doc blocks.Key) *string {
	part := records.InInput
	switch {
	case w.in.BytesOfReferences() == 0:
		return nil
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

// pair adds the row of a pair; same is nil of a near one.
func (w *rowWriter) pair(
	a, b *blocks.Profile, idA, idB string, same *string, shared int, similarity float64, sizeA, sizeB int,
) {
	w.pairRow = records.Pair{
		IDA: idA, IDB: idB, SourceA: w.source(a.Key), SourceB: w.source(b.Key),
		PositionA: a.Key.Position(), PositionB: b.Key.Position(),
		Similarity: similarity, Same: same, Shared: int32(shared), SizeA: int32(sizeA), SizeB: int32(sizeB),
		InA: w.part(a.Key),
	}
	own, second := w.place(a.Key, b.Key)
	blocks.AddRow(&w.pairRows, w.shard(own), own, second, &w.pairRow, w.toPairs)
}

// document adds the rows of a document: with its representative, if it is none, in its cluster, and if it is removed.
func (w *rowWriter) document(v *verdict, doc *blocks.Profile) {
	if w.in.IsReference(doc.Key) && doc.Key != v.First.Key { // a copy of another
		return
	}
	id := w.in.ID(doc.Key, doc.ID, doc.HasID)
	traits := doc.Traits
	if traits.Tokens == (blocks.Hash{}) { // a copy's
		traits.Tokens = v.Tokens
	}
	if doc.Key != v.First.Key {
		if v.firstID == "" {
			v.firstID = w.in.ID(v.First.Key, v.First.ID, v.First.HasID)
		}
		same := common(&traits, &v.First.Traits)
		w.pair(&v.First, doc, v.firstID, id, &same, v.Size, 1, v.Size, v.Size)
	}
	kept := doc.Key == v.Kept.Key && !w.none || w.in.Kept(doc.Key)
	if w.clusters || doc.Key == v.Cluster {
		w.clusterRow = records.Clustered{
			Cluster: int64(v.Cluster), ID: id,
			Source: w.source(doc.Key), Position: doc.Key.Position(),
			Size: int32(v.Size), Members: int32(v.Members), Kept: kept, In: w.part(doc.Key),
		}
		if v.Partial {
			w.clusterRow.Partial = &v.Partial
		}
		blocks.AddRow(&w.clusterRows, w.shard(doc.Key), doc.Key, doc.Key, &w.clusterRow, w.toClusters)
	}
	if kept {
		w.keptDocuments++
		return
	}
	w.removedDocuments++
	if v.keptID == "" {
		v.keptID = w.in.ID(v.Kept.Key, v.Kept.ID, v.Kept.HasID)
	}
	w.removedRow = records.Removed{
		ID: id, Source: w.source(doc.Key), Position: doc.Key.Position(),
		Cluster: int64(v.Cluster),
		KeptID:  v.keptID, KeptSource: w.source(v.Kept.Key), KeptPosition: v.Kept.Key.Position(),
		Reason: records.ReasonNear, KeptIn: w.part(v.Kept.Key),
	}
	similarity := &v.Similarity
	switch alone := doc.Key == v.Kept.Key; { // with none kept in its place
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
	if !v.Near && doc.Traits.Symbols != v.Kept.Traits.Symbols {
		w.differingInSymbols++
	}
	if doc.Traits.Numbers != v.Kept.Traits.Numbers {
		w.differingInNumbers++
	}
	blocks.AddRow(&w.removedRows, w.shard(doc.Key), doc.Key, doc.Key, &w.removedRow, w.toRemoved)
	w.dropped.Add(w.in.Batch(doc.Key), func(block []byte) []byte { return blocks.AppendKey(block, doc.Key) }, w.toDropped)
}

// common says what two documents of one set have in common.
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
