//go:build !amd64 || purego

package token

func foldedFast(dst []uint64, _ []byte) ([]uint64, int) { return dst, 0 }

func symbolsOf(block *[blockBytes]byte) (symbols, wide uint64) { return symbolsPlain(block) }
