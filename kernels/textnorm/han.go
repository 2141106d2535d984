package textnorm

import (
	_ "embed"
	"strings"
	"sync"
)

// classes has one line per set of variants, beginning with the one that represents them.
//
//go:embed han.txt
var classes string

// hanFolds maps each variant to the one that represents it.
var hanFolds = sync.OnceValue(func() map[rune]rune {
	folds := map[rune]rune{}
	for line := range strings.Lines(classes) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var stands rune
		for i, r := range strings.TrimSpace(line) {
			if i == 0 {
				stands = r
			} else {
				folds[r] = stands
			}
		}
	}
	return folds
})

// hanFolded returns the character that represents r and its variants, or r if it has none.
func hanFolded(r rune) rune {
	if r < firstHan {
		return r
	}
	if to, ok := hanFolds()[r]; ok {
		return to
	}
	return r
}

// firstHan is the first character that may have variants.
const firstHan = 0x3400
