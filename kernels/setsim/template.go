package setsim

import (
	"slices"
	"sort"
)

// Template records the elements of these sets that most counted sets have, if the sets are variants of one template. An
// Index made afterwards keeps the deviations of each set from it.
func (f *Frequencies) Template(of [][]uint64) {
	f.template = nil
	var template []uint64
	elements := 0
	for _, set := range of {
		elements += len(set)
		for _, hash := range set {
			if 2*int(f.count(hash)) > f.sets {
				template = append(template, hash)
			}
		}
	}
	slices.Sort(template)
	template = slices.Compact(template)
	deviating := 0
	for _, set := range of {
		deviating += len(deviations(nil, set, template))
	}
	if 2*deviating < elements {
		f.template = template
	}
}

// deviations appends to d the elements that either set or template has, but not both.
func deviations(d, set, template []uint64) []uint64 {
	i, j := 0, 0
	for i < len(set) && j < len(template) {
		x, y := set[i], template[j]
		if x != y {
			d = append(d, min(x, y))
		}
		i += one(x <= y)
		j += one(y <= x)
	}
	return append(append(d, set[i:]...), template[j:]...)
}

// A variation holds sets by their deviations A', B' … from a template. Two sets differ in exactly the elements in which
// their deviations differ, so 2|A∩B| = |A|+|B| − |A'|−|B'| + 2|A'∩B'|. Counting the deviations that two sets share,
// with one addition each, therefore replaces merging the sets.
type variation struct {
	t          Threshold
	template   []uint64
	deviations []uint64            // of the set being added
	lists      map[uint64][]uint32 // by element, the sets that deviate in it, ascending
	places     int                 // capacity of all lists
	excess     []int               // by set: number of elements minus number of deviations
	weights    []int64             // by set
}

// weight returns what a set contributes to a comparison. A and B are similar if the sum of their weights and of twice
// Num+Den for each deviation that they share is not negative, which is equivalent to |A∩B| ≥ t(|A|+|B|)/(1+t) with
// |A∩B| as above.
func (v *variation) weight(size, excess int) int64 {
	return int64(v.t.Num+v.t.Den)*int64(excess) - 2*int64(v.t.Num)*int64(size)
}

func (v *variation) add(number uint32, set []uint64) {
	v.deviations = deviations(v.deviations[:0], set, v.template)
	for _, hash := range v.deviations {
		list := v.lists[hash]
		v.places -= cap(list)
		list = append(list, number)
		v.places += cap(list)
		v.lists[hash] = list
	}
	excess := len(set) - len(v.deviations)
	v.excess, v.weights = append(v.excess, excess), append(v.weights, v.weight(len(set), excess))
}

// bytes returns the approximate size of v.
func (v *variation) bytes() int {
	const perList, place, perSet = 52, 4, 16
	return perList*len(v.lists) + place*v.places + perSet*cap(v.excess)
}

// timesCounted is the number of additions per added set from which a query compares all sets one by one: it deviates
// from the template where many sets do.
const timesCounted = 16

// similarVariants finds similar sets by deviations. It returns false, having found none, if it is cheaper to compare
// each set.
func (f *Finder) similarVariants(set []uint64, first int, found func(i, shared int)) bool {
	v := f.index.variants
	f.deviations, f.lists = deviations(f.deviations[:0], set, v.template), f.lists[:0]
	additions := 0
	for _, hash := range f.deviations {
		if list := v.lists[hash]; len(list) > 0 && int(list[len(list)-1]) >= first {
			if first > 0 {
				list = list[sort.Search(len(list), func(k int) bool { return int(list[k]) >= first }):]
			}
			f.lists = append(f.lists, list)
			additions += len(list)
		}
	}
	const most = 1<<16 - 1 // maximum of a counter
	if len(f.lists) > most || additions > timesCounted*(len(v.excess)-first) {
		return false
	}
	f.counts = append(f.counts[:0], make([]uint16, len(v.excess))...)
	for _, list := range f.lists {
		for _, i := range list {
			f.counts[i]++
		}
	}
	excess, each := len(set)-len(f.deviations), 2*int64(v.t.Num+v.t.Den)
	weight := v.weight(len(set), excess)
	for i := first; i < len(v.weights); i++ {
		if weight+v.weights[i]+each*int64(f.counts[i]) < 0 {
			continue
		}
		// Two empty sets share nothing, and are not similar.
		if shared := (excess+v.excess[i])/2 + int(f.counts[i]); shared > 0 {
			found(i, shared)
		}
	}
	return true
}
