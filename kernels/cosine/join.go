package cosine

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/kernels/radix"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/vector"
)

// directLimit is the number of vectors up to which it costs less to compare all pairs than to build an index. Most
// components have two or three members.
const directLimit = 32

// SelfJoin calls emit once for every pair i < j of vectors, by index, whose cosine is at least t, with their dot
// product. It misses none. Pairs are ordered by j, then i. The join ends if emit returns false.
//
// Under any fixed order of all features, two vectors that reach t share a feature that is early in both. Let f be the
// first that they share. Only the components from f on contribute to the dot product, which therefore is at most the
// product of the lengths of these parts, |a from f|·|b from f| (Cauchy and Schwarz). That must be at least t·|a|·|b|,
// and so |a from f| ≥ t·|a| and |b from f| ≥ t·|b|. The order is by frequency in the group, rare features first. An
// index of the features of each vector that satisfy the latter condition yields the candidates, and those for which the
// product is too small are skipped (Bayardo et al. 2007; Anastasiu and Karypis 2014). An index allocates about 60 bytes
// per component of the vectors, which must have fewer than 2^31 together.
func SelfJoin(vectors []vector.Vector, t setsim.Threshold, emit func(i, j int, dot uint64) bool) {
	join(vectors, 0, t, emit)
}

// CrossJoin is like SelfJoin, but only for pairs of a vector i of the first and a vector j of the second slice.
func CrossJoin(first, second []vector.Vector, t setsim.Threshold, emit func(i, j int, dot uint64) bool) {
	if len(first) == 0 {
		return
	}
	join(slices.Concat(first, second), len(first), t, func(i, j int, dot uint64) bool {
		return emit(i, j-len(first), dot)
	})
}

// join emits the pairs i < j or, unless border is 0, those with i < border ≤ j.
func join(vectors []vector.Vector, border int, t setsim.Threshold, emit func(i, j int, dot uint64) bool) {
	lengths := make([]uint64, len(vectors))
	for i, v := range vectors {
		lengths[i] = v.SquaredLength()
	}
	if len(vectors) <= directLimit {
		directJoin(vectors, lengths, border, t, emit)
	} else {
		indexJoin(vectors, lengths, border, t, emit)
	}
}

// directJoin compares each vector with all that it may be joined with. It takes squared lengths, as indexJoin does.
func directJoin(
	vectors []vector.Vector, lengths []uint64, border int, t setsim.Threshold, emit func(i, j int, dot uint64) bool,
) {
	for j := border; j < len(vectors); j++ {
		partners := j
		if border > 0 {
			partners = border
		}
		for i, v := range vectors[:partners] {
			if dot := Dot(v, vectors[j]); Reached(t, dot, lengths[i], lengths[j]) && !emit(i, j, dot) {
				return
			}
		}
	}
}

// A posting says that a vector has a feature in its prefix, and how much of its squared length is in the components
// from there on.
type posting struct{ vector, share uint32 }

// A candidate is an earlier vector, and the position in the probing vector of the first feature that they share.
type candidate struct{ vector, at int }

// indexJoin joins with an index of prefixes.
func indexJoin(
	vectors []vector.Vector, lengths []uint64, border int, t setsim.Threshold, emit func(i, j int, dot uint64) bool,
) {
	lists, features := rank(vectors)
	prefixes := newPrefixes(t)
	index := make([][]posting, features)
	met := make([]int, len(vectors)) // by vector, the last j that met it
	var shares []uint32
	var candidates []candidate
	for j, list := range lists {
		shares = prefixes.shares(shares[:0], list, lengths[j])
		if j >= border {
			candidates = candidates[:0]
			for at, share := range shares {
				for _, p := range index[list[at].rank] {
					if met[p.vector] == j {
						continue
					}
					// This is the first feature that the two vectors share.
					met[p.vector] = j
					if prefixes.suffice(share, p.share) {
						candidates = append(candidates, candidate{int(p.vector), at})
					}
				}
			}
			slices.SortFunc(candidates, func(a, b candidate) int { return a.vector - b.vector })
			for _, c := range candidates {
				dot := dotRanked(list[c.at:], lists[c.vector])
				if Reached(t, dot, lengths[c.vector], lengths[j]) && !emit(c.vector, j, dot) {
					return
				}
			}
		}
		if border == 0 || j < border {
			for at, share := range shares {
				r := list[at].rank
				index[r] = append(index[r], posting{uint32(j), share})
			}
		}
	}
}

// wholeShare represents a share of 1.
const wholeShare = 1 << 31

// prefixes cuts vectors to the features by which similar vectors are found.
type prefixes struct {
	num2, den2 uint64 // of the threshold, squared
	need       uint64 // minimum product of two shares
}

func newPrefixes(t setsim.Threshold) prefixes {
	p := prefixes{num2: t.Num * t.Num, den2: t.Den * t.Den}
	high, low := bits.Mul64(p.num2, wholeShare*wholeShare)
	quotient, rest := bits.Div64(high, low, p.den2)
	p.need = quotient + min(rest, 1)
	return p
}

// shares appends, for each component of the prefix, the share of the squared length that is in the components from
// there on, rounded up. The prefix ends where that falls below t².
func (p prefixes) shares(dst []uint32, list []component, length uint64) []uint32 {
	rest := uint64(0)
	for _, c := range list {
		rest += uint64(c.weight) * uint64(c.weight)
	}
	for _, c := range list {
		high, low := bits.Mul64(rest, wholeShare)
		share, remainder := bits.Div64(high, low, length)
		share += min(remainder, 1)
		if share*wholeShare < p.need {
			break
		}
		dst = append(dst, uint32(share))
		rest -= uint64(c.weight) * uint64(c.weight)
	}
	return dst
}

// suffice reports whether vectors may reach the threshold if only these shares of them can match. Shares are rounded
// up, so the answer may be wrongly true, but never wrongly false.
func (p prefixes) suffice(a, b uint32) bool { return uint64(a)*uint64(b) >= p.need }

// A component is the weight of a feature, which is identified by its rank.
type component struct{ rank, weight uint32 }

// An entry is a component of one vector.
type entry struct {
	Key      uint64 // the feature
	Document placed
}

// placed is the number of a vector in the high half, and a weight in the low half.
type placed int64

// rank replaces the features that occur in at least two vectors by their ranks 0 … features−1, ascending by (number of
// vectors, hash), and omits the others. Each list ascends.
func rank(vectors []vector.Vector) (lists [][]component, features int) {
	total := 0
	for _, v := range vectors {
		total += len(v.Features)
	}
	entries := make([]entry, 0, total)
	for i, v := range vectors {
		for k, x := range v.Features {
			entries = append(entries, entry{x, placed(i)<<32 | placed(v.Weight(k))})
		}
	}
	var sorter radix.Sorter[entry, placed]
	entries = sorter.Sort(entries, 0, radix.ByKey)

	// Runs of equal features, by the length of the run.
	runs := make([][][]entry, len(vectors)+1)
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Key == entries[0].Key {
			n++
		}
		if n > 1 {
			runs[n] = append(runs[n], entries[:n])
			features++
		}
		entries = entries[n:]
	}

	// Assigning ranks in ascending order keeps every list sorted.
	lists = make([][]component, len(vectors))
	next := uint32(0)
	for _, sameLength := range runs {
		for _, run := range sameLength {
			for _, e := range run {
				i := e.Document >> 32
				lists[i] = append(lists[i], component{next, uint32(e.Document)})
			}
			next++
		}
	}
	return lists, features
}

// dotRanked is like Dot, for ranked features.
func dotRanked(a, b []component) uint64 {
	dot := uint64(0)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch x, y := a[i].rank, b[j].rank; {
		case x == y:
			dot += uint64(a[i].weight) * uint64(b[j].weight)
			i++
			j++
		case x < y:
			i++
		default:
			j++
		}
	}
	return dot
}
