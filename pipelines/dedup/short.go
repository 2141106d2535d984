package dedup

import (
	"fmt"
	"slices"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/records"
)

// Two different sets of at most s shingles share at most s−1 of s, so they are at most (s−1)/s similar: with fewer shingles than 1/(1−t)
// they never reach t. A word that is changed inside a text changes e shingles of s, and leaves (s−e)/(s+e): that reaches t from
// s = e·(1+t)/(1−t) on.

// wordChars is about how many characters a word has: a changed word changes them all.
const wordChars = 5

// changed is how many shingles one changed word changes; 0 if that is not known.
func changed(c shingle.Config) int {
	switch c.Kind {
	case shingle.Word:
		return c.K
	case shingle.Stop:
		return 0
	default:
		return c.K + wordChars - 1
	}
}

// leastShingles are 1/(1−t) and e·(1+t)/(1−t), rounded up; t is less than 1.
func leastShingles(t setsim.Threshold, e int) (equal, word int) {
	num, den := int(t.Num), int(t.Den)
	up := func(n, d int) int { return (n + d - 1) / d }
	return up(den, den-num), up(e*(den+num), den-num)
}

// short lists the sources whose documents are too short: at least one in ten has so few shingles that only an equal set is similar, or at
// least one in two would be no near-duplicate of itself with one word changed.
func (s *survey) short() (all []records.Short) {
	p := s.plan
	if p.Threshold.Num >= p.Threshold.Den || p.Request.Same != "" || p.Request.Compare != "jaccard" {
		return nil
	}
	equal, word := leastShingles(p.Threshold, changed(p.Spec.Shingle))
	found := make([]records.Short, len(s.names))
	lengths := make([][2][]int32, len(s.names)) // in words and characters
	for i, d := range s.documents {
		if d.words == 0 {
			continue
		}
		of := s.sources[i]
		short := &found[of]
		short.Documents++
		short.Equal += count(int(d.size) < equal)
		short.Word += count(int(d.size) < word)
		lengths[of][0], lengths[of][1] = append(lengths[of][0], s.words[i]), append(lengths[of][1], s.runes[i])
	}
	for i, short := range found {
		if short.Documents == 0 || short.Equal*10 < short.Documents && short.Word*2 < short.Documents {
			continue
		}
		short.Source, short.Least, short.LeastWord = s.names[i], int64(equal), int64(word)
		short.Shingle = p.suited(lengths[i][0], lengths[i][1])
		all = append(all, short)
	}
	return all
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// suited is the largest --shingle of which short does not warn, for texts of so many words and characters each: at least two words, so that
// their order counts, or else at least three characters. It is "" if there is none.
func (p *Plan) suited(words, characters []int32) string {
	for _, unit := range []struct {
		kind        shingle.Kind
		name        string
		most, least int
		tokens      []int32
	}{
		{shingle.Word, "word", p.Spec.Shingle.K, 2, words},
		{shingle.Char, "char", 9, 3, characters},
	} {
		if unit.kind == shingle.Word && p.Spec.Shingle.Kind != shingle.Word {
			continue
		}
		slices.Sort(unit.tokens)
		half, tenth := int(unit.tokens[(len(unit.tokens)-1)/2]), int(unit.tokens[(len(unit.tokens)-1)/10])
		for k := unit.most; k >= unit.least; k-- {
			equal, word := leastShingles(p.Threshold, changed(shingle.Config{Kind: unit.kind, K: k}))
			if tenth-k+1 >= equal && half-k+1 >= word {
				return fmt.Sprintf("%s:%d", unit.name, k)
			}
		}
	}
	return ""
}

// have begins a clause about n of the sampled documents.
func have(n, sampled int64) string {
	verb := "have"
	if n == 1 {
		verb = "has"
	}
	return fmt.Sprintf("%d of %d sampled documents %s", n, sampled, verb)
}

// mostShort is how many sources have a warning each.
const mostShort = 5

// shortWarnings warn of sources whose documents are too short.
func shortWarnings(all []records.Short, threshold float64) (warnings []string) {
	for _, s := range all[:min(len(all), mostShort)] {
		text := fmt.Sprintf("%s: documents are short for --threshold %v: ", s.Source, threshold)
		if s.Word > 0 {
			text += fmt.Sprintf("%s fewer than %d shingles, so one changed word leads below the threshold; ", have(s.Word, s.Documents), s.LeastWord)
		}
		if s.Equal > 0 {
			text += fmt.Sprintf("%s fewer than %d shingles, so only a document with the same shingles reaches the threshold; ", have(s.Equal, s.Documents), s.Least)
		}
		next := "give a lower --threshold, or --method exact"
		if s.Shingle != "" {
			next = "give --shingle " + s.Shingle
		}
		warnings = append(warnings, text+next)
	}
	if more := len(all) - mostShort; more > 0 {
		warnings = append(warnings, fmt.Sprintf("documents are short in %d more of the sources; --json lists them all", more))
	}
	return warnings
}
