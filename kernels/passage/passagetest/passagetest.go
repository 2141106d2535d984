// Package passagetest finds passages by their definition: it compares words, and does not hash.
package passagetest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/neardup/neardup/kernels/passage"
)

// Dropped reports which documents are dropped if at least the given share of their words is in L-grams that occur in an
// earlier document that stays.
func Dropped(docs [][]string, length int, share float64, words func(doc int) int) []bool {
	dropped, stay := make([]bool, len(docs)), map[string]bool{}
	for d, doc := range docs {
		var grams []string
		covered := map[int]bool{}
		for p := 0; p+length <= len(doc); p++ {
			gram := strings.Join(doc[p:p+length], " ")
			grams = append(grams, gram)
			for i := p; stay[gram] && i < p+length; i++ {
				covered[i] = true
			}
		}
		if dropped[d] = len(covered) > 0 && float64(len(covered))/float64(words(d)) >= share; dropped[d] {
			continue
		}
		for _, gram := range grams {
			stay[gram] = true
		}
	}
	return dropped
}

// Passages returns the passages of each document by L-grams of length words, and the number of distinct L-grams that
// are repeated while their first place is covered in part.
func Passages[Word cmp.Ordered](docs [][]Word, length int) ([][]passage.Passage, int64) {
	return Without(docs, length, nil)
}

// Without is like Passages, but no first place is in a dropped document; nil drops none.
func Without[Word cmp.Ordered](
	docs [][]Word, length int, dropped []bool,
) (all [][]passage.Passage, broken int64) {
	var places []passage.Place
	for d, doc := range docs {
		for p := 0; p+length <= len(doc); p++ {
			places = append(places, passage.Place{Document: int64(d), Position: p})
		}
	}
	gram := func(p passage.Place) []Word { return docs[p.Document][p.Position : p.Position+length] }
	slices.SortFunc(places, func(a, b passage.Place) int { return cmp.Or(slices.Compare(gram(a), gram(b)), a.Compare(b)) })

	covered := make([][]*passage.Place, len(docs)) // first place of each covered word
	for d, doc := range docs {
		covered[d] = make([]*passage.Place, len(doc))
	}
	var firsts []passage.Place // of repeated L-grams
	for len(places) > 0 {
		first, n := places[0], 1
		for n < len(places) && slices.Equal(gram(places[n]), gram(first)) {
			n++
		}
		repeated, group := false, places[:n]
		for len(group) > 0 && dropped != nil && dropped[group[0].Document] {
			group = group[1:]
		}
		if places = places[n:]; len(group) == 0 {
			continue
		}
		first = group[0]
		for _, at := range group[1:] {
			if at.Document == first.Document && at.Position-first.Position < length {
				continue // they overlap
			}
			repeated = true
			for i := range length {
				shown := passage.Place{Document: first.Document, Position: first.Position + i}
				word := &covered[at.Document][at.Position+i]
				if *word == nil || shown.Compare(**word) < 0 {
					*word = &shown
				}
			}
		}
		if repeated {
			firsts = append(firsts, first)
		}
	}
	for _, first := range firsts {
		words := covered[first.Document][first.Position : first.Position+length]
		if slices.ContainsFunc(words, func(p *passage.Place) bool { return p != nil }) {
			broken++
		}
	}
	all = make([][]passage.Passage, len(docs))
	for d, words := range covered {
		for i := 0; i < len(words); i++ {
			if words[i] == nil {
				continue
			}
			p := passage.Passage{Start: i, End: i, From: words[i].Document, FromStart: words[i].Position}
			for ; p.End < len(words) && words[p.End] != nil && words[p.End].Document == p.From; p.End++ {
				p.FromStart, p.FromEnd = min(p.FromStart, words[p.End].Position), max(p.FromEnd, words[p.End].Position+1)
			}
			all[d] = append(all[d], p)
			i = p.End - 1
		}
	}
	return all, broken
}
