package textnorm

import (
	"fmt"
	"strings"
)

// Policy is a set of steps. The zero Policy takes none. Policies that do the
// same are equal.
type Policy struct{ steps step }

type step uint8

// The first four can change ASCII, the first six a rune; their bits together
// index asciiTables and pages.
const (
	lower step = 1 << iota
	punctuation
	lettersOnly
	digitsZero
	nfkc
	stripAccents
	collapseSpace
	noSpace

	asciiSteps   = lower | punctuation | lettersOnly | digitsZero
	runeSteps    = asciiSteps | nfkc | stripAccents
	defaultSteps = nfkc | lower | punctuation
)

// items are the names a list may hold, in the order the steps are taken.
// Taking punctuation out has no name of its own.
var items = []struct {
	name  string
	steps step
}{
	{"default", defaultSteps},
	{"nfkc", nfkc},
	{"lower", lower},
	{"strip-accents", stripAccents},
	{"letters-only", lettersOnly},
	{"digits-zero", digitsZero},
	{"collapse-space", collapseSpace},
	{"no-space", noSpace},
}

// Parse reads a policy: "none", "default" (which is NFKC, lower case and
// punctuation out), or a comma-separated list of default, nfkc, lower,
// strip-accents, letters-only, digits-zero, collapse-space and no-space. A list
// takes exactly the steps it names, in the fixed order of the package comment.
func Parse(s string) (Policy, error) {
	if s == "none" {
		return Policy{}, nil
	}
	var steps step
	for name := range strings.SplitSeq(s, ",") {
		found, ok := lookup(strings.TrimSpace(name))
		if !ok {
			return Policy{}, fmt.Errorf("normalize %q: unknown step %q; use none, or a comma list of %s", s, name, strings.Join(Steps(), ", "))
		}
		steps |= found
	}
	if steps.has(collapseSpace | noSpace) {
		return Policy{}, fmt.Errorf("normalize %q: collapse-space and no-space exclude each other", s)
	}
	if steps.has(lettersOnly) {
		// Punctuation and digits are no letters: nothing is left for these steps.
		steps &^= punctuation | digitsZero
	}
	return Policy{steps}, nil
}

func lookup(name string) (step, bool) {
	for _, item := range items {
		if item.name == name {
			return item.steps, true
		}
	}
	return 0, false
}

// Steps lists the names that a list may hold, in the order the steps are taken.
func Steps() []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.name
	}
	return names
}

// String returns the canonical form of p, which Parse reads back.
func (p Policy) String() string {
	if p.steps == 0 {
		return "none"
	}
	var names []string
	rest := p.steps
	for _, item := range items {
		if rest.has(item.steps) {
			names = append(names, item.name)
			rest &^= item.steps
		}
	}
	return strings.Join(names, ",")
}

// has reports whether s contains every step of other.
func (s step) has(other step) bool { return s&other == other }

// FoldsASCII reports whether p makes ASCII letters small and other ASCII but digits no part of a
// word, and no more: white space stays as it is.
func (p Policy) FoldsASCII() bool {
	return p.steps&^(nfkc|stripAccents) == lower|punctuation
}

// MarshalText writes the canonical form of p.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what Parse reads.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}
