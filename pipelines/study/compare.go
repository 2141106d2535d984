package study

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/records"
)

// mostListed is how many pairs a study lists; the tables have all.
const mostListed = 100

// describe lists the documents, and records how much the steps of each setting leave of them.
func (r *Job) describe() {
	inputs := r.plan.Listing.Inputs
	same := map[blocks.Hash][]int{}
	var order []blocks.Hash
	for i, doc := range r.documents {
		r.study.Documents = append(r.study.Documents, records.StudiedDocument{
			ID: inputs.ID(doc.Key, doc.ID, doc.HasID), Source: inputs.Source(doc.Key), Position: doc.Key.Position(),
			Path: inputs.File(doc.Key.File()).Path,
		})
		if doc.Tokens[0] == 0 {
			continue // no words, so not a copy of anything
		}
		if same[doc.Same] = append(same[doc.Same], i); len(same[doc.Same]) == 1 {
			order = append(order, doc.Same)
		}
	}
	r.dropped = map[int]bool{}
	for _, hash := range order {
		group := same[hash]
		if len(group) == 1 {
			continue
		}
		r.study.Copies = append(r.study.Copies, group)
		for _, i := range group[1:] {
			r.dropped[i] = r.config.DropCopies
		}
	}
	for i, doc := range r.documents {
		if r.dropped[i] {
			continue
		}
		for s := range r.study.Settings {
			r.study.Settings[s].Tokens += doc.Tokens[s]
			r.study.Settings[s].Shingles += doc.Sizes[s]
		}
	}
	if all := r.study.Settings[0].Tokens; all > 0 {
		for s := range r.study.Settings {
			r.study.Settings[s].Removed = 1 - float64(r.study.Settings[s].Tokens)/float64(all)
		}
	}
}

// compare visits all pairs in input order, and writes each.
func (r *Job) compare(ctx context.Context, signed []signatureError, write func(records.StudiedPair) error) (err error) {
	rows, err := r.params.Open(ctx, r.documents)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	sums := make([]summary, len(r.study.Settings))
	similarities := make([]float64, len(sums))
	var groups unionfind.Forest
	var listed shortlist
	for {
		a, shared, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if r.dropped[a] {
			continue
		}
		for b := a + 1; b < len(r.documents); b++ {
			if r.dropped[b] {
				continue
			}
			one, other := r.documents[a].Sizes, r.documents[b].Sizes
			for s := range sums {
				similarities[s] = setsim.Similarity(int(shared[s][b]), int(one[s]), int(other[s]))
				sums[s].add(similarities[s])
			}
			if r.asked.Threshold.Reached(int(shared[0][b]), int(one[0]), int(other[0])) && shared[0][b] > 0 {
				groups.Union(int64(a), int64(b))
			}
			for i := range signed {
				signed[i].add(a, b, similarities[0])
			}
			r.study.Pairs++
			pair := records.StudiedPair{A: a, B: b, Similarities: similarities}
			listed.add(pair)
			if err := write(pair); err != nil {
				return err
			}
		}
	}
	r.study.Listed = listed.pairs
	for s := range sums {
		sums[s].describe(&r.study.Settings[s])
	}
	for i := range signed {
		r.study.Errors = append(r.study.Errors, signed[i].describe())
	}
	r.study.Groups = members(&groups)
	return nil
}

// members returns the documents of each group, in input order.
func members(groups *unionfind.Forest) [][]int {
	all := [][]int{}
	byFirst := map[int64][]int{}
	for document, first := range groups.All() {
		byFirst[first] = append(byFirst[first], int(document))
	}
	for _, first := range slices.Sorted(maps.Keys(byFirst)) {
		slices.Sort(byFirst[first])
		all = append(all, byFirst[first])
	}
	return all
}

// shortlist keeps all pairs in their order or, if there are more than mostListed, those most similar under the first
// setting, the most similar first.
type shortlist struct {
	pairs []records.StudiedPair
	cut   bool
}

func (l *shortlist) add(pair records.StudiedPair) {
	if last := len(l.pairs) - 1; l.cut && pair.Similarities[0] <= l.pairs[last].Similarities[0] {
		return // keep the earlier one
	}
	pair.Similarities = slices.Clone(pair.Similarities)
	l.pairs = append(l.pairs, pair)
	if len(l.pairs) <= mostListed {
		return
	}
	l.cut = true
	slices.SortStableFunc(l.pairs, func(a, b records.StudiedPair) int {
		return cmp.Compare(b.Similarities[0],
			a.Similarities[0])
	})
	l.pairs = l.pairs[:mostListed]
}

// summary sums up the similarities under a setting, with their number in each ten-thousandth.
type summary struct {
	counts  [resolution + 1]int64
	n       int64
	sum     float64
	largest float64
}

const resolution = 10_000

func (s *summary) add(similarity float64) {
	s.counts[int(math.Round(similarity*resolution))]++
	s.n++
	s.sum += similarity
	s.largest = max(s.largest, similarity)
}

func (s *summary) describe(to *records.StudySetting) {
	if s.n == 0 {
		return
	}
	to.Mean, to.Largest = s.sum/float64(s.n), s.largest
	to.Quartile1, to.Median, to.Quartile3, to.Percentile = s.quantile(.25), s.quantile(.5),
		s.quantile(.75), s.quantile(.99)
}

// quantile returns the smallest similarity that a share of all similarities do not exceed, within half a
// ten-thousandth.
func (s *summary) quantile(share float64) float64 {
	need := int64(math.Ceil(share * float64(s.n)))
	for i, n := range s.counts {
		if need -= n; need <= 0 {
			return min(float64(i)/resolution, s.largest)
		}
	}
	return 1
}
