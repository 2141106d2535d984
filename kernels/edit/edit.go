// Package edit measures the distance of short strings, to guess what was meant.
package edit

import "iter"

// Nearest returns the name that wanted was most likely meant to be: the one at the smallest distance, and among equals
// the first in byte order. It returns "" if all names differ in more than half of the bytes of wanted.
func Nearest(wanted string, names iter.Seq[string]) (nearest string) {
	distance := len(wanted)/2 + 1
	for name := range names {
		if d := Distance(wanted, name); d < distance || d == distance && name < nearest {
			nearest, distance = name, d
		}
	}
	return nearest
}

// Distance returns the minimum number of insertions, deletions and replacements of code points that turn b into a
// (Levenshtein 1965).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	// row[j] is the distance between the part of from read so far and to[:j].
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replace := diagonal
			if x != y {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
