package records

// Evaluation says how a finished output agrees with a truth about its documents, or with an exact join of some of them.
type Evaluation struct {
	Kind      string `json:"truth"`            // TruthPairs, TruthClusters or TruthSample
	Documents int64  `json:"documents"`        // number of documents that count
	Sample    int64  `json:"sample,omitempty"` // for TruthSample: how many of the Documents distinct ones were drawn
	// Found pairs are pairs of documents in one cluster. With a sample, one of them was drawn, and both are distinct
	// documents.
	Agreement
	// Listed counts rows of pairs/ instead, with a sample. Crowds is Counts.PairsPartial.
	Listed *Agreement `json:"listed,omitempty"`
	Crowds int64      `json:"crowds,omitempty"`
	// Missed has the first true pairs that were not found, and False the first found pairs that are not true, by ids.
	Missed [][2]string `json:"missed"`
	False  [][2]string `json:"false"`
	// The first of these pairs with their texts, if requested.
	MissedTexts []Example `json:"missed_texts,omitempty"`
	FalseTexts  []Example `json:"false_texts,omitempty"`
	Warnings    []string  `json:"warnings,omitempty"`
}

// Agreement counts pairs of documents: found ones, true ones, and those that are both.
type Agreement struct {
	Found     float64        `json:"found_pairs"`
	True      float64        `json:"true_pairs"`
	Both      float64        `json:"common_pairs"`
	Precision EvaluatedShare `json:"precision"`
	Recall    EvaluatedShare `json:"recall"`
	F1        EvaluatedShare `json:"f1"`
	Rand      EvaluatedShare `json:"adjusted_rand_index"`
}

// Values of Kind.
const (
	TruthPairs    = "pairs"
	TruthClusters = "clusters"
	TruthSample   = "sample"
)

// EvaluatedShare is a share, or an index, with its 95 % interval, whose ends are nil without any pair.
type EvaluatedShare struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}
