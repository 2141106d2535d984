package shingle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup/kernels/stopwords"
)

// Kind is what a shingle is made of.
type Kind uint8

// The kinds of shingles.
const (
	Word   Kind = 1 + iota // words of package token
	Char                   // code points of the normalised text, blanks included
	Byte                   // bytes of the normalised text
	Stop                   // words, and only the shingles that begin with a stop word
	Char32                 // code points as of Char, and of a shingle's hash 4 bytes
)

var kindNames = map[Kind]string{Word: "word", Char: "char", Byte: "byte", Stop: "stopword", Char32: "char32"}

const kindsHelp = "use word:K, char:K, byte:K, char32:K, stopword:K or stopword:K:LANGUAGE"

// defaultLanguage is that of stop words where none is named.
const defaultLanguage = "en"

// maxK is beyond what anybody would compare as one shingle.
const maxK = 1 << 20

// Config says what a shingle is: K consecutive tokens of a kind.
type Config struct {
	Kind Kind
	K    int // at least 1
	// Language of the stop words, of kind Stop only.
	Language string
}

// Parse reads a configuration such as "word:5", "char:9", "byte:13", "char32:9", "stopword:3" or
// "stopword:3:it".
func Parse(s string) (Config, error) {
	name, count, _ := strings.Cut(s, ":")
	language := ""
	if name == kindNames[Stop] {
		var named bool
		if count, language, named = strings.Cut(count, ":"); !named {
			language = defaultLanguage
		}
		if _, err := stopwords.Words(language); err != nil {
			return Config{}, fmt.Errorf("shingle %q: %w", s, err)
		}
	}
	for kind, kindName := range kindNames {
		if kindName != name {
			continue
		}
		k, err := strconv.Atoi(count)
		if err != nil || k < 1 || k > maxK {
			return Config{}, fmt.Errorf("shingle %q: %q is not a whole number from 1 to %d, as in %s:5", s, count, maxK, name)
		}
		return Config{kind, k, language}, nil
	}
	return Config{}, fmt.Errorf("shingle %q: unknown kind %q; %s", s, name, kindsHelp)
}

// String returns the form that Parse reads.
func (c Config) String() string {
	s := kindNames[c.Kind] + ":" + strconv.Itoa(c.K)
	if c.Language != "" && c.Language != defaultLanguage {
		s += ":" + c.Language
	}
	return s
}
