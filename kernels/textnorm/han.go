package textnorm

import (
	_ "embed"
	"strings"
	"sync"
)

// classes has a line for each set of variants, the one that stands for them first.
//
//go:embed han.txt
var classes string

// hanFolds is what stands for each variant.
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

// hanFolded returns what stands for r and its variants, r if it has none.
func hanFolded(r rune) rune {
	if r < firstHan {
		return r
	}
	if to, ok := hanFolds()[r]; ok {
		return to
	}
	return r
}

// firstHan: no character before it has variants.
const firstHan = 0x3400
