package shingle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup/kernels/wordstep"
)

// Kind is the unit from which shingles are made.
type Kind uint8

// The kinds of shingles.
const (
	Word   Kind = 1 + iota // words of package token
	Char                   // code points of the normalised text, spaces included
	Byte                   // bytes of the normalised text
	Stop                   // words, but only shingles that begin with a stop word
	Char32                 // code points like Char, but only 4 bytes of a shingle's hash
	Item                   // lines of the raw text, one per shingle
)

var kindNames = map[Kind]string{
	Word: "word", Char: "char", Byte: "byte", Stop: "stopword", Char32: "char32", Item: "item",
}

const kindsHelp = "use word:K, char:K, byte:K, char32:K, stopword:K, stopword:K:LANGUAGE or item"

// defaultLanguage is the language of stop words if none is named.
const defaultLanguage = "en"

// maxK exceeds any useful length of a shingle.
const maxK = 1 << 20

// Config defines shingles as K consecutive tokens of a kind.
type Config struct {
	Kind Kind
	K    int // at least 1; 1 for kind Item
	// Language is the language of the stop words, for kind Stop only.
	Language string
}

// Parse parses a configuration such as "word:5", "char:9", "byte:13", "char32:9", "stopword:3", "stopword:3:it" or
// "item".
func Parse(s string) (Config, error) {
	name, count, sized := strings.Cut(s, ":")
	switch {
	case name == kindNames[Item] && sized:
		return Config{}, fmt.Errorf("each item is one shingle, so it takes no number; use --shingle %s", name)
	case name == kindNames[Item]:
		return Config{Kind: Item, K: 1}, nil
	}
	language := ""
	if name == kindNames[Stop] {
		var named bool
		if count, language, named = strings.Cut(count, ":"); !named {
			language = defaultLanguage
		}
		if _, err := wordstep.StopWords(language); err != nil {
			return Config{}, err
		}
	}
	for kind, kindName := range kindNames {
		if kindName != name {
			continue
		}
		k, err := strconv.Atoi(count)
		if err != nil || k < 1 || k > maxK {
			return Config{}, fmt.Errorf("%q is not a whole number from 1 to %d, as in %s:5", count, maxK, name)
		}
		return Config{kind, k, language}, nil
	}
	return Config{}, fmt.Errorf("unknown kind %q; %s", name, kindsHelp)
}

// String returns the form that Parse reads.
func (c Config) String() string {
	if c.Kind == Item {
		return kindNames[Item]
	}
	s := kindNames[c.Kind] + ":" + strconv.Itoa(c.K)
	if c.Language != "" && c.Language != defaultLanguage {
		s += ":" + c.Language
	}
	return s
}
