package records

// Comparison says how several methods to find the pairs of one collection agree.
type Comparison struct {
	Threshold float64 `json:"threshold"`
	Signature string  `json:"signature"`
	Bands     int     `json:"bands"`
	Rows      int     `json:"rows"`
	// Bits and Pieces describe SimHash signatures, if any are made.
	Bits    int      `json:"bits,omitempty"`
	Pieces  int      `json:"pieces,omitempty"`
	Methods []Method `json:"methods"`
	// Examples are the first pairs that were found.
	Examples []Example `json:"examples,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Method is one of these methods. The first for each measure is the baseline of the others.
type Method struct {
	Name string `json:"name" doc:"name of the method"`
	// Measure is the kind of similarity.
	Measure string  `json:"measure" doc:"its measure; the first method of each measure is the baseline of the others"`
	Seconds float64 `json:"seconds" doc:"time from the method's first read to its pairs"`
	CPU     float64 `json:"cpu_seconds" doc:"its CPU time"`
	// Peak is the maximum memory of the process meanwhile; nil if the system does not report it.
	Peak *int64 `json:"peak_memory_bytes" doc:"maximum memory of the process since the method began; null if the system does not report it"`
	// Candidates is the number of pairs that the method proposes before it compares any; nil if it does not list them.
	Candidates *int64 `json:"candidates" doc:"pairs that the method examines; null for methods that list none. 'minhash', 'classic', 'salted' and 'simhash' count n − 1 for a bucket of n documents"`
	// Pairs is the number of all similar pairs, including pairs of copies with each other and with what they are similar
	// to: pairs/ of dedup has fewer rows.
	Pairs  int `json:"similar_pairs" doc:"similar pairs that the method finds, including every pair of copies; 'pairs/' of 'dedup' has fewer rows"`
	Common int `json:"common" doc:"those of them that the baseline finds too"`
	// Recall is Common as a share of the first method's pairs, Precision as a share of its own.
	Recall    float64 `json:"recall" doc:"'common' / 'similar_pairs' of the baseline"`
	Precision float64 `json:"precision" doc:"'common' / 'similar_pairs'"`
	// Truth says how its pairs agree with known ones, if these are given.
	Truth *Agreement `json:"by_truth,omitempty" doc:"with '--truth': how far the pairs agree with the known ones"`
	// Buckets describes the buckets of a method that lists their pairs.
	Buckets *Buckets `json:"buckets,omitempty"`
}

// Buckets counts the pairs of documents that share a bucket, and the cost to find and compare them.
type Buckets struct {
	Pairs    int64 `json:"pairs" doc:"for 'bands', 'signatures' and 'pieces': pairs that share a bucket, counted once for each bucket"`
	Distinct int64 `json:"distinct" doc:"distinct pairs among these"`
	Compared int64 `json:"compared" doc:"those of them that were compared"`
	// True is the number of compared pairs that reach the threshold; nil for signatures, which only estimate.
	True    *int64 `json:"true,omitempty" doc:"compared pairs that are similar; absent for 'signatures', which only estimates"`
	Refuted int64  `json:"refuted" doc:"false positives"`
	// BucketBytes were shuffled to make buckets, ShuffledBytes in all.
	BucketBytes   int64 `json:"bucket_bytes" doc:"bytes sent to make buckets"`
	ShuffledBytes int64 `json:"shuffled_bytes" doc:"bytes sent in all"`
	// CPU is the CPU time of the steps, if the runner reports it.
	CPU *StepCPU `json:"cpu_seconds,omitempty" doc:"CPU time of 'shingling', of 'signing' (including shingling), of band 'keys', of 'grouping' (including making pairs distinct) and of 'verifying'"`
}

// StepCPU has the CPU seconds of the steps. Signing begins with the text, as shingling does.
type StepCPU struct {
	Shingling float64 `json:"shingling"`
	Signing   float64 `json:"signing"`
	Keys      float64 `json:"keys"`
	Grouping  float64 `json:"grouping"` // including making pairs distinct
	Verifying float64 `json:"verifying"`
}
