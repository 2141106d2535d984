// Package flow names the collections that run between the steps of a pipeline. Each is a PCollection
// of blocks, alone or under an int64 key; a type of its own for each makes two crossed wires an error
// of the compiler.
package flow

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
)

type (
	// Documents are blocks of documents, as the first read gives them.
	Documents beam.PCollection
	// Fetched are blocks of documents as the second read gives them, each with its component and rank.
	Fetched beam.PCollection
	// Signatures are blocks of signatures.
	Signatures beam.PCollection
	// Bands are KV<band and shard, band entries>.
	Bands beam.PCollection
	// Edges are blocks of edges.
	Edges beam.PCollection
	// Forests are KV<part, edges>: of a spanning forest, or from new labels to those they take the place of.
	Forests beam.PCollection
	// Firsts are KV<hash shard, firsts>: the first document of each block with a hash.
	Firsts beam.PCollection
	// Members are KV<split, members>: the documents to be read again.
	Members beam.PCollection
	// Drawn are KV<gather.Key, hashed documents>: the documents that a sample is drawn of.
	Drawn beam.PCollection
	// Dropped are KV<corpus batch, keys>: records that do not go into the corpus.
	Dropped beam.PCollection
	// Listed are KV<file, records>: all records that were read.
	Listed beam.PCollection
	// Facts are facts for the ledger, as JSON.
	Facts beam.PCollection
)

// What is known of components. Small ones travel together, by shard; large ones by themselves.
type (
	// Profiles are KV<component shard, profiles>, of all documents but copies.
	Profiles beam.PCollection
	// Copies are KV<copy shard, copies>: documents that have copies, and these.
	Copies beam.PCollection
	// Verdicts are KV<copy shard, verdicts>: what becomes of documents that have copies.
	Verdicts beam.PCollection
	// Sets are KV<component shard, component parts>: shingle sets of small components.
	Sets beam.PCollection
	// LargeSets are KV<document, set part>: shingle sets of large components.
	LargeSets beam.PCollection
	// Samples are KV<component, set part>: of large components, some sets of smallest hash.
	Samples beam.PCollection
	// LargeProfiles are KV<component, profiles>: those of large components.
	LargeProfiles beam.PCollection
	// NearPairs are KV<component shard, near pairs>.
	NearPairs beam.PCollection
	// Links are KV<component shard, near pairs> that connect clusters as pairs do, and are no rows.
	Links beam.PCollection
	// Turns are KV<document, turn>, of the representatives of large components.
	Turns beam.PCollection
	// Batches are KV<component, batches>: where the sets of large components are.
	Batches beam.PCollection
	// Sized are KV<batch, set parts>: sets of all documents, by their sizes.
	Sized beam.PCollection
)

// What is known of passages. Their blocks pack records whose bytes sort as what they hold does.
type (
	// Chosen are KV<hash shard, records>: hashes of chosen k-grams, and the documents that have them.
	Chosen beam.PCollection
	// Grams are KV<hash shard, records>: hashes of L-grams, and their places.
	Grams beam.PCollection
	// Occurrences are KV<gather.Key, records>: numbers of L-grams with their places, and the words of documents.
	Occurrences beam.PCollection
	// Repeats are KV<split, records>: places of repeated L-grams, and their first places.
	Repeats beam.PCollection
	// Passages are KV<split, records>: passages, counted in words.
	Passages beam.PCollection
	// Wanted are KV<split, records>: keys of documents to be read again, and for what.
	Wanted beam.PCollection
	// Origins are KV<split, records>: where passages first stand, in bytes, for the documents of a split.
	Origins beam.PCollection
	// Cuts are KV<corpus batch, records>: keys of documents, and what is cut out of their texts.
	Cuts beam.PCollection
	// Frequent are KV<gather.Key, records>: where passages first stand that many documents have.
	Frequent beam.PCollection
)

// Rows are KV<table shard, rows of T>.
type Rows[T blocks.Row] beam.PCollection

// Flatten returns the elements of all collections, which are of one type.
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
