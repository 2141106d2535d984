//go:build !purego

package fss

import (
	"slices"

	"golang.org/x/sys/cpu"
)

var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

const (
	// Fewer throws take longer together than one by one.
	leastThrows = 32
	// So many shingles are thrown at a time: there is room for them, and assembly cannot be preempted.
	throwsAtOnce = 128
)

// throw is throwPlain.
func throw(sig, shingles []uint64, mask, round uint64) (filled uint64) {
	if !hasAVX512 || len(shingles) < leastThrows {
		return throwPlain(sig, shingles, mask, round)
	}
	for part := range slices.Chunk(shingles, throwsAtOnce) {
		filled += throwAVX512(sig, part, mask, round<<roundShift)
	}
	return filled
}

// throwAVX512 is throwPlain, eight at a time. Of throws it takes those into bins that were empty before the round: no
// other bin changes.
//
//go:noescape
func throwAVX512(sig, shingles []uint64, mask, prefix uint64) (filled uint64)
