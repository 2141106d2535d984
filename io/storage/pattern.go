package storage

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pattern is a pattern split at its slashes.
type pattern []string

// anyDepth stands for any number of folders.
const anyDepth = "**"

// Match reports whether name, with slashes, matches pattern: "*", "?", "[a-z]", "[^a-z]" and "{a,b}" stand for parts of
// one name, "**" between slashes for any number of folders, and a backslash makes the next character literal. A brace
// without its partner is literal. The error says what is wrong with the pattern.
func Match(pattern, name string) (bool, error) {
	p, err := parsePattern(pattern)
	if err != nil {
		return false, err
	}
	whole, _ := p.match(strings.Split(name, "/"), anyName)
	return whole, nil
}

// SplitPatterns splits a list of patterns at its commas, except those in braces, in brackets or after a backslash. The
// error says what is wrong with a pattern.
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

// splitPattern splits an argument into the folder that contains all matches, and the rest.
func splitPattern(arg string) (folder string, p pattern, err error) {
	scheme := schemeOf(arg)
	rest, err := balance(clean(arg)[len(scheme):])
	if err != nil {
		return "", nil, fmt.Errorf("pattern %s: %w", arg, err)
	}
	elements := strings.Split(rest, "/")
	n := slices.IndexFunc(elements, hasMeta)
	if n < 0 { // all special characters are escaped
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

// Reaches reports whether arg is a pattern with a "**" that could match something at path or below it. path is absolute
// and without links. The name of an existing file is not a pattern.
func Reaches(ctx context.Context, arg, path string) (bool, error) {
	if !IsPattern(arg) {
		return false, nil
	}
	if there, err := Exists(ctx, arg); there || err != nil {
		return false, err
	}
	folder, p, err := splitPattern(arg)
	if err != nil || !slices.Contains(p, anyDepth) {
		return false, nil // List reports what is wrong with it
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

// balance escapes unpaired braces, and the special characters of braces in brackets, so that doublestar takes them
// literally.
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

// syntax holds the positions of a pattern's special characters.
type syntax struct {
	pairs  [][2]int // of braces
	commas []int    // outside brackets
	plain  []int    // positions of characters to escape, in order
}

func scan(s string) (in syntax, err error) {
	var open []int // braces
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) || s[i] == '/' {
				return in, badPattern(`nothing follows a \; write \\ to match a literal \`)
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
			if strings.Contains(s[open[last]:i+1], "/") {
				return in, badPattern("braces cannot contain a slash; use two patterns")
			}
			open = open[:last]
		}
	}
	in.plain = append(in.plain, open...)
	slices.Sort(in.plain)
	return in, nil
}

// bracketsEnd returns the position of the ] that closes the [ at start.
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
			return 0, badPattern(s[start:i+1] + ` is empty; write \[ to match a literal [`)
		case s[i] == ']':
			return i, nil
		}
	}
	return 0, badPattern(`unmatched [; write \[ to match a literal [`)
}

func badPattern(why string) error { return patternError(why) }

// patternError is a doublestar.ErrBadPattern that says what is wrong.
type patternError string

func (e patternError) Error() string { return string(e) }

func (patternError) Unwrap() error { return doublestar.ErrBadPattern }

// IsPattern reports whether an argument may be a pattern instead of a name.
func IsPattern(arg string) bool { return strings.ContainsAny(arg, `*?[{\`) }

// hasMeta reports whether s has an unescaped special character.
func hasMeta(s string) bool { return strings.ContainsAny(escaped.ReplaceAllString(s, ""), "*?[{") }

var escaped = regexp.MustCompile(`(?s)\\(.)`)

func unescape(s string) string { return escaped.ReplaceAllString(s, "$1") }

// match reports whether names, the parts of a path in order, match all of p, and whether a path below them could. one
// decides whether a name matches an element. match takes len(p) steps per name.
func (p pattern) match(names []string, one func(element, name string) bool) (whole, below bool) {
	// at[i] says that the names so far match p[:i].
	at, next := make([]bool, len(p)+1), make([]bool, len(p)+1)
	reach := func(at []bool, i int) {
		at[i] = true
		if i < len(p) && p[i] == anyDepth { // which may stand for no folder
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

// levels returns the minimum depth of p: the number of its elements before a "**".
func (p pattern) levels() int {
	if n := slices.Index(p, anyDepth); n >= 0 {
		return n
	}
	return len(p)
}

// anyName reports whether name matches element.
func anyName(element, name string) bool {
	ok, err := doublestar.Match(element, name)
	return ok && err == nil
}

// given is anyName for inputs: a hidden name must begin with the same character as the element.
func given(element, name string) bool {
	return anyName(element, name) && (!hidden(name) || element[0] == name[0])
}

// clean is path.Clean for local paths; in a URL, slashes and dots may be part of an object's name.
func clean(name string) string {
	if schemeOf(name) != "" {
		return name
	}
	return path.Clean(name)
}
