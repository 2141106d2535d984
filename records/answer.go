package records

// Neighbour is a document near the one in question: a row of the table that a query writes.
type Neighbour struct {
	ID       string `parquet:"id" json:"id" doc:"id of the neighbour"`
	Source   string `parquet:"source,dict" json:"source" doc:"its file"`
	Position int64  `parquet:"position" json:"position" doc:"where it begins in its file"`
	// Estimate is the share of equal values of the two signatures; nil if all documents were compared, unsigned.
	Estimate *float64 `parquet:"estimate,optional" json:"estimate" doc:"share of equal signature values; null unless the query searches buckets"`
	// Buckets are those that both documents are in, by band; nil if all documents were compared. The table has them not.
	Buckets []Bucket `parquet:"-" json:"buckets"`
	// Similarity is exact, of the shingle sets: Shared of Size (this document's) and the asked one's.
	Similarity float64 `parquet:"similarity" json:"similarity" doc:"exact similarity, by the 'measure' that the metadata names"`
	Shared     int32   `parquet:"shared" json:"shared" doc:"distinct shingles that both documents have"`
	Size       int32   `parquet:"size" json:"size" doc:"distinct shingles of the neighbour"`
}

// Bucket names a bucket, as the table of a comparison does.
type Bucket struct {
	Band   int32  `json:"band"`
	Bucket string `json:"bucket"`
}

// Answer is what a query found.
type Answer struct {
	// Of is the id of the document in question, or the name of the file with its text.
	Of       string `json:"of"`
	Source   string `json:"source,omitempty"`
	Position int64  `json:"position"`
	Size     int32  `json:"size"` // shingles of its set
	// Buckets: only documents that share a bucket with it were compared.
	Buckets bool `json:"buckets"`
	// MinSimilarity is the least that was asked for, 0 for any.
	MinSimilarity float64 `json:"min_similarity"`
	// Asked is how many neighbours were asked for. Candidates are those of which these are the nearest: all that
	// share a shingle with it, or a bucket, and have the least similarity.
	Asked      int         `json:"asked"`
	Candidates int64       `json:"candidates"`
	Neighbours []Neighbour `json:"neighbours"`

	Parameters map[string]string `json:"parameters"`
	Warnings   []string          `json:"warnings,omitempty"`
}

// PassagesOf is what show tells of a document with passages.
type PassagesOf struct {
	Coverage
	Passages   []Passage `json:"passages"`
	DroppedFor string    `json:"dropped_for,omitempty"` // id of the document that most of its words are from, if it is dropped
	Text       string    `json:"text,omitempty"`        // of the document, if it can be read
	Warnings   []string  `json:"warnings,omitempty"`
}
