// Package wordstep removes the stop words of a text and replaces its other words by their stems, before the text is cut
// into shingles of any kind.
package wordstep

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/neardup/neardup/kernels/spans"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
)

// Steps are applied in this order. The zero Steps do not change words.
type Steps struct {
	Stop string // language of the stop words to remove
	Stem string // language of the stemmer
}

const (
	none     = "none"
	stopName = "no-stop-words"
	stemName = "stem"
)

// Takes reports whether a step of this name takes a language.
func Takes(name string) bool { return name == stopName || name == stemName }

// Parse parses "none", or a comma-separated list of no-stop-words:LANGUAGE and stem:LANGUAGE, each at most once,
// with ISO 639-1 codes.
func Parse(s string) (steps Steps, err error) {
	if s == none {
		return Steps{}, nil
	}
	for item := range strings.SplitSeq(s, ",") {
		name, language, named := strings.Cut(strings.TrimSpace(item), ":")
		set := &steps.Stop
		switch {
		case !Takes(name):
			err = fmt.Errorf("unknown step %q; use none alone, or a comma-separated list of %s:LANGUAGE and %s:LANGUAGE",
				name, stopName, stemName)
		case !named:
			err = fmt.Errorf("%s needs a language, as in %s:en", name, name)
		case name == stopName:
			_, err = StopWords(language)
		default:
			set = &steps.Stem
			_, err = NewStemmer(language)
		}
		if err == nil && *set != "" {
			err = fmt.Errorf("%s is named twice; name it once", name)
		}
		if err != nil {
			return Steps{}, err
		}
		*set = language
	}
	return steps, nil
}

// String returns a form that Parse accepts.
func (s Steps) String() string {
	var items []string
	if s.Stop != "" {
		items = append(items, stopName+":"+s.Stop)
	}
	if s.Stem != "" {
		items = append(items, stemName+":"+s.Stem)
	}
	if items == nil {
		return none
	}
	return strings.Join(items, ",")
}

// MarshalText returns the String form.
func (s Steps) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses what Parse accepts.
func (s *Steps) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// A Rewriter applies Steps to texts. It reuses its buffers, and so is not safe for concurrent use.
type Rewriter struct {
	stop    map[string]bool
	stemmer *Stemmer // nil if words are not stemmed
}

// New returns a Rewriter for texts that p normalises, and for Steps from Parse. Stop words are normalised like texts;
// one that becomes several words, such as "don't" without its apostrophe, is ignored.
func (s Steps) New(p textnorm.Policy) *Rewriter {
	r := &Rewriter{}
	if s.Stop != "" {
		r.stop = map[string]bool{}
		words, err := StopWords(s.Stop)
		if err != nil {
			panic(err) // Parse rejects other languages
		}
		for _, word := range words {
			normal := p.Append(nil, []byte(word))
			for part, isWord := range token.Parts(normal, false) {
				if isWord && len(part) == len(normal) {
					r.stop[string(part)] = true
				}
			}
		}
	}
	if s.Stem != "" {
		var err error
		if r.stemmer, err = NewStemmer(s.Stem); err != nil {
			panic(err) // as above
		}
	}
	return r
}

// Append appends to dst a normalised text in which a space replaces each stop word, and its stem each other word. It
// keeps what is between words, and raw bytes.
func (r *Rewriter) Append(dst, text []byte) []byte {
	for part, raw := range spans.Marked(text) {
		if raw {
			dst = spans.AppendRaw(dst, part)
			continue
		}
		for part, isWord := range token.Parts(part, false) {
			switch {
			case isWord && r.isStop(part):
				dst = append(dst, ' ')
			case isWord && r.stemmer != nil:
				dst = r.stemmer.Append(dst, part)
			default:
				dst = append(dst, part...)
			}
		}
	}
	return dst
}

// isStop reports whether a word is a stop word, in any case.
func (r *Rewriter) isStop(word []byte) bool {
	return r.stop[string(word)] || bytes.ContainsFunc(word, unicode.IsUpper) && r.stop[string(bytes.ToLower(word))]
}
