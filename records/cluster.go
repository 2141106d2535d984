package records

// Cluster is what a finished output says about one document: its cluster, if it is in one.
type Cluster struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Position int64  `json:"position"`
	// State is one of the State constants; Reason says why a document was not compared.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Cluster is the key of the cluster's first document. This field and the next ones are set only for a clustered
	// document.
	Cluster   int64   `json:"cluster"`
	Documents int32   `json:"documents"` // number in the cluster
	Kept      int32   `json:"kept"`      // number of these that are kept
	Threshold float64 `json:"threshold"`
	// Members are the first documents of the cluster, in input order, and the document itself.
	Members []Member `json:"members"`
	// Examples are pairs to look at: a removed document with the one kept in its place, or a kept one with those that it
	// replaces.
	Examples []Example `json:"examples,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Values of State.
const (
	StateClustered   = "clustered"
	StateAlone       = "alone" // in no cluster, and kept
	StateNotCompared = "not compared"
	StateUnreadable  = "unreadable"
)

// Member is a document of a cluster.
type Member struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Position int64  `json:"position"`
	Size     int32  `json:"size"`
	Kept     bool   `json:"kept"`
	// Similarity is the similarity to the document in question; nil if the output lists no such pair.
	Similarity *float64 `json:"similarity"`
	// InPlace is set for a removed document, if the output has the table removed: the document that is kept in its place,
	// and why.
	InPlace *InPlace `json:"in_place,omitempty"`
}

// InPlace is the document that is kept in place of another.
type InPlace struct {
	ID         string   `json:"id"`
	Source     string   `json:"source"`
	Position   int64    `json:"position"`
	Similarity *float64 `json:"similarity"` // nil if the two are not a pair
	Reason     string   `json:"reason"`
}
