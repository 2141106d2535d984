package wordstep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
)

// algorithms are the stemmers by ISO 639-1 code, for the languages with lists of stop words.
var algorithms = map[string]func(*snowballstem.Env) bool{
	"da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nl": dutch.Stem, "no": norwegian.Stem,
	"pt": portuguese.Stem, "ru": russian.Stem, "sv": swedish.Stem,
}

// A Stemmer reduces words of a language to their stems with Snowball's algorithms: connect, connected and connections
// become connect. It reuses its buffers, and so is not safe for concurrent use.
type Stemmer struct {
	algorithm func(*snowballstem.Env) bool
	env       *snowballstem.Env
	stems     map[string]string
}

// NewStemmer returns the Stemmer of a language, given its ISO 639-1 code.
func NewStemmer(language string) (*Stemmer, error) {
	algorithm, ok := algorithms[language]
	if !ok {
		return nil, fmt.Errorf("no stemmer for language %q; use %s", language, or(slices.Sorted(maps.Keys(algorithms))))
	}
	return &Stemmer{algorithm: algorithm, env: snowballstem.NewEnv(""), stems: map[string]string{}}, nil
}

// The stems remembered take a few megabytes; longer words seldom recur.
const (
	mostKnown    = 1 << 16
	longestKnown = 32
)

// Append appends to dst the stem of a word, which must be UTF-8 in lower case. It remembers stems, since few words make
// up most of any text.
func (s *Stemmer) Append(dst, word []byte) []byte {
	if stem, ok := s.stems[string(word)]; ok {
		return append(dst, stem...)
	}
	stem := s.plain(string(word))
	if len(word) <= longestKnown {
		if len(s.stems) == mostKnown {
			clear(s.stems)
		}
		s.stems[string(word)] = stem
	}
	return append(dst, stem...)
}

// plain returns the stem of a word without remembering it.
func (s *Stemmer) plain(word string) string {
	s.env.SetCurrent(word)
	s.algorithm(s.env)
	return s.env.Current()
}
