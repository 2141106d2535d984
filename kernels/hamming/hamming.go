// Package hamming finds all pairs of signatures that differ in few bits.
//
// A signature has m bits in ⌈m/64⌉ words, those beyond m zero, as package simhash makes them.
// SelfJoin and CrossJoin find every pair at a Hamming distance of at most d; BruteForce finds them by definition and
// is the oracle beside them.
package hamming

import (
	"math"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/simhash"
)

// Distance returns the number of bits in which a and b differ.
func Distance(a, b []uint64) int {
	n := 0
	for k, x := range a {
		n += bits.OnesCount64(x ^ b[k])
	}
	return n
}

// within returns the distance of a and b, or false as soon as it is above most.
func within(a, b []uint64, most int) (distance int, ok bool) {
	b = b[:len(a)]
	for k, x := range a {
		if distance += bits.OnesCount64(x ^ b[k]); distance > most {
			return 0, false
		}
	}
	return distance, true
}

// MaxDistance returns the largest distance d of signatures of m bits whose overlap, 1 − d/m, is at least
// t: ⌊(1−t)·m⌋.
func MaxDistance(t setsim.Threshold, m int) int {
	return int((t.Den - t.Num) * uint64(m) / t.Den)
}

// SelfJoin calls emit once for every pair i < j of signatures of m bits, by their indexes in the slice, that differ
// in at most d bits, with their distance. It misses none. Pairs come ordered by j and then i. A false
// from emit ends the join.
//
// Of d+1 pieces of two such signatures, d differing bits leave one equal (Manku, Jain and Das Sarma
// 2007). So a signature is compared with the earlier ones that have a piece in common with it, unless pieces are so
// short that this would be many. An index of pieces takes 4·(d+1) bytes per signature.
func SelfJoin(signatures [][]uint64, m, d int, emit func(i, j, distance int) bool) {
	join(signatures, 0, m, d, emit)
}

// CrossJoin calls emit like SelfJoin, but for pairs of a signature i of the first and a signature j of the second
// slice only.
func CrossJoin(first, second [][]uint64, m, d int, emit func(i, j, distance int) bool) {
	if len(first) == 0 {
		return
	}
	join(slices.Concat(first, second), len(first), m, d, func(i, j, distance int) bool {
		return emit(i, j-len(first), distance)
	})
}

const (
	// directLimit is the number of signatures up to which comparing all costs less than an index.
	directLimit = 64

	// worthwhile is the share of the earlier signatures that have a piece in common with one of
	// random bits up to which looking for them costs less than comparing all in a row.
	worthwhile = .01
)

// join emits the pairs i < j or, unless border is 0, those with i < border ≤ j.
func join(signatures [][]uint64, border, m, d int, emit func(i, j, distance int) bool) {
	if len(signatures) <= directLimit || d >= m || meeting(m, d+1) > worthwhile {
		directJoin(signatures, border, d, emit)
	} else {
		indexJoin(signatures, border, simhash.Pieces{Bits: m, Count: d + 1}, emit)
	}
}

// meeting returns about how many pieces of random bits are equal.
func meeting(m, pieces int) float64 {
	return float64(pieces) * math.Ldexp(1, -(m/pieces))
}

const (
	// blockSize is the number of signatures whose words lie side by side: the first words of all, the second ones, …
	blockSize = 8

	// tileSize is the number that many are compared with while they are in the cache. They are as few as keep
	// assembly, which cannot be preempted, below a microsecond or so.
	tileSize = 64 * blockSize

	// batchSize is how many they are compared with.
	batchSize = 16
)

// A hit is a signature that another is near to.
type hit struct{ i, distance int }

// directJoin joins by comparing all.
func directJoin(signatures [][]uint64, border, d int, emit func(i, j, distance int) bool) {
	if len(signatures) == 0 {
		return
	}
	words := telling(len(signatures[0]), d)
	columns := columnsOf(signatures[:partners(len(signatures), border)], words)
	var batch [batchSize][]hit
	for start := border; start < len(signatures); start += batchSize {
		end := min(start+batchSize, len(signatures))
		for tile := 0; tile < partners(end-1, border); tile += tileSize {
			for j := start; j < end; j++ {
				last := min(tile+tileSize, partners(j, border))
				batch[j-start] = appendNear(batch[j-start], signatures, columns, words, tile, last, j, d)
			}
		}
		for j := start; j < end; j++ {
			for _, h := range batch[j-start] {
				if !emit(h.i, j, h.distance) {
					return
				}
			}
			batch[j-start] = batch[j-start][:0]
		}
	}
}

// telling returns how many words of a signature, the first ones, tell of nearly all pairs of random bits that they
// differ in more than d: half of the bits less five standard deviations is no less. All words tell of every pair.
func telling(words, d int) int {
	for n := 1; n < words; n++ {
		if 32*float64(n)-5*4*math.Sqrt(float64(n)) >= float64(d) {
			return n
		}
	}
	return words
}

// columnsOf returns the first words of signatures in blocks of blockSize; what is left over has none.
func columnsOf(signatures [][]uint64, words int) []uint64 {
	columns := make([]uint64, len(signatures)/blockSize*blockSize*words)
	for i, signature := range signatures[:len(signatures)/blockSize*blockSize] {
		at := i/blockSize*blockSize*words + i%blockSize
		for k, word := range signature[:words] {
			columns[at+k*blockSize] = word
		}
	}
	return columns
}

// appendNear appends those of the signatures from the first of a block to before end that j is near to.
func appendNear(hits []hit, signatures [][]uint64, columns []uint64, words, first, end, j, d int) []hit {
	for i := first; i < end; {
		if whole := (end - i) / blockSize; whole > 0 {
			i += blockSize * far(columns[i*words:(i+whole*blockSize)*words], signatures[j][:words], d)
		}
		for stop := min(i+blockSize, end); i < stop; i++ {
			if distance, ok := within(signatures[i], signatures[j], d); ok {
				hits = append(hits, hit{i, distance})
			}
		}
	}
	return hits
}

// partners returns how many signatures, from the first on, j is joined with.
func partners(j, border int) int {
	if border > 0 {
		return border
	}
	return j
}

// indexJoin joins by way of equal pieces. There is one more of them than bits that may differ.
func indexJoin(signatures [][]uint64, border int, pieces simhash.Pieces, emit func(i, j, distance int) bool) {
	previous := chains(signatures, border, pieces)
	metBy := make([]uint32, len(signatures)) // by signature, the last j that met it
	var hits []hit
	for j := max(border, 1); j < len(signatures); j++ {
		hits = hits[:0]
		for _, chain := range previous {
			for next := chain[j]; next > 0; {
				i := next - 1
				next = chain[i]
				if metBy[i] == uint32(j) {
					continue
				}
				metBy[i] = uint32(j)
				if distance, ok := within(signatures[i], signatures[j], pieces.Count-1); ok {
					hits = append(hits, hit{int(i), distance})
				}
			}
		}
		slices.SortFunc(hits, func(a, b hit) int { return a.i - b.i })
		for _, h := range hits {
			if !emit(h.i, j, h.distance) {
				return
			}
		}
	}
}

// chains returns, for each piece and signature, the previous signature with an equal piece that it may be joined
// with: its number plus 1, or 0. Unequal pieces of one key cost a comparison and no more.
func chains(signatures [][]uint64, border int, pieces simhash.Pieces) [][]uint32 {
	previous := make([][]uint32, pieces.Count)
	latest := make(map[uint64]uint32, len(signatures))
	for p := range previous {
		clear(latest)
		chain := make([]uint32, len(signatures))
		for j, sig := range signatures {
			key := pieces.Key(sig, p)
			chain[j] = latest[key]
			if border == 0 || j < border {
				latest[key] = uint32(j + 1)
			}
		}
		previous[p] = chain
	}
	return previous
}
