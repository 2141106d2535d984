package records

// Comparison is how several ways to find the pairs of one collection agree.
type Comparison struct {
	Threshold float64 `json:"threshold"`
	Signature string  `json:"signature"`
	Bands     int     `json:"bands"`
	Rows      int     `json:"rows"`
	// Bits and Pieces are those of SimHash signatures, of a comparison that makes any.
	Bits    int      `json:"bits,omitempty"`
	Pieces  int      `json:"pieces,omitempty"`
	Methods []Method `json:"methods"`
	// Examples are the first pairs that were found.
	Examples []Example `json:"examples,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Method is one of them. The first of each measure is what others are measured by.
type Method struct {
	Name string `json:"name"`
	// Measure is what the similarity of two documents is.
	Measure string  `json:"measure"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
	// Peak is the most memory that the process held meanwhile; nil where the system does not tell.
	Peak *int64 `json:"peak_memory_bytes"`
	// Candidates are the pairs of documents that the method takes for
	// possible ones before it compares any; nil if it does not list them.
	Candidates *int64 `json:"candidates"`
	// Pairs are all of documents that are similar enough, copies with each other
	// and with what they resemble included: pairs/ of dedup has fewer rows.
	Pairs  int `json:"similar_pairs"`
	Common int `json:"common"` // with the first of the measure
	// Recall is that share of the first one's pairs, Precision that of its own.
	Recall    float64 `json:"recall"`
	Precision float64 `json:"precision"`
	// Truth is how its pairs agree with known ones, where these are given.
	Truth *Agreement `json:"by_truth,omitempty"`
	// Buckets is what became of the buckets, of a method that lists their pairs.
	Buckets *Buckets `json:"buckets,omitempty"`
}

// Buckets are the pairs of documents that share a bucket, and what it took to find and to compare them.
type Buckets struct {
	Pairs    int64 `json:"pairs"`    // of all buckets
	Distinct int64 `json:"distinct"` // of these
	Compared int64 `json:"compared"`
	// True are the pairs compared that reach the threshold; nil of signatures, which only estimate.
	True    *int64 `json:"true,omitempty"`
	Refuted int64  `json:"refuted"`
	// BucketBytes are shuffled to make buckets, ShuffledBytes from there on in all.
	BucketBytes   int64 `json:"bucket_bytes"`
	ShuffledBytes int64 `json:"shuffled_bytes"`
	// CPU is what the steps took, where the runner tells.
	CPU *StepCPU `json:"cpu_seconds,omitempty"`
}

// StepCPU are the CPU seconds of the steps. Signing begins with the text, as shingling does.
type StepCPU struct {
	Shingling float64 `json:"shingling"`
	Signing   float64 `json:"signing"`
	Keys      float64 `json:"keys"`
	Grouping  float64 `json:"grouping"` // and making pairs distinct
	Verifying float64 `json:"verifying"`
}
