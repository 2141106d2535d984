package shingle

import "github.com/neardup/neardup/kernels/hash"

// hashWindowsPlain sets dst[i] to the hash of the k tokens from tokens[i] on, on any processor. There must be
// len(dst)+k−1 tokens. dst may begin where tokens does: each hash is written after the token at its place has been
// read.
func hashWindowsPlain(dst, tokens []uint64, k int) {
	power := uint64(1) // factor of a token when it leaves the window
	for range k {
		power *= multiplier
	}
	sum := polynomial(tokens[:k])
	leaving, next := tokens[0], tokens[1:len(dst)]
	dst[0] = hash.Mix(sum)
	dst = dst[1:]
	for i, t := range tokens[k:][:len(next)] {
		sum = sum*multiplier + t - leaving*power
		leaving = next[i]
		dst[i] = hash.Mix(sum)
	}
}
