// Package flow defines the collections that connect the steps of a pipeline. Each is a PCollection of blocks, alone or
// under an int64 key. Every collection has its own type, so that the compiler rejects crossed wires.
package flow

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
)

type (
	// Documents are blocks of documents from the first read.
	Documents beam.PCollection
	// Fetched are blocks of documents from the second read, each with its component and rank.
	Fetched beam.PCollection
	// Signatures are blocks of signatures.
	Signatures beam.PCollection
	// Bands are KV<band and shard, band entries>.
	Bands beam.PCollection
	// Edges are blocks of edges.
	Edges beam.PCollection
	// Forests are KV<part, edges>: edges of a spanning forest, or from new labels to the labels they replace.
	Forests beam.PCollection
	// Firsts are KV<hash shard, firsts>: the first document of each block with a hash.
	Firsts beam.PCollection
	// Members are KV<split, members>: the documents to read again.
	Members beam.PCollection
	// Drawn are KV<gather.Key, hashed documents>: the documents from which a sample is drawn.
	Drawn beam.PCollection
	// Dropped are KV<corpus batch, keys>: records to omit from the corpus.
	Dropped beam.PCollection
	// Listed are KV<file, records>: all records that were read.
	Listed beam.PCollection
	// Facts are facts for the ledger, as JSON.
	Facts beam.PCollection
)

// Data about components. Small components travel together, by shard; large ones travel alone.
type (
	// Profiles are KV<component shard, profiles> of all documents except copies.
	Profiles beam.PCollection
	// Copies are KV<copy shard, copies>: documents that have copies, and the copies.
	Copies beam.PCollection
	// Verdicts are KV<copy shard, verdicts>: the decisions about documents that have copies.
	Verdicts beam.PCollection
	// Sets are KV<component shard, component parts>: shingle sets of small components.
	Sets beam.PCollection
	// LargeSets are KV<document, set part>: shingle sets of large components.
	LargeSets beam.PCollection
	// Samples are KV<component, set part>: the sets of smallest hash of large components.
	Samples beam.PCollection
	// LargeProfiles are KV<component, profiles> of large components.
	LargeProfiles beam.PCollection
	// NearPairs are KV<component shard, near pairs>.
	NearPairs beam.PCollection
	// Links are KV<component shard, near pairs> that connect clusters as pairs do, but are not rows.
	Links beam.PCollection
	// Turns are KV<document, turn> of the representatives of large components.
	Turns beam.PCollection
	// Batches are KV<component, batches>: the locations of the sets of large components.
	Batches beam.PCollection
	// Sized are KV<batch, set parts>: the sets of all documents, by size.
	Sized beam.PCollection
)

// Data about passages. The blocks pack records whose byte order is the order of their contents.
type (
	// Chosen are KV<hash shard, records>: hashes of chosen k-grams, and the documents that have them.
	Chosen beam.PCollection
	// Grams are KV<hash shard, records>: hashes of L-grams, and their places.
	Grams beam.PCollection
	// Occurrences are KV<gather.Key, records>: numbers of L-grams with their places, and the number of words of
	// documents.
	Occurrences beam.PCollection
	// Repeats are KV<split, records>: places of repeated L-grams, and their first places.
	Repeats beam.PCollection
	// Passages are KV<split, records>: passages, counted in words.
	Passages beam.PCollection
	// Wanted are KV<split, records>: keys of documents to read again, and the reasons.
	Wanted beam.PCollection
	// Origins are KV<split, records>: first places of passages, in bytes, for the documents of a split.
	Origins beam.PCollection
	// Cuts are KV<corpus batch, records>: keys of documents, and the ranges to cut out of their texts.
	Cuts beam.PCollection
	// Frequent are KV<gather.Key, records>: first places of passages that many documents share.
	Frequent beam.PCollection
)

// Rows are KV<table shard, rows of T>.
type Rows[T blocks.Row] beam.PCollection

// Flatten merges collections of one type.
func Flatten[
	C Documents | Bands | Edges | Facts | Members | NearPairs | Profiles | LargeSets | LargeProfiles | Passages | Wanted |
		Dropped,
](s beam.Scope, all ...C) C {
	plain := make([]beam.PCollection, len(all))
	for i, c := range all {
		plain[i] = beam.PCollection(c)
	}
	return C(beam.Flatten(s, plain...))
}
