package verifier

import (
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
)

// An Index holds documents, among which its Finders find those similar to another one. It is not safe for concurrent
// use.
type Index interface {
	// Add adds a document and returns its number: 0, 1, 2 … in the order of calls. The index keeps the slice, which
	// must not change afterwards.
	Add(features []uint64) int

	// Finder returns a new Finder.
	Finder() Finder

	// Bytes returns the approximate size of the index, features included.
	Bytes() int
}

// A Finder finds documents in an Index. Finders of one index may be used concurrently as long as no document is added.
// A single Finder is not safe for concurrent use.
type Finder interface {
	// Similar calls found for every added document that is similar and whose number is at least first, in ascending
	// order of its number, with the score.
	Similar(features []uint64, first int, found func(i, score int))

	// Bytes returns the approximate size of the finder, without the index.
	Bytes() int
}

// NewIndex returns an index without documents. For sets it is a setsim.Index, and otherwise one that compares each
// document with every added one. common affects the speed of the former, but not its results.
func NewIndex(v Verifier, common *setsim.Frequencies) Index {
	if sets, ok := AsSets(v); ok {
		index := setIndex{setsim.NewIndex(sets.Jaccard(), common)}
		if m, ruled := v.(matched); ruled {
			return &ruledIndex{Index: index, matched: m}
		}
		return index
	}
	return &list{verifier: v}
}

// setIndex is the Index of sets.
type setIndex struct{ *setsim.Index }

func (x setIndex) Finder() Finder { return x.Index.Finder() }

// ruledIndex is the Index of documents that must also satisfy rules.
type ruledIndex struct {
	Index    // of the features without traits
	matched  matched
	features [][]uint64
	words    int // in the traits
}

func (x *ruledIndex) Add(features []uint64) int {
	own := Own(x.matched, features)
	x.features, x.words = append(x.features, features), x.words+len(features)-len(own)
	return x.Index.Add(own)
}

func (x *ruledIndex) Finder() Finder { return ruledFinder{x.Index.Finder(), x} }

func (x *ruledIndex) Bytes() int {
	const header, word = 24, 8
	return x.Index.Bytes() + header*cap(x.features) + word*x.words
}

// ruledFinder is the Finder of a ruledIndex.
type ruledFinder struct {
	Finder
	of *ruledIndex
}

func (f ruledFinder) Similar(features []uint64, first int, found func(i, score int)) {
	f.Finder.Similar(Own(f.of.matched, features), first, func(i, score int) {
		if f.of.matched.hold(f.of.features[i], features) {
			found(i, score)
		}
	})
}

// list is the Index that compares a document with each added one.
type list struct {
	verifier Verifier
	features [][]uint64
	words    int
}

func (l *list) Add(features []uint64) int {
	l.features = append(l.features, features)
	l.words += len(features)
	return len(l.features) - 1
}

func (l *list) Finder() Finder { return listFinder{l} }

// listFinder is the Finder of a list.
type listFinder struct{ *list }

func (f listFinder) Similar(features []uint64, first int, found func(i, score int)) {
	for i := first; i < len(f.features); i++ {
		if score, ok := f.verifier.Compare(f.features[i], features); ok {
			found(i, score)
		}
	}
}

func (listFinder) Bytes() int { return 0 }

func (l *list) Bytes() int {
	const header, word = 24, 8
	return header*cap(l.features) + word*l.words
}

// Connect calls link for pairs i < j of similar documents. It links fewer pairs than there are trees, and these connect
// the trees as all similar pairs would. For sets it is setsim.Connect; otherwise it compares all documents of different
// trees.
//
// tree is the number of each document's tree. Two documents that are apart are not compared.
func Connect(v Verifier, features [][]uint64, tree []uint32, apart []bool, link func(i, j int)) {
	if sets, ok := AsSets(v); ok {
		if m, ruled := v.(matched); ruled && m.connectByTraits(sets.Jaccard(), features, tree, apart, link) {
			return
		}
		setsim.Connect(own(v, features), sets.Jaccard(), tree, separate(v, features, apart), link)
		return
	}
	parents, first := make(unionfind.Parents, len(tree)), map[uint32]uint32{}
	for i, t := range tree {
		if _, ok := first[t]; !ok {
			first[t] = uint32(i)
		}
		parents[i] = first[t]
	}
	for j := range features {
		for i := range j {
			a, b := parents.Root(uint32(i)), parents.Root(uint32(j))
			if a == b || apart[i] && apart[j] {
				continue
			}
			if _, ok := v.Compare(features[i], features[j]); ok {
				parents[max(a, b)] = min(a, b)
				link(i, j)
			}
		}
	}
}
