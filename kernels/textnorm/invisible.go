package textnorm

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Characters that are invisible, but can change how their neighbours look.
const (
	zwnj = '\u200C'
	zwj  = '\u200D'

	firstTag  = '\U000E0020'
	cancelTag = '\U000E007F'
	blackFlag = '\U0001F3F4'
)

// isIgnorable reports whether r is invisible where it is not supported, and mostly also where it is:
// Default_Ignorable_Code_Point.
func isIgnorable(r rune) bool { return r >= 0xAD && unicode.Is(ignorable, r) }

// inContext reports whether the characters around r decide whether it can be dropped.
func inContext(r rune) bool {
	return r == zwnj || r == zwj || isTag(r)
}

func isTag(r rune) bool { return firstTag <= r && r <= cancelTag }

func withoutIgnorable(r rune) rune {
	if isIgnorable(r) && !inContext(r) {
		return -1
	}
	return r
}

// dropInContext drops the joiners and tags of dst[start:] that do not change how the text looks. It keeps ZERO WIDTH
// JOINER and NON-JOINER by rules A1, A2 and B of Unicode Standard Annex #31, §2.3.1, the joiners of emoji (UTS #51,
// ED-16) and the tags after a flag (ED-14a). dst[start:] must be in NFC, so that composed and decomposed letters are
// treated alike.
func dropInContext(dst []byte, start int) []byte {
	if bytes.IndexFunc(dst[start:], inContext) < 0 {
		return dst
	}
	end := start
	var before context
	keep := func(r rune, text []byte) {
		before.add(r, text)
		end += copy(dst[end:], text)
	}
	for i := start; i < len(dst); {
		if r, n := utf8.DecodeRune(dst[i:]); !inContext(r) {
			keep(r, dst[i:i+n])
			i += n
			continue
		}
		// Look at what follows once for a whole run, however long.
		rest := bytes.TrimLeftFunc(dst[i:], inContext)
		run := dst[i : len(dst)-len(rest)]
		after := follow(rest)
		before.flag = before.flag && endsInCancel(run)
		for len(run) > 0 {
			r, n := utf8.DecodeRune(run)
			if before.keeps(r, after) {
				keep(r, run[:n])
			}
			run = run[n:]
			i += n
		}
	}
	return dst[:end]
}

// endsInCancel reports whether the tags at the start of run end as those of a flag must.
func endsInCancel(run []byte) bool {
	tags := run[:len(run)-len(bytes.TrimLeftFunc(run, isTag))]
	return bytes.HasSuffix(tags, []byte(string(cancelTag)))
}

// context is what the rules need to know about the characters before a place.
type context struct {
	cursive  bool // a letter that joins the next one, then transparent marks
	conjunct conjunct
	emoji    bool // a pictograph, then skin tones
	flag     bool // a flag, then tags
}

// conjunct says how much of a letter with a virama precedes a place.
type conjunct uint8

const (
	noLetter   conjunct = iota
	withLetter          // a letter, then marks
	withVirama          // the same, then a virama and marks that can be reordered with it
)

// following is what the rules need to know about the characters after a place.
type following struct{ joins, letter, vowel, pictograph bool }

func follow(rest []byte) following {
	next, _ := utf8.DecodeRune(rest)
	joining, _ := utf8.DecodeRune(bytes.TrimLeftFunc(rest, isTransparent))
	return following{
		joins: unicode.Is(joinsLast, joining), letter: beginsWithLetter(rest),
		vowel: unicode.Is(vowelSign, next), pictograph: unicode.Is(pictograph, next),
	}
}

func isTransparent(r rune) bool { return unicode.Is(transparent, r) && !inContext(r) }

// beginsWithLetter reports whether rest begins with a letter, after any marks that can be reordered.
func beginsWithLetter(rest []byte) bool {
	for len(rest) > 0 {
		r, n := utf8.DecodeRune(rest)
		if !unicode.Is(unicode.Mn, r) || norm.NFC.Properties(rest).CCC() == 0 {
			return unicode.IsLetter(r)
		}
		rest = rest[n:]
	}
	return false
}

// keeps reports whether r, which is inContext, is kept.
func (c *context) keeps(r rune, after following) bool {
	switch r {
	case zwj:
		return c.conjunct == withVirama && !after.vowel || c.emoji && after.pictograph
	case zwnj:
		return c.cursive && after.joins || c.conjunct == withVirama && after.letter
	default:
		return c.flag
	}
}

// virama is the canonical combining class of viramas.
const virama = 9

// add adds r, whose UTF-8 is text, to the context.
func (c *context) add(r rune, text []byte) {
	if !isTransparent(r) {
		c.cursive = unicode.Is(joinsNext, r)
	}
	ccc := norm.NFC.Properties(text).CCC()
	switch {
	case unicode.IsLetter(r):
		c.conjunct = withLetter
	case c.conjunct == noLetter:
	case ccc == virama:
		c.conjunct = withVirama
	case !unicode.Is(unicode.Mn, r):
		c.conjunct = noLetter
	case ccc == 0:
		c.conjunct = withLetter
	}
	c.emoji = unicode.Is(pictograph, r) || c.emoji && isSkinTone(r)
	c.flag = r == blackFlag || c.flag && isTag(r)
}

func isSkinTone(r rune) bool { return '\U0001F3FB' <= r && r <= '\U0001F3FF' }
