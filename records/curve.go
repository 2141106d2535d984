package records

// Curve is the probability that bands and rows find a pair, by its similarity.
type Curve struct {
	Bands int `json:"bands"`
	Rows  int `json:"rows"`
	// Steepest is about the similarity where the curve is steepest: (1/bands)^(1/rows).
	Steepest  float64      `json:"steepest"`
	Points    []CurvePoint `json:"points"`
	Sensitive *Sensitive   `json:"sensitive,omitempty"`
}

// CurvePoint is the probability that two documents of a similarity share a bucket.
type CurvePoint struct {
	Similarity  float64 `json:"similarity"`
	Probability float64 `json:"probability"`
}

// Sensitive says that pairs at a distance of at most D1 are found with a probability of at least P1, and pairs at
// a distance of at least D2 with one of at most P2.
type Sensitive struct {
	D1 float64 `json:"d1"`
	D2 float64 `json:"d2"`
	P1 float64 `json:"p1"`
	P2 float64 `json:"p2"`
}
