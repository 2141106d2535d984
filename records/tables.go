// Package records holds what lands in files and is a contract: the rows of the output tables, run.json,
// the manifest, and the answers of query and compare. Plain values, and nothing that acts; what flows
// between steps is package blocks.
package records

// The rows of the output tables. Names and types are a contract: docs/formats.md.

// Pair is a row of pairs/: two documents that are at least threshold similar, a before b in
// input order. Copies are linked to their representative only, near pairs run between
// representatives.
type Pair struct {
	IDA        string  `parquet:"id_a" json:"id_a"`
	IDB        string  `parquet:"id_b" json:"id_b"`
	SourceA    string  `parquet:"source_a,dict" json:"source_a"`
	SourceB    string  `parquet:"source_b,dict" json:"source_b"`
	PositionA  int64   `parquet:"position_a" json:"position_a"`
	PositionB  int64   `parquet:"position_b" json:"position_b"`
	Similarity float64 `parquet:"similarity" json:"similarity"`
	// Same is what a copy has in common with its representative: a Reason but
	// ReasonNear. It is nil of a near pair, which may have similarity 1 too.
	Same    *string   `parquet:"same,optional,dict" json:"same"`
	Shared  int32     `parquet:"shared" json:"shared"`
	SizeA   int32     `parquet:"size_a" json:"size_a"`
	SizeB   int32     `parquet:"size_b" json:"size_b"`
	InA     *string   `parquet:"in_a,optional,dict" json:"in_a"`
	Matches []float64 `parquet:"matches,optional,list" json:"matches"`
}

// Copy reports whether b is a copy of a.
func (p *Pair) Copy() bool { return p.Same != nil }

// Place is where a document stands.
type Place struct {
	Source   string
	Position int64
}

// Clustered is a row of clusters/: one document of a cluster of two or more.
type Clustered struct {
	Cluster  int64   `parquet:"cluster" json:"cluster"`
	ID       string  `parquet:"id" json:"id"`
	Source   string  `parquet:"source,dict" json:"source"`
	Position int64   `parquet:"position" json:"position"`
	Size     int32   `parquet:"size" json:"size"`
	Members  int32   `parquet:"members" json:"members"`
	Kept     bool    `parquet:"kept" json:"kept"`
	In       *string `parquet:"in,optional,dict" json:"in"`
	Partial  *bool   `parquet:"partial,optional" json:"partial"`
}

// Why a document was removed: the first of these that holds.
const (
	ReasonIdentical = "identical" // the kept document has the same text, byte for byte
	ReasonEqual     = "equal"     // it has the same tokens in the same order
	ReasonSameSet   = "same-set"  // it has the same shingle set
	ReasonCovered   = "covered"   // its words stand in earlier documents, by passages
	ReasonNear      = "near"      // it is at least threshold similar, or linked by pairs
)

// What a document is part of, where there are references.
const (
	InInput     = "input"
	InReference = "reference"
	InIndex     = "index"
)

// What a removed document may differ in from the kept one. Copies alone are said to differ in symbols.
const (
	DiffersNumbers = "numbers"
	DiffersSymbols = "symbols"
)

// Removed is a row of removed/: one document that is not in corpus/, and the kept one. Differs is nil if it is unknown.
type Removed struct {
	ID           string   `parquet:"id" json:"id"`
	Source       string   `parquet:"source,dict" json:"source"`
	Position     int64    `parquet:"position" json:"position"`
	Cluster      int64    `parquet:"cluster" json:"cluster"`
	KeptID       string   `parquet:"kept_id" json:"kept_id"`
	KeptSource   string   `parquet:"kept_source,dict" json:"kept_source"`
	KeptPosition int64    `parquet:"kept_position" json:"kept_position"`
	Similarity   *float64 `parquet:"similarity,optional" json:"similarity"`
	Reason       string   `parquet:"reason,dict" json:"reason"`
	KeptIn       *string  `parquet:"kept_in,optional,dict" json:"kept_in"`
	Differs      []string `parquet:"differs,optional,list" parquet-element:",dict" json:"differs"`
}

// Stored is a row of the tables of an index's segment: a document that a run kept, or removed. Name is JSON, as
// blocks.StoredName has it.
type Stored struct {
	Name string `parquet:"name" json:"name"`
	Text string `parquet:"text" json:"text"`
}

// What became of a record.
const (
	StatusKept        = "kept"
	StatusRemoved     = "removed"
	StatusNotCompared = "not-compared"
	StatusUnreadable  = "unreadable"
)

// Documented is a row of documents/: a record of an input file, and what became of it. Row is its number in the file,
// from 0. Cluster is nil if it is in none, and what names the kept document if it is not removed. Rank sorts documents
// as --keep prefers them.
type Documented struct {
	Row        int64    `parquet:"row" json:"row"`
	Position   int64    `parquet:"position" json:"position"`
	ID         string   `parquet:"id" json:"id"`
	Status     string   `parquet:"status,dict" json:"status"`
	Cluster    *int64   `parquet:"cluster,optional" json:"cluster"`
	Members    int32    `parquet:"members" json:"members"`
	KeptIn     *string  `parquet:"kept_in,optional,dict" json:"kept_in"`
	KeptID     *string  `parquet:"kept_id,optional" json:"kept_id"`
	KeptSource *string  `parquet:"kept_source,optional,dict" json:"kept_source"`
	Similarity *float64 `parquet:"similarity,optional" json:"similarity"`
	Reason     *string  `parquet:"reason,optional,dict" json:"reason"`
	Rank       []byte   `parquet:"rank,optional" json:"rank"`
}

// Rejected is a row of rejected/: a record that is unreadable (Raw is set; it is not in
// corpus/) or a document that was not compared (it stays in corpus/).
type Rejected struct {
	Source   string  `parquet:"source,dict" json:"source"`
	Position int64   `parquet:"position" json:"position"`
	ID       *string `parquet:"id,optional" json:"id"`
	Reason   string  `parquet:"reason,dict" json:"reason"`
	Detail   string  `parquet:"detail" json:"detail"`
	Raw      []byte  `parquet:"raw,optional" json:"raw"`
}

// Bucketed is a row of buckets/: a document in a bucket of a band.
type Bucketed struct {
	Band     int32  `parquet:"band" json:"band"`
	Bucket   string `parquet:"bucket" json:"bucket"`
	Label    string `parquet:"label" json:"label"`
	ID       string `parquet:"id" json:"id"`
	Source   string `parquet:"source,dict" json:"source"`
	Position int64  `parquet:"position" json:"position"`
}

// Candidate is a row of candidates/: two documents that share a bucket, a before b in input order.
type Candidate struct {
	IDA       string `parquet:"id_a" json:"id_a"`
	IDB       string `parquet:"id_b" json:"id_b"`
	SourceA   string `parquet:"source_a,dict" json:"source_a"`
	SourceB   string `parquet:"source_b,dict" json:"source_b"`
	PositionA int64  `parquet:"position_a" json:"position_a"`
	PositionB int64  `parquet:"position_b" json:"position_b"`
}

// Found is a row of pairs/ of compare: two documents that a method took for similar, a before b in input order.
type Found struct {
	IDA        string   `parquet:"id_a" json:"id_a"`
	IDB        string   `parquet:"id_b" json:"id_b"`
	SourceA    string   `parquet:"source_a,dict" json:"source_a"`
	SourceB    string   `parquet:"source_b,dict" json:"source_b"`
	PositionA  int64    `parquet:"position_a" json:"position_a"`
	PositionB  int64    `parquet:"position_b" json:"position_b"`
	Similarity float64  `parquet:"similarity" json:"similarity"`
	Shared     int32    `parquet:"shared" json:"shared"`
	SizeA      int32    `parquet:"size_a" json:"size_a"`
	SizeB      int32    `parquet:"size_b" json:"size_b"`
	Methods    []string `parquet:"methods,list" parquet-element:",dict" json:"methods"`
}

// Passage is a row of passages/: words of a document that stand earlier, too. Start and End are bytes of its text,
// FromStart and FromEnd those of the text where the words first stand.
type Passage struct {
	ID           string `parquet:"id" json:"id"`
	Source       string `parquet:"source,dict" json:"source"`
	Position     int64  `parquet:"position" json:"position"`
	Start        int64  `parquet:"start" json:"start"`
	End          int64  `parquet:"end" json:"end"`
	Words        int64  `parquet:"words" json:"words"`
	FromID       string `parquet:"from_id" json:"from_id"`
	FromSource   string `parquet:"from_source,dict" json:"from_source"`
	FromPosition int64  `parquet:"from_position" json:"from_position"`
	FromStart    int64  `parquet:"from_start" json:"from_start"`
	FromEnd      int64  `parquet:"from_end" json:"from_end"`
}

// Coverage is a row of coverage/: a document that has passages, and how many of its words are in one.
type Coverage struct {
	ID       string  `parquet:"id" json:"id"`
	Source   string  `parquet:"source,dict" json:"source"`
	Position int64   `parquet:"position" json:"position"`
	Words    int64   `parquet:"words" json:"words"`
	Repeated int64   `parquet:"repeated" json:"repeated"`
	Share    float64 `parquet:"share" json:"share"`
}

// Repeat is a row of repeats/: a passage that stands often, where it first stands.
type Repeat struct {
	Text        string `parquet:"text" json:"text"` // its first characters
	Words       int64  `parquet:"words" json:"words"`
	Occurrences int64  `parquet:"occurrences" json:"occurrences"`
	Documents   int64  `parquet:"documents" json:"documents"`
	ID          string `parquet:"id" json:"id"`
	Source      string `parquet:"source,dict" json:"source"`
	Position    int64  `parquet:"position" json:"position"`
	Start       int64  `parquet:"start" json:"start"`
	End         int64  `parquet:"end" json:"end"`
}

// Contaminated is a row of contaminated/: a document that has words of an item, and how many. Start and End span these
// in its text, ItemStart and ItemEnd in that of the item, in bytes.
type Contaminated struct {
	ID           string  `parquet:"id" json:"id"`
	Source       string  `parquet:"source,dict" json:"source"`
	Position     int64   `parquet:"position" json:"position"`
	ItemID       string  `parquet:"item_id" json:"item_id"`
	ItemSource   string  `parquet:"item_source,dict" json:"item_source"`
	ItemPosition int64   `parquet:"item_position" json:"item_position"`
	Words        int64   `parquet:"words" json:"words"`
	ItemWords    int64   `parquet:"item_words" json:"item_words"`
	Share        float64 `parquet:"share" json:"share"`
	Start        int64   `parquet:"start" json:"start"`
	End          int64   `parquet:"end" json:"end"`
	ItemStart    int64   `parquet:"item_start" json:"item_start"`
	ItemEnd      int64   `parquet:"item_end" json:"item_end"`
}

// MaxRaw is how much of an unreadable record Rejected.Raw holds.
const MaxRaw = 1 << 20

// Reasons why a document is not compared.
const (
	ReasonNoText   = "no text"        // its text columns are null
	ReasonNoColumn = "no text column" // it has none of them
	ReasonNoToken  = "no token"
	ReasonTooShort = "too few words"
	ReasonTooLarge = "too large"
	ReasonLongID   = "id too long"
)

// Unreadable reports whether the row stands for a record that is not in corpus/.
func (r *Rejected) Unreadable() bool { return r.Raw != nil }
