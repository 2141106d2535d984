package textnorm

import (
	"errors"
	"fmt"
	"strings"
)

// Policy is a set of steps. The zero Policy has none. Policies with the same effect are equal.
type Policy struct{ steps step }

type step uint16

// The first four steps can change ASCII, and the first eight a rune; their bits together index asciiTables and pages.
const (
	lower step = 1 << iota
	punctuation
	lettersOnly
	digitsZero
	nfkc
	stripAccents
	invisible
	foldHan
	collapseSpace
	noSpace
	layout
	symbols
	keepCase
	stripMarkup

	spaceSteps   = collapseSpace | noSpace | layout
	asciiSteps   = lower | punctuation | lettersOnly | digitsZero
	runeSteps    = asciiSteps | nfkc | stripAccents | invisible | foldHan
	defaultSteps = invisible | nfkc | lower | punctuation | layout
)

// items are the names in a list of steps, in the order in which the steps are applied. The removal of punctuation,
// invisible characters and layout has no names of its own.
var items = []struct {
	name  string
	steps step
}{
	{"strip-markup", stripMarkup},
	{"default", defaultSteps},
	{"nfkc", nfkc},
	{"lower", lower},
	{"strip-accents", stripAccents},
	{"fold-han", foldHan},
	{"keep-symbols", symbols},
	{"keep-case", keepCase},
	{"letters-only", lettersOnly},
	{"digits-zero", digitsZero},
	{"collapse-space", collapseSpace},
	{"no-space", noSpace},
}

// Parse parses a policy: "none", or a comma-separated list of strip-markup, default (remove invisible characters, NFKC,
// lower case, remove punctuation and layout), nfkc, lower, strip-accents, fold-han, keep-symbols, keep-case,
// letters-only, digits-zero, collapse-space and no-space. A list has exactly the steps that it names, in the fixed
// order of the package comment. keep-symbols excludes the removal of punctuation from default, and keep-case excludes
// lower case; alone, they stand for default without that. Alone, strip-markup and fold-han stand for themselves and
// default.
func Parse(s string) (Policy, error) {
	if s == "none" {
		return Policy{}, nil
	}
	var steps step
	for name := range strings.SplitSeq(s, ",") {
		found, ok := lookup(strings.TrimSpace(name))
		if !ok {
			return Policy{}, &UnknownStepError{name}
		}
		steps |= found
	}
	if steps.has(collapseSpace | noSpace) {
		return Policy{}, errors.New("collapse-space and no-space conflict; drop one")
	}
	const changed = symbols | keepCase | stripMarkup | foldHan // steps that add default if nothing else is named
	if steps&^changed == 0 || steps.has(keepCase) && steps&^(changed|lower) == 0 {
		steps |= defaultSteps
	}
	if steps.has(keepCase) {
		steps &^= lower
		if !steps.has(defaultSteps &^ (lower | punctuation)) {
			steps &^= keepCase // there was no default to change
		}
	}
	if steps.has(symbols) {
		if steps.has(lettersOnly) {
			return Policy{}, errors.New("letters-only and keep-symbols conflict; drop one")
		}
		steps &^= punctuation
	}
	if steps.has(lettersOnly) {
		// Punctuation and digits are not letters: nothing is left for these steps.
		steps &^= punctuation | digitsZero
	}
	return Policy{steps}, nil
}

// UnknownStepError says that no step has this name.
type UnknownStepError struct{ Name string }

func (e *UnknownStepError) Error() string {
	return fmt.Sprintf("unknown step %q; use none alone, or a comma-separated list of %s", e.Name,
		strings.Join(Steps(), ", "))
}

func lookup(name string) (step, bool) {
	for _, item := range items {
		if item.name == name {
			return item.steps, true
		}
	}
	return 0, false
}

// Steps returns the names that a list may contain, in the order in which the steps are applied.
func Steps() []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.name
	}
	return names
}

// String returns the canonical form of p, which Parse accepts.
func (p Policy) String() string {
	if p.steps == 0 {
		return "none"
	}
	var names []string
	rest := p.steps
	var replaced step // steps of default that are replaced
	if rest&(symbols|lettersOnly) != 0 {
		replaced |= punctuation
	}
	if rest.has(keepCase) {
		replaced |= lower
	}
	if rest.has(defaultSteps &^ replaced) {
		rest |= replaced
	}
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

// FoldsASCII reports whether p changes the words of ASCII text only by lower-casing letters and turning punctuation
// into spaces.
func (p Policy) FoldsASCII() bool {
	return p.steps&^(nfkc|stripAccents|invisible|foldHan|layout) == lower|punctuation
}

// KeepsSymbols reports whether symbols and punctuation are compared.
func (p Policy) KeepsSymbols() bool { return p.steps.has(symbols) }

// StripsMarkup reports whether markup is removed from a text.
func (p Policy) StripsMarkup() bool { return p.steps.has(stripMarkup) }

// KeepMarkup returns p without the removal of markup, for the result of Visible.
func (p Policy) KeepMarkup() Policy { return Policy{p.steps &^ stripMarkup} }

// JoinsWords reports whether p removes the white space between words.
func (p Policy) JoinsWords() bool { return p.steps.has(noSpace) }

// KeepLayout returns p without the layout step of default, which affects only white space and so no word.
func (p Policy) KeepLayout() Policy { return Policy{p.steps &^ layout} }

// KeepSpace returns p without its space steps, which Space applies.
func (p Policy) KeepSpace() Policy { return Policy{p.steps &^ spaceSteps} }

// KeepInvisible returns p without the removal of invisible characters.
func (p Policy) KeepInvisible() Policy { return Policy{p.steps &^ invisible} }

// MarshalText returns the canonical form of p.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses what Parse accepts.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}
