package shingle

import "github.com/neardup/neardup/kernels/hash"

// hashWindowsPlain sets dst[i] to the hash of the k tokens from tokens[i] on, for any processor: of len(dst)+k−1
// tokens. Dst may begin where tokens do: each hash is written after the token that stands there has been read.
func hashWindowsPlain(dst, tokens []uint64, k int) {
	power := uint64(1) // what a token has grown to when it leaves
	for range k {
		power *= multiplier
	}
	var sum uint64
	for _, t := range tokens[:k] {
		sum = sum*multiplier + t
	}
	leaving, next := tokens[0], tokens[1:len(dst)]
	dst[0] = hash.Mix(sum)
	dst = dst[1:]
	for i, t := range tokens[k:][:len(next)] {
		sum = sum*multiplier + t - leaving*power
		leaving = next[i]
		dst[i] = hash.Mix(sum)
	}
}
