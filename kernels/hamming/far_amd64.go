//go:build !purego

package hamming

import "golang.org/x/sys/cpu"

var (
	hasAVX2   = cpu.X86.HasAVX2
	hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPOPCNTDQ
)

// far returns the number of blocks, from the first on, in which all signatures differ from signature in more than d
// bits of the first words. It may return fewer.
func far(columns, signature []uint64, d int) (blocks int) {
	switch {
	case hasAVX512:
		return farAVX512(columns, signature, d)
	case hasAVX2:
		return farAVX2(columns, signature, d)
	}
	return 0
}

//go:noescape
func farAVX2(columns, signature []uint64, d int) (blocks int)

//go:noescape
func farAVX512(columns, signature []uint64, d int) (blocks int)
