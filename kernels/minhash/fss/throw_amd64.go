//go:build !purego

package fss

import (
	"slices"

	"golang.org/x/sys/cpu"
)

var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

const (
	// Below leastThrows, the vector code is no faster than the scalar code.
	leastThrows = 32
	// throwsAtOnce bounds the stack space, and the time in assembly, which cannot be preempted.
	throwsAtOnce = 128
)

// throw plays one round, like throwPlain.
func throw(sig, shingles []uint64, mask, round uint64) (filled uint64) {
	if !hasAVX512 || len(shingles) < leastThrows {
		return throwPlain(sig, shingles, mask, round)
	}
	for part := range slices.Chunk(shingles, throwsAtOnce) {
		filled += throwAVX512(sig, part, mask, round<<roundShift)
	}
	return filled
}

// throwAVX512 is like throwPlain, but computes eight throws at once. It considers only throws into bins that were empty
// before the round, since no other bin can change.
//
//go:noescape
func throwAVX512(sig, shingles []uint64, mask, prefix uint64) (filled uint64)
