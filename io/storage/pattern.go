package storage

import (
	"context"
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
// takes the meaning from what follows it. A brace without the other has no meaning. The error says
// what is wrong with the pattern.
func Match(pattern, name string) (bool, error) {
	p, err := parsePattern(pattern)
	if err != nil {
		return false, err
	}
	whole, _ := p.match(strings.Split(name, "/"), anyName)
	return whole, nil
}

// SplitPatterns splits a list of patterns at its commas, but for those in braces or brackets or after
// a backslash. The error says what is wrong with one.
func SplitPatterns(list string) (patterns []string, err error) {
	in, err := scan(list)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", list, err)
	}
	start := 0
	for _, i := range in.commas {
		if !slices.ContainsFunc(in.pairs, func(pair [2]int) bool { return pair[0] < i && i < pair[1] }) {
			patterns, start = append(patterns, list[start:i]), i+1
		}
	}
	return append(patterns, list[start:]), nil
}

func parsePattern(s string) (pattern, error) {
	balanced, err := balance(s)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", s, err)
	}
	return splitElements(balanced), nil
}

func splitElements(s string) pattern {
	return slices.CompactFunc(strings.Split(s, "/"), func(a, b string) bool { return a == anyDepth && b == anyDepth })
}

// splitPattern splits an argument into the folder that all matches are below and the rest.
func splitPattern(arg string) (folder string, p pattern, err error) {
	scheme := schemeOf(arg)
	rest, err := balance(clean(arg)[len(scheme):])
	if err != nil {
		return "", nil, fmt.Errorf("pattern %s: %w", arg, err)
	}
	elements := strings.Split(rest, "/")
	n := slices.IndexFunc(elements, hasMeta)
	if n < 0 { // all have lost their meaning
		n = len(elements) - 1
	}
	switch folder = unescape(strings.Join(elements[:n], "/")); {
	case scheme != "":
		folder = scheme + folder
	case n == 0:
		folder = "."
	case folder == "":
		folder = "/"
	}
	return folder, splitElements(strings.Join(elements[n:], "/")), nil
}

// Reaches reports whether arg is a pattern of any depth, which has a "**", that could match
// something at path or below it. Path is absolute and without links. A name that there is is no pattern.
func Reaches(ctx context.Context, arg, path string) (bool, error) {
	if !IsPattern(arg) {
		return false, nil
	}
	if there, err := Exists(ctx, arg); there || err != nil {
		return false, err
	}
	folder, p, err := splitPattern(arg)
	if err != nil || !slices.Contains(p, anyDepth) {
		return false, nil // List says what is wrong with it
	}
	if folder, err = Resolve(folder); err != nil {
		return false, err
	}
	rel, below := Rel(folder, path)
	if !below {
		return false, nil
	}
	var names []string
	if rel != "." {
		names = strings.Split(rel, "/")
	}
	whole, deeper := p.match(names, anyName)
	return whole || deeper, nil
}

// balance puts a backslash before braces that are not in pairs, and before what has a meaning in
// braces where it is in brackets, so that doublestar takes it as it is.
func balance(s string) (string, error) {
	in, err := scan(s)
	if err != nil {
		return "", err
	}
	for _, i := range slices.Backward(in.plain) {
		s = s[:i] + `\` + s[i:]
	}
	return s, nil
}

// syntax is where in a pattern its signs are.
type syntax struct {
	pairs  [][2]int // of braces
	commas []int    // outside of brackets
	plain  []int    // characters that would have a meaning elsewhere, in order
}

func scan(s string) (in syntax, err error) {
	var open []int // braces
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) || s[i] == '/' {
				return in, badPattern(`there is nothing after a \`)
			}
		case '[':
			end, err := bracketsEnd(s, i)
			if err != nil {
				return in, err
			}
			for i++; i < end; i++ {
				switch s[i] {
				case '\\':
					i++
				case '{', '}', ',':
					in.plain = append(in.plain, i)
				}
			}
		case ',':
			in.commas = append(in.commas, i)
		case '{':
			open = append(open, i)
		case '}':
			if len(open) == 0 {
				in.plain = append(in.plain, i)
				continue
			}
			last := len(open) - 1
			in.pairs = append(in.pairs, [2]int{open[last], i})
			if inside := s[open[last] : i+1]; strings.Contains(inside, "/") {
				return in, badPattern(inside + " has a slash, and braces stand for parts of one name; give two patterns")
			}
			open = open[:last]
		}
	}
	in.plain = append(in.plain, open...)
	slices.Sort(in.plain)
	return in, nil
}

// bracketsEnd is where the ] of the [ at start is.
func bracketsEnd(s string, start int) (int, error) {
	first := start + 1
	if first < len(s) && (s[first] == '^' || s[first] == '!') {
		first++
	}
	for i := first; i < len(s) && s[i] != '/'; i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == ']' && i == first:
			return 0, badPattern(s[start:i+1] + " has nothing in it")
		case s[i] == ']':
			return i, nil
		}
	}
	return 0, badPattern(`a [ has no ]; write \[ for the character`)
}

func badPattern(why string) error { return fmt.Errorf("%w: %s", doublestar.ErrBadPattern, why) }

// IsPattern reports whether an argument can be one, not only a name.
func IsPattern(arg string) bool { return strings.ContainsAny(arg, `*?[{\`) }

// hasMeta reports whether s has a character that stands for others.
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
