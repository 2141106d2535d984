//go:build !purego

package shingle

import "golang.org/x/sys/cpu"

var hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2

// Beyond so many tokens the plain way costs less: it takes as long for any number of them.
const fewTokens = 16

// Assembly cannot be preempted: it returns after as many windows, some microseconds.
const windowsAtOnce = 1 << 12

// hashWindows is hashWindowsPlain.
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

// windowsAVX512 is hashWindowsPlain, eight at a time.
//
//go:noescape
func windowsAVX512(dst, tokens []uint64, k int)
