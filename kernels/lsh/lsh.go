// Package lsh finds candidates for similar pairs by banding signatures: two documents whose signatures agree in all
// rows of a band share that band's key (Keys). Sets of Jaccard similarity j do so with probability 1−(1−j^rows)^bands
// (SCurve). Solve chooses the two numbers.
package lsh

import "github.com/neardup/neardup/kernels/hash"

// SCurve returns the probability 1−(1−j^r)^b that two sets of Jaccard similarity j agree in all r rows of at least one
// of b bands. It is bit for bit the same on every platform.
func SCurve(j float64, b, r int) float64 {
	return 1 - power(1-power(j, r), b)
}

// power returns x^n for n ≥ 0. Comparisons of these values decide parameters, and so the output of a job: math.Pow
// differs between platforms, and without the conversions arm64 would fuse products with sums.
func power(x float64, n int) float64 {
	p := 1.
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}

// Keys returns the keys of b bands of r rows of a signature, of which it uses the first b·r values. It overwrites dst
// and reuses its memory if that suffices. Keys of different bands do not coincide, since the chain of each starts from
// the number of its band.
func Keys(dst, sig []uint64, b, r int) []uint64 {
	dst = dst[:0]
	for band := range b {
		dst = append(dst, chain(uint64(band), sig[band*r:(band+1)*r]))
	}
	return dst
}

// A Keyer makes the keys of documents from their signatures. It is a Banding or simhash.Pieces.
type Keyer interface {
	// Len returns the number of keys of a document.
	Len() int

	// Keys returns the keys of a signature. It overwrites dst and reuses its memory if that suffices.
	Keys(dst, sig []uint64) []uint64

	// Sharing returns the probability that two documents share a key if the values, or bits, of their signatures agree
	// independently of each other with the given probability.
	Sharing(agree float64) float64

	// Bucket returns a key as text. Label returns what key i was made from: values or bits.
	Bucket(key uint64) string
	Label(sig []uint64, i int) string
}

// A Banding defines how signatures are cut into bands and become keys.
type Banding struct {
	// Signature is the number n of values of a signature; Bands·Rows ≤ n.
	Signature, Bands, Rows int
	// AsText makes a key the CRC-32 of the band's values as text, instead of that of Keys.
	AsText bool
}

// Keys returns the keys of a signature. It overwrites dst and reuses its memory if that suffices.
func (b Banding) Keys(dst, sig []uint64) []uint64 {
	if b.AsText {
		return textKeys(dst, sig, b.Bands, b.Rows)
	}
	return Keys(dst, sig, b.Bands, b.Rows)
}

// Len returns the number of bands.
func (b Banding) Len() int { return b.Bands }

// Sharing returns SCurve for the bands and rows. Values agree with the probability of the Jaccard similarity.
func (b Banding) Sharing(agree float64) float64 { return SCurve(agree, b.Bands, b.Rows) }

const multiplier = 0xd1342543de82ef95

// chain folds whole values, because their low bits differ where the high bits, the round that filled the bin, are often
// equal.
func chain(band uint64, values []uint64) uint64 {
	key := hash.Mix(band)
	for _, v := range values {
		key = hash.Fold(key^v, multiplier)
	}
	return key
}
