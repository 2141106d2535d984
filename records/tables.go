// Package records defines what is written to files, which is a contract: the rows of the output tables, run.json, the
// manifest, and the answers of query and compare. It has only plain values; what flows between steps is in package
// blocks.
package records

// The rows of the output tables. Names and types are a contract. docs/tables.md is generated from them and from the tag
// doc: the meaning of a column in Markdown, with code between single quotes, as in 'input'.

// Pair is a row of pairs/: two documents at least threshold similar, a before b in input order. Copies are only paired
// with their representative; near pairs are pairs of representatives.
type Pair struct {
	IDA        string  `parquet:"id_a" json:"id_a" doc:"id of document a"`
	IDB        string  `parquet:"id_b" json:"id_b" doc:"id of document b"`
	SourceA    string  `parquet:"source_a,dict" json:"source_a" doc:"file of a; if a is a reference, the full path or URL"`
	SourceB    string  `parquet:"source_b,dict" json:"source_b" doc:"file of b"`
	PositionA  int64   `parquet:"position_a" json:"position_a" doc:"where a begins in its file"`
	PositionB  int64   `parquet:"position_b" json:"position_b" doc:"where b begins in its file"`
	Similarity float64 `parquet:"similarity" json:"similarity" doc:"similarity by the [measure](#measures) of the run; 1 for copies"`
	// Same is what a copy has in common with its representative: a Reason other than ReasonNear. It is nil for a near
	// pair, even of similarity 1.
	Same    *string   `parquet:"same,optional,dict" json:"same" doc:"what a copy and its representative have in common: any ['reason'](#removed) except 'near'; null for near pairs"`
	Shared  int32     `parquet:"shared" json:"shared" doc:"distinct shingles that both documents have; for 'simhash-overlap', equal bits"`
	SizeA   int32     `parquet:"size_a" json:"size_a" doc:"distinct shingles of a; for 'simhash-overlap', bits in a signature"`
	SizeB   int32     `parquet:"size_b" json:"size_b" doc:"the same for b"`
	InA     *string   `parquet:"in_a,optional,dict" json:"in_a" doc:"what a is part of: 'input', 'reference' or 'index'; null without '--against', or while the index is empty"`
	Matches []float64 `parquet:"matches,optional,list" json:"matches" doc:"similarity by each similarity rule of '--match', in the order of the flags; 0 if a value is missing and the rule has 'missing-ok'; null without such rules, and for copies"`
}

// Copy reports whether b is a copy of a.
func (p *Pair) Copy() bool { return p.Same != nil }

// Place is the place of a document.
type Place struct {
	Source   string
	Position int64
}

// Clustered is a row of clusters/: a document in a cluster of two or more.
type Clustered struct {
	Cluster  int64   `parquet:"cluster" json:"cluster" doc:"number of the cluster: the [key](formats.md#position-source-id) of its first document"`
	ID       string  `parquet:"id" json:"id" doc:"id of the document"`
	Source   string  `parquet:"source,dict" json:"source" doc:"its file"`
	Position int64   `parquet:"position" json:"position" doc:"where it begins in its file"`
	Size     int32   `parquet:"size" json:"size" doc:"its distinct shingles; for 'simhash-overlap', bits in its signature"`
	Members  int32   `parquet:"members" json:"members" doc:"documents in the cluster"`
	Kept     bool    `parquet:"kept" json:"kept" doc:"true if it is in the corpus or is a reference"`
	In       *string `parquet:"in,optional,dict" json:"in" doc:"what the document is part of: 'input', 'reference' or 'index'; null without '--against', or while the index is empty"`
	Partial  *bool   `parquet:"partial,optional" json:"partial" doc:"true if the cluster belongs to a [large group](limits.md#large-groups), so 'pairs' may list only some of its pairs; otherwise null"`
}

// Reasons why a document was removed; the first that applies.
const (
	ReasonIdentical = "identical" // the kept document has the same text, byte for byte
	ReasonEqual     = "equal"     // it has the same tokens in the same order
	ReasonSameSet   = "same-set"  // it has the same shingle set
	ReasonCovered   = "covered"   // its words also occur in earlier documents, by passages
	ReasonNear      = "near"      // it is at least threshold similar, or linked by pairs
)

// What a document is part of, if there are references.
const (
	InInput     = "input"
	InReference = "reference"
	InIndex     = "index"
)

// What may differ between a removed document and the kept one. Only copies are compared by symbols.
const (
	DiffersNumbers = "numbers"
	DiffersSymbols = "symbols"
)

// Removed is a row of removed/: a document that is not in corpus/, with the kept one in its place. Differs is nil if it
// is not known.
type Removed struct {
	ID           string   `parquet:"id" json:"id" doc:"id of the removed document"`
	Source       string   `parquet:"source,dict" json:"source" doc:"its file"`
	Position     int64    `parquet:"position" json:"position" doc:"where it begins in its file"`
	Cluster      int64    `parquet:"cluster" json:"cluster" doc:"its cluster"`
	KeptID       string   `parquet:"kept_id" json:"kept_id" doc:"id of the kept document; with '--keep none', of the one that '--keep first' would keep, which names itself in its own row"`
	KeptSource   string   `parquet:"kept_source,dict" json:"kept_source" doc:"file of the kept document; for a reference, the full path or URL"`
	KeptPosition int64    `parquet:"kept_position" json:"kept_position" doc:"where the kept document begins in its file"`
	Similarity   *float64 `parquet:"similarity,optional" json:"similarity" doc:"similarity of the two documents; null if they are not a pair, as is possible with '--cluster components' and '--drop-covered'. If the document names itself, its highest similarity to another, with reason 'same-set' if that is a copy"`
	Reason       string   `parquet:"reason,dict" json:"reason" doc:"the first of these that applies. 'identical': the two texts are the same, byte for byte as decoded. 'equal': their tokens are the same, in the same order, after normalising. 'same-set': their shingle sets are the same. 'near': their similarity is at least the threshold, or 'similarity' is null. 'covered': earlier documents, mainly the kept one, contain the removed one ('passages --drop-covered')"`
	KeptIn       *string  `parquet:"kept_in,optional,dict" json:"kept_in" doc:"what the kept document is part of: 'input', 'reference' or 'index'; null without '--against', or while the index is empty"`
	Differs      []string `parquet:"differs,optional,list" parquet-element:",dict" json:"differs" doc:"how the document differs from the kept one: 'numbers' (as '--match-numbers' compares them) and, for copies, 'symbols'; null if unknown, as in an output of '--from' or for a copy of a document that an earlier run removed. With '--match' and no '--text', neardup checks all columns with a similarity rule"`
}

// Stored is a row in the tables of an index's segment: a document that a run kept or removed. Name is a
// blocks.StoredName in JSON. Text holds the bytes that are compared, which need not be UTF-8.
type Stored struct {
	Name string `parquet:"name" json:"name"`
	Text []byte `parquet:"text" json:"text"`
}

// Values of Documented.Status.
const (
	StatusKept        = "kept"
	StatusRemoved     = "removed"
	StatusNotCompared = "not-compared"
	StatusUnreadable  = "unreadable"
)

// Documented is a row of documents/: a record of an input file, and what became of it. Rank is a pointer as
// Rejected.Raw is.
type Documented struct {
	Row        int64    `parquet:"row" json:"row" doc:"number of the record in its file, from 0"`
	Position   int64    `parquet:"position" json:"position" doc:"where the record begins in its file"`
	ID         string   `parquet:"id" json:"id" doc:"id of the document, or 'source@position' if it has none"`
	Status     string   `parquet:"status,dict" json:"status" doc:"'kept', 'removed', 'not-compared' or 'unreadable'"`
	Cluster    *int64   `parquet:"cluster,optional" json:"cluster" doc:"cluster of the document; null if it is in none"`
	Members    int32    `parquet:"members" json:"members" doc:"documents in the cluster; 1 if the document is in none"`
	KeptIn     *string  `parquet:"kept_in,optional,dict" json:"kept_in" doc:"as in [removed](#removed); this and the next three columns are null unless the document is removed"`
	KeptID     *string  `parquet:"kept_id,optional" json:"kept_id" doc:"id of the kept document"`
	KeptSource *string  `parquet:"kept_source,optional,dict" json:"kept_source" doc:"file of the kept document"`
	Similarity *float64 `parquet:"similarity,optional" json:"similarity" doc:"as in removed"`
	Reason     *string  `parquet:"reason,optional,dict" json:"reason" doc:"as in removed or, if the document is not compared or the record is unreadable, as in [rejected](#rejected)"`
	Rank       *[]byte  `parquet:"rank,optional" json:"rank" doc:"sort key for the order in which '--keep' prefers documents; null for input order, or without a text"`
}

// Rejected is a row of rejected/: a record that is unreadable (Raw is set; it is not in
// corpus/) or a document that was not compared (it stays in corpus/). Raw is a pointer because parquet-go v0.32.0
// writes some nulls of an optional []byte as empty values.
type Rejected struct {
	Source   string  `parquet:"source,dict" json:"source" doc:"file of the record"`
	Position int64   `parquet:"position" json:"position" doc:"where it begins in its file"`
	ID       *string `parquet:"id,optional" json:"id" doc:"id of the document; null if unknown"`
	Reason   string  `parquet:"reason,dict" json:"reason" doc:"why the record is [unreadable](formats.md#unreadable-records), or why the document is [not compared](formats.md#documents-not-compared)"`
	Detail   string  `parquet:"detail" json:"detail" doc:"details, and the length of an unreadable record; may be empty"`
	Raw      *[]byte `parquet:"raw,optional" json:"raw" doc:"the first MiB of an unreadable record's bytes; otherwise null"`
}

// Bucketed is a row of buckets/: a document in a bucket of a band.
type Bucketed struct {
	Band     int32  `parquet:"band" json:"band" doc:"number of the band or the piece, from 0"`
	Bucket   string `parquet:"bucket" json:"bucket" doc:"band key, in hexadecimal"`
	Label    string `parquet:"label" json:"label" doc:"the values of the band, joined by '_', or the bits of the piece"`
	ID       string `parquet:"id" json:"id" doc:"id of the document"`
	Source   string `parquet:"source,dict" json:"source" doc:"its file"`
	Position int64  `parquet:"position" json:"position" doc:"where it begins in its file"`
}

// Candidate is a row of candidates/: two documents that share a bucket, a before b in input order.
type Candidate struct {
	IDA       string `parquet:"id_a" json:"id_a" doc:"id of document a"`
	IDB       string `parquet:"id_b" json:"id_b" doc:"id of document b"`
	SourceA   string `parquet:"source_a,dict" json:"source_a" doc:"file of a"`
	SourceB   string `parquet:"source_b,dict" json:"source_b" doc:"file of b"`
	PositionA int64  `parquet:"position_a" json:"position_a" doc:"where a begins in its file"`
	PositionB int64  `parquet:"position_b" json:"position_b" doc:"where b begins in its file"`
}

// Found is a row of pairs/ of compare: two documents that a method found similar, a before b in input order.
type Found struct {
	IDA        string   `parquet:"id_a" json:"id_a" doc:"id of document a"`
	IDB        string   `parquet:"id_b" json:"id_b" doc:"id of document b"`
	SourceA    string   `parquet:"source_a,dict" json:"source_a" doc:"file of a"`
	SourceB    string   `parquet:"source_b,dict" json:"source_b" doc:"file of b"`
	PositionA  int64    `parquet:"position_a" json:"position_a" doc:"where a begins in its file"`
	PositionB  int64    `parquet:"position_b" json:"position_b" doc:"where b begins in its file"`
	Similarity float64  `parquet:"similarity" json:"similarity" doc:"exact similarity by the measure"`
	Shared     int32    `parquet:"shared" json:"shared" doc:"number of shared shingles, as in [pairs](#pairs)"`
	SizeA      int32    `parquet:"size_a" json:"size_a" doc:"number of shingles of a"`
	SizeB      int32    `parquet:"size_b" json:"size_b" doc:"number of shingles of b"`
	Methods    []string `parquet:"methods,list" parquet-element:",dict" json:"methods" doc:"methods that found the pair"`
}

// Passage is a row of passages/: words of a document that also occur earlier. Start and End are bytes of its text,
// FromStart and FromEnd bytes of the text where the words occur first.
type Passage struct {
	ID           string `parquet:"id" json:"id" doc:"id of the document"`
	Source       string `parquet:"source,dict" json:"source" doc:"its file"`
	Position     int64  `parquet:"position" json:"position" doc:"where it begins in its file"`
	Start        int64  `parquet:"start" json:"start" doc:"offset where the passage begins"`
	End          int64  `parquet:"end" json:"end" doc:"offset where the passage ends"`
	Words        int64  `parquet:"words" json:"words" doc:"words in the passage; fewer than '--length' only if parts of a longer run first occur in different documents"`
	FromID       string `parquet:"from_id" json:"from_id" doc:"id of the document where the words first occur"`
	FromSource   string `parquet:"from_source,dict" json:"from_source" doc:"its file"`
	FromPosition int64  `parquet:"from_position" json:"from_position" doc:"where it begins in its file"`
	FromStart    int64  `parquet:"from_start" json:"from_start" doc:"offset in that document where the earliest of these words begins"`
	FromEnd      int64  `parquet:"from_end" json:"from_end" doc:"offset where the last of these words ends"`
}

// Coverage is a row of coverage/: a document with passages, and how many of its words are in one.
type Coverage struct {
	ID       string  `parquet:"id" json:"id" doc:"id of the document"`
	Source   string  `parquet:"source,dict" json:"source" doc:"its file"`
	Position int64   `parquet:"position" json:"position" doc:"where it begins in its file"`
	Words    int64   `parquet:"words" json:"words" doc:"its words"`
	Repeated int64   `parquet:"repeated" json:"repeated" doc:"those in passages"`
	Share    float64 `parquet:"share" json:"share" doc:"'repeated' / 'words'"`
}

// Repeat is a row of repeats/: a frequent passage, at the place where it occurs first.
type Repeat struct {
	Text        string `parquet:"text" json:"text" doc:"the first 1,000 characters of the passage"`
	Words       int64  `parquet:"words" json:"words" doc:"its words"`
	Occurrences int64  `parquet:"occurrences" json:"occurrences" doc:"rows of 'passages' that point here, plus 1 for this place"`
	Documents   int64  `parquet:"documents" json:"documents" doc:"documents that contain the passage"`
	ID          string `parquet:"id" json:"id" doc:"id of the document where the passage first occurs"`
	Source      string `parquet:"source,dict" json:"source" doc:"its file"`
	Position    int64  `parquet:"position" json:"position" doc:"where it begins in its file"`
	Start       int64  `parquet:"start" json:"start" doc:"offset where the passage begins"`
	End         int64  `parquet:"end" json:"end" doc:"offset where the passage ends"`
}

// Contaminated is a row of contaminated/: a document that has words of an item, and how many. Start and End span these
// in its text, ItemStart and ItemEnd in the item's, in bytes.
type Contaminated struct {
	ID           string  `parquet:"id" json:"id" doc:"id of the document"`
	Source       string  `parquet:"source,dict" json:"source" doc:"its file"`
	Position     int64   `parquet:"position" json:"position" doc:"where it begins in its file"`
	ItemID       string  `parquet:"item_id" json:"item_id" doc:"id of the item"`
	ItemSource   string  `parquet:"item_source,dict" json:"item_source" doc:"its file"`
	ItemPosition int64   `parquet:"item_position" json:"item_position" doc:"where it begins in its file"`
	Words        int64   `parquet:"words" json:"words" doc:"words of the item that the document contains in runs of '--length' words"`
	ItemWords    int64   `parquet:"item_words" json:"item_words" doc:"all words of the item"`
	Share        float64 `parquet:"share" json:"share" doc:"'words' / 'item_words'"`
	Start        int64   `parquet:"start" json:"start" doc:"offset in the document where the first of these runs begins"`
	End          int64   `parquet:"end" json:"end" doc:"offset where the last one ends"`
	ItemStart    int64   `parquet:"item_start" json:"item_start" doc:"offset in the item where the first of these runs begins"`
	ItemEnd      int64   `parquet:"item_end" json:"item_end" doc:"offset where the last one ends"`
}

// MaxRaw is the maximum size of Rejected.Raw.
const MaxRaw = 1 << 20

// Reasons why a document is not compared.
const (
	ReasonNoText   = "no text"        // its text columns are null
	ReasonNoColumn = "no text column" // it has no text column
	ReasonNoToken  = "no token"
	ReasonTooShort = "too few words"
	ReasonTooLarge = "too large"
	ReasonLongID   = "id too long"
)

// Unreadable reports whether the row is about an unreadable record, which is not in corpus/.
func (r *Rejected) Unreadable() bool { return r.Raw != nil }
