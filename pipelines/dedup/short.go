package dedup

import (
	"fmt"
	"slices"
	"unicode"

	"github.com/neardup/neardup/kernels/copies"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/token"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Two different sets of at most s shingles share at most s−1 of s, so they are at most (s−1)/s similar: with fewer than
// 1/(1−t) shingles they never reach t. A changed word inside a text changes e shingles of s, and the similarity is
// (s−e)/(s+e), which reaches t from s = e·(1+t)/(1−t) on.

// wordChars is about how many characters a word has, all of which a changed word changes.
const wordChars = 5

// changed returns how many shingles change with one word; 0 if that is not known.
func changed(c shingle.Config) int {
	switch c.Kind {
	case shingle.Word:
		return c.K
	case shingle.Stop, shingle.Item:
		return 0
	default:
		return c.K + wordChars - 1
	}
}

// leastShingles returns 1/(1−t) and e·(1+t)/(1−t), rounded up; t is less than 1.
func leastShingles(t setsim.Threshold, e int) (equal, word int) {
	num, den := int(t.Num), int(t.Den)
	up := func(n, d int) int { return (n + d - 1) / d }
	return up(den, den-num), up(e*(den+num), den-num)
}

// judges reports whether sets can be too short for the search.
func (p *Plan) judges() bool {
	return p.Threshold.Num < p.Threshold.Den && p.Request.Same == "" && p.Request.Measure == job.Jaccard &&
		p.Request.Fields == nil
}

// short lists the sources whose documents are too short: at least one document in ten has so few shingles that only an
// equal set is similar, or at least one in two would not be similar to itself with one word changed.
func (s *survey) short() (all []records.Short) {
	if !s.plan.judges() {
		return nil
	}
	sizes := make([]map[int]int64, len(s.names))
	for i, d := range s.documents {
		if d.words == 0 || s.plan.Listing.Inputs.Stores(d.key) { // an earlier night warned of the documents of an index
			continue
		}
		of := s.sources[i]
		if sizes[of] == nil {
			sizes[of] = map[int]int64{}
		}
		sizes[of][int(d.size)]++
	}
	for i, name := range s.names {
		if short := s.plan.shortOf(sizes[i], s.texts[i]); short != nil {
			short.Source = name
			all = append(all, *short)
		}
	}
	return all
}

// leastJudged is the minimum number of documents in the planner's sample for a warning that an input is short; an input
// of fewer is an example.
const leastJudged = 10

// shortWarnings warns if documents are too short, judging by the planner's sample.
func (p *Plan) shortWarnings() []string {
	if !p.judges() {
		return nil
	}
	short := p.shortOf(p.Sizes, p.Texts)
	if short == nil || short.Documents < leastJudged {
		return nil
	}
	in := p.Listing.Inputs
	if short.Source = in.Root; in.Len()-in.References() == 1 {
		short.Source = in.Name(in.References())
	}
	return p.warnOfShort([]records.Short{*short})
}

// shortOf says how short documents are, given their number for each size of a set; nil if they are not. texts are the
// texts of some of them.
func (p *Plan) shortOf(sizes map[int]int64, texts [][]byte) *records.Short {
	equal, word := leastShingles(p.Threshold, changed(p.Spec.Shingle))
	short := &records.Short{Least: int64(equal), LeastWord: int64(word)}
	for size, n := range sizes {
		short.Documents += n
		if size < equal {
			short.Equal += n
		}
		if size < word {
			short.Word += n
		}
	}
	if short.Documents == 0 || short.Equal*10 < short.Documents && short.Word*2 < short.Documents {
		return nil
	}
	short.Characters = mostlyAlone(texts)
	if short.Shingle = p.suited(texts); short.Shingle == "" && short.Word*2 >= short.Documents {
		short.Shingle, short.Threshold = p.suitsHalf(texts)
	}
	return short
}

// mostlyAlone reports whether most letters of texts are words by themselves.
func mostlyAlone(texts [][]byte) bool {
	letters, alone := 0, 0
	for _, text := range texts {
		for _, r := range string(text) {
			if unicode.IsLetter(r) {
				letters++
				if token.Alone(r) {
					alone++
				}
			}
		}
	}
	return 2*alone > letters
}

// suited returns the largest --shingle, other than the one in force, of which short would not warn for texts like
// these: at least two words, so that their order counts, or else at least three characters. It is "" if there is none.
func (p *Plan) suited(texts [][]byte) string {
	inForce := p.Spec.Shingle
	if len(texts) == 0 || inForce.Kind == shingle.Item {
		return ""
	}
	for _, unit := range []struct {
		kind        shingle.Kind
		name        string
		most, least int
	}{
		{shingle.Word, "word", inForce.K, 2},
		{shingle.Char, "char", 9, 3},
	} {
		if unit.kind == shingle.Word && inForce.Kind != shingle.Word {
			continue
		}
		for k := unit.most; k >= unit.least; k-- {
			spec := p.Spec
			if spec.Shingle.Kind, spec.Shingle.K = unit.kind, k; spec.Shingle == inForce {
				continue
			}
			sizes := sizesOf(texts, spec)
			equal, word := leastShingles(p.Threshold, changed(spec.Shingle))
			if sizes[(len(sizes)-1)/10] >= equal && sizes[(len(sizes)-1)/2] >= word {
				return fmt.Sprintf("%s:%d", unit.name, k)
			}
		}
	}
	return ""
}

// The minimum thresholds that are proposed, in twentieths: below them, short texts with other words are similar.
const (
	leastOfWords      = 10
	leastOfCharacters = 13
)

// suitsHalf returns the --shingle of two words, or else of three characters, and the largest threshold in twentieths at
// which half of texts like these stay similar if one word is changed. The threshold is 0 if it is the one in force, and
// the shingle "" if there is none.
func (p *Plan) suitsHalf(texts [][]byte) (name string, threshold float64) {
	spec, least := p.Spec, uint64(leastOfCharacters)
	switch spec.Shingle.Kind {
	case shingle.Word:
		spec.Shingle.K, name, least = 2, "word:2", leastOfWords
	case shingle.Item, shingle.Stop:
		return "", 0
	default:
		spec.Shingle.Kind, spec.Shingle.K, name = shingle.Char, 3, "char:3"
	}
	sizes := sizesOf(texts, spec)
	for n := 20 * p.Threshold.Num / p.Threshold.Den; n >= least && len(sizes) > 0; n-- {
		t := setsim.Threshold{Num: n, Den: 20}
		if _, word := leastShingles(t, changed(spec.Shingle)); sizes[(len(sizes)-1)/2] < word {
			continue
		}
		if t.Float() != p.Threshold.Float() {
			threshold = t.Float()
		}
		return name, threshold
	}
	return "", 0
}

// sizesOf returns the numbers of distinct shingles of texts, ascending.
func sizesOf(texts [][]byte, spec shingle.Spec) (sizes []int) {
	reader := copies.NewReader(spec, (*shingle.Shingler).Set)
	for _, text := range texts {
		_, set := reader.Read(text, nil)
		sizes = append(sizes, len(set))
		reader.Trim()
	}
	slices.Sort(sizes)
	return sizes
}

// have begins a clause about n of the sampled documents.
func have(n, sampled int64) string {
	if sampled == 1 {
		return "the only sampled document has"
	}
	verb := "have"
	if n == 1 {
		verb = "has"
	}
	return fmt.Sprintf("%s of %s %s", records.Count(n), records.Plural(sampled, "sampled document"), verb)
}

// mostShort is the maximum number of sources that have a warning each.
const mostShort = 5

// warnOfShort warns of sources whose documents are too short.
func (p *Plan) warnOfShort(all []records.Short) (warnings []string) {
	use := "use"
	if p.Request.Index != nil { // an index fixes what is compared, and how
		use = "create another index with"
	}
	for _, s := range all[:min(len(all), mostShort)] {
		text := fmt.Sprintf("%s: documents are too short for --threshold %v: ", s.Source, p.Threshold.Float())
		if s.Word > s.Equal {
			word := "word"
			if s.Characters {
				word = "character"
			}
			text += fmt.Sprintf("%s fewer than %d shingles, so changing one %s brings a pair below the threshold; ",
				have(s.Word, s.Documents), s.LeastWord, word)
		}
		if s.Equal > 0 {
			text += fmt.Sprintf("%s fewer than %d shingles, so only a document with the same shingles reaches the threshold; ",
				have(s.Equal, s.Documents), s.Least)
		}
		next := use + " a lower --threshold, or --method exact"
		if s.Shingle != "" {
			next = use + " --shingle " + s.Shingle
		}
		if s.Threshold != 0 {
			next += fmt.Sprintf(" --threshold %v", s.Threshold)
		}
		warnings = append(warnings, text+next)
	}
	if more := len(all) - mostShort; more > 0 {
		warnings = append(warnings, fmt.Sprintf("documents are also too short in %s; --json lists all sources",
			records.Plural(more, "more source")))
	}
	return warnings
}
