package blocks

import (
	"cmp"
	"encoding/json"

	"github.com/neardup/neardup/records"
)

// Fact is what one call of a step reports once and for all: the ledger of a run, from which
// the launcher takes every total that must be right. (Beam's counters count attempts: a
// retried bundle counts twice.)
type Fact struct {
	Kind FactKind `json:"kind"`
	// Name tells the fact from others of its kind: a path below the output, a split's number.
	Name   string           `json:"name"`
	Bytes  int64            `json:"bytes,omitempty"`
	SHA256 string           `json:"sha256,omitempty"`
	Counts map[string]int64 `json:"counts,omitempty"`
	// Note is what a person should know of it: the first unreadable record of a split.
	Note string `json:"note,omitempty"`
	// Encodings has that of a file, with its first split, if it was to be detected.
	Encodings []records.FileEncoding `json:"encodings,omitempty"`
	// Columns are those of the first record of a split that has no text column, as a message lists them.
	Columns string `json:"columns,omitempty"`
}

// FactKind says what a Fact is about.
type FactKind string

// The kinds of facts.
const (
	FactRead FactKind = "read" // a split was read: counts of its records
	// A split of references was read; CountNotCompared, without a reason, counts those documents that are not compared.
	FactReference FactKind = "reference"

	FactTable   FactKind = "table"   // a shard of a table was written
	FactCorpus  FactKind = "corpus"  // a corpus file was written
	FactKept    FactKind = "kept"    // a file was written for a later job of the run
	FactCrowd   FactKind = "crowd"   // a component has more pairs than the budget
	FactCut     FactKind = "cut"     // the pairs of a cluster have more bytes of ids than the budget
	FactSample  FactKind = "sample"  // documents were drawn to measure the recall
	FactSymbols FactKind = "symbols" // documents were removed that differ in symbols or numbers
	FactValues  FactKind = "values"  // a block has values that a rule cannot read
	// What a bundle has counted of a file's passages.
	FactPassages FactKind = "passages"
	// How many pairs some components have, as those found tell.
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

// Counts of facts.
const (
	CountRecords         = "records"         // records read, unreadable ones included
	CountUnreadable      = "unreadable"      // records that are not documents
	CountDecoded         = "decoded"         // files in another encoding than UTF-8, with their first split
	CountNoColumn        = "no_text_column"  // documents without any of the text columns
	CountNotCompared     = "not_compared "   // and a reason: documents that are not compared for it
	CountSeams           = "seams"           // places where a text was cut, and goes on
	CountUncut           = "uncut"           // records that could not be cut
	CountRows            = "rows"            // rows of a table, records of a corpus file
	CountCopies          = "copies"          // pairs of copies
	CountIdentical       = "identical"       // removed documents with this reason
	CountEqual           = "equal"           // the same
	CountSameSet         = "same_set"        // the same
	CountSymbols         = "symbols"         // of these two, those that differ in symbols from the kept one
	CountValues          = "values"          // documents whose value a rule cannot read
	CountNumbers         = "numbers"         // removed documents that differ in numbers from the kept one
	CountNear            = "near"            // removed documents with reason near; near pairs
	CountChained         = "chained"         // of the removed, those that are not a pair with the kept one
	CountClusters        = "clusters"        // clusters
	CountRepresentatives = "representatives" // distinct sets of a crowd, of a sample
	CountMillionths      = "millionths "     // and a number: of pairs, estimated by the keys of the run, 0, and by others
	CountForReference    = "for_reference"   // removed documents whose kept one is a reference
	CountCrowded         = "crowded"         // distinct sets of crowds, left out of a sample
)
