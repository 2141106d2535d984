package records

// Evaluation is how the clusters of a finished output agree with known ones.
type Evaluation struct {
	Kind      string `json:"truth"`     // TruthPairs or TruthClusters
	Documents int64  `json:"documents"` // that count
	// Found, True and Both are pairs of documents in one cluster: of the output, of the truth, and of both.
	Found     float64        `json:"found_pairs"`
	True      float64        `json:"true_pairs"`
	Both      float64        `json:"common_pairs"`
	Precision EvaluatedShare `json:"precision"`
	Recall    EvaluatedShare `json:"recall"`
	F1        float64        `json:"f1"`
	Rand      float64        `json:"adjusted_rand_index"`
	// Missed and False are the first pairs of the truth that were not found, and found ones that are not true, by ids.
	Missed [][2]string `json:"missed"`
	False  [][2]string `json:"false"`
}

// The kinds of truth.
const (
	TruthPairs    = "pairs"
	TruthClusters = "clusters"
)

// EvaluatedShare is a share with its 95 % interval; nil without any pair.
type EvaluatedShare struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}
