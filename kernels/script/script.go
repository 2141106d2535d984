// Package script counts the letters of texts by their scripts.
package script

import (
	"maps"
	"slices"
	"unicode"
	"unicode/utf8"
)

// names are the scripts of Unicode (Standard Annex 24), by number; other is that of letters that have none.
var names = append([]string{"Other"}, slices.Sorted(maps.Keys(unicode.Scripts))...)

const other = 0

var latin = uint8(slices.Index(names, "Latin"))

// A Counter counts letters. It serves one goroutine.
type Counter struct {
	counts [256]int64
	of     map[rune]uint8 // the scripts of characters that were seen
}

// NewCounter returns a Counter that has seen no letter.
func NewCounter() *Counter { return &Counter{of: map[rune]uint8{}} }

// notLetter is what a character has that is none.
const notLetter = 255

// Add counts the letters of a text, those of category L.
func (c *Counter) Add(text []byte) {
	for len(text) > 0 {
		if b := text[0]; b < utf8.RuneSelf {
			if b |= 0x20; 'a' <= b && b <= 'z' {
				c.counts[latin]++
			}
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		script, known := c.of[r]
		if !known {
			script = of(r)
			c.of[r] = script
		}
		c.counts[script]++
	}
}

// of returns the number of a letter's script.
func of(r rune) uint8 {
	if !unicode.IsLetter(r) {
		return notLetter
	}
	for i, name := range names[1:] {
		if unicode.Is(unicode.Scripts[name], r) {
			return uint8(i + 1)
		}
	}
	return other
}

// Letters returns the number of letters of each script that was seen.
func (c *Counter) Letters() map[string]int64 {
	letters := map[string]int64{}
	for i, name := range names {
		if c.counts[i] > 0 {
			letters[name] = c.counts[i]
		}
	}
	return letters
}
