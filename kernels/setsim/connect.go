package setsim

import (
	"slices"

	"github.com/neardup/neardup/kernels/unionfind"
)

// hubs is the number of sets with which Connect compares every set before it builds an index. If all of these
// comparisons fail, they cost a set less than the index does, and one that succeeds may save all others.
const hubs = 8

// Connect calls link for pairs i < j of sets, by index, whose Jaccard similarity is at least t. It links fewer pairs
// than there are trees, and these connect the trees as all similar pairs would. The choice of pairs depends only on the
// arguments, but is otherwise unspecified.
//
// tree is the number of each set's tree. Two sets that are apart are not compared.
//
// Two sets that are already connected are not compared, so in a crowd of similar sets most are compared once. Connect
// costs as many comparisons as SelfJoin only if sets have their rarest shared elements in common and still are not
// similar; the core form makes each comparison cheap. An index allocates as much as that of SelfJoin and 4 bytes per
// posting. If the sets are connected without it, it is not built.
func Connect(sets [][]uint64, t Threshold, tree []uint32, apart func(i, j int) bool, link func(i, j int)) {
	order, ordered := bySize(sets)
	f := newForest(ordered, t, func(x int) uint32 { return tree[order[x]] }, func(x, y int) {
		i, j := order[x], order[y]
		link(min(i, j), max(i, j))
	})
	f.apart = func(x, y int) bool { return apart(order[x], order[y]) }
	if f.trees <= 1 {
		return
	}
	if len(sets) <= directLimit {
		f.connectDirectly()
		return
	}
	f.connectToHubs()
	if f.trees <= 1 {
		return
	}
	index := newPrefixLists(ordered, 0, measure{t: t})
	f.overlap = overlaps(index.lists) // the lists are shorter than the sets
	if c, ok := index.core(0); ok {
		f.overlap = c.overlap
	}
	f.connectByIndex(index)
}

// A forest keeps the trees of linked sets, which are in ascending order of size, by index. unionfind.Forest would hash
// a key for each posting that is skipped.
type forest struct {
	sets    [][]uint64
	t       Threshold
	link    func(x, y int)
	apart   func(x, y int) bool
	overlap func(x, y, need int) (shared int, ok bool)
	parents unionfind.Parents // by set
	trees   int
}

func newForest(sets [][]uint64, t Threshold, tree func(x int) uint32, link func(x, y int)) *forest {
	f := &forest{sets: sets, t: t, link: link, overlap: overlaps(sets), parents: make(unionfind.Parents, len(sets))}
	first := map[uint32]uint32{}
	for x := range f.parents {
		root, ok := first[tree(x)]
		if !ok {
			root = uint32(x)
			first[tree(x)] = root
		}
		f.parents[x] = root
	}
	f.trees = len(first)
	return f
}

// join links y and x, which are similar and in different trees. The smaller root remains the root, as in
// unionfind.Forest.
func (f *forest) join(x, y int) {
	a, b := f.parents.Root(uint32(x)), f.parents.Root(uint32(y))
	f.parents[max(a, b)] = min(a, b)
	f.trees--
	f.link(x, y)
}

// compare links y and x if they are similar and in different trees, and reports whether it did.
func (f *forest) compare(x, y int) bool {
	if f.parents.Root(uint32(x)) == f.parents.Root(uint32(y)) || f.apart(x, y) {
		return false
	}
	_, ok := f.overlap(x, y, f.t.minOverlap(len(f.sets[x]), len(f.sets[y])))
	if ok {
		f.join(x, y)
	}
	return ok
}

// connectDirectly compares each set with all earlier sets that are large enough.
func (f *forest) connectDirectly() {
	first := 0
	for x, a := range f.sets {
		for first < x && len(f.sets[first]) < f.t.MinSize(len(a)) {
			first++
		}
		for y := first; y < x && f.trees > 1; y++ {
			f.compare(x, y)
		}
	}
}

// connectToHubs compares each set with a few earlier ones, so it misses links. A set that is similar to none of them
// becomes a hub. The hubs are ordered by their last success, and a new one enters halfway, so that hubs without success
// displace only each other.
func (f *forest) connectToHubs() {
	list := make([]int, 0, hubs+1)
	for x, a := range f.sets {
		smallest := f.t.MinSize(len(a))
		// Sizes ascend, so a hub that is too small for this set is too small for all later ones.
		list = slices.DeleteFunc(list, func(y int) bool { return len(f.sets[y]) < smallest })
		linked := false
		for k, y := range list {
			if f.compare(x, y) {
				linked = true
				copy(list[1:], list[:k])
				list[0] = y
			}
		}
		if !linked {
			list = slices.Insert(list, min(len(list), hubs/2), x)
			list = list[:min(len(list), hubs)]
		}
	}
}

// connectByIndex finds the remaining links with the index of SelfJoin.
//
// A candidate is compared when its prefix and that of the probing set first share an element: they must then share all
// that they need from there on, and most sets are linked before their other candidates are reached. Postings of sets of
// one tree stay in one tree whatever is joined later, so a set of that tree can skip a run of them in one step.
func (f *forest) connectByIndex(index *prefixLists) {
	sets, t := f.sets, f.t
	lists, postings, starts, ends := index.lists, index.postings, index.starts, index.ends

	skips := make([]uint32, len(postings)) // number of postings from here on known to be of one tree; 0 means 1
	metBy := make([]uint32, len(sets))     // x+1 for a set compared with x
	for x, list := range lists {
		size := len(sets[x])
		single := size - len(list)
		smallest := t.MinSize(size)
		root := f.parents.Root(uint32(x))
		for i, w := range index.probed(x) {
			// Sizes ascend, so a set that is too small for this one is too small for all later ones.
			for starts[w] < ends[w] && len(sets[postings[starts[w]].set]) < smallest {
				k := starts[w]
				if skips[k] > 1 {
					skips[k+1] = max(skips[k+1], skips[k]-1)
				}
				starts[w]++
			}
			for k := starts[w]; k < ends[w]; {
				run := k
				for k < ends[w] && f.parents.Root(postings[k].set) == root {
					k += max(1, int(skips[k]))
				}
				if k > run {
					skips[run] = uint32(k - run)
					continue
				}
				p := postings[k]
				k++
				if metBy[p.set] == uint32(x)+1 {
					continue
				}
				metBy[p.set] = uint32(x) + 1
				if f.apart(x, int(p.set)) {
					continue
				}
				partner := len(sets[p.set])
				need := t.minOverlap(size, partner)
				if min(size-(single+i), partner-int(p.pos)) < need {
					continue
				}
				if _, ok := f.overlap(x, int(p.set), need); !ok {
					continue
				}
				if f.join(x, int(p.set)); f.trees == 1 {
					return
				}
				root = f.parents.Root(uint32(x))
			}
		}
		index.add(x)
	}
}
