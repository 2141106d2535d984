package blocks

import (
	"encoding/json"
	"fmt"
)

// StoredName names a document of an index: by its id, the path of its source and its position there. Of one that was
// removed, Fell says in favour of which. As JSON it is the id of a row of a segment.
type StoredName struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Position int64  `json:"position"`
	Fell     *Fell  `json:"fell,omitempty"`
	Ends     []byte `json:"ends,omitempty"` // as Document has them
}

// Fell is the document that another fell to, and how similar they are.
type Fell struct {
	ID         string  `json:"id"`
	Source     string  `json:"source"`
	Position   int64   `json:"position"`
	Similarity float64 `json:"similarity"`
}

// Stored returns what the id of a settled or recalled document names.
func (in *Inputs) Stored(key Key, id []byte) (s StoredName, err error) {
	if err := json.Unmarshal(id, &s); err != nil {
		return s, fmt.Errorf("%s, row %d: the id is not that of a segment: %w", in.Source(key), key.Position(), err)
	}
	if recalled := in.Standing(key.File()) == Recalled; recalled != (s.Fell != nil) {
		return s, fmt.Errorf("%s, row %d: its id is of the other table of the segment", in.Source(key), key.Position())
	}
	return s, nil
}

// Ends are where the columns of a document's text end, which the id of one of a segment says.
func (in *Inputs) Ends(key Key, id, own []byte) []byte {
	if !in.Stores(key) {
		return own
	}
	s, _ := in.Stored(key, id) // who asks for its name is told what is wrong
	return s.Ends
}

// Stores reports whether the ids of a document's file are those of a segment.
func (in *Inputs) Stores(key Key) bool {
	standing := in.Standing(key.File())
	return standing == Settled || standing == Recalled
}
