package records

// Comparison is how several ways to find the pairs of one collection agree.
type Comparison struct {
	Threshold float64  `json:"threshold"`
	Signature string   `json:"signature"`
	Bands     int      `json:"bands"`
	Rows      int      `json:"rows"`
	Methods   []Method `json:"methods"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Method is one of them. The first is what others are measured by.
type Method struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Pairs   int     `json:"pairs"`  // of documents, copies included
	Common  int     `json:"common"` // with the first
	// Recall is that share of the first one's pairs, Precision that of its own.
	Recall    float64 `json:"recall"`
	Precision float64 `json:"precision"`
}
