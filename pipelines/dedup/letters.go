package dedup

import (
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// scripts are those of Unicode (Standard Annex 24). A script's number is its index.
var scripts = append([]string{"Other"}, slices.Sorted(maps.Keys(unicode.Scripts))...)

const (
	noScript  = 0   // number for letters of no script
	notLetter = 255 // number for characters that are not letters
)

var latin = uint8(slices.Index(scripts, "Latin"))

// letters counts the letters of texts by their scripts.
type letters struct {
	counts  [256]int64     // by script number
	numbers map[rune]uint8 // script numbers of the non-ASCII characters seen so far
}

func newLetters() *letters { return &letters{numbers: map[rune]uint8{}} }

// add counts the letters of a text: its characters of category L.
func (c *letters) add(text []byte) {
	const each, high = 0x0101010101010101, 0x8080808080808080 // for eight bytes
	for len(text) > 0 {
		if len(text) >= 8 {
			if eight := binary.LittleEndian.Uint64(text); eight&high == 0 {
				eight |= 0x20 * each // lower case, if they are letters
				from, behind := eight+(0x80-'a')*each, eight+(0x80-'z'-1)*each
				c.counts[latin] += int64(bits.OnesCount64(from &^ behind & high))
				text = text[8:]
				continue
			}
		}
		if b := text[0]; b < utf8.RuneSelf {
			if b |= 0x20; 'a' <= b && b <= 'z' { // lower case, if it is a letter
				c.counts[latin]++
			}
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		number, ok := c.numbers[r]
		if !ok {
			number = scriptOf(r)
			c.numbers[r] = number
		}
		c.counts[number]++
	}
}

// scriptOf returns the number of a character's script.
func scriptOf(r rune) uint8 {
	if !unicode.IsLetter(r) {
		return notLetter
	}
	for i, name := range scripts[1:] {
		if unicode.Is(unicode.Scripts[name], r) {
			return uint8(i + 1)
		}
	}
	return noScript
}

// byScript returns the numbers of letters counted, by the name of their script.
func (c *letters) byScript() map[string]int64 {
	all := map[string]int64{}
	for i, name := range scripts {
		if c.counts[i] > 0 {
			all[name] = c.counts[i]
		}
	}
	return all
}
