package records

// Neighbour is a document near the one in question: a row of the table that query writes.
type Neighbour struct {
	ID       string `parquet:"id" json:"id" doc:"id of the neighbour"`
	Source   string `parquet:"source,dict" json:"source" doc:"its file"`
	Position int64  `parquet:"position" json:"position" doc:"where it begins in its file"`
	// Estimate is the share of equal values of the two signatures; nil unless an input was searched by buckets.
	Estimate *float64 `parquet:"estimate,optional" json:"estimate" doc:"share of equal signature values; null unless the query searches an input by buckets"`
	// Buckets are the buckets that both documents share, by band; nil unless an input was searched by buckets. The table
	// does not have them.
	Buckets []Bucket `parquet:"-" json:"buckets"`
	// Similarity is exact. Of Size shingles of this document, the other one has Shared.
	Similarity float64 `parquet:"similarity" json:"similarity" doc:"exact similarity, by the 'measure' that the metadata names"`
	Shared     int32   `parquet:"shared" json:"shared" doc:"distinct shingles that both documents have"`
	Size       int32   `parquet:"size" json:"size" doc:"distinct shingles of the neighbour"`
}

// Bucket names a bucket, as the table of a comparison does.
type Bucket struct {
	Band   int32  `json:"band"`
	Bucket string `json:"bucket"`
}

// Answer is the result of a query.
type Answer struct {
	// Of is the id of the document in question, or the name of the file with its text.
	Of       string `json:"of"`
	Source   string `json:"source,omitempty"`
	Position int64  `json:"position"`
	Size     int32  `json:"size"` // size of its shingle set
	// Buckets means that only documents that share a bucket with it were compared.
	Buckets bool `json:"buckets"`
	// MinSimilarity is the minimum that was requested, or 0.
	MinSimilarity float64 `json:"min_similarity"`
	// Asked is the requested number of neighbours. Candidates is the number of documents they were chosen from: all that
	// share a shingle or a bucket with the document, and reach the minimum similarity.
	Asked      int         `json:"asked"`
	Candidates int64       `json:"candidates"`
	Neighbours []Neighbour `json:"neighbours"`

	Parameters map[string]string `json:"parameters"`
	Warnings   []string          `json:"warnings,omitempty"`
}

// PassagesOf is what show prints about a document with passages.
type PassagesOf struct {
	Coverage
	Passages   []Passage `json:"passages"`
	DroppedFor string    `json:"dropped_for,omitempty"` // id of the document that most of its words are from, if it was dropped
	Text       string    `json:"text,omitempty"`        // of the document, if it can be read
	Warnings   []string  `json:"warnings,omitempty"`
}
