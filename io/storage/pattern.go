package storage

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pattern is one split at its slashes.
type pattern []string

// anyDepth stands for any number of folders.
const anyDepth = "**"

// Match reports whether name, with slashes, matches pattern: "*", "?", "[a-z]", "[^a-z]" and
// "{a,b}" stand for parts of one name, "**" between slashes for any number of folders, a backslash
// takes the meaning from what follows it. The error says what is wrong with the pattern.
func Match(pattern, name string) (bool, error) {
	p, err := parsePattern(pattern)
	if err != nil {
		return false, err
	}
	whole, _ := p.match(strings.Split(name, "/"), anyName)
	return whole, nil
}

func parsePattern(s string) (pattern, error) {
	p := pattern(slices.CompactFunc(strings.Split(s, "/"), func(a, b string) bool { return a == anyDepth && b == anyDepth }))
	for _, element := range p {
		if !doublestar.ValidatePattern(element) {
			return nil, fmt.Errorf("pattern %s: %w", s, doublestar.ErrBadPattern)
		}
	}
	return p, nil
}

// splitPattern splits an argument into the folder that all matches are below and the rest.
func splitPattern(arg string) (folder string, p pattern, err error) {
	scheme := schemeOf(arg)
	rest := clean(arg)[len(scheme):]
	elements := strings.Split(rest, "/")
	n := slices.IndexFunc(elements, hasMeta)
	p, err = parsePattern(strings.Join(elements[n:], "/"))
	if err != nil {
		return "", nil, fmt.Errorf("pattern %s: %w", arg, doublestar.ErrBadPattern)
	}
	switch folder = unescape(strings.Join(elements[:n], "/")); {
	case scheme != "":
		folder = scheme + folder
	case n == 0:
		folder = "."
	case folder == "":
		folder = "/"
	}
	return folder, p, nil
}

// hasMeta reports whether s has a character that makes it a pattern.
func hasMeta(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[', '{':
			return true
		}
	}
	return false
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// match reports whether names, those of a path in order, match all of p, and whether a path below
// them could. One says which single names go with which elements. It takes len(p) steps a name.
func (p pattern) match(names []string, one func(element, name string) bool) (whole, below bool) {
	// at[i] says that the names so far match p[:i].
	at, next := make([]bool, len(p)+1), make([]bool, len(p)+1)
	reach := func(at []bool, i int) {
		at[i] = true
		if i < len(p) && p[i] == anyDepth { // which may be no folder
			at[i+1] = true
		}
	}
	reach(at, 0)
	for _, name := range names {
		clear(next)
		for i, element := range p {
			switch {
			case !at[i] || !one(element, name):
			case element == anyDepth:
				reach(next, i)
			default:
				reach(next, i+1)
			}
		}
		at, next = next, at
	}
	return at[len(p)], slices.Contains(at[:len(p)], true)
}

// levels is how many names p has for certain: those before a "**".
func (p pattern) levels() int {
	if n := slices.Index(p, anyDepth); n >= 0 {
		return n
	}
	return len(p)
}

// anyName matches an element with a name.
func anyName(element, name string) bool {
	ok, err := doublestar.Match(element, name)
	return ok && err == nil
}

// given is anyName for inputs: hidden names are those that the element begins like.
func given(element, name string) bool {
	return anyName(element, name) && (!hidden(name) || element[0] == name[0])
}

// clean is path.Clean for local paths; a URL's slashes and dots may be an object's name.
func clean(name string) string {
	if schemeOf(name) != "" {
		return name
	}
	return path.Clean(name)
}
