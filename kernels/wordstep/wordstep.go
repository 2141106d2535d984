// Package wordstep leaves out the stop words of a text and puts stems for its other words, before it is cut
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

// Steps are taken in this order. The zero Steps leave all words as they are.
type Steps struct {
	Stop string // the language of stop words that are left out
	Stem string // the language that words are stemmed in
}

const (
	none     = "none"
	stopName = "no-stop-words"
	stemName = "stem"
)

// Parse reads "none", or a comma-separated list of no-stop-words:LANGUAGE and stem:LANGUAGE, each at most once,
// with ISO 639-1 codes.
func Parse(s string) (steps Steps, err error) {
	if s == none {
		return Steps{}, nil
	}
	for item := range strings.SplitSeq(s, ",") {
		name, language, _ := strings.Cut(strings.TrimSpace(item), ":")
		set := &steps.Stop
		switch name {
		case stopName:
			_, err = StopWords(language)
		case stemName:
			set = &steps.Stem
			_, err = NewStemmer(language)
		default:
			err = fmt.Errorf("unknown step %q; use none, or a comma-separated list of %s:LANGUAGE and %s:LANGUAGE",
				name, stopName, stemName)
		}
		if err == nil && *set != "" {
			err = fmt.Errorf("%s is named twice", name)
		}
		if err != nil {
			return Steps{}, err
		}
		*set = language
	}
	return steps, nil
}

// String returns the form that Parse reads.
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

// MarshalText writes what Parse reads.
func (s Steps) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what Parse reads.
func (s *Steps) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// A Rewriter takes Steps on texts. It keeps its buffers from text to text, so it serves one goroutine.
type Rewriter struct {
	stop    map[string]bool
	stemmer *Stemmer // nil: words are not stemmed
}

// New returns a Rewriter of texts that are normalised by p, for Steps from Parse. Stop words are normalised as
// texts are; one that is then several words, such as "don't" without its apostrophe, is none.
func (s Steps) New(p textnorm.Policy) *Rewriter {
	r := &Rewriter{}
	if s.Stop != "" {
		r.stop = map[string]bool{}
		words, err := StopWords(s.Stop)
		if err != nil {
			panic(err) // Parse lets no other language through
		}
		for _, word := range words {
			normal := p.Append(nil, []byte(word))
			for part, isWord := range token.Parts(normal) {
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

// Append appends to dst a normalised text with a blank for each stop word, and its stem for each other word.
// What stands between words stays, as raw bytes do.
func (r *Rewriter) Append(dst, text []byte) []byte {
	for part, raw := range spans.Marked(text) {
		if raw {
			dst = spans.AppendRaw(dst, part)
			continue
		}
		for part, isWord := range token.Parts(part) {
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

// isStop reports whether a word is a stop word, however it is written.
func (r *Rewriter) isStop(word []byte) bool {
	return r.stop[string(word)] || bytes.ContainsFunc(word, unicode.IsUpper) && r.stop[string(bytes.ToLower(word))]
}
