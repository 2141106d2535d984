package shingle

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what a shingle is made of.
type Kind uint8

// The kinds of shingles.
const (
	Word Kind = 1 + iota // words of package token
	Char                 // code points of the normalised text, blanks included
	Byte                 // bytes of the normalised text
)

var kindNames = map[Kind]string{Word: "word", Char: "char", Byte: "byte"}

// maxK is beyond what anybody would compare as one shingle.
const maxK = 1 << 20

// Config says what a shingle is: K consecutive tokens of a kind.
type Config struct {
	Kind Kind
	K    int // at least 1
}

// Parse reads a configuration such as "word:5", "char:9" or "byte:13".
func Parse(s string) (Config, error) {
	name, count, _ := strings.Cut(s, ":")
	if name == "stopword" {
		return Config{}, fmt.Errorf("shingle %q: stopword shingles are not available yet; use word:K, char:K or byte:K", s)
	}
	for kind, kindName := range kindNames {
		if kindName != name {
			continue
		}
		k, err := strconv.Atoi(count)
		if err != nil || k < 1 || k > maxK {
			return Config{}, fmt.Errorf("shingle %q: %q is not a whole number from 1 to %d, as in %s:5", s, count, maxK, name)
		}
		return Config{kind, k}, nil
	}
	return Config{}, fmt.Errorf("shingle %q: unknown kind %q; use word:K, char:K or byte:K", s, name)
}

// String returns the form that Parse reads.
func (c Config) String() string {
	return kindNames[c.Kind] + ":" + strconv.Itoa(c.K)
}
