//go:build !purego

package token

// symbolsOf is like symbolsPlain.
func symbolsOf(block *[blockBytes]byte) (symbols, wide uint64) {
	if hasAVX2 {
		return symbolsAVX2(block)
	}
	return symbolsPlain(block)
}

// symbolsAVX2 is like symbolsPlain.
//
//go:noescape
func symbolsAVX2(block *[blockBytes]byte) (symbols, wide uint64)
