// Package hamming finds all pairs of signatures that differ in few bits.
//
// A signature has m bits in ⌈m/64⌉ words, in which the bits beyond m are zero, as package simhash makes them. SelfJoin
// and CrossJoin find every pair at a Hamming distance of at most d; BruteForce finds them by definition and is the
// oracle for both.
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

// within returns the distance of a and b, or false once it exceeds most.
func within(a, b []uint64, most int) (distance int, ok bool) {
	b = b[:len(a)]
	for k, x := range a {
		if distance += bits.OnesCount64(x ^ b[k]); distance > most {
			return 0, false
		}
	}
	return distance, true
}

// MaxDistance returns the largest distance d at which the overlap of signatures of m bits, 1 − d/m, is at least t:
// ⌊(1−t)·m⌋.
func MaxDistance(t setsim.Threshold, m int) int {
	return int((t.Den - t.Num) * uint64(m) / t.Den)
}

// SelfJoin calls emit once for every pair i < j of signatures of m bits, by index, that differ in at most d bits, with
// their distance. It misses none. Pairs are ordered by j, then i. The join ends if emit returns false.
//
// If two such signatures are cut into d+1 pieces, d differing bits leave at least one piece equal (Manku, Jain and Das
// Sarma 2007). A signature is therefore compared with the earlier ones that share a piece with it, unless pieces are so
// short that too many do. An index of pieces takes 4·(d+1) bytes per signature.
func SelfJoin(signatures [][]uint64, m, d int, emit func(i, j, distance int) bool) {
	join(signatures, 0, m, d, emit)
}

// CrossJoin is like SelfJoin, but only for pairs of a signature i of the first and a signature j of the second slice.
func CrossJoin(first, second [][]uint64, m, d int, emit func(i, j, distance int) bool) {
	if len(first) == 0 {
		return
	}
	join(slices.Concat(first, second), len(first), m, d, func(i, j, distance int) bool {
		return emit(i, j-len(first), distance)
	})
}

const (
	// directLimit is the number of signatures up to which it costs less to compare all pairs than to build an index.
	directLimit = 64

	// worthwhile is the fraction of random earlier signatures sharing a piece with one, up to which an index costs less
	// than to compare all in sequence.
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

// meeting returns the expected number of equal pieces of two random signatures.
func meeting(m, pieces int) float64 {
	return float64(pieces) * math.Ldexp(1, -(m/pieces))
}

const (
	// blockSize is the number of signatures whose words are interleaved: first all first words, then all second words,
	// …
	blockSize = 8

	// tileSize is the number of signatures in a tile. It is small enough to stay in the cache, and to keep the
	// assembly, which cannot be preempted, below about a microsecond.
	tileSize = 64 * blockSize

	// batchSize is the number of signatures that are compared with a tile while it is in the cache.
	batchSize = 16
)

// A hit is the index of a near signature, and its distance.
type hit struct{ i, distance int }

// directJoin compares all pairs.
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

// telling returns the number of leading words that suffice to show of nearly all random pairs that they differ in more
// than d bits: half of the bits less five standard deviations is at least d. All words suffice for every pair.
func telling(words, d int) int {
	for n := 1; n < words; n++ {
		if 32*float64(n)-5*4*math.Sqrt(float64(n)) >= float64(d) {
			return n
		}
	}
	return words
}

// columnsOf returns the first words of signatures, interleaved in blocks of blockSize; signatures after the last whole
// block are omitted.
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

// appendNear appends the signatures from first, which begins a block, to before end that are near to signature j.
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

// partners returns the number of signatures, from the first on, that j is joined with.
func partners(j, border int) int {
	if border > 0 {
		return border
	}
	return j
}

// indexJoin joins by equal pieces, of which there is one more than bits that may differ.
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

// chains returns, for each piece and signature, the previous signature with an equal piece that it may be joined with:
// its index plus 1, or 0. Different pieces with equal keys only cost a comparison.
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
