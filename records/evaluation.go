package records

// Evaluation is how a finished output agrees with what is known of its
// documents, or with an exact join of some of them.
type Evaluation struct {
	Kind      string `json:"truth"`            // TruthPairs, TruthClusters or TruthSample
	Documents int64  `json:"documents"`        // that count
	Sample    int64  `json:"sample,omitempty"` // of TruthSample, how many were drawn, of Documents distinct ones
	// The found pairs are those of documents in one cluster. Of a sample,
	// pairs have a document that was drawn, and are of distinct documents.
	Agreement
	// Listed counts, of a sample, rows of pairs/ instead. Of Crowds, pairs/ lists some pairs only.
	Listed *Agreement `json:"listed,omitempty"`
	Crowds int64      `json:"crowds,omitempty"`
	// Missed and False are the first true pairs that were not found, and found ones that are not true, by ids.
	Missed [][2]string `json:"missed"`
	False  [][2]string `json:"false"`
	// The first of these with their texts, if these are asked for.
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

// The kinds of truth.
const (
	TruthPairs    = "pairs"
	TruthClusters = "clusters"
	TruthSample   = "sample"
)

// EvaluatedShare is a share, or an index, with its 95 % interval, which is nil without any pair.
type EvaluatedShare struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}
