package records

// Difference is the result of diff: how two documents differ.
type Difference struct {
	A       Compared `json:"a"`
	B       Compared `json:"b"`
	Example Example  `json:"-"`
	// Similarity is the Jaccard similarity of the shingle sets.
	Similarity float64 `json:"similarity"`
	// Shared is the number of distinct shingles that both have.
	Shared   int       `json:"shared"`
	Measures []Measure `json:"measures,omitempty"`
	// OnlyA and OnlyB are the words that the other text lacks, within the part that is shown.
	OnlyA []string `json:"only_a"`
	OnlyB []string `json:"only_b"`

	Warnings []string `json:"warnings,omitempty"`
}

// Compared is one of the two documents.
type Compared struct {
	Name     string `json:"name"` // an id, or a file
	Bytes    int    `json:"bytes"`
	Tokens   int    `json:"tokens"`
	Shingles int    `json:"shingles"` // distinct ones
}

// Measure is a similarity or distance of two documents.
type Measure struct {
	Name string `json:"name"`
	// Value is nil if it was not computed, for the reason in Refused.
	Value   *float64 `json:"value"`
	Refused string   `json:"refused,omitempty"`
	// Of says what is compared, and Metric whether the measure is a metric.
	Of     string `json:"of"`
	Metric bool   `json:"metric"`
}
