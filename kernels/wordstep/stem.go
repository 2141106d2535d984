package wordstep

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// algorithms are by ISO 639-1 code: the languages of lists.
var algorithms = map[string]func(*snowballstem.Env) bool{
	"da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
	"fr": french.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nl": dutch.Stem, "no": norwegian.Stem,
	"pt": portuguese.Stem, "ru": russian.Stem, "sv": swedish.Stem,
}

// A Stemmer reduces words of a language to their stems, by Snowball's algorithms: connect, connected and connections
// become connect. It keeps its buffers from word to word, so it serves one
// goroutine.
type Stemmer struct {
	algorithm func(*snowballstem.Env) bool
	env       *snowballstem.Env
	stems     map[string]string
}

// NewStemmer returns the Stemmer of a language, by its ISO 639-1 code.
func NewStemmer(language string) (*Stemmer, error) {
	algorithm, ok := algorithms[language]
	if !ok {
		return nil, fmt.Errorf("no stemmer of language %q; use one of %s", language,
			strings.Join(slices.Sorted(maps.Keys(algorithms)), ", "))
	}
	return &Stemmer{algorithm: algorithm, env: snowballstem.NewEnv(""), stems: map[string]string{}}, nil
}

// Words that are remembered take a few megabytes; longer ones are rarely seen again.
const (
	mostKnown    = 1 << 16
	longestKnown = 32
)

// Append appends the stem of a word in lower case, which is UTF-8, to dst. Few words make most of any text, so
// stems are remembered.
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

// plain is Append without a memory.
func (s *Stemmer) plain(word string) string {
	s.env.SetCurrent(word)
	s.algorithm(s.env)
	return s.env.Current()
}
