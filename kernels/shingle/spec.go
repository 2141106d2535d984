package shingle

import (
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/wordstep"
)

// Spec says how a text becomes shingles. It is a value that can be stored.
type Spec struct {
	Shingle   Config
	Normalize textnorm.Policy
	// Words is what becomes of the words of the normalised text, before the steps of spaces.
	Words wordstep.Steps
}

// New returns a Shingler of the spec.
func (s Spec) New() *Shingler {
	shingler := New(s.Shingle, s.Normalize)
	if s.Words != (wordstep.Steps{}) {
		shingler.words = s.Words.New(shingler.policy.KeepSpace())
	}
	return shingler
}

// FormatID is the package's, and of a spec that changes words what it does to them: such texts
// are other texts.
func (s Spec) FormatID() string {
	if s.Words == (wordstep.Steps{}) {
		return FormatID
	}
	return FormatID + "/" + s.Words.String()
}
