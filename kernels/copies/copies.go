// Package copies tells copies: documents with the same bytes, the same tokens or the same shingles.
package copies

// Sum returns the sum of a document's shingles, which are hashes. It does not depend on their order, so
// documents with the same shingles, each as often, have the same sum. Two others have it by chance with
// probability 2^-64; then one of the two is found only by way of the other.
func Sum(shingles []uint64) uint64 {
	var a, b, c, d uint64 // four at a time do not wait for one another
	for ; len(shingles) >= 4; shingles = shingles[4:] {
		a += shingles[0]
		b += shingles[1]
		c += shingles[2]
		d += shingles[3]
	}
	for _, v := range shingles {
		a += v
	}
	return a + b + c + d
}
