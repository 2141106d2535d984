package simhash

import (
	"errors"
	"fmt"
	"math"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
)

// Pieces says how signatures are cut: Bits bits into Count pieces, 1 ≤ Count ≤ Bits. Piece i is the bits from
// ⌊i·Bits/Count⌋ up to but not including ⌊(i+1)·Bits/Count⌋, so lengths differ by at most one.
type Pieces struct{ Bits, Count int }

var _ lsh.Keyer = Pieces{}

// start returns the first bit of piece i.
func (p Pieces) start(i int) int { return i * p.Bits / p.Count }

// Len returns the number of pieces.
func (p Pieces) Len() int { return p.Count }

// Keys returns the keys of all pieces of a signature. It overwrites dst and reuses its memory if that suffices.
func (p Pieces) Keys(dst, sig []uint64) []uint64 {
	dst = dst[:0]
	for i := range p.Count {
		dst = append(dst, p.Key(sig, i))
	}
	return dst
}

// Key returns the key of piece i of a signature: the hash of i and the bits.
func (p Pieces) Key(sig []uint64, i int) uint64 {
	key := hash.Mix(uint64(i))
	end := p.start(i + 1)
	for at := p.start(i); at < end; at += 64 {
		key = hash.Fold(key^cut(sig, at, min(64, end-at)), keyMultiplier)
	}
	return key
}

// Bucket returns a key as text: 16 hexadecimal digits.
func (p Pieces) Bucket(key uint64) string { return fmt.Sprintf("%016x", key) }

// Label returns the bits of piece i of a signature as text, lowest bit first: 0110.
func (p Pieces) Label(sig []uint64, i int) string {
	var label []byte
	for at := p.start(i); at < p.start(i+1); at++ {
		label = append(label, '0'+byte(cut(sig, at, 1)))
	}
	return string(label)
}

const keyMultiplier = 0xd1342543de82ef95

// cut returns n bits of a signature, 1 ≤ n ≤ 64, from bit at on.
func cut(sig []uint64, at, n int) uint64 {
	shift := at % 64
	x := sig[at/64] >> shift
	if shift+n > 64 {
		x |= sig[at/64+1] << (64 - shift)
	}
	return x & (^uint64(0) >> (64 - n))
}

// lengths returns the length of the shorter pieces, and the number of pieces that are one bit longer.
func (p Pieces) lengths() (short, longer int) { return p.Bits / p.Count, p.Bits % p.Count }

// Sharing returns the probability that two signatures agree in all bits of at least one piece if each bit agrees
// independently with the given probability:
//
//	1 − Π (1 − agree^length)
//
// over the pieces. It is bit for bit the same on every platform.
func (p Pieces) Sharing(agree float64) float64 {
	short, longer := p.lengths()
	none := (1 - lsh.SCurve(agree, p.Count-longer, short)) * (1 - lsh.SCurve(agree, longer, short+1))
	return 1 - float64(none) // arm64 would fuse the product with the difference
}

// Agree returns the probability 1 − θ/π that a bit of two vectors agrees (Goemans and Williamson 1995; Charikar 2002),
// where cos θ, from 0 to 1, is their cosine similarity. It is bit for bit the same on every platform.
func Agree(cosine float64) float64 {
	x := math.Sqrt((1 - cosine) / (1 + cosine)) // tan(θ/2)
	for range 4 {
		x /= 1 + math.Sqrt(1+float64(x*x)) // halves the angle
	}
	// The angle is now below .05, so seven terms of the arc tangent series suffice.
	square, angle := float64(x*x), 0.
	for n := 13.; n > 0; n -= 2 {
		angle = 1/n - float64(square*angle)
	}
	return 1 - 32*float64(x*angle)/math.Pi
}

// An Input is what the choice of pieces depends on.
type Input struct {
	// Bits is the number of bits of a signature, 1 ≤ Bits ≤ MaxBits.
	Bits int

	// Agree is the probability that a bit agrees for two documents at the threshold.
	Agree float64

	// Documents is the number of documents, exact or estimated.
	Documents int64

	// Background[r] is the mean, over pairs of unrelated documents, of the probability that r given bits agree.
	// Background[0] is 1. For r beyond the table, the last entry is multiplied by ½ for each further bit, which is a
	// lower bound, since weights are positive. An empty table therefore represents documents that share nothing.
	Background []float64
}

// A Choice is Pieces with their consequences.
type Choice struct {
	Pieces

	// ExpectedRecall is the probability that a pair at the threshold shares a piece.
	ExpectedRecall float64

	// BackgroundEdges is the expected number of unrelated documents per document and piece that share the piece, summed
	// over the pieces.
	BackgroundEdges float64

	// Percolates reports that BackgroundEdges exceeds lsh.MaxBackgroundEdges.
	Percolates bool
}

// Choose returns the fewest pieces that reach a recall above 0 and below 1. They are the longest ones, which unrelated
// documents seldom share. It returns an error if no number of pieces reaches the recall, or if the input is invalid.
func Choose(in Input, recall float64) (Choice, error) {
	if err := in.validate(); err != nil {
		return Choice{}, err
	}
	if !(recall > 0 && recall < 1) {
		return Choice{}, fmt.Errorf("recall %v: must be above 0 and below 1", recall)
	}
	for count := 1; count <= in.Bits; count++ {
		if p := (Pieces{in.Bits, count}); p.Sharing(in.Agree) >= recall {
			return in.assess(p), nil
		}
	}
	return Choice{}, fmt.Errorf("recall %v: no number of pieces of %d-bit signatures reaches this recall; use a lower "+
		"recall or more bits", recall, in.Bits)
}

// Assess returns the consequences of a given number of pieces.
func Assess(in Input, count int) (Choice, error) {
	if err := in.validate(); err != nil {
		return Choice{}, err
	}
	if count < 1 || count > in.Bits {
		return Choice{}, fmt.Errorf("%d pieces: must be from 1 to the number of bits, %d", count, in.Bits)
	}
	return in.assess(Pieces{in.Bits, count}), nil
}

func (in Input) validate() error {
	if in.Bits < 1 || in.Bits > MaxBits {
		return fmt.Errorf("%d bits: must be from 1 to %d", in.Bits, MaxBits)
	}
	if !(in.Agree >= 0 && in.Agree <= 1) {
		return fmt.Errorf("a bit agrees with probability %v: must be from 0 to 1", in.Agree)
	}
	if in.Documents < 0 {
		return errors.New("a negative number of documents")
	}
	for r, e := range in.Background {
		if !(e >= 0 && e <= 1) {
			return fmt.Errorf("background of %d bits is %v: must be from 0 to 1", r, e)
		}
	}
	return nil
}

func (in Input) assess(p Pieces) Choice {
	short, longer := p.lengths()
	meetings := float64(float64(p.Count-longer)*in.background(short)) + float64(float64(longer)*in.background(short+1))
	edges := float64(float64(max(in.Documents-1, 0)) * meetings)
	return Choice{
		Pieces:          p,
		ExpectedRecall:  p.Sharing(in.Agree),
		BackgroundEdges: edges,
		Percolates:      edges > lsh.MaxBackgroundEdges,
	}
}

// background returns the probability that two unrelated documents agree in r given bits.
func (in Input) background(r int) float64 {
	last := len(in.Background) - 1
	switch {
	case r <= last:
		return in.Background[r]
	case last < 1:
		return math.Ldexp(1, -r)
	}
	return math.Ldexp(in.Background[last], last-r)
}

// negligible is a probability that has no effect even over all documents and pieces.
const negligible = 1e-18

// Background returns, for r from 0 to bits, the mean over pairs of distinct sets of the probability that r given bits
// of their signatures agree: Agree(c)^r if their cosine c is below limit, else 0, since such pairs are not unrelated.
// Shingles have weight 1. Without pairs the result is nil. It is bit for bit the same on every platform.
func Background(sets [][]uint64, limit float64, bits int) []float64 {
	if len(sets) < 2 {
		return nil
	}
	sums := make([]float64, bits+1)
	share := 2 / (float64(len(sets)) * float64(len(sets)-1))
	strangers := 0. // pairs that share nothing
	setsim.Overlaps(sets, func(i int, shared []int32) {
		for j, n := range shared {
			if n == 0 {
				strangers++
				continue
			}
			cosine := float64(n) / math.Sqrt(float64(len(sets[i]))*float64(len(sets[j])))
			if cosine >= limit {
				continue
			}
			agree := Agree(cosine)
			for r, power := 1, agree; r <= bits && power > negligible; r++ {
				sums[r] += float64(power * share) // arm64 would fuse the product with the sum
				power *= agree
			}
		}
	})
	for r := range sums {
		sums[r] += math.Ldexp(float64(strangers*share), -r)
	}
	sums[0] = 1
	return sums
}
