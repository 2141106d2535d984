//go:build !purego

package shingle

import "golang.org/x/sys/cpu"

var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2

// fewTokens is the window length above which the plain code is faster, since its speed does not depend on the length.
const fewTokens = 16

// windowsAtOnce bounds a call of the assembly, which cannot be preempted, to a few microseconds.
const windowsAtOnce = 1 << 12

// hashWindows is like hashWindowsPlain.
func hashWindows(dst, tokens []uint64, k int) {
	if !hasAVX512 || k > fewTokens {
		hashWindowsPlain(dst, tokens, k)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), windowsAtOnce)
		windowsAVX512(dst[:n], tokens[:n+k-1], k)
		dst, tokens = dst[n:], tokens[n:]
	}
}

// windowsAVX512 is like hashWindowsPlain, but hashes eight windows at once.
//
//go:noescape
func windowsAVX512(dst, tokens []uint64, k int)
