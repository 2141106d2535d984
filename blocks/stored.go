package blocks

import (
	"encoding/json"
	"fmt"
)

// StoredName names a document of an index: its id, the path of its source and its position there. For a removed
// document, Fell is the document kept in its place. As JSON it is the id of a row of a segment.
type StoredName struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Position int64  `json:"position"`
	Fell     *Fell  `json:"fell,omitempty"`
	Ends     []byte `json:"ends,omitempty"` // as in Document
}

// Fell is the document in whose favour another was removed, and their similarity.
type Fell struct {
	ID         string  `json:"id"`
	Source     string  `json:"source"`
	Position   int64   `json:"position"`
	Similarity float64 `json:"similarity"`
}

// Stored decodes the id of a settled or recalled document.
func (in *Inputs) Stored(key Key, id []byte) (s StoredName, err error) {
	if err := json.Unmarshal(id, &s); err != nil {
		return s, fmt.Errorf("%s, row %d: the id is not that of a segment: %w", in.Source(key), key.Position(), err)
	}
	if recalled := in.Standing(key.File()) == Recalled; recalled != (s.Fell != nil) {
		return s, fmt.Errorf("%s, row %d: its id is of the other table of the segment", in.Source(key), key.Position())
	}
	return s, nil
}

// Ends returns the ends of the columns of a document's text: own, or for a document of a segment those in its id.
func (in *Inputs) Ends(key Key, id, own []byte) []byte {
	if !in.Stores(key) {
		return own
	}
	s, _ := in.Stored(key, id) // callers that need the name report the error
	return s.Ends
}

// Stores reports whether a document's file is of a segment, whose ids are StoredNames.
func (in *Inputs) Stores(key Key) bool {
	standing := in.Standing(key.File())
	return standing == Settled || standing == Recalled
}
