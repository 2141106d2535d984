package blocks

import (
	"cmp"
	"encoding/json"

	"github.com/neardup/neardup/records"
)

// Fact is what one call of a step reports. The facts are the ledger of a run: the launcher takes from them every total
// that must be exact. (Beam's counters count attempts: a retried bundle counts twice.)
type Fact struct {
	Kind FactKind `json:"kind"`
	// Name distinguishes facts of one kind: a path below the output, a split's number.
	Name   string           `json:"name"`
	Bytes  int64            `json:"bytes,omitempty"`
	SHA256 string           `json:"sha256,omitempty"`
	Counts map[string]int64 `json:"counts,omitempty"`
	// Note is a remark for the user, such as the first unreadable record of a split.
	Note string `json:"note,omitempty"`
	// Encodings holds the detected encoding of a file, with the file's first split.
	Encodings []records.FileEncoding `json:"encodings,omitempty"`
	// Estimate is the estimate of a FactEstimate.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Columns lists, for a message, the columns of a split's first record without a text column.
	Columns string `json:"columns,omitempty"`
}

// FactKind is the kind of a Fact.
type FactKind string

// The kinds of facts.
const (
	FactRead FactKind = "read" // a split was read: counts of its records
	// A split of references was read; CountNotCompared, without a reason, counts the documents not compared
	FactReference FactKind = "reference"

	FactTable   FactKind = "table"   // a shard of a table was written
	FactCorpus  FactKind = "corpus"  // a corpus file was written
	FactKept    FactKind = "kept"    // a file was written for a later job of the run
	FactCrowd   FactKind = "crowd"   // a component has more pairs than the budget
	FactPartial FactKind = "partial" // pairs of a cluster may not be listed
	FactSample  FactKind = "sample"  // documents were drawn to measure the recall
	FactSymbols FactKind = "symbols" // documents were removed that differ in symbols or numbers from the kept one
	FactValues  FactKind = "values"  // a block has values that a rule cannot read
	// A bundle counted the passages of a file
	FactPassages FactKind = "passages"
	// How many pairs some components have, estimated from the pairs found
	FactEstimate FactKind = "estimate"
)

// Compare orders facts by kind and name.
func (f Fact) Compare(o Fact) int {
	return cmp.Or(cmp.Compare(f.Kind, o.Kind), cmp.Compare(f.Name, o.Name))
}

// Emit emits the fact as JSON.
func (f Fact) Emit(emit func([]byte)) error {
	data, err := json.Marshal(f)
	if err == nil {
		emit(data)
	}
	return err
}

// Names of the counts in facts.
const (
	CountRecords         = "records"         // records read, unreadable ones included
	CountUnreadable      = "unreadable"      // records that are not documents
	CountDecoded         = "decoded"         // files whose encoding is not UTF-8, with their first split
	CountNoColumn        = "no_text_column"  // documents without any of the text columns
	CountNotCompared     = "not_compared "   // and a reason: documents not compared for that reason
	CountSeams           = "seams"           // places where a text continues after a cut
	CountUncut           = "uncut"           // records that could not be cut
	CountRows            = "rows"            // rows of a table, records of a corpus file
	CountCopies          = "copies"          // pairs of copies
	CountIdentical       = "identical"       // removed documents with this reason
	CountEqual           = "equal"           // likewise
	CountSameSet         = "same_set"        // likewise
	CountSymbols         = "symbols"         // removed copies that differ in symbols from the kept document
	CountValues          = "values"          // documents with a value that a rule cannot read
	CountNumbers         = "numbers"         // removed documents that differ in numbers from the kept one
	CountNear            = "near"            // removed documents with reason near; near pairs
	CountChained         = "chained"         // removed documents that are not a pair with the kept one
	CountClusters        = "clusters"        // clusters
	CountRepresentatives = "representatives" // distinct sets of a crowd or a sample
	CountForReference    = "for_reference"   // removed documents whose kept document is a reference
	CountCrowded         = "crowded"         // distinct sets of crowds, omitted from a sample
)
