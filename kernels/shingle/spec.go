package shingle

import "github.com/neardup/neardup/kernels/textnorm"

// Spec says how a text becomes shingles. It is a value that can be stored.
type Spec struct {
	Shingle   Config
	Normalize textnorm.Policy
}

// New returns a Shingler of the spec.
func (s Spec) New() *Shingler { return New(s.Shingle, s.Normalize) }
