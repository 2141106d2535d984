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
	// Members are KV<split, members>: the documents to be read again.
	Members beam.PCollection
	// Profiles are KV<group, profiles>.
	Profiles beam.PCollection
	// NearPairs are KV<group, near pairs>.
	NearPairs beam.PCollection
	// Links are KV<group, near pairs> that connect clusters as pairs do, and are no rows.
	Links beam.PCollection
	// Ranks are KV<document, rank>: where the representatives of crowds stand.
	Ranks beam.PCollection
	// Dropped are KV<corpus piece, keys>: records that do not go into the corpus.
	Dropped beam.PCollection
	// Facts are facts for the ledger, as JSON.
	Facts beam.PCollection
)

// Rows are KV<table shard, rows of T>.
type Rows[T blocks.Row] beam.PCollection
